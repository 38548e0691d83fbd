import { TagsInput, type TagsInputProps } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { columnsQuery } from '../../api/tables.ts'
import { keyColumnNames } from './key-columns.ts'

/** As the service accepts. */
const MAX_COLUMNS = 20
const TABLE_NAME = /^[^.]+(\.[^.]+)+$/

interface KeyFieldProps extends Omit<TagsInputProps, 'data' | 'maxTags'> {
  /** Tables whose columns are offered. */
  readonly tables: readonly string[]
}

/** Names of the columns that identify a row, offered from tables; other names can be typed. */
export function KeyField({ tables, ...props }: KeyFieldProps) {
  const known = [...new Set(tables.filter((name) => TABLE_NAME.test(name)))]
  const schemas = useQueries({ queries: known.map(columnsQuery) })
  const names = new Set(schemas.flatMap(({ data }) => keyColumnNames(data?.columns ?? [])))
  return <TagsInput {...props} data={[...names]} maxTags={MAX_COLUMNS} acceptValueOnBlur />
}

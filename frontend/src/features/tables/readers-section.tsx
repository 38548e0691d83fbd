import { Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { TableReader } from '../../api/types.ts'
import { formatCount, formatPlural } from '../../strings/everywhere/units.ts'
import { readers as words } from '../../strings/tables.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { readersQuery } from './api.ts'

/** Users whose clients reported scans of a table, with the columns that they read; nothing when no client did. */
export function ReadersSection({ table }: { readonly table: string }) {
  const { data } = useQuery(readersQuery(table))
  if (data === undefined || data.readers.length === 0) return null
  return (
    <Stack component="section" gap="xs">
      <Title order={2} m={0}>
        {words.title}
      </Title>
      {data.readers.map((reader) => (
        <ReaderLine key={reader.user} reader={reader} />
      ))}
      {data.next_page_token !== null && <Text c="dimmed">{words.more}</Text>}
    </Stack>
  )
}

function ReaderLine({ reader }: { readonly reader: TableReader }) {
  const { user, scan_count: scans, last_read_at: last, columns, filter_columns: filters } = reader
  return (
    <div>
      <div>
        {user}: {formatPlural(scans, words.scan)}, <RelativeTime at={last} />
      </div>
      {columns.length > 0 && <Text c="dimmed">{words.columns(columnsText(columns))}</Text>}
      {filters.length > 0 && <Text c="dimmed">{words.filters(columnsText(filters))}</Text>}
    </div>
  )
}

/** Columns that a line shows. */
const SHOWN = 8

function columnsText(columns: TableReader['columns']): string {
  const shown = columns.slice(0, SHOWN).map(({ column }) => column)
  const left = columns.length - shown.length
  return [...shown, ...(left > 0 ? [words.others(formatCount(left))] : [])].join(', ')
}

import { Textarea } from '@mantine/core'
import { queryStrings as words } from '../../../strings/query.ts'
import classes from '../query.module.css'
import type { SqlFieldProps } from './editor-props.ts'

/** A plain field for SQL, for a browser that could not load the editor. */
export function PlainField({ sql, onChange, onKeyDown }: SqlFieldProps) {
  return (
    <Textarea
      label={words.sql}
      description={words.plainKeys}
      placeholder={words.placeholder}
      value={sql}
      onChange={(event) => onChange(event.currentTarget.value)}
      onKeyDown={onKeyDown}
      classNames={{ input: classes.sql ?? '' }}
      autosize
      minRows={4}
      maxRows={16}
      spellCheck={false}
    />
  )
}

import type { KeyboardEvent } from 'react'

/** What a field for SQL needs, with and without completion. */
export interface SqlFieldProps {
  readonly sql: string
  readonly onChange: (sql: string) => void
  /** Receives keys that the field does not handle, such as Ctrl+Enter. */
  readonly onKeyDown: (event: KeyboardEvent<HTMLElement>) => void
}

import { formatCount, formatPlural } from './everywhere/units.ts'

/** Text of lists of rows. */
export const rowGrid = {
  null: 'NULL',
  arrow: (isDescending: boolean) => (isDescending ? '↓' : '↑'),
  rows: (count: number, isCut: boolean) => (isCut ? `First ${formatPlural(count, 'row')}` : formatPlural(count, 'row')),
  read: (read: string, all: string, ms: string) => `· ${read} of ${all} opened in ${ms}`,
  wouldRead: (files: number, all: string) => `Reads up to ${formatPlural(files, 'file')}, ${all}.`,
  none: 'No rows.',
} as const

/** Text of the rows of a table. */
export const tableRows = {
  label: (table: string) => `Rows of ${table}`,
  filter: "Filter, such as amount > 100 AND status = 'paid'",
  apply: 'Apply',
  version: 'Version',
  current: 'Current',
  ref: (type: string, name: string) => `${type === 'branch' ? 'Branch' : 'Tag'} ${name}`,
  more: (count: number) => `Show up to ${formatCount(count)}`,
  openQuery: 'Open in SQL',
  needsRole: 'Rows require the role Data engineer.',
  compare: 'Compare',
} as const

/** Text of the comparison of two snapshots. */
export const tableChanges = {
  label: (table: string) => `Changed rows of ${table}`,
  from: 'From (without its own changes)',
  to: 'To',
  parent: 'The snapshot before',
  current: 'The current snapshot',
  key: 'Key columns, such as id',
  keyHelp: 'With key columns, deleted and inserted rows with one key are shown as updated.',
  filter: "Filter, such as _change_type = 'delete'",
  apply: 'Apply',
  close: 'Back to the rows',
  export: 'Download CSV',
  none: 'No row changed between these snapshots.',
  noMatch: 'No changed row matches the filter.',
  kind: 'change',
  snapshot: (time: string, operation: string | null, id: string) => `${time} · ${operation ?? 'unknown'} · ${id}`,
  kinds: {
    insert: '+ inserted',
    delete: '− deleted',
    update_before: '− before update',
    update_after: '+ after update',
  },
  counts: (inserted: number, deleted: number, updated: number) =>
    `${formatCount(inserted)} inserted, ${formatCount(deleted)} deleted, ${formatCount(updated)} updated`,
  snapshots: (count: number) => `in ${formatPlural(count, 'snapshot')}`,
} as const

/** Text of the SQL page. */
export const queryStrings = {
  title: 'SQL',
  lead: 'One SELECT over your tables, in DuckDB SQL. It reads the current snapshots and changes nothing.',
  sql: 'Query',
  placeholder: 'SELECT * FROM demo.orders',
  run: 'Run',
  cancel: 'Cancel',
  estimate: 'Estimate',
  keys: 'Ctrl+Enter runs the query. Ctrl+Space completes a name. Tab leaves the editor.',
  plainKeys: 'Ctrl+Enter runs the query.',
  result: 'Result',
  running: 'The query runs',
  history: 'Recent queries',
  export: 'Download CSV',
} as const

import type { z } from 'zod'
import { count, percent, plural } from '../../lib/text.ts'
import type { changesAnswer, queryAnswer } from '../../schemas/tables/rows.ts'
import type { tableStatistics } from '../../schemas/tables/statistics.ts'
import { callCommand, queryOf } from '../api/api-command.ts'
import { endpointOf } from '../endpoint.ts'
import { fieldOptions, givenFields, simpleFields } from '../api/fields.ts'
import type { Call, Command } from '../command.ts'
import { sizeText } from '../text.ts'
import { type Column, JSON_OPTION, showRows } from '../show.ts'

type QueryAnswer = z.infer<typeof queryAnswer>
type ChangesAnswer = z.infer<typeof changesAnswer>
type TableStatistics = z.infer<typeof tableStatistics>
type ColumnStatistics = TableStatistics['columns'][number]

const ROWS = endpointOf('readRows')
const CHANGES = endpointOf('readChanges')
const STATISTICS = endpointOf('getTableStatistics')
const QUERY_FIELDS = simpleFields(endpointOf('runQuery'), ['sql'])

/** Commands that read rows and what the manifests know about them. */
export const queryCommands: Readonly<Record<string, Command>> = {
  query: {
    summary: 'run one SELECT over tables in a sandbox; changes nothing',
    names: ['SQL'],
    options: { ...fieldOptions(QUERY_FIELDS), ...JSON_OPTION },
    examples: ['lockhouse query "SELECT count(*) AS n FROM demo.orders"'],
    endpoints: ['runQuery'],
    async run(call) {
      const body = { sql: call.names[0], ...givenFields(call, QUERY_FIELDS) }
      showAnswer(call, (await call.api.send('POST', '/api/query', { body })).body as QueryAnswer)
    },
  },
  'tables rows': {
    summary: 'show rows of a table, of any snapshot, with deletes applied',
    names: ['TABLE'],
    options: { ...fieldOptions(ROWS.query), ...JSON_OPTION },
    examples: ['lockhouse tables rows demo.orders --where "order_id < 10" --order-by order_id'],
    endpoints: ['readRows'],
    async run(call) {
      const path = `/api/table/${encodeURIComponent(call.names[0] ?? '')}/rows`
      showAnswer(call, await call.api.get<QueryAnswer>(path, queryOf(call, ROWS)))
    },
  },
  'tables changes': {
    summary: 'show rows that snapshots inserted, deleted or updated',
    names: ['TABLE'],
    options: { ...fieldOptions(CHANGES.query), ...JSON_OPTION },
    examples: ['lockhouse tables changes demo.orders --key order_id --counts true'],
    endpoints: ['readChanges'],
    async run(call) {
      const path = `/api/table/${encodeURIComponent(call.names[0] ?? '')}/changes`
      const answer = await call.api.get<ChangesAnswer>(path, queryOf(call, CHANGES))
      showAnswer(call, answer)
      if (answer.counts === undefined || call.isSet('json')) return
      const kinds = Object.entries(answer.counts).map(([kind, rows]) => `${kind} ${rows}`)
      call.terminal.note(`${plural(answer.snapshot_count, 'snapshot')}: ${kinds.join(', ')}`)
    },
  },
  'tables file-bounds': callCommand('getFileBounds', {
    summary: 'show the bounds of a column in each data file, and how much they overlap',
    fields: ['column', 'data_file_count', 'bounded_file_count', 'overlap', 'left_out_count'],
    tables: { bars: ['lower', 'upper', ['ROWS', 'record_count'], ['SIZE', 'size_bytes']] },
    examples: ['lockhouse tables file-bounds demo.trips --column started_at'],
  }),
  'tables statistics': {
    summary: 'show values, NULLs, size and bounds of each column, or what a sample of the rows shows',
    names: ['TABLE'],
    options: { ...fieldOptions(STATISTICS.query), ...JSON_OPTION },
    examples: ['lockhouse tables statistics demo.orders', 'lockhouse tables statistics demo.orders --profile true'],
    endpoints: ['getTableStatistics'],
    async run(call) {
      const path = `/api/table/${encodeURIComponent(call.names[0] ?? '')}/statistics`
      showStatistics(call, await call.api.get<TableStatistics>(path, queryOf(call, STATISTICS)))
    },
  },
}

function showAnswer(call: Call, answer: QueryAnswer): void {
  const { columns, rows, truncated, planned_files: files, planned_bytes: all, read_bytes: read } = answer
  showRows<readonly unknown[]>(call, answer, {
    rows,
    none: 'no rows',
    columns: columns.map(({ name }, at) => ({ header: name, cell: (row) => cellOf(row[at]) })),
  })
  if (call.isSet('json')) return
  const cut = truncated ? '; there are more' : ''
  call.terminal.note(
    `${plural(rows.length, 'row')}${cut}; opened ${sizeText(read)} of ${sizeText(all)} in ${plural(files, 'file')}`,
  )
}

function showStatistics(call: Call, answer: TableStatistics): void {
  const { columns: rows, profile } = answer
  const columns = profile === undefined ? MANIFEST_COLUMNS : SAMPLE_COLUMNS
  showRows(call, answer, { rows, none: 'no columns', columns: [...NAME_COLUMNS, ...columns] })
  if (profile === undefined || call.isSet('json')) return
  const { sampled_rows: measured, total_rows: total, rule } = profile
  call.terminal.note(`a sample: ${plural(measured, 'row')} of ${count(total)} (${rule})`)
}

const NAME_COLUMNS: readonly Column<ColumnStatistics>[] = [
  { header: 'COLUMN', cell: ({ path }) => path },
  { header: 'TYPE', cell: ({ type }) => type },
]

const MANIFEST_COLUMNS: readonly Column<ColumnStatistics>[] = [
  { header: 'VALUES', cell: ({ value_count: values }) => values },
  { header: 'NULLS', cell: ({ null_count: nulls }) => nulls },
  { header: 'SIZE', cell: ({ size_bytes: size }) => (size === null ? null : sizeText(size)) },
  { header: 'LOWER', cell: ({ lower }) => lower },
  { header: 'UPPER', cell: ({ upper }) => upper },
]

const SAMPLE_COLUMNS: readonly Column<ColumnStatistics>[] = [
  { header: 'NULLS', cell: ({ profile }) => (profile?.nulls_ratio == null ? null : percent(profile.nulls_ratio)) },
  {
    header: 'DISTINCT',
    cell: ({ profile }) => (profile == null ? 'not measured' : `~${count(profile.distinct_estimate)}`),
  },
  { header: 'MIN', cell: ({ profile }) => profile?.min ?? null },
  { header: 'MAX', cell: ({ profile }) => profile?.max ?? null },
  { header: 'MOST FREQUENT', cell: ({ profile }) => profile?.top_values[0]?.value ?? null },
]

function cellOf(value: unknown): string | number | null {
  if (value === null || typeof value === 'number') return value
  return typeof value === 'string' ? value : JSON.stringify(value)
}

import type { z } from 'zod'
import { plural } from '../../lib/text.ts'
import type { changesAnswer, queryAnswer } from '../../schemas/tables/rows.ts'
import { callCommand, queryOf } from '../api/api-command.ts'
import { endpointOf } from '../endpoint.ts'
import { fieldOptions, givenFields, simpleFields } from '../api/fields.ts'
import type { Call, Command } from '../command.ts'
import { sizeText } from '../text.ts'
import { JSON_OPTION, showRows } from '../show.ts'

type QueryAnswer = z.infer<typeof queryAnswer>
type ChangesAnswer = z.infer<typeof changesAnswer>

const ROWS = endpointOf('readRows')
const CHANGES = endpointOf('readChanges')
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
  'tables statistics': callCommand('getTableStatistics', {
    summary: 'show values, NULLs, size and bounds of each column, from the manifests',
    tables: {
      columns: [
        ['COLUMN', 'path'],
        'type',
        ['VALUES', 'value_count'],
        ['NULLS', 'null_count'],
        ['SIZE', 'size_bytes'],
        'lower',
        'upper',
      ],
    },
    examples: ['lockhouse tables statistics demo.orders'],
  }),
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

function cellOf(value: unknown): string | number | null {
  if (value === null || typeof value === 'number') return value
  return typeof value === 'string' ? value : JSON.stringify(value)
}

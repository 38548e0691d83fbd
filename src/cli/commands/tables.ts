import type { z } from 'zod'
import type { healthIndex } from '../../schemas/tables/health-index.ts'
import type { tableHealth, tableList } from '../../schemas/tables/tables.ts'
import { CHOICES } from '../choices.ts'
import type { Call, Command } from '../command.ts'
import { sizeText } from '../text.ts'
import { JSON_OPTION, showPairs, showRows } from './show.ts'

type HealthIndex = z.infer<typeof healthIndex>
type TableHealth = z.infer<typeof tableHealth>

export const tables: Command = {
  summary: 'list tables, those that need maintenance first',
  takesCatalog: true,
  names: [],
  options: {
    namespace: { value: 'NAME', help: 'only tables of this namespace' },
    search: { value: 'TEXT', help: 'only tables whose name contains it' },
    band: { value: 'BAND', choices: CHOICES.band, help: 'good, fair, poor or unknown' },
    sort: {
      value: 'FIELD',
      choices: CHOICES.sort,
      help: 'score (default), small_files, delete_ratio, bytes, last_commit or name',
    },
    ...JSON_OPTION,
  },
  examples: ['lockhouse tables --band poor', 'lockhouse tables --sort bytes --json'],
  async run(call) {
    const query = Object.fromEntries(['namespace', 'search', 'band', 'sort'].map((name) => [name, call.text(name)]))
    const answer = await measuredTables(call, query)
    showRows(call, answer, {
      rows: answer.tables,
      none: 'no measured tables',
      columns: [
        { header: 'TABLE', cell: ({ table }) => table },
        { header: 'SCORE', cell: ({ score }) => score },
        { header: 'FILES', cell: (row) => row.data_file_count },
        { header: 'SMALL', cell: (row) => row.small_file_count },
        { header: 'DELETES', cell: (row) => row.delete_file_count },
        { header: 'SNAPSHOTS', cell: (row) => row.snapshot_count },
        { header: 'SIZE', cell: (row) => sizeText(row.total_size_bytes) },
        { header: 'RECOMMENDED', cell: ({ recommended }) => recommended.join(', ') },
      ],
    })
    const waiting = Math.max(answer.pending_count, await unmeasured(call, answer))
    if (waiting > 0) call.terminal.note(`${waiting} tables are new or have changed, and are not measured yet`)
  },
}

type Query = Readonly<Record<string, string | undefined>>

const LOOK_MS = 200
/** How long the number of measured tables may stay the same. */
const STUCK_MS = 60_000

/** The health index; without a service, when all tables are measured. */
async function measuredTables(call: Call, query: Query): Promise<HealthIndex> {
  const look = () => call.api.get<HealthIndex>('/api/health-index', query)
  if (!call.isDirect) return look()
  let left = Number.POSITIVE_INFINITY
  let changedAt = call.terminal.nowMs()
  while (true) {
    const all = await call.api.get<HealthIndex>('/api/health-index')
    const waiting = Math.max(all.pending_count, await unmeasured({ ...call, text: () => undefined }, all))
    const nowMs = call.terminal.nowMs()
    if (waiting === 0 || nowMs - changedAt > STUCK_MS) return look()
    if (waiting < left) changedAt = nowMs
    left = Math.min(left, waiting)
    await new Promise((done) => void setTimeout(done, LOOK_MS))
  }
}

/** Number of tables in the catalog that the index does not know yet; 0 when only some tables were asked for. */
async function unmeasured({ api, text }: Call, { tables: indexed }: HealthIndex): Promise<number> {
  if (['search', 'band'].some((option) => text(option) !== undefined)) return 0
  const all = await api.get<z.infer<typeof tableList>>('/api/tables', { namespace: text('namespace') })
  const known = new Set(indexed.map(({ table }) => table))
  return all.tables.filter(({ table }) => !known.has(table)).length
}

export const health: Command = {
  summary: 'show the health of a table, and what would improve it',
  takesCatalog: true,
  names: ['TABLE'],
  options: JSON_OPTION,
  examples: ['lockhouse health demo.events'],
  async run(call) {
    const answer = await call.api.get<TableHealth>(`/api/table/${encodeURIComponent(call.names[0] ?? '')}/health`)
    showPairs(call, answer, [
      ['table', answer.table],
      ['score', `${answer.score} of 100`],
      ['data files', answer.data_file_count],
      ['small files', answer.small_file_count],
      ['delete files', answer.delete_file_count],
      ['snapshots', answer.snapshot_count],
      ['manifests', answer.manifest_count],
      ['size', sizeText(answer.total_size_bytes)],
      ...answer.actions.map((action) => ['recommended', `${action.operation}: ${action.reason}`] as const),
    ])
  },
}

import type { z } from 'zod'
import type { healthIndex } from '../../../schemas/tables/health-index.ts'
import type { tableHealth, tableList } from '../../../schemas/tables/tables.ts'
import { callCommand, limitOf, listCommand, queryFields, queryOf } from '../../api/api-command.ts'
import { endpointOf } from '../../endpoint.ts'
import { fieldOptions } from '../../api/fields.ts'
import { listAll } from '../../api/pages.ts'
import type { Call, Command } from '../../command.ts'
import { plural } from '../../../lib/text.ts'
import { sizeText } from '../../text.ts'
import { JSON_OPTION, showPairs, showRows } from '../../show.ts'
import { lineageCommand } from './lineage.ts'
import { recoveryPointsCommand } from './recovery-points.ts'

type HealthIndex = z.infer<typeof healthIndex>
type TableHealth = z.infer<typeof tableHealth>

const INDEX = endpointOf('listTableHealth')

const tables: Command = {
  summary: 'list tables, those that need maintenance first',
  takesCatalog: true,
  endpoints: ['listTableHealth', 'listTables'],
  names: [],
  options: {
    ...fieldOptions(queryFields(INDEX)),
    limit: { value: 'NUMBER', help: 'tables at most; default: all' },
    ...JSON_OPTION,
  },
  examples: [
    'lockhouse tables --band poor',
    'lockhouse tables --sort bytes --json',
    'lockhouse tables --in-catalog lake',
  ],
  async run(call) {
    const answer = await measuredTables(call, queryOf(call, INDEX))
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
    if (waiting > 0) call.terminal.note(`not measured yet, because new or changed: ${plural(waiting, 'table')}`)
  },
}

type Query = Readonly<Record<string, string | undefined>>

const LOOK_MS = 200
/** How long the number of measured tables may stay the same. */
const STUCK_MS = 60_000

/** The health index; without a service, when all tables are measured. */
async function measuredTables(call: Call, query: Query): Promise<HealthIndex> {
  const look = async (): Promise<HealthIndex> => {
    const { answer } = await listAll(call, 'listTableHealth', { query, limit: limitOf(call) })
    return answer as HealthIndex
  }
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
  if (['search', 'band', 'limit'].some((option) => text(option) !== undefined)) return 0
  const all = await api.get<z.infer<typeof tableList>>('/api/tables', {
    namespace: text('namespace'),
    catalog: text('in-catalog'),
  })
  const known = new Set(indexed.map(({ table }) => table))
  return all.tables.filter(({ table }) => !known.has(table)).length
}

const health: Command = {
  summary: 'show the health of a table, and what would improve it',
  takesCatalog: true,
  endpoints: ['getTableHealth'],
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

/** Commands that read tables, and the one that registers a table. */
export const tableCommands: Readonly<Record<string, Command>> = {
  tables,
  'tables show': callCommand('getTable', {
    summary: 'show location, current snapshot, partitioning, sort order and properties of a table',
    takesCatalog: true,
    tables: { refs: ['name', 'type', 'snapshot_id'] },
    examples: ['lockhouse tables show demo.events'],
  }),
  'tables register': callCommand('registerTable', {
    words: ['table', 'metadata_location'],
    fields: ['table', 'location', 'current_snapshot_id', 'metadata_location'],
    examples: ['lockhouse tables register sales.orders file:///srv/lake/orders/metadata/00007-….metadata.json'],
  }),
  'tables schema': callCommand('getTableSchema', {
    summary: 'show the columns of a table, nested fields as dotted paths',
    takesCatalog: true,
    fields: [],
    tables: { columns: ['path', 'type', ['NULLABLE', 'nullable'], 'id', 'comment'] },
    examples: ['lockhouse tables schema demo.events'],
  }),
  'tables snapshots': listCommand('listSnapshots', {
    summary: 'list the snapshots of a table, newest first',
    takesCatalog: true,
    columns: [['SNAPSHOT', 'snapshot_id'], ['COMMITTED', 'committed_at'], 'operation', ['PARENT', 'parent_id'], 'refs'],
    none: 'the table has no snapshots',
    examples: ['lockhouse tables snapshots demo.events --limit 20'],
  }),
  'tables history': listCommand('listHistory', {
    summary: 'list which snapshot of a table was current and when, newest first',
    takesCatalog: true,
    columns: [
      ['TIME', 'made_current_at'],
      ['SNAPSHOT', 'snapshot_id'],
      ['PARENT', 'parent_id'],
      ['ANCESTOR', 'is_current_ancestor'],
    ],
    none: 'the table has no history',
    examples: ['lockhouse tables history demo.events'],
  }),
  'tables recovery-points': recoveryPointsCommand,
  'tables refs': listCommand('listRefs', {
    summary: 'list the branches and tags of a table',
    takesCatalog: true,
    columns: [
      'name',
      'type',
      ['SNAPSHOT', 'snapshot_id'],
      ['KEEPS', 'min_snapshots_to_keep'],
      ['SNAPSHOT AGE', 'max_snapshot_age_ms'],
      ['AGE', 'max_ref_age_ms'],
    ],
    none: 'the table has no branches and tags',
    examples: ['lockhouse tables refs demo.events'],
  }),
  'tables files': listCommand('listFiles', {
    summary: 'list the live data and delete files of a table',
    takesCatalog: true,
    columns: [
      'content',
      ['ROWS', 'record_count'],
      ['SIZE', 'file_size_in_bytes'],
      'partition',
      ['SEQUENCE', 'sequence_number'],
      ['FILE', 'file_path'],
    ],
    none: 'the table has no files',
    examples: ['lockhouse tables files demo.events --limit 20'],
  }),
  'tables partitions': listCommand('listPartitions', {
    summary: 'list the partitions of a table with their files',
    takesCatalog: true,
    columns: [
      'partition',
      ['FILES', 'data_file_count'],
      ['ROWS', 'record_count'],
      ['SIZE', 'total_size_bytes'],
      ['SMALL', 'small_file_count'],
      ['DELETES', 'delete_file_count'],
    ],
    none: 'the table has no files',
    examples: ['lockhouse tables partitions demo.trips'],
  }),
  'tables trends': listCommand('listHealthHistory', {
    summary: 'list samples of the health of a table: after commits, or one a day',
    columns: [
      ['TIME', 'at'],
      'score',
      ['FILES', 'data_file_count'],
      ['SMALL', 'small_file_count'],
      ['DELETES', 'delete_file_count'],
      ['SNAPSHOTS', 'snapshot_count'],
      ['SIZE', 'total_size_bytes'],
    ],
    none: 'no samples yet',
    examples: ['lockhouse tables trends demo.events --kind day'],
  }),
  'tables policy': callCommand('getTablePolicy', {
    summary: 'show which policy governs each operation of a table',
    tables: {
      operations: [
        'operation',
        ['POLICY', 'policy.name'],
        ['MODE', 'policy.mode'],
        ['SUSPENDED', 'is_suspended'],
        ['LAST', 'last_decision.outcome'],
        ['DETAIL', 'last_decision.detail'],
      ],
    },
    examples: ['lockhouse tables policy demo.events'],
  }),
  'tables lineage': lineageCommand,
  'tables reports': listCommand('listTableReports', {
    summary: 'list scans and commits that clients of the Iceberg REST catalog reported, newest first',
    columns: [['TIME', 'reported_at'], 'kind', ['BY', 'reported_by'], ['REPORT', 'report_json']],
    none: 'no reports',
    limit: 100,
    examples: ['lockhouse tables reports demo.events'],
  }),
  'tables readers': listCommand('listTableReaders', {
    summary: 'list who reads a table through the Iceberg REST catalog, with the columns',
    columns: [
      ['USER', 'user'],
      ['SCANS', 'scan_count'],
      ['LAST', 'last_read_at'],
      ['COLUMNS', 'columns[].column'],
      ['FILTERS', 'filter_columns[].column'],
    ],
    none: 'no client reported a scan',
    examples: ['lockhouse tables readers demo.events'],
  }),
  health,
}

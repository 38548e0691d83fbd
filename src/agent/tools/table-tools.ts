import { z } from 'zod'
import { withoutPaths } from '../../domain/without-paths.ts'
import { mapBounded } from '../../iceberg/bounded-map.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { tableName } from '../../schemas/common.ts'
import type { AgentServices } from '../agent-services.ts'
import { pageToken } from './paging.ts'
import { type AgentTool, readTool, type ToolRun } from './tool.ts'

const PAGE = 100
const SNAPSHOT_PAGE = 30
/** So many tables are looked at for a ranking, so long, and so many at once. */
const MAX_RANKED = 200
const RANKING_MS = 20_000
const RANKING_CONCURRENCY = 4

/** What of a snapshot's summary is shown: counts, and nothing that a writer could put words into. */
const COUNTS =
  /^(added|deleted|removed|total)-(records|data-files|delete-files|files-size|position-deletes|equality-deletes)$/

const namespace = z.string().min(1).max(1000).optional().describe('Only tables of this namespace, such as sales')

/** Tools that look at tables. */
export const tableTools: readonly AgentTool[] = [
  readTool({
    name: 'list_tables',
    title: 'List tables',
    description: 'Names of the tables in the catalog, or of one namespace.',
    minRole: 'Auditor',
    input: z.strictObject({ namespace, page_token: pageToken }),
    async run({ namespace: within, page_token }, { services }) {
      const { tables, next_page_token } = await services.tables.list(within, { page_size: PAGE, page_token })
      return { tables: tables.map(({ table }) => table), next_page_token }
    },
  }),
  readTool({
    name: 'get_schema',
    title: 'Get a schema',
    description: 'Columns of a table: name, type, whether null is allowed, comment. Nested fields are dotted paths.',
    minRole: 'Auditor',
    input: z.strictObject({ table: tableName }),
    run: ({ table }, { services }) => services.tables.schema(table),
  }),
  readTool({
    name: 'table_health',
    title: 'Health of a table',
    description:
      'Rows, files, sizes, snapshots and delete files of one table, its score from 0 (needs care now) to 100 ' +
      '(nothing to do), the factors that cost points, and the actions that would help with what they would bring.',
    minRole: 'Auditor',
    input: z.strictObject({ table: tableName }),
    run: ({ table }, { services }) => services.tables.health(table),
  }),
  readTool({
    name: 'tables_needing_care',
    title: 'Tables that need care',
    description:
      'Looks at the health of all tables (or of one namespace) and ranks them, lowest score first, with the reason ' +
      'and the actions that would help. Use it for questions about the whole lakehouse.',
    minRole: 'Auditor',
    input: z.strictObject({
      namespace,
      limit: z.int().min(1).max(50).default(10).describe('How many tables to show'),
    }),
    run: ({ namespace: within, limit }, run) => rankTables(within, limit, run),
  }),
  readTool({
    name: 'list_snapshots',
    title: 'List snapshots',
    description: 'Snapshots of a table, newest first: when, which operation, how many rows and files it changed.',
    minRole: 'Auditor',
    input: z.strictObject({ table: tableName, page_token: pageToken }),
    async run({ table, page_token }, { services }) {
      const page = await services.tables.snapshots(table, { page_size: SNAPSHOT_PAGE, page_token })
      const snapshots = page.snapshots.map(({ summary, ...snapshot }) => ({
        ...snapshot,
        summary: Object.fromEntries(
          Object.entries(summary).filter(([name, value]) => COUNTS.test(name) && /^\d+$/.test(value)),
        ),
      }))
      return { table, snapshots, next_page_token: page.next_page_token }
    },
  }),
]

interface RankedTable {
  readonly table: string
  /** Undefined: it could not be looked at. */
  readonly score: number | undefined
}

async function rankTables(namespace: string | undefined, limit: number, { services, signal }: ToolRun) {
  const { tables, next_page_token } = await services.tables.list(namespace, { page_size: MAX_RANKED })
  const endsAt = performance.now() + RANKING_MS
  const looked = await mapBounded(tables, RANKING_CONCURRENCY, async ({ table }) => {
    signal.throwIfAborted()
    return performance.now() > endsAt ? undefined : describeHealth(services, table)
  })
  const ranked = looked.filter((found) => found !== undefined).toSorted(byScore)
  const isPartial = next_page_token !== null || ranked.length < tables.length
  return {
    tables_checked: ranked.length,
    tables_needing_care: ranked.filter(({ score }) => score === undefined || score < 100).length,
    // Ranking stops at a number of tables and after a time, which must not look as if the others were well.
    ...(isPartial ? { truncated: true, note: 'not all tables were checked: ask for one namespace' } : {}),
    tables: ranked.slice(0, limit),
  }
}

function byScore(a: RankedTable, b: RankedTable): number {
  return (a.score ?? -1) - (b.score ?? -1)
}

async function describeHealth(services: AgentServices, table: string) {
  try {
    const health = await services.tables.health(table)
    return {
      table,
      score: health.score,
      recommendation: health.recommendation,
      record_count: health.record_count,
      total_size_bytes: health.total_size_bytes,
      data_file_count: health.data_file_count,
      snapshot_count: health.snapshot_count,
      factors: health.factors.filter(({ penalty }) => penalty > 0).map(({ name, detail }) => ({ name, detail })),
      actions: health.actions.map(({ operation, reason }) => ({ operation, reason })),
    }
  } catch (error) {
    if (!isIcebergError(error)) throw error
    return { table, score: undefined, problem: withoutPaths(error.message) }
  }
}

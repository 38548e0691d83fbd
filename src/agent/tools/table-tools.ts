import { z } from 'zod'
import { withoutPaths } from '../../domain/without-paths.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { nearestNames } from '../../lib/edit-distance.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { tableName } from '../../schemas/common.ts'
import type { ToolServices } from './tool-services.ts'
import { pageToken } from './paging.ts'
import { type AgentTool, readTool, type ToolRun } from './tool.ts'

const PAGE = 100
const SNAPSHOT_PAGE = 30
/** Tables that a search reads at once. */
const SEARCH_PAGE = 1000
/** Limits of a ranking: number of tables, time, concurrency. */
const MAX_RANKED = 200
const RANKING_MS = 20_000
const RANKING_CONCURRENCY = 4

/** Snapshot summary fields that are shown: only counts, because writers can put any text into the others. */
const COUNTS =
  /^(added|deleted|removed|total)-(records|data-files|delete-files|files-size|position-deletes|equality-deletes)$/

const namespace = z.string().min(1).max(1000).optional().describe('Only tables of this namespace, such as sales')

/** Tools that read tables. */
export const tableTools: readonly AgentTool[] = [
  readTool({
    name: 'list_tables',
    reach: 'filtered',
    title: 'List tables',
    description:
      'Lists the names of the tables in all catalogs, or in one namespace. A name without a catalog is one of the default catalog.',
    examples: [
      'Which tables are there?',
      'List all tables',
      'Which tables can I find in this lakehouse?',
      'Show the tables of the catalog',
      'How many tables do we have?',
      'tables',
    ],
    minRole: 'Auditor',
    input: z.strictObject({
      namespace,
      matching: z
        .string()
        .max(500)
        .optional()
        .describe('Only tables whose name resembles a word of this text, nearest first; all in one page'),
      page_token: pageToken,
    }),
    async run({ namespace: within, matching, page_token }, run) {
      if (matching !== undefined) return { tables: await tablesMatching(matching, within, run), next_page_token: null }
      const page = { page_size: PAGE, page_token }
      const { tables, next_page_token } = await run.services.tables.list({ namespace: within }, page, run.caller)
      return { tables: tables.map(({ table }) => table), next_page_token }
    },
  }),
  readTool({
    name: 'get_schema',
    reach: 'objects',
    title: 'Get a schema',
    description:
      'Returns the columns of a table: name, type, whether null is allowed, comment. Nested fields are dotted paths.',
    examples: [
      'What does {table} hold?',
      'Which columns does {table} have?',
      'Schema of {table}',
      'Describe table {table}',
      'What is in {table}?',
      'Tell me about {table}',
      'Explain the structure of {table}',
      'What does {table} look like?',
      'Which data types do the columns of {table} have?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({ table: tableName }),
    run: ({ table }, { services }) => services.tables.schema(table),
  }),
  readTool({
    name: 'table_health',
    reach: 'objects',
    title: 'Health of a table',
    description:
      'Rows, files, sizes, snapshots and delete files of one table, its score from 0 (needs care now) to 100 ' +
      '(nothing to do), the factors that lower the score, and the recommended actions with their expected effect.',
    examples: [
      'How healthy is {table}?',
      'Health of {table}',
      'What is the score of {table}?',
      'Why does {table} have a low score?',
      'How big is {table}?',
      'How many files does {table} have?',
      'What is the state of {table}?',
      'How is {table} partitioned?',
      'Does {table} have problems?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({ table: tableName }),
    run: ({ table }, { services }) => services.tables.health(table),
  }),
  readTool({
    name: 'tables_needing_care',
    reach: 'filtered',
    title: 'Tables that need care',
    description:
      'Checks the health of all tables (or of one namespace) and ranks them, lowest score first, with the reason ' +
      'and the recommended actions. Use it for questions about the whole lakehouse.',
    examples: [
      'Which tables need care, and why?',
      'What needs attention?',
      'Which tables have too many small files?',
      'How healthy is my lakehouse?',
      'What should I compact?',
      'Show me the unhealthy tables',
      'Is everything ok?',
      'Are there any problems?',
      'Give me an overview',
      'What is the state of all tables?',
      'What can I clean up?',
      'Where should I start to clean up?',
      'How large are all tables together?',
      'Which table is the largest?',
      'How much storage do all tables need in total?',
      'Which tables are in bad shape?',
      'Which tables have the lowest score?',
      'Which tables need maintenance?',
      'Which tables have many delete files?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({
      namespace,
      limit: z.int().min(1).max(50).default(10).describe('How many tables to show'),
    }),
    run: ({ namespace: within, limit }, run) => rankTables(within, limit, run),
  }),
  readTool({
    name: 'list_snapshots',
    reach: 'objects',
    title: 'List snapshots',
    description: 'Lists the snapshots of a table, newest first: time, operation, number of rows and files changed.',
    examples: [
      'Show the snapshots of {table}',
      'Which snapshots does {table} have?',
      'History of {table}',
      'When was {table} last written?',
      'What are the latest commits of {table}?',
      'When did {table} change last?',
    ],
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

/** Names of tables that resemble a word of a text, nearest first. */
async function tablesMatching(text: string, within: string | undefined, { caller, services: { tables } }: ToolRun) {
  const names: string[] = []
  let token: string | undefined
  do {
    const page = await tables.list({ namespace: within }, { page_size: SEARCH_PAGE, page_token: token }, caller)
    names.push(...page.tables.map(({ table }) => table))
    token = page.next_page_token ?? undefined
  } while (token !== undefined)
  return nearestNames(text, names).slice(0, PAGE)
}

interface RankedTable {
  readonly table: string
  /** Undefined when the table cannot be read. */
  readonly score: number | undefined
}

async function rankTables(namespace: string | undefined, limit: number, { caller, services, signal }: ToolRun) {
  const { tables, next_page_token } = await services.tables.list({ namespace }, { page_size: MAX_RANKED }, caller)
  const endsAt = performance.now() + RANKING_MS
  const checked = await mapBounded(tables, RANKING_CONCURRENCY, async ({ table }) => {
    signal.throwIfAborted()
    return performance.now() > endsAt ? undefined : describeHealth(services, table)
  })
  const ranked = checked.filter((found) => found !== undefined).toSorted(byScore)
  const isPartial = next_page_token !== null || ranked.length < tables.length
  return {
    tables_checked: ranked.length,
    tables_needing_care: ranked.filter(({ score }) => score === undefined || score < 100).length,
    // A partial ranking must not look as if the unchecked tables were healthy.
    ...(isPartial ? { truncated: true, note: 'not all tables were checked: name one namespace' } : {}),
    tables: ranked.slice(0, limit),
  }
}

function byScore(a: RankedTable, b: RankedTable): number {
  return (a.score ?? -1) - (b.score ?? -1)
}

async function describeHealth(services: ToolServices, table: string) {
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

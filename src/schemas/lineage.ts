import { z } from 'zod'
import { ENVIRONMENTS } from '../domain/environments.ts'
import { CERTAINTIES } from '../domain/tables/table-use.ts'
import { HEALTH_BANDS } from '../domain/tables/health-band.ts'
import { count, queryFlag, tableName, timestamp } from './common.ts'
import { runEnvironment } from './environments.ts'
import { PIPELINE_STATES, sourceLag } from './pipelines.ts'

/** Which way the lineage of a table is followed. */
export const LINEAGE_DIRECTIONS = ['upstream', 'downstream', 'both'] as const

/** Largest `depth` and `limit` of a request, and their defaults. */
export const MAX_LINEAGE_DEPTH = 20
export const DEFAULT_LINEAGE_DEPTH = 3
export const MAX_LINEAGE_NODES = 2000
export const DEFAULT_LINEAGE_NODES = 500

const whole = (max: number) => z.coerce.number().int().min(1).max(max)

/** Query of GET /api/lineage. */
export const lineageQuery = z.strictObject({
  table: tableName.optional().meta({ description: 'Where to start; default: every pipeline and version' }),
  direction: z.enum(LINEAGE_DIRECTIONS).default('both').meta({ description: 'Which way to follow from `table`' }),
  depth: whole(MAX_LINEAGE_DEPTH)
    .default(DEFAULT_LINEAGE_DEPTH)
    .meta({
      description: `How many pipelines to follow from \`table\`, one after the other; default: ${DEFAULT_LINEAGE_DEPTH}`,
    }),
  limit: whole(MAX_LINEAGE_NODES)
    .default(DEFAULT_LINEAGE_NODES)
    .meta({ description: `Most tables, pipelines and versions together; default: ${DEFAULT_LINEAGE_NODES}` }),
  columns: queryFlag
    .optional()
    .meta({ description: 'Whether to find columns; default: true with `table`, else false' }),
})

const tableNode = z.object({
  id: z.string(),
  kind: z.literal('table'),
  table: z.string(),
  exists: z.boolean().nullable().meta({ description: 'Whether the catalog has the table; null: unknown' }),
  band: z.enum(HEALTH_BANDS),
  score: z.int().min(0).max(100).nullable().meta({ description: 'From the health index; null: not measured' }),
  hidden_flows: count.meta({ description: 'Pipelines and versions of the table that are not in the answer' }),
})

/** All tables of a pipeline or version, also those that are not in the answer. */
const ends = { source_tables: z.array(z.string()), sink_tables: z.array(z.string()) }

const pipelineNode = z.object({
  id: z.string(),
  kind: z.literal('pipeline'),
  pipeline_id: z.string(),
  state: z.enum(PIPELINE_STATES),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  environment: runEnvironment.nullable(),
  definition_id: z.string().nullable(),
  version_id: z.string().nullable(),
  ...ends,
})

const versionNode = z.object({
  id: z.string(),
  kind: z.literal('version'),
  definition_id: z.string(),
  definition_name: z.string(),
  version_id: z.string(),
  version: z.int().min(1),
  environment: z.enum(ENVIRONMENTS),
  ...ends,
})

const environmentNode = z.object({ id: z.string(), kind: z.literal('environment'), environment: runEnvironment })

const lineageNode = z
  .discriminatedUnion('kind', [tableNode, pipelineNode, versionNode, environmentNode])
  .meta({ id: 'LineageNode' })

export const LINEAGE_EDGES = ['reads', 'writes', 'runs', 'belongs_to'] as const

const columnSource = z.object({
  column: z.string(),
  sources: z
    .array(z.object({ table: z.string(), column: z.string() }))
    .nullable()
    .meta({ description: 'The columns from which the values may be computed; null: unknown' }),
})

const lineageEdge = z
  .object({
    id: z.string(),
    kind: z.enum(LINEAGE_EDGES).meta({
      description:
        'reads: table to pipeline or version. writes: pipeline or version to table. runs: version to pipeline. belongs_to: version to environment',
    }),
    from: z.string(),
    to: z.string(),
    state: z
      .enum(PIPELINE_STATES)
      .nullable()
      .meta({ description: 'State of the pipeline; null: no pipeline runs the version, or the edge has no pipeline' }),
    columns: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The columns of the table that may be read, or that are written; null: unknown' }),
    column_sources: z
      .array(columnSource)
      .nullable()
      .meta({ description: 'Of `writes`: where each column comes from; null: unknown' }),
    lag: sourceLag
      .extend({ measured_at: timestamp })
      .nullable()
      .meta({ description: 'Of `reads` by a live pipeline: how far it is behind; null: not measured' }),
  })
  .meta({ id: 'LineageEdge' })

/** Answer of GET /api/lineage. */
export const lineage = z
  .object({
    success: z.literal(true),
    table: z.string().nullable(),
    nodes: z.array(lineageNode).meta({ description: 'Nearest to the table first' }),
    edges: z.array(lineageEdge),
    truncated: z.boolean().meta({ description: 'Whether there are more tables, pipelines or versions than `limit`' }),
    columns_truncated: z.boolean().meta({ description: 'Whether columns were found only for the nearest pipelines' }),
    similar_tables: z
      .array(z.string())
      .meta({ description: 'Tables of pipelines whose names differ from `table` only in case' }),
  })
  .meta({ id: 'Lineage' })

const certainty = z.enum(CERTAINTIES).nullable()

/** `impact` in the details of a preview: who reads or writes the table or column that would change. */
export const changeImpact = z.object({
  column: z
    .string()
    .nullable()
    .meta({ description: 'The column that would change; null: the change is not about one' }),
  used_by: z.array(
    z.object({
      pipeline_id: z.string().nullable().meta({ description: 'Null: a version that no pipeline runs' }),
      state: z.enum(PIPELINE_STATES).nullable(),
      definition: z.string().nullable().meta({ description: 'Null: a copy without a definition' }),
      version: z.int().min(1).nullable(),
      environment: z.enum(ENVIRONMENTS).nullable(),
      reads: certainty.meta({ description: 'Null: it does not read the table' }),
      writes: certainty.meta({ description: 'Null: it does not write the table' }),
    }),
  ),
  truncated: z.boolean().meta({ description: 'Whether more pipelines or versions use the table' }),
  similar_tables: z
    .array(z.string())
    .meta({ description: 'Tables of pipelines whose names differ from the table only in case' }),
})

export type LineageQuery = z.output<typeof lineageQuery>

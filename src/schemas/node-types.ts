import { z } from 'zod'
import { READ_MODES, WRITE_MODES } from '../domain/pipelines/modes.ts'
import { tableName } from './common.ts'

const MAX_SQL = 20_000
const sqlText = (what: string) => z.string().max(MAX_SQL).regex(/\S/, 'must not be blank').meta({ description: what })
const columnName = z.string().min(1).max(300)
/** The name of an input in a query. */
const relationName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'must be a letter or _, then letters, digits or _')
  .refine((name) => !name.toLowerCase().startsWith('lockhouse_'), 'names that start with lockhouse_ are reserved')

/** Names of columns that identify a row; up to 20. */
export const keyColumns = z.array(columnName).min(1).max(20)

/** What each way to read means. */
export const READ_HELP =
  'appends: the rows that snapshots append; changes: how rows change, with the columns _change_type, _change_ordinal and _commit_snapshot_id'

export const readMode = z.enum(READ_MODES).meta({ description: READ_HELP })

export const writeMode = z.enum(WRITE_MODES).meta({
  description:
    'append: adds rows; upsert: a row replaces the one with the same key; mirror: the same, and deleted rows leave the sink',
})

/** What happens to the rows that fail an expectation. */
const ON_FAILURE = ['fail', 'drop', 'divert'] as const

const expectation = z
  .strictObject({
    name: z.string().max(200).regex(/\S/, 'must not be blank'),
    condition: sqlText('SQL condition over the columns of one row; a row fails if it is false or NULL').meta({
      example: 'amount >= 0',
    }),
    on_failure: z.enum(ON_FAILURE).meta({
      description:
        'fail: the batch commits nothing and the pipeline stops; drop: the row is left out; divert: the row goes to divert_to',
    }),
    max_ratio: z.number().min(0).max(1).optional().meta({
      description:
        'If a larger share of the rows of a batch fails, the expectation counts as on_failure "fail"; only for drop and divert',
    }),
  })
  .refine(({ on_failure: action, max_ratio: ratio }) => action !== 'fail' || ratio === undefined, {
    path: ['max_ratio'],
    message: 'is for on_failure "drop" and "divert": "fail" allows no row to fail',
  })

const checkConfig = z
  .strictObject({
    expectations: z.array(expectation).min(1).max(100),
    divert_to: tableName.optional().meta({
      description:
        'Table that gets diverted rows, with their reason, batch, pipeline and time; required for on_failure "divert"',
    }),
  })
  .refine(({ expectations }) => new Set(expectations.map(({ name }) => name)).size === expectations.length, {
    path: ['expectations'],
    message: 'must have different names',
  })
  .refine(({ expectations, divert_to: table }) => divertsRows(expectations) === (table !== undefined), {
    path: ['divert_to'],
    message: 'is required if an expectation has on_failure "divert", and only then',
  })

/** Whether one of the expectations diverts rows. */
function divertsRows(expectations: readonly { readonly on_failure: (typeof ON_FAILURE)[number] }[]): boolean {
  return expectations.some(({ on_failure: action }) => action === 'divert')
}

const lookupConfig = z.strictObject({
  table: tableName,
  on: z
    .array(z.strictObject({ column: columnName, lookup_column: columnName }))
    .min(1)
    .max(20)
    .meta({ description: 'The columns that must be equal: of the row, and of the table. NULL matches nothing' }),
  columns: z
    .array(z.strictObject({ column: columnName, name: columnName.optional() }))
    .min(1)
    .max(1000)
    .meta({ description: 'Columns of the table to add to each row; the name defaults to that of the column' }),
  kind: z
    .enum(['left', 'inner'])
    .default('left')
    .meta({ description: 'left: a row without a match is kept, with NULLs; inner: it is left out' }),
  on_duplicate: z
    .enum(['fail', 'any'])
    .default('fail')
    .meta({ description: 'What to do if the table has a key twice: fail, or take any one of its rows' }),
})

const deduplicateConfig = z
  .strictObject({
    key: z.array(columnName).min(1).max(100).meta({ description: 'Columns that identify a row; NULL equals NULL' }),
    keep: z
      .enum(['first', 'last'])
      .default('first')
      .meta({ description: 'Which row of a key is kept, in the order of order_by' }),
    order_by: z.array(columnName).min(1).max(100).optional().meta({
      description:
        'Columns that order the rows of a key, NULL after all values. Without it, any one row of a key is kept',
    }),
    against_sink: z.boolean().optional().meta({
      description:
        'Whether rows whose key is in the sink when the batch starts are left out, too; the sink has the key columns under the same names',
    }),
  })
  .refine(({ keep, order_by: order }) => keep === 'first' || order !== undefined, {
    path: ['order_by'],
    message: 'is required for keep "last"',
  })

/** Config of each type of node that can run. */
export const nodeConfigs = {
  'iceberg-source': z.strictObject({
    table: tableName,
    read: readMode.default('appends'),
    key: keyColumns.optional().meta({
      description: 'With changes: an inserted and a deleted row with the same key are an update',
    }),
  }),
  filter: z.strictObject({
    condition: sqlText('SQL condition over the columns of one row; rows for which it is true are kept').meta({
      example: "amount > 0 AND status <> 'void'",
    }),
  }),
  select: z.strictObject({
    columns: z
      .array(
        z.strictObject({
          name: columnName,
          expression: sqlText('SQL over the columns of one row; default: the column of that name').optional(),
        }),
      )
      .min(1)
      .max(1000)
      .meta({ description: 'All columns of the result, in this order' }),
  }),
  sql: z.strictObject({
    query: sqlText('One SELECT over the inputs; it sees the rows of one batch at a time'),
    inputs: z.record(relationName, z.string().min(1).max(200)).optional().meta({
      description:
        'Name in the query → id of the input node. Default: `input` for a single input, else ids that are valid names',
    }),
  }),
  union: z.strictObject({
    missing_columns: z
      .enum(['fail', 'null'])
      .default('fail')
      .meta({ description: 'What to do about columns that only some inputs have; columns are matched by name' }),
  }),
  check: checkConfig,
  lookup: lookupConfig,
  deduplicate: deduplicateConfig,
  'iceberg-sink': z.strictObject({
    table: tableName,
    write: writeMode.default('append'),
    key: keyColumns.optional().meta({ description: 'The columns that identify a row; for upsert and mirror' }),
  }),
}

export type NodeType = keyof typeof nodeConfigs

/** A node's config by its type, checked. */
export type NodeSpec = {
  [Type in NodeType]: { readonly type: Type; readonly config: z.infer<(typeof nodeConfigs)[Type]> }
}[NodeType]

interface NodeTypeInfo {
  readonly title: string
  readonly description: string
  /** Number of input nodes; `max` null: any number. */
  readonly inputs: { readonly min: number; readonly max: number | null }
  /** Whether it has an output. */
  readonly hasOutput: boolean
}

/** Description of a node type. */
export const NODE_TYPE_INFO: Readonly<Record<NodeType, NodeTypeInfo>> = {
  'iceberg-source': {
    title: 'Table',
    description: 'The rows that are appended to an Iceberg table, or how its rows change',
    inputs: { min: 0, max: 0 },
    hasOutput: true,
  },
  filter: {
    title: 'Filter',
    description: 'Keeps the rows for which a condition is true',
    inputs: { min: 1, max: 1 },
    hasOutput: true,
  },
  select: {
    title: 'Select',
    description: 'Picks, renames and computes columns, row by row',
    inputs: { min: 1, max: 1 },
    hasOutput: true,
  },
  sql: {
    title: 'SQL',
    description: 'One SELECT over the rows of its inputs, batch by batch',
    inputs: { min: 1, max: null },
    hasOutput: true,
  },
  union: {
    title: 'Union',
    description: 'All rows of its inputs, columns matched by name',
    inputs: { min: 2, max: null },
    hasOutput: true,
  },
  check: {
    title: 'Check',
    description:
      'Tests each row against expectations; rows that fail stop the pipeline, are dropped, or go to another table',
    inputs: { min: 1, max: 1 },
    hasOutput: true,
  },
  lookup: {
    title: 'Lookup',
    description: 'Adds columns of a table, as it is when the batch starts, by key',
    inputs: { min: 1, max: 1 },
    hasOutput: true,
  },
  deduplicate: {
    title: 'Deduplicate',
    description: 'Keeps one row of each key in a batch, and none whose key the sink has if asked',
    inputs: { min: 1, max: 1 },
    hasOutput: true,
  },
  'iceberg-sink': {
    title: 'Table',
    description: 'Adds the rows to an Iceberg table, or merges them by key; columns matched by name',
    inputs: { min: 1, max: 1 },
    hasOutput: false,
  },
}

export const NODE_TYPES = Object.keys(nodeConfigs) as readonly NodeType[]

/** Whether nodes of a type can run. */
export function isNodeType(type: string): type is NodeType {
  return Object.hasOwn(nodeConfigs, type)
}

export const nodeTypeList = z
  .object({
    success: z.literal(true),
    node_types: z.array(
      z.object({
        type: z.enum(NODE_TYPES as [NodeType, ...NodeType[]]),
        title: z.string(),
        description: z.string(),
        inputs: z.object({
          min: z.int().min(0),
          max: z.int().min(0).nullable().meta({ description: 'Null: any number' }),
        }),
        has_output: z.boolean(),
        config_schema: z.record(z.string(), z.unknown()).meta({ description: 'JSON Schema of the config' }),
      }),
    ),
  })
  .meta({ id: 'NodeTypeList' })

export const PROBLEM_CODES = [
  'NO_SINK',
  'SEVERAL_SINKS',
  'NO_SOURCE',
  'UNKNOWN_NODE_TYPE',
  'INVALID_CONFIG',
  'WRONG_INPUTS',
  'UNUSED_NODE',
  'NO_SUCH_TABLE',
  'UNSUPPORTED_TABLE',
  'INVALID_SQL',
  'DUPLICATE_COLUMN',
  'COLUMN_MISMATCH',
  'TYPE_MISMATCH',
  'INVALID_KEY',
  'UNKNOWN_PARAMETER',
  'INVALID_PARAMETER',
  'MISSING_SECRET',
  'SINK_NOT_ALLOWED',
] as const

const sinkColumn = z.object({
  name: z.string(),
  type: z.string().nullable().meta({ description: 'The Iceberg type; null: no table can have it' }),
})

const validationFields = {
  success: z.literal(true),
  runnable: z.boolean().meta({ description: 'Whether there are no errors, only warnings' }),
  problems: z.array(
    z.object({
      node_id: z.string().nullable().meta({ description: 'Null: the whole graph' }),
      code: z.enum(PROBLEM_CODES),
      message: z.string(),
      severity: z.enum(['error', 'warning']),
      parameter: z.string().optional().meta({ description: 'The parameter that is wrong' }),
    }),
  ),
  source_tables: z.array(z.string()),
  sink_table: z.string().nullable(),
  lookup_tables: z.array(z.string()).meta({ description: 'Tables of lookup nodes' }),
  divert_tables: z.array(z.string()).meta({ description: 'Tables that get the rows that check nodes divert' }),
  missing_tables: z
    .array(z.object({ table: z.string(), node_ids: z.array(z.string()), columns: z.array(sinkColumn).nullable() }))
    .meta({
      description:
        'Tables that the version writes and that do not exist, with the columns that they need; null if problems prevent determining them',
    }),
  sink_exists: z
    .boolean()
    .nullable()
    .meta({ description: 'False: create the table before the version runs; null while no sink is known' }),
  sink_columns: z
    .array(sinkColumn)
    .nullable()
    .meta({ description: 'The columns that reach the sink; null if problems prevent determining them' }),
  spark_problems: z.array(z.string()).nullable().meta({
    description:
      'Why Spark cannot run it with the same rows, with the nodes and what to do; empty: Spark can; null without a Spark server, or if problems prevent determining this',
  }),
}

export const graphValidation = z.object(validationFields).meta({ id: 'GraphValidation' })

export const versionValidation = z
  .object({ definition_id: z.string(), version_id: z.string(), ...validationFields })
  .meta({ id: 'VersionValidation' })

const createdTable = z.object({ table: z.string(), columns: z.array(sinkColumn) })

export const createdSink = z
  .object({
    success: z.literal(true),
    table: z.string(),
    columns: z.array(sinkColumn),
    tables: z
      .array(createdTable)
      .meta({ description: 'All tables that were created: the sink and tables of diverted rows' }),
  })
  .meta({ id: 'CreatedSink' })

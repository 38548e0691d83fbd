/** What a pipeline reads of a table: the rows that snapshots append, or how rows change. */
export const READ_MODES = ['appends', 'changes'] as const

/** One of {@link READ_MODES}. */
export type ReadMode = (typeof READ_MODES)[number]

/**
 * How rows get into a sink: added; added in the place of the row with the same key; or so that the sink also loses the rows that are
 * deleted.
 */
export const WRITE_MODES = ['append', 'upsert', 'mirror'] as const

/** One of {@link WRITE_MODES}. */
export type WriteMode = (typeof WRITE_MODES)[number]

/** What a pipeline does about a column that its source gets: wait until the sink has it, leave it out, or add it to the sink. */
export const SCHEMA_CHANGES = ['fail', 'ignore', 'add'] as const

/** One of {@link SCHEMA_CHANGES}. */
export type SchemaChange = (typeof SCHEMA_CHANGES)[number]

/** How rows get into a sink; `key` names the columns of the sink that identify a row. */
export type SinkWrite =
  | { readonly mode: 'append' }
  | { readonly mode: Exclude<WriteMode, 'append'>; readonly key: readonly string[] }

/** Types whose values identify a row: equal values are equal for every engine. */
export const KEY_TYPES: ReadonlySet<string> = new Set([
  'boolean',
  'int',
  'long',
  'decimal',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'timestamp_ns',
  'timestamptz_ns',
  'string',
  'uuid',
  'fixed',
  'binary',
])

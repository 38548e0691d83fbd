import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import type { Lakehouse } from '../harness/lakehouse.ts'
import { runPython } from '../harness/python.ts'
import type { Rows } from '../harness/rows.ts'

const SCHEMA: Schema = {
  schemaId: 0,
  identifierFieldIds: [],
  fields: [
    { id: 1, name: 'id', required: false, type: { kind: 'long' } },
    { id: 2, name: 'day', required: false, type: { kind: 'date' } },
    { id: 3, name: 'note', required: false, type: { kind: 'string' } },
  ],
}
const BY_DAY = {
  specId: 0,
  fields: [{ fieldId: 1000, sourceId: 2, name: 'day', transform: { kind: 'identity' } }],
} as const

/** Commits of a table of {@link makeTable}; each adds a file to both of its partitions. */
export const COMMITS = 12

/** Creates `db.<name>` with many small files; returns its full name. */
export async function makeTable(lake: Lakehouse, name: string, rowsPerCommit = 2000): Promise<string> {
  const identifier = { namespace: ['db'], name }
  await lake.catalog.createTable(identifier, { schema: SCHEMA, partitionSpec: BY_DAY })
  for (let n = 0; n < COMMITS; n += 1) {
    const id = `i + ${n * rowsPerCommit}`
    const note = "CASE WHEN i % 7 = 0 THEN NULL ELSE 'it''s ' || i END"
    const from = `FROM range(${rowsPerCommit}) t(i)`
    await lake.append(
      identifier,
      `SELECT ${id} AS c1, DATE '2026-01-01' + CAST(i % 2 AS INT) AS c2, ${note} AS c3 ${from}`,
    )
  }
  return `db.${name}`
}

/** A table as PyIceberg reads it. */
export interface TableInPyIceberg {
  /** Number and hash of all rows. */
  readonly rows: Pick<Rows, 'count' | 'hash'>
  /** Oldest first. */
  readonly snapshots: readonly {
    readonly operation: string
    readonly summary: Readonly<Record<string, string>>
  }[]
}

export async function readTable(lake: Lakehouse, table: string): Promise<TableInPyIceberg> {
  const { uri, warehouse } = lake.settings
  const argument = { uri, warehouse, name: 'lockhouse', tables: [table] }
  const found = await runPython<Record<string, Rows & TableInPyIceberg>>('pyiceberg_rows.py', argument)
  const read = found[table]
  if (read === undefined) throw new Error(`PyIceberg did not read ${table}`)
  return { rows: { count: read.count, hash: read.hash }, snapshots: read.snapshots }
}

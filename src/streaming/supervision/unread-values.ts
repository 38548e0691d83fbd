import type { Table } from '../../iceberg/metadata/table.ts'
import { schemaById } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { fieldById } from '../../iceberg/schema/schema.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { touchedColumn, type TouchedColumn } from '../../maintenance/evolve.ts'
import type { UnreadRows } from '../../maintenance/table-guard.ts'
import { operationOf, type ReadPosition, type UnreadHistory, unreadHistory } from '../source/history.ts'
import { SourcePlanner } from '../source/plan.ts'
import { PipelineStopped } from '../pipeline-errors.ts'

/** The names of a column and of the structs around it. */
export type ColumnPath = TouchedColumn['path']

/** Columns of which a pipeline has values to read. */
export interface UnreadValues {
  /** By field id, the paths that the column has in the schemas of these rows. */
  readonly paths: ReadonlyMap<number, readonly ColumnPath[]>
  readonly rows: UnreadRows
}

/**
 * The columns that rows of a source after a position may have, of those asked for, and these rows; undefined when there
 * are none, or when the rows cannot be read any more.
 */
export async function unreadValues(
  table: Table,
  position: ReadPosition,
  fieldIds: readonly number[],
): Promise<UnreadValues | undefined> {
  try {
    const schemas = unreadSchemas(table.metadata, unreadHistory(table, position), position)
    const paths = new Map(fieldIds.map((id) => [id, pathsIn(schemas ?? table.metadata.schemas, id)] as const))
    if (schemas !== undefined) for (const [id, found] of paths) if (found.length === 0) paths.delete(id)
    if (paths.size === 0) return undefined
    const { snapshots, rows } = await new SourcePlanner().lag(table, position, { onDelete: 'fail', nowMs: 0 })
    return snapshots === 0 ? undefined : { paths, rows: { snapshots, rows } }
  } catch (error) {
    if (error instanceof PipelineStopped) return undefined
    throw error
  }
}

function pathsIn(schemas: readonly Schema[], fieldId: number): readonly ColumnPath[] {
  const paths = new Map<string, ColumnPath>()
  for (const schema of schemas) {
    if (fieldById(schema, fieldId) === undefined) continue
    const { path } = touchedColumn(schema, 'drop_column', fieldId)
    paths.set(JSON.stringify(path), path)
  }
  return [...paths.values()]
}

/** The schemas of rows that are not read; undefined when they may have any column, as in a gap of the history. */
function unreadSchemas(
  metadata: TableMetadata,
  { current, after, hasGap }: UnreadHistory,
  position: ReadPosition,
): readonly Schema[] | undefined {
  if (hasGap) return undefined
  const unread = [
    ...(current === undefined || position.isComplete ? [] : [current]),
    ...after.filter((snapshot) => operationOf(snapshot) === 'append'),
  ]
  const schemas: Schema[] = []
  for (const schemaId of new Set(unread.map((snapshot) => snapshot.schemaId))) {
    const schema = schemaId === undefined ? undefined : schemaById(metadata, schemaId)
    if (schema === undefined) return undefined
    schemas.push(schema)
  }
  return schemas
}

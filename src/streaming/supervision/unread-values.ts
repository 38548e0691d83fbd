import type { Table } from '../../iceberg/metadata/table.ts'
import { schemaById } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import { fieldById } from '../../iceberg/schema/schema.ts'
import type { UnreadRows } from '../../maintenance/table-guard.ts'
import { operationOf, type ReadPosition, type UnreadHistory, unreadHistory } from '../source/history.ts'
import { SourcePlanner } from '../source/plan.ts'
import { PipelineStopped } from './pipeline-errors.ts'

/**
 * The rows of a source after a position; undefined when there are none, when none of them was written with the column, or
 * when they cannot be read any more.
 */
export async function unreadValues(
  table: Table,
  position: ReadPosition,
  fieldId: number,
): Promise<UnreadRows | undefined> {
  const history = historyAfter(table, position)
  if (history === undefined || !mayHaveColumn(table.metadata, { history, position, fieldId })) return undefined
  const { snapshots, rows } = await new SourcePlanner().lag(table, position, 0)
  return snapshots === 0 ? undefined : { snapshots, rows }
}

function historyAfter(table: Table, position: ReadPosition): UnreadHistory | undefined {
  try {
    return unreadHistory(table, position)
  } catch (error) {
    if (error instanceof PipelineStopped) return undefined
    throw error
  }
}

interface Asked {
  readonly history: UnreadHistory
  readonly position: ReadPosition
  readonly fieldId: number
}

function mayHaveColumn(metadata: TableMetadata, { history, position, fieldId }: Asked): boolean {
  const { current, after, hasGap } = history
  const unread = [
    ...(current === undefined || position.isComplete ? [] : [current]),
    ...after.filter((snapshot) => operationOf(snapshot) === 'append'),
  ]
  return hasGap || unread.some((snapshot) => hasColumn(metadata, snapshot, fieldId))
}

/** Whether rows of a snapshot may have a column; true when the snapshot does not name its schema. */
function hasColumn(metadata: TableMetadata, { schemaId }: Snapshot, fieldId: number): boolean {
  const schema = schemaId === undefined ? undefined : schemaById(metadata, schemaId)
  return schema === undefined || fieldById(schema, fieldId) !== undefined
}

import { schemaById } from '../../iceberg/metadata/metadata.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { RowSchemas } from './dropped-columns.ts'
import { operationOf, type ReadPosition, unreadHistory } from './history.ts'

/** The schema of a snapshot; undefined when the snapshot does not name one, or its schema was removed. */
export function knownSchemaId({ metadata }: Table, { schemaId }: Snapshot): number | undefined {
  return schemaId === undefined || schemaById(metadata, schemaId) === undefined ? undefined : schemaId
}

/**
 * The schemas of all rows of a source after a position; none without a position. Throws `PipelineStopped` when such rows
 * can no longer be read.
 */
export function unreadSchemas(table: Table, position: ReadPosition | undefined): RowSchemas {
  if (position === undefined) return { appended: [], others: [], hasUnknown: false }
  const { current, after, hasGap } = unreadHistory(table, position)
  const appended = after.filter((snapshot) => operationOf(snapshot) === 'append')
  const begun = current === undefined || position.isComplete ? [] : [current]
  const isFirst = position.offset.scanAllFiles
  const ids = [...(isFirst ? [] : begun), ...appended].map((snapshot) => knownSchemaId(table, snapshot))
  const others = (isFirst ? begun : []).map((snapshot) => knownSchemaId(table, snapshot))
  return {
    appended: [...new Set(ids)].filter((id) => id !== undefined),
    others: others.filter((id) => id !== undefined),
    hasUnknown: hasGap || ids.includes(undefined) || others.includes(undefined),
  }
}

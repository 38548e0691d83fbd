import { isIcebergError } from '../../iceberg/errors.ts'
import { toLong } from '../../iceberg/json/json-fields.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { applyUpdates } from '../../iceberg/update/apply/apply-updates.ts'
import { isOvertaken, servedCommit } from '../../iceberg/update/staged-commit.ts'
import type { CommitRequest } from '../catalog.ts'

/** The outcome of a commit according to the current table: `refused` also means that it can no longer be applied. */
export type CommitVerdict = 'committed' | 'refused' | 'unknown'

/**
 * Decides by the ids of the snapshots that the commit adds, which are unique; a commit without snapshots counts as
 * committed when its updates would change nothing now.
 */
export function judgeCommit(metadata: TableMetadata, { requirements, updates }: CommitRequest): CommitVerdict {
  const added = addedSnapshots({ requirements, updates })
  if (added.length === 0) return changesNothing(metadata, updates) ? 'committed' : 'unknown'
  const present = new Set(metadata.snapshots.map(({ snapshotId }) => snapshotId))
  if (added.every((id) => present.has(id))) return 'committed'
  return isOvertaken(servedCommit(requirements), metadata) ? 'refused' : 'unknown'
}

/** Ids of the snapshots that a commit adds. */
export function addedSnapshots({ updates }: CommitRequest): readonly bigint[] {
  return updates.flatMap((update) => {
    const id = update.action === 'add-snapshot' ? toLong(update.snapshot['snapshot-id']) : undefined
    return id === undefined ? [] : [id]
  })
}

function changesNothing(metadata: TableMetadata, updates: CommitRequest['updates']): boolean {
  try {
    return applyUpdates(metadata, updates, { nowMs: Date.now() }) === metadata
  } catch (error) {
    if (isIcebergError(error)) return false
    throw error
  }
}

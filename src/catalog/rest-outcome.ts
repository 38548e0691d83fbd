import { isIcebergError } from '../iceberg/errors.ts'
import { toLong } from '../iceberg/json/json-fields.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import { applyUpdates } from '../iceberg/update/apply-updates.ts'
import type { CommitRequest } from './catalog.ts'
import { isOvertaken, requiredMain } from './served-commit.ts'

/** What the table as it is now tells about a commit: `refused` also means that it cannot be applied any more. */
export type CommitOutcome = 'committed' | 'refused' | 'unknown'

/**
 * Judges by the snapshots that the commit adds, whose ids nobody else has; one that adds none has happened when its
 * updates would change nothing, whoever made them.
 */
export function judgeCommit(metadata: TableMetadata, { requirements, updates }: CommitRequest): CommitOutcome {
  const added = addedSnapshots({ requirements, updates })
  if (added.length === 0) return changesNothing(metadata, updates) ? 'committed' : 'unknown'
  const present = new Set(metadata.snapshots.map(({ snapshotId }) => snapshotId))
  if (added.every((id) => present.has(id))) return 'committed'
  return isOvertaken({ main: requiredMain(requirements) }, metadata) ? 'refused' : 'unknown'
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

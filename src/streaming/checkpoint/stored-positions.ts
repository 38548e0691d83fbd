import type { StoredPosition } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { ReadPosition } from '../source/history.ts'

/** Positions in the form of the state database, one per source. */
export function toStoredPositions(
  sources: readonly string[],
  positions: readonly ReadPosition[],
): readonly StoredPosition[] {
  return positions.map(({ offset, isComplete }, at) => ({
    table: sources[at] ?? '',
    snapshotId: offset.snapshotId.toString(),
    position: offset.position,
    scanAllFiles: offset.scanAllFiles,
    isComplete,
  }))
}

/** A position as it was stored. */
export function fromStoredPosition(stored: StoredPosition): ReadPosition {
  const { snapshotId, position, scanAllFiles, isComplete } = stored
  return { offset: { snapshotId: BigInt(snapshotId), position, scanAllFiles }, isComplete }
}

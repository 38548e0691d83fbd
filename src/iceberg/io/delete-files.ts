import { mapBounded } from '../../lib/bounded-map.ts'
import type { DeletionFailure, FileIO } from './file-io.ts'

/** Files that are deleted at the same time. */
const CONCURRENT_DELETES = 8

/** Deletes files in as few requests as the store permits; missing files are ignored. Returns those that stay. */
export async function deleteFrom(io: FileIO, locations: readonly string[]): Promise<readonly DeletionFailure[]> {
  if (io.deleteAll !== undefined) return io.deleteAll(locations)
  const failures: DeletionFailure[] = []
  await mapBounded(locations, CONCURRENT_DELETES, async (location) => {
    try {
      await io.delete(location)
    } catch (error) {
      failures.push({ location, reason: error instanceof Error ? error.message : String(error) })
    }
  })
  return failures
}

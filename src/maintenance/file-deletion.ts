import type { FileIO } from '../iceberg/io/file-io.ts'
import { forEachBounded } from './bounded-concurrency.ts'

/** A file that could not be deleted, and why. */
export interface DeletionFailure {
  readonly location: string
  readonly reason: string
}

export interface DeletionReport {
  readonly deleted: number
  readonly failures: readonly DeletionFailure[]
}

export interface DeleteFilesOptions {
  /** Deletes that run at the same time; default 8. */
  readonly concurrency?: number
  /** Aborting leaves the rest undeleted; they are reported as failures. */
  readonly signal?: AbortSignal
  readonly onDeleted?: (location: string) => void
}

/** Deletes files, several at a time. A file that is missing is fine; one that cannot be deleted is reported, not thrown. */
export async function deleteFiles(
  io: FileIO,
  locations: Iterable<string>,
  options: DeleteFilesOptions = {},
): Promise<DeletionReport> {
  let deleted = 0
  const failures: DeletionFailure[] = []
  await forEachBounded(locations, options.concurrency ?? 8, async (location) => {
    if (options.signal?.aborted) {
      failures.push({ location, reason: 'cancelled before it was deleted' })
      return
    }
    try {
      await io.delete(location)
      deleted += 1
      options.onDeleted?.(location)
    } catch (error) {
      failures.push({ location, reason: error instanceof Error ? error.message : String(error) })
    }
  })
  return { deleted, failures }
}

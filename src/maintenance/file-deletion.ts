import type { UnreadTable } from '../catalog/ownership/deletion-guard.ts'
import { withoutPaths } from '../domain/without-paths.ts'
import { mapBounded } from '../iceberg/bounded-map.ts'
import type { FileIO } from '../iceberg/io/file-io.ts'

/** A file that could not be deleted, and why. */
export interface DeletionFailure {
  readonly location: string
  readonly reason: string
}

export interface DeletionReport {
  readonly deleted: readonly string[]
  readonly failures: readonly DeletionFailure[]
}

/** Files that are deleted at the same time. */
const CONCURRENT_DELETES = 8

/** Deletes files, several at a time. Missing files are ignored; a file that cannot be deleted is reported, not thrown. */
export async function deleteFiles(io: FileIO, locations: readonly string[]): Promise<DeletionReport> {
  const deleted: string[] = []
  const failures: DeletionFailure[] = []
  await mapBounded(locations, CONCURRENT_DELETES, async (location) => {
    try {
      await io.delete(location)
      deleted.push(location)
    } catch (error) {
      failures.push({ location, reason: withoutPaths(error instanceof Error ? error.message : String(error)) })
    }
  })
  return { deleted, failures }
}

/** The first 1,000 tables that could not be read, for a response: without server paths. */
export function describeUnread(tables: readonly UnreadTable[]): readonly UnreadTable[] {
  return tables.slice(0, 1000).map(({ table, reason }) => ({ table, reason: withoutPaths(reason) }))
}

/** Total size in bytes of files that still exist; undefined when there are more than `limit` files to check. */
export async function totalSizeBytes(
  io: FileIO,
  locations: readonly string[],
  limit: number,
): Promise<number | undefined> {
  if (locations.length > limit) return undefined
  const sizes = await mapBounded(locations, CONCURRENT_DELETES, async (location) => {
    const status = await io.stat(location)
    return status?.sizeBytes ?? 0
  })
  return sizes.reduce((total, size) => total + size, 0)
}

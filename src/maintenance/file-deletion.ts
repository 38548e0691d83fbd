import type { UnreadTable } from '../catalog/ownership/deletion-guard.ts'
import { withoutPaths } from '../domain/without-paths.ts'
import { mapBounded } from '../lib/bounded-map.ts'
import { deleteFrom } from '../iceberg/io/delete-files.ts'
import type { DeletionFailure, FileIO } from '../iceberg/io/file-io.ts'

export type { DeletionFailure }

export interface DeletionReport {
  readonly deleted: readonly string[]
  readonly failures: readonly DeletionFailure[]
}

/** Files that are looked at at the same time. */
const CONCURRENT_LOOKS = 8

/** Deletes files, several at a time. Missing files are ignored; a file that cannot be deleted is reported, not thrown. */
export async function deleteFiles(io: FileIO, locations: readonly string[]): Promise<DeletionReport> {
  const found = await deleteFrom(io, locations)
  const failures = found.map(({ location, reason }) => ({ location, reason: withoutPaths(reason) }))
  const stay = new Set(failures.map(({ location }) => location))
  return { deleted: locations.filter((location) => !stay.has(location)), failures }
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
  const sizes = await mapBounded(locations, CONCURRENT_LOOKS, async (location) => {
    const status = await io.stat(location)
    return status?.sizeBytes ?? 0
  })
  return sizes.reduce((total, size) => total + size, 0)
}

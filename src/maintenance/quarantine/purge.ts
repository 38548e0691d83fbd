import type { Catalog } from '../../catalog/catalog.ts'
import { judgeDeletion } from '../../catalog/ownership/deletion-guard.ts'
import { DomainError } from '../../domain/errors.ts'
import type { DeletionFailure, FileIO } from '../../iceberg/io/file-io.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { deleteFiles } from '../file-deletion.ts'
import { requireGcEnabled } from '../gc-guard.ts'
import { findUnreachable } from '../reachable-files.ts'
import { deleteEmptyFolders, findHeld, type HeldFile, locationsOf, putBack } from './held-files.ts'

export interface PurgeInput {
  readonly catalog: Catalog
  readonly identifier: TableIdentifier
  /** The table that the files were removed from. */
  readonly tableUuid: string
  readonly files: readonly HeldFile[]
  /** Called before files are moved or deleted, and between; what it throws ends the purge. */
  readonly confirm?: () => Promise<void>
}

/** Files that are deleted between two calls of `confirm`. */
const BATCH = 500

export interface PurgeReport {
  readonly deletedFiles: number
  readonly freedBytes: number
  /** Files that a table needs again; they are back at their locations. */
  readonly keptFiles: number
  readonly failures: readonly DeletionFailure[]
}

/**
 * Deletes files in quarantine for good. What any table of the catalog needs again goes back to its location instead.
 * Errors: `CONFLICT` when the name is another table's now, `GC_DISABLED`, those of catalog, manifests and FileIO: then
 * nothing is deleted.
 */
export async function purgeFiles(input: PurgeInput): Promise<PurgeReport> {
  const { catalog, identifier, tableUuid, files } = input
  const table = await catalog.loadTable(identifier)
  requireSame(table, tableUuid)
  requireGcEnabled(table.metadata, 'delete files in quarantine')
  const free = await unneeded(catalog, table, files)
  const kept = files.filter(({ location }) => !free.has(location))
  const { held } = await findHeld(table.io, kept)
  await input.confirm?.()
  const notBack = await putBack(table.io, held)
  const locations = await locationsOf(
    table.io,
    files.filter(({ location }) => free.has(location)),
  )
  const failures = await deleteInBatches(table.io, [...locations.keys()], input)
  await deleteEmptyFolders(table.io, files)
  const stay = new Set(failures.map(({ location }) => locations.get(location)?.location ?? location))
  const deleted = files.filter(({ location }) => free.has(location) && !stay.has(location))
  return {
    deletedFiles: deleted.length,
    freedBytes: deleted.reduce((total, { sizeBytes }) => total + sizeBytes, 0),
    keptFiles: kept.length,
    failures: [...notBack, ...failures],
  }
}

async function deleteInBatches(
  io: FileIO,
  locations: readonly string[],
  { confirm }: Pick<PurgeInput, 'confirm'>,
): Promise<readonly DeletionFailure[]> {
  const failures: DeletionFailure[] = []
  for (let at = 0; at < locations.length; at += BATCH) {
    await confirm?.()
    failures.push(...(await deleteFiles(io, locations.slice(at, at + BATCH))).failures)
  }
  return failures
}

/** Throws `CONFLICT` unless it is the table that the quarantine is of. */
export function requireSame(table: Table, tableUuid: string): void {
  if (table.metadata.tableUuid.toLowerCase() === tableUuid.toLowerCase()) return
  throw new DomainError('CONFLICT', 'the files in quarantine are of another table that had this name')
}

/** Files that the deletion guard releases again, imported ones included: the operation had released them too. */
async function unneeded(catalog: Catalog, table: Table, files: readonly HeldFile[]): Promise<ReadonlySet<string>> {
  const locations = files.map(({ location }) => location)
  const unreachable = await findUnreachable(table, locations)
  const own = await judgeDeletion(catalog, table, { files: unreachable })
  const outside = own.kept.filter(({ reason }) => reason === 'outside_table').map(({ location }) => location)
  const foreign = await judgeDeletion(catalog, table, { files: [], foreignFiles: outside })
  return new Set([...own.deletable, ...foreign.deletable])
}

import { DomainError } from '../../domain/errors.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { DeletionFailure, FileIO } from '../../iceberg/io/file-io.ts'
import { PrefixFileIO } from '../../iceberg/io/prefix.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import type { StagedChange, TableRequirement, TableUpdate } from '../../iceberg/update/table-update.ts'
import { deleteFiles } from '../file-deletion.ts'
import { commitChange, loadTarget, type OperationRun } from '../operation-commit.ts'
import { requireUnchanged } from '../operation-hooks.ts'
import { deleteEmptyFolders, findGone, findHeld, type FoundFiles, type HeldFile, putBack } from './held-files.ts'
import { requireSame } from './purge.ts'
import type { ExpiredHistory } from './removed-history.ts'
import { chooseHistory, type ChosenHistory, type LeftOutSnapshot } from './restorable-history.ts'

export interface RestoreInput extends OperationRun {
  readonly tableUuid: string
  readonly files: readonly HeldFile[]
  /** What the expiry removed from the metadata; undefined for an orphan removal. */
  readonly history: ExpiredHistory | undefined
  /** Called before the first file is moved. */
  readonly onBegin?: () => Promise<void>
}

/** Outcome of a restore, or of its preview. Lists have the first 1,000 entries. */
export interface RestoreDetails {
  readonly restored_files_count: number
  readonly restored_bytes: number
  /** Files that are neither in quarantine nor at their old location. */
  readonly missing_files_count: number
  readonly missing_files: readonly string[]
  readonly restored_snapshots_count: number
  readonly restored_snapshots: readonly string[]
  /** Snapshots that stay expired, and why. */
  readonly left_out_snapshots_count: number
  readonly left_out_snapshots: readonly LeftOutSnapshot[]
  readonly restored_refs: readonly string[]
  /** Branches and tags that stay removed, because their name is used again or their snapshot is missing. */
  readonly left_out_refs: readonly string[]
  readonly base_snapshot_id: string | null
  readonly snapshot_id: string | null
}

const MAX_LISTED = 1000

/** What a restore would do; changes nothing. Errors as {@link runRestore}. */
export async function previewRestore(input: RestoreInput): Promise<RestoreDetails> {
  const table = await loadTarget(input)
  const found = await findFiles(table, input)
  const back = new Set([...found.held, ...found.inPlace].map(({ location }) => location))
  return details(table, found, await chooseHistory(withHeld(table, found), input.history, back))
}

/**
 * Puts files back to where they were, and then what an expiry removed from the metadata: snapshots whose files are all
 * there, and branches and tags whose names are free. The current snapshot and its rows do not change. Calling it again
 * continues after an error.
 *
 * Errors: `CONFLICT` when another table has the name, or other files have the locations; `IO_FAILED` when a file cannot be
 * moved; `PLAN_STALE`; those of catalog and FileIO.
 */
export async function runRestore(input: RestoreInput): Promise<RestoreDetails> {
  const table = await loadTarget(input)
  const found = await findFiles(table, input)
  throwIfCancelled(input.signal)
  await input.onBegin?.()
  await input.hooks?.confirm?.()
  requireAllMoved(await putBack(table.io, found.held))
  await dropCopies(table.io, found.inPlace)
  await deleteEmptyFolders(table.io, input.files)
  const back = new Set(await requireBack(table.io, found))
  const planned = await chooseHistory(table, input.history, back)
  if (planned.updates.length === 0) return details(table, found, planned)
  try {
    const { table: committed, staged } = await commitChange({ ...input, loaded: table }, async (fresh) => {
      requireUnchanged(fresh, input.expectedMetadataLocation)
      requireSame(fresh, input.tableUuid)
      return stagedOf(await chooseHistory(fresh, input.history, back))
    })
    await requireBack(committed.io, found)
    return details(committed, found, staged.chosen)
  } catch (error) {
    if (!isIcebergError(error, 'UNSUPPORTED')) throw error
    return details(table, found, leaveOut(planned, error.message))
  }
}

/** Reads manifests that are still in quarantine as if they were back. */
function withHeld(table: Table, { held }: FoundFiles): Table {
  const mappings = held.flatMap(({ location, heldAt }) =>
    heldAt !== undefined && location.endsWith('.avro') ? [{ from: location, to: heldAt }] : [],
  )
  return { ...table, io: new PrefixFileIO(table.io, mappings) }
}

async function findFiles(table: Table, { tableUuid, files }: RestoreInput): Promise<FoundFiles> {
  requireSame(table, tableUuid)
  const found = await findHeld(table.io, files)
  if (found.taken.length === 0) return found
  const fields = found.taken.slice(0, 20).map(({ location }) => ({ path: 'quarantine_id', message: nameOf(location) }))
  const message = `${found.taken.length} files cannot go back, because other files have their names`
  throw new DomainError('CONFLICT', message, { fields })
}

function nameOf(location: string): string {
  return `${location.slice(location.lastIndexOf('/') + 1)} is taken`
}

/** A crash may have left a file under both of its names. */
async function dropCopies(io: FileIO, inPlace: readonly HeldFile[]): Promise<void> {
  await deleteFiles(
    io,
    inPlace.flatMap(({ heldAt }) => (heldAt === undefined ? [] : [heldAt])),
  )
}

function requireAllMoved(failures: readonly DeletionFailure[]): void {
  const [first] = failures
  if (first === undefined) return
  const message = `${failures.length} files could not be moved back; restore again to continue. The first: ${first.reason}`
  throw new IcebergError('IO_FAILED', message)
}

/** Locations of the files that were put back or were there; throws `IO_FAILED` when one of them is not there now. */
async function requireBack(io: FileIO, { held, inPlace }: FoundFiles): Promise<readonly string[]> {
  const files = [...held, ...inPlace]
  const gone = await findGone(io, files)
  const [first] = gone
  if (first === undefined) return files.map(({ location }) => location)
  const message = `${gone.length} files are gone after they were put back, such as ${first.location}; restore again`
  throw new IcebergError('IO_FAILED', message)
}

interface StagedRestore extends StagedChange {
  readonly chosen: ChosenHistory
}

function stagedOf(chosen: ChosenHistory): StagedRestore {
  const { updates, requirements } = chosen
  return { updates, requirements, writtenFiles: [], chosen }
}

function leaveOut(chosen: ChosenHistory, reason: string): ChosenHistory {
  const leftOut = [...chosen.leftOut, ...chosen.snapshots.map((snapshot_id) => ({ snapshot_id, reason }))]
  const updates: readonly TableUpdate[] = []
  const requirements: readonly TableRequirement[] = []
  return {
    updates,
    requirements,
    snapshots: [],
    leftOut,
    refs: [],
    leftOutRefs: [...chosen.leftOutRefs, ...chosen.refs],
  }
}

function details(table: Table, found: FoundFiles, chosen: ChosenHistory): RestoreDetails {
  const back = [...found.held, ...found.inPlace]
  const current = table.metadata.currentSnapshotId?.toString() ?? null
  return {
    restored_files_count: back.length,
    restored_bytes: back.reduce((total, { sizeBytes }) => total + sizeBytes, 0),
    missing_files_count: found.missing.length,
    missing_files: found.missing.slice(0, MAX_LISTED).map(({ location }) => location),
    restored_snapshots_count: chosen.snapshots.length,
    restored_snapshots: chosen.snapshots.slice(0, MAX_LISTED),
    left_out_snapshots_count: chosen.leftOut.length,
    left_out_snapshots: chosen.leftOut.slice(0, MAX_LISTED),
    restored_refs: chosen.refs,
    left_out_refs: chosen.leftOutRefs,
    base_snapshot_id: current,
    snapshot_id: current,
  }
}

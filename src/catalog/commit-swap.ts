import type { FileIO, FileStatus } from '../iceberg/io/file-io.ts'
import { newMetadataFileLocation } from '../iceberg/metadata/locations.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import { sleep } from '../lib/sleep.ts'
import { applyUpdates, restateMetadata } from '../iceberg/update/apply/apply-updates.ts'
import { checkRequirements } from '../iceberg/update/apply/check-requirements.ts'
import type { Catalog, CommitRequest } from './catalog.ts'
import {
  type CommitOutcome,
  type Committed,
  committed,
  conflict,
  type Refused,
  refused,
  unknown,
} from './commit-outcome.ts'
import {
  deleteQuietly,
  loadTableAt,
  metadataFileBytes,
  metadataFileSuffix,
  nextMetastoreFileName,
} from './metadata-file.ts'
import { draftOf } from './new-table.ts'
import { trimMetadata } from './ownership/metadata-trimming.ts'
import { isSameFile } from './file-state.ts'
import type { WrittenMetadata } from './kept-metadata/written-metadata.ts'

/** The one mutable cell per table of a catalog: the location of its current metadata file. */
export interface TablePointer {
  /** The catalog with the other tables, whose metadata files must stay. */
  readonly catalog: Catalog
  readonly io: FileIO
  /** Metadata files that this process wrote before. */
  readonly written: WrittenMetadata
  /** Whether a failed swap cannot take effect later, as it could on a server that lost its client. */
  readonly failuresAreFinal: boolean
  /** The current metadata location. Throws `NO_SUCH_TABLE`. */
  read(identifier: TableIdentifier): Promise<string>
  /** Atomically replaces `expected` by `next`. Throws when the outcome is unknown. */
  swap(identifier: TableIdentifier, expected: string, next: string): Promise<SwapOutcome>
  /** The same for several tables at once: all or none, at one point in time. Absent where that cannot be done. */
  swapAll?(swaps: readonly Swap[]): Promise<SwapOutcome>
}

/** The replacement of a table's metadata location. With `next` as expected, the location is only checked. */
export interface Swap {
  readonly identifier: TableIdentifier
  readonly expected: string
  readonly next: string
}

/** `moved`: the pointer was not the expected one. `refused`: nothing changed, because of the error. */
export type SwapOutcome = { readonly kind: 'swapped' } | { readonly kind: 'moved' } | Refused

const OUTCOME_READS = 3
const OUTCOME_WAIT_MS = 100

/**
 * One commit attempt on a catalog that is a pointer: loads the table that it points to now, checks the requirements, writes
 * the next metadata file and swaps the pointer. The new file is deleted when the commit is refused; when the outcome is
 * unknown, every file stays.
 */
export async function commitBySwap(
  pointer: TablePointer,
  identifier: TableIdentifier,
  request: CommitRequest,
): Promise<CommitOutcome> {
  let staged: Staged | Committed
  try {
    staged = await stage(pointer, identifier, request)
  } catch (error) {
    return refused(identifier, error) // the pointer was only read
  }
  if ('kind' in staged) return staged
  const { base, next } = staged
  const outcome = (await refuseUnconfirmed(identifier, request)) ?? (await swapOrFindOut(pointer, staged))
  if (outcome.kind === 'refused') await deleteQuietly(pointer.io, [next.metadataLocation])
  if (outcome.kind === 'committed') {
    keepWritten(pointer, staged)
    await trimMetadata(base, next, request.neighbours ?? pointer.catalog)
  }
  return outcome
}

/** The refusal of a commit that its caller no longer wants; undefined when the commit may take effect. */
export async function refuseUnconfirmed(
  identifier: TableIdentifier,
  { confirm }: CommitRequest,
): Promise<Refused | undefined> {
  try {
    await confirm?.()
    return undefined
  } catch (error) {
    return refused(identifier, error)
  }
}

/** The metadata that results from applying `request` to `base`; throws `COMMIT_CONFLICT` when a requirement does not hold. */
export function nextMetadata(base: Table, { requirements, updates, isFence }: CommitRequest): TableMetadata {
  checkRequirements(base.metadata, requirements)
  const context = { nowMs: Date.now(), previousMetadataLocation: base.metadataLocation }
  const next = applyUpdates(base.metadata, updates, context)
  return next === base.metadata && isFence === true ? restateMetadata(base.metadata, context) : next
}

/** A commit whose metadata file is written, but not yet the table's. */
export interface Staged {
  readonly base: Table
  readonly next: Table
  /** The new file as it was written; undefined when that could not be found out. */
  readonly file: FileStatus | undefined
}

/** Writes the next metadata file; returns `committed` immediately when the updates change nothing. */
export async function stage(
  pointer: TablePointer,
  identifier: TableIdentifier,
  request: CommitRequest,
): Promise<Staged | Committed> {
  const { io } = pointer
  const base = await loadBase(pointer, identifier)
  const metadata = nextMetadata(base, request)
  if (metadata === base.metadata) return committed(base)
  await request.check?.(base, draftOf(io, identifier, metadata))
  const suffix = metadataFileSuffix(metadata)
  const location = newMetadataFileLocation(metadata, nextMetastoreFileName(base.metadataLocation, suffix))
  // called first, so that a crash during the write leaves no file that is missing in the ledger
  await request.onStaged?.({ kind: 'file', location })
  await io.create(location, metadataFileBytes(metadata, suffix))
  const file = await io.stat(location).catch(() => undefined)
  return { base, next: { identifier, metadataLocation: location, metadata, io }, file }
}

async function loadBase({ io, written, read }: TablePointer, identifier: TableIdentifier): Promise<Table> {
  const metadataLocation = await read(identifier)
  const kept = written.find(identifier, metadataLocation)
  const file = kept && (await io.stat(metadataLocation))
  if (kept === undefined || !isSameFile(file, kept.file)) return loadTableAt(io, identifier, metadataLocation)
  return { identifier, metadataLocation, metadata: kept.metadata, io }
}

/** To be called when the new file has become the table's. */
export function keepWritten({ written }: TablePointer, { next, file }: Staged): void {
  if (file !== undefined) written.keep(next.identifier, next.metadataLocation, { metadata: next.metadata, file })
}

async function swapOrFindOut(pointer: TablePointer, { base, next }: Staged): Promise<CommitOutcome> {
  const { identifier } = base
  try {
    const outcome = await pointer.swap(identifier, base.metadataLocation, next.metadataLocation)
    if (outcome.kind === 'refused') return outcome
    return outcome.kind === 'swapped' ? committed(next) : conflict(identifier)
  } catch (cause) {
    const outcome = await findOutcome(pointer, base, next.metadataLocation)
    if (outcome === 'unknown') return unknown(identifier, cause)
    return outcome === 'committed' ? committed(next) : conflict(identifier, cause)
  }
}

type Found = 'committed' | 'not-committed' | 'unknown'

/**
 * After an error of the swap: whether it happened. Reads several times: the same fault may break the first read, and a
 * server may still be processing it.
 */
export async function findOutcome(pointer: TablePointer, base: Table, location: string): Promise<Found> {
  for (let attempt = 0; attempt < OUTCOME_READS; attempt++) {
    if (attempt > 0) await sleep(OUTCOME_WAIT_MS * attempt)
    try {
      const outcome = await readOutcome(pointer, base, location)
      if (outcome !== 'unknown') return outcome
    } catch {
      // Retried, and unknown in the end.
    }
  }
  return 'unknown'
}

async function readOutcome(pointer: TablePointer, base: Table, location: string): Promise<Found> {
  const current = await pointer.read(base.identifier)
  if (current === location) return 'committed'
  if (current === base.metadataLocation) return pointer.failuresAreFinal ? 'not-committed' : 'unknown'
  const { metadata } = await loadTableAt(pointer.io, base.identifier, current)
  const log = metadata.metadataLog.map((entry) => entry.metadataFile)
  if (log.includes(location)) return 'committed'
  // Our file would come right after the base in the log: if the base is listed and our file is not, the swap failed.
  return log.includes(base.metadataLocation) ? 'not-committed' : 'unknown'
}

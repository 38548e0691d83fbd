import { IcebergError, isIcebergError } from '../iceberg/errors.ts'
import type { FileIO } from '../iceberg/io/file-io.ts'
import { newMetadataFileLocation } from '../iceberg/locations.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import type { Table, TableIdentifier } from '../iceberg/table.ts'
import { applyUpdates } from '../iceberg/update/apply-updates.ts'
import { checkRequirements } from '../iceberg/update/check-requirements.ts'
import type { Catalog, CommitRequest } from './catalog.ts'
import {
  deleteQuietly,
  loadTableAt,
  metadataFileBytes,
  metadataFileSuffix,
  nextMetastoreFileName,
} from './metadata-file.ts'
import { trimMetadata } from './ownership/metadata-trimming.ts'
import { formatIdentifier } from './table-identifier.ts'

/** The one mutable cell per table of a catalog: the location of its current metadata file. */
export interface TablePointer {
  /** Knows the other tables, whose metadata files must stay. */
  readonly catalog: Catalog
  readonly io: FileIO
  /** Whether a swap that threw cannot take effect later, as it could in a server that lost its client. */
  readonly failuresAreFinal: boolean
  /** The current metadata location. Throws `NO_SUCH_TABLE`. */
  read(identifier: TableIdentifier): Promise<string>
  /**
   * Atomically replaces `expected` by `next`; false when the pointer was not `expected`.
   * Throws an `IcebergError` when certainly nothing happened, and anything else when the outcome is not known.
   */
  swap(identifier: TableIdentifier, expected: string, next: string): Promise<boolean>
}

const OUTCOME_READS = 3
const OUTCOME_WAIT_MS = 100

/**
 * One commit attempt on a catalog that is a pointer: loads the table fresh, checks the requirements, writes the next
 * metadata file and swaps the pointer. Throws `COMMIT_CONFLICT` when somebody else was faster (the new file is gone
 * again) and `COMMIT_STATE_UNKNOWN` when that cannot be told (every file stays). All other errors mean that nothing
 * happened.
 */
export async function commitBySwap(
  pointer: TablePointer,
  identifier: TableIdentifier,
  request: CommitRequest,
): Promise<Table> {
  const base = await loadTableAt(pointer.io, identifier, await pointer.read(identifier))
  const metadata = nextMetadata(base, request)
  if (metadata === base.metadata) return base // the updates change nothing
  const location = await stage(pointer.io, { base, metadata, request })
  if (!(await swapOrFindOut(pointer, base, location))) {
    await deleteQuietly(pointer.io, [location])
    throw conflict(identifier)
  }
  const committed = { identifier, metadataLocation: location, metadata, io: pointer.io }
  await trimMetadata(base, committed, pointer.catalog)
  return committed
}

/** The metadata that `request` makes of `base`; throws `COMMIT_CONFLICT` when a requirement does not hold. */
export function nextMetadata(base: Table, request: CommitRequest): TableMetadata {
  checkRequirements(base.metadata, request.requirements)
  return applyUpdates(base.metadata, request.updates, {
    nowMs: Date.now(),
    previousMetadataLocation: base.metadataLocation,
  })
}

export function conflict(identifier: TableIdentifier, cause?: unknown): IcebergError {
  const message = `${formatIdentifier(identifier)} was changed by somebody else at the same time; nothing was changed here.`
  return new IcebergError('COMMIT_CONFLICT', message, { cause })
}

interface Staging {
  readonly base: Table
  readonly metadata: TableMetadata
  readonly request: CommitRequest
}

async function stage(io: FileIO, { base, metadata, request }: Staging): Promise<string> {
  const suffix = metadataFileSuffix(metadata)
  const location = newMetadataFileLocation(metadata, nextMetastoreFileName(base.metadataLocation, suffix))
  try {
    await request.onStaged?.(location) // first, so that a crash while it is written leaves nothing nobody knows of
  } catch (error) {
    throw asCertainFailure(error, base.identifier)
  }
  await io.create(location, metadataFileBytes(metadata, suffix))
  return location
}

/** Only an `IcebergError` other than `COMMIT_STATE_UNKNOWN` tells the caller that its files may be deleted. */
export function asCertainFailure(error: unknown, identifier: TableIdentifier): IcebergError {
  if (isIcebergError(error)) return error
  const message = `The commit to ${formatIdentifier(identifier)} was given up before anything changed.`
  return new IcebergError('IO_FAILED', message, { cause: error })
}

async function swapOrFindOut(pointer: TablePointer, base: Table, location: string): Promise<boolean> {
  try {
    return await pointer.swap(base.identifier, base.metadataLocation, location)
  } catch (cause) {
    if (isIcebergError(cause)) {
      await deleteQuietly(pointer.io, [location])
      throw cause
    }
    const outcome = await findOutcome(pointer, base, location)
    if (outcome === 'unknown') throw unknownState(base.identifier, cause)
    if (outcome === 'unchanged') {
      await deleteQuietly(pointer.io, [location])
      throw conflict(base.identifier, cause)
    }
    return outcome === 'committed'
  }
}

type Outcome = 'committed' | 'unchanged' | 'lost' | 'unknown'

/**
 * After an error of the swap: whether it happened. Reads a few times: the same fault may stop the first read, and a
 * server may still be at it.
 */
async function findOutcome(pointer: TablePointer, base: Table, location: string): Promise<Outcome> {
  for (let attempt = 0; attempt < OUTCOME_READS; attempt++) {
    if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, OUTCOME_WAIT_MS * attempt))
    try {
      const outcome = await readOutcome(pointer, base, location)
      if (outcome !== 'unknown') return outcome
    } catch {
      // Asked again, and unknown in the end.
    }
  }
  return 'unknown'
}

async function readOutcome(pointer: TablePointer, base: Table, location: string): Promise<Outcome> {
  const current = await pointer.read(base.identifier)
  if (current === location) return 'committed'
  if (current === base.metadataLocation) return pointer.failuresAreFinal ? 'unchanged' : 'unknown'
  const { metadata } = await loadTableAt(pointer.io, base.identifier, current)
  const log = metadata.metadataLog.map((entry) => entry.metadataFile)
  if (log.includes(location)) return 'committed'
  // Our file would stand right after the base in the log: where the base is listed and we are not, we lost.
  return log.includes(base.metadataLocation) ? 'lost' : 'unknown'
}

export function unknownState(identifier: TableIdentifier, cause: unknown): IcebergError {
  const message =
    `It is not known whether the commit to ${formatIdentifier(identifier)} happened: the catalog failed while it was ` +
    'under way. No file was deleted; look at the table before trying again.'
  return new IcebergError('COMMIT_STATE_UNKNOWN', message, { cause })
}

import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { sleep } from '../../lib/sleep.ts'
import { createFromUpdates, isCreation } from '../../iceberg/update/apply/create-from-updates.ts'
import { servedCommit } from '../../iceberg/update/staged-commit.ts'
import type { CommitRequest } from '../catalog.ts'
import { type CommitOutcome, committed, conflict, refused, unknown } from '../commit-outcome.ts'
import { nextMetadata } from '../commit-swap.ts'
import { formatIdentifier, noSuchTable } from '../table-identifier.ts'
import { hasStatus, isCertainRefusal } from './errors.ts'
import { addedSnapshots, judgeCommit } from './outcome.ts'
import { creationError } from './table-errors.ts'

/** The operations of a REST catalog that a commit needs. */
export interface RestCommitPort {
  load(identifier: TableIdentifier): Promise<Table>
  /** A table that the commit would create. */
  draft(metadata: TableMetadata): Table
  /** Sends the commit once. */
  send(identifier: TableIdentifier, request: CommitRequest): Promise<Table>
  /** Waits between checks of the table when the outcome is unknown, ms. */
  readonly outcomeWaitsMs: readonly number[]
}

/**
 * One commit attempt on a catalog whose server applies the updates. It is sent once. Refused with `COMMIT_CONFLICT` when a
 * requirement does not hold (409); unknown when there was no response, or a status of 500 or above, and
 * the table does not show the outcome.
 */
export async function commitServed(
  port: RestCommitPort,
  identifier: TableIdentifier,
  request: CommitRequest,
): Promise<CommitOutcome> {
  try {
    refuseUnsupported(request)
    await checkBefore(port, identifier, request)
    await request.onStaged?.(servedCommit(request.requirements))
    await request.confirm?.()
  } catch (error) {
    return refused(identifier, error) // nothing was sent
  }
  try {
    return committed(await port.send(identifier, request))
  } catch (error) {
    if (isCreation(request.requirements)) return afterCreation(identifier, error)
    if (hasStatus(error, 409)) return afterConflict(port, { identifier, request, cause: error })
    if (hasStatus(error, 404)) return refused(identifier, noSuchTable(identifier))
    if (isCertainRefusal(error)) return refused(identifier, error)
    return afterTimeout(port, { identifier, request, cause: error })
  }
}

/**
 * Checks the result as late as possible. Servers drop the branches and tags of removed snapshots, and no requirement covers
 * refs created after the removal was planned.
 */
async function checkBefore(port: RestCommitPort, identifier: TableIdentifier, request: CommitRequest): Promise<void> {
  const isRemoval = request.updates.some(({ action }) => action === 'remove-snapshots')
  if (!isRemoval && request.check === undefined) return
  if (isCreation(request.requirements)) {
    await request.check?.(undefined, port.draft(createFromUpdates(request.updates, Date.now())))
    return
  }
  const base = await port.load(identifier)
  const metadata = nextMetadata(base, request)
  if (metadata !== base.metadata) await request.check?.(base, { ...base, metadata })
}

/** The protocol can only add snapshots that are newer than all others, and a server applies earlier requests later too. */
function refuseUnsupported({ updates, isFence }: CommitRequest): void {
  if (isFence === true) {
    throw new IcebergError('UNSUPPORTED', 'A REST catalog cannot keep an earlier commit from being applied.')
  }
  if (!updates.some(({ action }) => action === 'restore-snapshots')) return
  throw new IcebergError('UNSUPPORTED', 'A REST catalog cannot put expired snapshots back into a table.')
}

/** Whether a creation happened is not asked afterwards: a table of the name may be another one. */
function afterCreation(identifier: TableIdentifier, cause: unknown): CommitOutcome {
  if (hasStatus(cause, 409)) {
    const message = `Requirement failed: table already exists: ${formatIdentifier(identifier)}`
    return refused(identifier, new IcebergError('COMMIT_CONFLICT', message, { cause }))
  }
  const error = creationError(cause, identifier)
  return isIcebergError(error, 'COMMIT_STATE_UNKNOWN') ? unknown(identifier, error) : refused(identifier, error)
}

interface UnknownOutcome {
  readonly identifier: TableIdentifier
  readonly request: CommitRequest
  readonly cause: unknown
}

/** Proxies may send a request twice; then the first one causes a conflict for the second. */
async function afterConflict(
  port: RestCommitPort,
  { identifier, request, cause }: UnknownOutcome,
): Promise<CommitOutcome> {
  if (addedSnapshots(request).length === 0) return conflict(identifier, cause)
  try {
    const table = await port.load(identifier)
    return judgeCommit(table.metadata, request) === 'committed' ? committed(table) : conflict(identifier, cause)
  } catch (error) {
    return unknown(identifier, error)
  }
}

async function afterTimeout(
  port: RestCommitPort,
  { identifier, request, cause }: UnknownOutcome,
): Promise<CommitOutcome> {
  for (const waitMs of [0, ...port.outcomeWaitsMs]) {
    await sleep(waitMs)
    const table = await port.load(identifier).catch(() => undefined) // retried, and unknown in the end
    const verdict = table === undefined ? 'unknown' : judgeCommit(table.metadata, request)
    if (table !== undefined && verdict === 'committed') return committed(table)
    if (verdict === 'refused') return conflict(identifier, cause)
  }
  return unknown(identifier, cause)
}

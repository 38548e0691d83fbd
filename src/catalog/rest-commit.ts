import { setTimeout as wait } from 'node:timers/promises'
import type { Table, TableIdentifier } from '../iceberg/table.ts'
import type { CommitRequest } from './catalog.ts'
import { asCertainFailure, conflict, nextMetadata, unknownState } from './commit-swap.ts'
import { hasStatus, isCertainRefusal } from './rest-errors.ts'
import { addedSnapshots, judgeCommit } from './rest-outcome.ts'
import { formatServedCommit } from './served-commit.ts'

/** What a commit needs of a REST catalog. */
export interface RestCommitPort {
  load(identifier: TableIdentifier): Promise<Table>
  /** Sends the commit once. */
  send(identifier: TableIdentifier, request: CommitRequest): Promise<Table>
  /** Waits between looks at the table when the outcome is not known, ms. */
  readonly outcomeWaitsMs: readonly number[]
}

/**
 * One commit attempt on a catalog whose server applies the updates. It is sent once. Throws `COMMIT_CONFLICT` when a
 * requirement does not hold (409) and `COMMIT_STATE_UNKNOWN` when there was no answer, or one of 500 and above, and the
 * table does not tell either. All other errors mean that nothing happened.
 */
export async function commitServed(
  port: RestCommitPort,
  identifier: TableIdentifier,
  request: CommitRequest,
): Promise<Table> {
  await checkRemovals(port, identifier, request)
  try {
    await request.onStaged?.(formatServedCommit(request.requirements))
  } catch (error) {
    throw asCertainFailure(error, identifier)
  }
  try {
    return await port.send(identifier, request)
  } catch (error) {
    if (hasStatus(error, 409)) return afterConflict(port, { identifier, request, cause: error })
    if (isCertainRefusal(error)) throw error
    return afterSilence(port, { identifier, request, cause: error })
  }
}

/**
 * Servers drop the branches and tags of snapshots that are removed, and no requirement speaks of refs that came after
 * the removal was planned: looked at as late as can be.
 */
async function checkRemovals(port: RestCommitPort, identifier: TableIdentifier, request: CommitRequest): Promise<void> {
  if (!request.updates.some(({ action }) => action === 'remove-snapshots')) return
  nextMetadata(await port.load(identifier), request)
}

interface Doubt {
  readonly identifier: TableIdentifier
  readonly request: CommitRequest
  readonly cause: unknown
}

/** Proxies may send twice what was sent once; the second time, the first is the conflict. */
async function afterConflict(port: RestCommitPort, { identifier, request, cause }: Doubt): Promise<Table> {
  if (addedSnapshots(request).length > 0) {
    const table = await port.load(identifier).catch((error: unknown) => {
      throw unknownState(identifier, error)
    })
    if (judgeCommit(table.metadata, request) === 'committed') return table
  }
  throw conflict(identifier, cause)
}

async function afterSilence(port: RestCommitPort, { identifier, request, cause }: Doubt): Promise<Table> {
  for (const waitMs of [0, ...port.outcomeWaitsMs]) {
    await wait(waitMs)
    const table = await port.load(identifier).catch(() => undefined) // asked again, and unknown in the end
    const outcome = table === undefined ? 'unknown' : judgeCommit(table.metadata, request)
    if (table !== undefined && outcome === 'committed') return table
    if (outcome === 'refused') throw conflict(identifier, cause)
  }
  throw unknownState(identifier, cause)
}

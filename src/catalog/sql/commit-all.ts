import { IcebergError } from '../../iceberg/errors.ts'
import { isCreation } from '../../iceberg/update/apply/create-from-updates.ts'
import {
  type AllOutcome,
  type Committed,
  conflict,
  type Refused,
  refused,
  type Unknown,
  unknown,
} from '../commit-outcome.ts'
import {
  findOutcome,
  keepWritten,
  refuseUnconfirmed,
  stage,
  type Staged,
  type Swap,
  type SwapOutcome,
  type TablePointer,
} from '../commit-swap.ts'
import { deleteQuietly } from '../metadata-file.ts'
import { trimMetadata } from '../ownership/metadata-trimming.ts'
import type { CommitRequest, TableCommit } from '../catalog.ts'
import { formatIdentifier } from '../table-identifier.ts'

type Pointer = TablePointer & Required<Pick<TablePointer, 'swapAll'>>

/** Attempts while tables change that the commit only reads: such a change often meets the requirements still. */
const ATTEMPTS = 4

/**
 * Commits changes of different tables at once, as `commitBySwap` does for one: all of them or none. Creations are refused
 * with `UNSUPPORTED`. A table whose state was only required is not changed, and must still have that state at the commit.
 */
export async function commitAllBySwap(pointer: Pointer, commits: readonly TableCommit[]): Promise<AllOutcome> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await tryCommitAll(pointer, commits)
    if (outcome.kind !== 'moved') return outcome
    if (attempt === ATTEMPTS || !outcome.hasGuards) return conflict(outcome.identifier)
  }
}

interface Moved {
  readonly kind: 'moved'
  /** The first table of the commit. */
  readonly identifier: Staged['base']['identifier']
  readonly hasGuards: boolean
}

async function tryCommitAll(pointer: Pointer, commits: readonly TableCommit[]): Promise<AllOutcome | Moved> {
  const results: (Staged | Committed)[] = []
  const staged = (): readonly Staged[] => results.filter((one): one is Staged => !('kind' in one))
  const discard = () =>
    deleteQuietly(
      pointer.io,
      staged().map(({ next }) => next.metadataLocation),
    )
  for (const { identifier, request } of commits) {
    try {
      requireExisting(request)
      results.push(await stage(pointer, identifier, request))
    } catch (error) {
      await discard()
      return refused(identifier, error) // the pointers were only read
    }
  }
  const outcome = (await refuseUnconfirmedAll(commits)) ?? (await swapAll(pointer, results, staged()))
  if (outcome.kind === 'refused' || outcome.kind === 'moved') await discard()
  if (outcome.kind !== 'swapped') return outcome
  for (const [at, one] of results.entries()) {
    if ('kind' in one) continue
    keepWritten(pointer, one)
    await trimMetadata(one.base, one.next, commits[at]?.request.neighbours ?? pointer.catalog)
  }
  return { kind: 'committed', tables: results.map((one) => ('kind' in one ? one.table : one.next)) }
}

async function refuseUnconfirmedAll(commits: readonly TableCommit[]): Promise<Refused | undefined> {
  for (const { identifier, request } of commits) {
    const refusal = await refuseUnconfirmed(identifier, request)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function requireExisting({ requirements }: CommitRequest): void {
  if (!isCreation(requirements)) return
  throw new IcebergError(
    'UNSUPPORTED',
    'A commit of several tables cannot create tables: commit the creation by itself.',
  )
}

async function swapAll(
  pointer: Pointer,
  results: readonly (Staged | Committed)[],
  staged: readonly Staged[],
): Promise<Exclude<SwapOutcome, { kind: 'moved' }> | Moved | Unknown> {
  const swaps = results.map(swapOf).toSorted(byName)
  const [swap] = swaps
  if (swap === undefined) return { kind: 'swapped' }
  const { identifier } = swap
  try {
    const outcome = await pointer.swapAll(swaps)
    return outcome.kind === 'moved' ? { ...outcome, identifier, hasGuards: swaps.length > staged.length } : outcome
  } catch (cause) {
    const [first] = staged
    if (first === undefined) return refused(identifier, cause) // nothing was to be changed
    // all or none: the first changed table tells for all
    const found = await findOutcome(pointer, first.base, first.next.metadataLocation)
    if (found === 'unknown') return unknown(identifier, cause)
    return found === 'committed' ? { kind: 'swapped' } : conflict(identifier, cause)
  }
}

/** A table that stays as it is keeps its location, which is checked in the same step as the changes. */
function swapOf(result: Staged | Committed): Swap {
  const [base, next] = 'kind' in result ? [result.table, result.table] : [result.base, result.next]
  return { identifier: base.identifier, expected: base.metadataLocation, next: next.metadataLocation }
}

/** One order for all commits, so that none waits for a row of another which waits for one of its own. */
function byName(a: Swap, b: Swap): number {
  return formatIdentifier(a.identifier) < formatIdentifier(b.identifier) ? -1 : 1
}

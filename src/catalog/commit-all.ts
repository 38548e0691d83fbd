import { IcebergError } from '../iceberg/errors.ts'
import { isCreation } from '../iceberg/update/apply/create-from-updates.ts'
import {
  type AllOutcome,
  type Committed,
  conflict,
  type Refused,
  refused,
  type Unknown,
  unknown,
} from './commit-outcome.ts'
import {
  findOutcome,
  keepWritten,
  refuseUnconfirmed,
  stage,
  type Staged,
  type SwapOutcome,
  type TablePointer,
} from './commit-swap.ts'
import { deleteQuietly } from './metadata-file.ts'
import { trimMetadata } from './ownership/metadata-trimming.ts'
import type { CommitRequest, TableCommit } from './requests.ts'

type Pointer = TablePointer & Required<Pick<TablePointer, 'swapAll'>>

/**
 * Commits changes of different tables at once, as `commitBySwap` does for one: all of them or none. Creations are refused
 * with `UNSUPPORTED`.
 */
export async function commitAllBySwap(pointer: Pointer, commits: readonly TableCommit[]): Promise<AllOutcome> {
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
  const outcome = (await refuseUnconfirmedAll(commits)) ?? (await swapAll(pointer, staged()))
  if (outcome.kind === 'refused') await discard()
  if (outcome.kind !== 'swapped') return outcome
  for (const one of staged()) {
    keepWritten(pointer, one)
    await trimMetadata(one.base, one.next, pointer.catalog)
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
  staged: readonly Staged[],
): Promise<Exclude<SwapOutcome, { kind: 'moved' }> | Unknown> {
  const [first] = staged
  if (first === undefined) return { kind: 'swapped' }
  const { identifier } = first.base
  try {
    const swaps = staged.map(({ base, next }) => ({
      identifier: base.identifier,
      expected: base.metadataLocation,
      next: next.metadataLocation,
    }))
    const outcome = await pointer.swapAll(swaps)
    return outcome.kind === 'moved' ? conflict(identifier) : outcome
  } catch (cause) {
    // all or none: the first table tells for all
    const found = await findOutcome(pointer, first.base, first.next.metadataLocation)
    if (found === 'unknown') return unknown(identifier, cause)
    return found === 'committed' ? { kind: 'swapped' } : conflict(identifier, cause)
  }
}

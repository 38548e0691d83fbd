import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import { FOREVER_MS, mainBranch, type Snapshot, snapshotRefToJson } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { StagedSnapshot } from '../../iceberg/update/stage/snapshot-producer.ts'
import type { TableRequirement, TableUpdate } from '../../iceberg/update/table-update.ts'
import { Overtaken, PipelineStopped } from '../pipeline-errors.ts'
import {
  batchOf,
  branchProperty,
  formatProgress,
  type ProgressBranch,
  progressProperty,
  readSinkState,
  type SinkProgress,
} from './progress.ts'

/** Where the next batch of a query goes in a sink. */
export interface SinkTarget {
  /** The table; for a branch with its head as the current snapshot, so that a staged snapshot follows it. */
  readonly table: Table
  /** A snapshot that was staged on `table`, for the commit, with the progress of the query. */
  withProgress(staged: StagedSnapshot, progress: SinkProgress): StagedSnapshot
}

/**
 * The target of a query that writes to a branch, or to `main` without a name. Throws `Overtaken` when another session has
 * published the branch, and `PipelineStopped` `BRANCH_CHANGED` when it is not as the query has left it.
 */
export function sinkTarget(fresh: Table, queryId: string, name: string | undefined): SinkTarget {
  const { progress, lastBatch } = readSinkState(fresh.metadata, queryId)
  const known = progress?.branch
  if (lastBatch >= 0 && known?.name !== name) {
    throw new Overtaken(`the rows of this pipeline are no longer in the branch ${name ?? mainBranch}`)
  }
  if (name === undefined) return { table: fresh, withProgress: onMain(queryId) }
  if (progress !== undefined && known !== undefined) {
    requireBranch(fresh, queryId, progress)
    return { table: viewOf(fresh, name), withProgress: onBranch(fresh, queryId, known) }
  }
  if (Object.hasOwn(fresh.metadata.refs, name)) {
    throw changed(fresh, `has a branch or tag ${name} already: start a pipeline with another branch`)
  }
  const branch = { name, base: fresh.metadata.currentSnapshotId }
  return { table: fresh, withProgress: onBranch(fresh, queryId, branch) }
}

/**
 * The snapshots of a branch after its base, newest first. Throws `BRANCH_CHANGED` unless the branch is there and its newest
 * batch of the query is the last one of its progress.
 */
export function requireBranch(table: Table, queryId: string, { branch, batchId }: SinkProgress): readonly Snapshot[] {
  if (branch === undefined) return []
  const line = lineAfter(table, branch)
  const newest = line?.map(batchOf).find((batch) => batch?.queryId === queryId)
  if (line !== undefined && newest?.batchId === batchId) return line
  throw changed(table, `has another history in the branch ${branch.name} than this pipeline has written`)
}

/** The snapshots of a branch after its base, newest first; undefined when they do not go back to it. */
function lineAfter(table: Table, { name, base }: ProgressBranch): readonly Snapshot[] | undefined {
  const { metadata } = table
  const ref = Object.hasOwn(metadata.refs, name) ? metadata.refs[name] : undefined
  if (ref?.type !== 'branch') throw changed(table, `no longer has the branch ${name} of this pipeline`)
  const line: Snapshot[] = []
  for (const snapshot of ancestorsOf(metadata, ref.snapshotId)) {
    if (snapshot.snapshotId === base) break
    line.push(snapshot)
  }
  return line.at(-1)?.parentSnapshotId === base ? line : undefined
}

/** The error that a branch cannot be used any more. */
export function changed({ identifier }: Table, what: string): PipelineStopped {
  return new PipelineStopped(
    'BRANCH_CHANGED',
    `${formatIdentifier(identifier)} ${what}; to write the rows again, start a pipeline with a new checkpoint`,
  )
}

/** The table as it is in a branch. */
function viewOf(table: Table, name: string): Table {
  const { metadata } = table
  const ref = metadata.refs[name]
  if (ref === undefined || snapshotById(metadata, ref.snapshotId) === undefined) return table
  const refs = { ...metadata.refs, [mainBranch]: ref }
  return { ...table, metadata: { ...metadata, currentSnapshotId: ref.snapshotId, refs } }
}

function onMain(queryId: string): SinkTarget['withProgress'] {
  return (staged, progress) => {
    const updates = { [progressProperty(queryId)]: formatProgress(progress) }
    return { ...staged, updates: [...staged.updates, { action: 'set-properties', updates }] }
  }
}

/**
 * The same change of the branch instead of `main`. It also requires that `main` has not moved, so that an empty snapshot of
 * `main` stops a commit that was prepared before it. The branch never expires.
 */
function onBranch(fresh: Table, queryId: string, branch: ProgressBranch): SinkTarget['withProgress'] {
  const { refs, currentSnapshotId } = fresh.metadata
  const assertRef = (ref: string, id: bigint | undefined): TableRequirement => ({
    type: 'assert-ref-snapshot-id',
    ref,
    'snapshot-id': id ?? null,
  })
  return (staged, progress) => {
    const ref = {
      type: 'branch',
      snapshotId: staged.snapshotId,
      maxSnapshotAgeMs: FOREVER_MS,
      maxRefAgeMs: FOREVER_MS,
    } as const
    const updates = { [branchProperty(queryId)]: formatProgress({ ...progress, branch }) }
    const others = staged.updates.filter(({ action }) => action !== 'set-snapshot-ref')
    return {
      ...staged,
      requirements: [
        ...staged.requirements.filter(({ type }) => type !== 'assert-ref-snapshot-id'),
        assertRef(branch.name, refs[branch.name]?.snapshotId),
        assertRef(mainBranch, currentSnapshotId),
      ],
      updates: [
        ...others,
        { action: 'set-snapshot-ref', 'ref-name': branch.name, ...snapshotRefToJson(ref) },
        { action: 'set-properties', updates },
      ] satisfies readonly TableUpdate[],
    }
  }
}

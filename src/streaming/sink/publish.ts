import { type ChangeOutcome, tryCommitTable } from '../../catalog/commit-table.ts'
import { loadEntries, loadManifests } from '../../iceberg/manifest/cache.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import { mainBranch, type Snapshot, snapshotRefToJson } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { stageAppend } from '../../iceberg/update/stage/stage-append.ts'
import type { StagedChange, TableUpdate } from '../../iceberg/update/table-update.ts'
import { Overtaken } from '../pipeline-errors.ts'
import { operationOf } from '../source/history.ts'
import { changed, requireBranch } from './branch.ts'
import { COMMIT_RETRIES, requireExpected, requireSame, type SinkCommit } from './commit.ts'
import {
  batchOf,
  batchSummary,
  branchProperty,
  formatProgress,
  progressProperty,
  readSinkState,
  type SinkProgress,
} from './progress.ts'

/** The branch of a query that has caught up. */
export type Publication = Pick<SinkCommit, 'catalog' | 'sink' | 'queryId' | 'lastBatch' | 'checkLease' | 'signal'> & {
  readonly runId: string
}

/**
 * Moves the rows of a branch to `main` and removes the branch, in one commit. If `main` is where the branch began, or was moved
 * forward on the branch, it moves forward to the head of the branch, with everything that others did there. Otherwise the
 * files of the branch that `main` does not have are appended, if only this query has written them. Throws as
 * `commitBatch`, and `PipelineStopped` `BRANCH_CHANGED`.
 */
export async function publishBranch(publication: Publication): Promise<ChangeOutcome<StagedChange>> {
  const { catalog, sink, queryId, lastBatch, runId, checkLease, signal } = publication
  return tryCommitTable(
    catalog,
    sink.identifier,
    async (fresh): Promise<StagedChange> => {
      checkLease()
      requireSame(sink, fresh)
      const { progress } = readSinkState(fresh.metadata, queryId)
      if (progress?.branch === undefined) throw new Overtaken('another session has published the branch')
      requireExpected({ queryId, lastBatch, progress: { ...progress, runId } }, fresh)
      const line = requireBranch(fresh, queryId, progress)
      const change = await toMain(fresh, { line, queryId, progress })
      const { branch, ...published } = progress
      const updates: readonly TableUpdate[] = [
        ...change.updates,
        { action: 'remove-snapshot-ref', 'ref-name': branch.name },
        { action: 'set-properties', updates: { [progressProperty(queryId)]: formatProgress(published) } },
        { action: 'remove-properties', removals: [branchProperty(queryId)] },
      ]
      const head = { ref: branch.name, 'snapshot-id': line[0]?.snapshotId ?? null }
      return {
        ...change,
        requirements: [...change.requirements, { type: 'assert-ref-snapshot-id', ...head }],
        updates,
      }
    },
    { retries: COMMIT_RETRIES, confirm: async () => checkLease(), ...(signal && { signal }) },
  )
}

async function toMain(fresh: Table, branch: Line): Promise<StagedChange> {
  const { line, progress } = branch
  const { metadata } = fresh
  const head = metadata.currentSnapshotId
  if (head === progress.branch?.base || line.some(({ snapshotId }) => snapshotId === head)) return forward(fresh, line)
  const published = publishedIn(metadata)
  const pending = line.filter(({ snapshotId }) => !published.has(snapshotId))
  return pending.length === 0 ? unchanged(fresh) : appended(fresh, { ...branch, line: pending })
}

/** The snapshots whose rows `main` has, also those that somebody has cherry-picked from a branch. */
function publishedIn(metadata: TableMetadata): ReadonlySet<bigint> {
  const ids = new Set<bigint>()
  if (metadata.currentSnapshotId === undefined) return ids
  for (const { snapshotId, summary } of ancestorsOf(metadata, metadata.currentSnapshotId)) {
    ids.add(snapshotId)
    const source = summary['source-snapshot-id']
    if (source !== undefined && /^\d{1,19}$/.test(source)) ids.add(BigInt(source))
  }
  return ids
}

function unchanged({ metadata: { tableUuid: uuid, currentSnapshotId } }: Table): StagedChange {
  return {
    requirements: [
      ...(uuid === '' ? [] : [{ type: 'assert-table-uuid' as const, uuid }]),
      { type: 'assert-ref-snapshot-id', ref: mainBranch, 'snapshot-id': currentSnapshotId ?? null },
    ],
    updates: [],
    writtenFiles: [],
  }
}

function forward(fresh: Table, [head]: readonly Snapshot[]): StagedChange {
  const snapshotId = head?.snapshotId ?? 0n
  const ref = snapshotRefToJson({ ...fresh.metadata.refs[mainBranch], type: 'branch', snapshotId })
  return { ...unchanged(fresh), updates: [{ action: 'set-snapshot-ref', 'ref-name': mainBranch, ...ref }] }
}

interface Line {
  readonly line: readonly Snapshot[]
  readonly queryId: string
  readonly progress: SinkProgress
}

/** One snapshot with the files of the whole branch. */
async function appended(fresh: Table, { line, queryId, progress }: Line): Promise<StagedChange> {
  const files: DataFile[] = []
  for (const snapshot of line.toReversed()) {
    if (operationOf(snapshot) !== 'append' || batchOf(snapshot)?.queryId !== queryId) {
      const name = progress.branch?.name ?? ''
      throw changed(fresh, `has changed since the branch ${name} began, and others have written to the branch, too`)
    }
    files.push(...(await filesOf(fresh, snapshot)))
  }
  return stageAppend(fresh, {
    files,
    operationId: `${progress.pipelineId}-publish-${progress.batchId}`,
    summary: batchSummary(queryId, progress),
  })
}

/** The files that a snapshot added, with their column metrics. */
async function filesOf(table: Table, snapshot: Snapshot): Promise<readonly DataFile[]> {
  const files: DataFile[] = []
  for (const manifest of await loadManifests(table, snapshot)) {
    if (manifest.addedSnapshotId !== snapshot.snapshotId) continue
    for (const { status, snapshotId, dataFile } of await loadEntries(table, manifest)) {
      if (status === 'added' && snapshotId === snapshot.snapshotId) files.push(dataFile)
    }
  }
  return files
}

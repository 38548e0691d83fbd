import { IcebergError } from '../iceberg/errors.ts'
import { snapshotById } from '../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../iceberg/metadata/snapshot-ancestry.ts'
import { mainBranch, type Snapshot, snapshotRefToJson } from '../iceberg/metadata/snapshots.ts'
import type { Table } from '../iceberg/metadata/table.ts'
import type { TableRequirement, TableUpdate } from '../iceberg/update/table-update.ts'
import { type RecoveryTime, requireRecoveryPoint } from './inspection/recovery-points.ts'
import { commitChange, loadTarget, type OperationRun } from './operation-commit.ts'
import { type OperationHooks, requireUnchanged } from './operation-hooks.ts'
import type { AffectedPipeline } from './table-guard.ts'

export interface RollbackHooks extends OperationHooks {
  /**
   * Finds the pipelines that depend on snapshots which would be undone (newest first). Called before every attempt to
   * commit; throws to refuse.
   */
  readonly checkPipelines?: (table: Table, undone: readonly Snapshot[]) => Promise<readonly AffectedPipeline[]>
}

/** The snapshot to which a table is rolled back, by its id or by a time at which `main` had it. */
export type RollbackTarget = { readonly snapshotId: bigint } | ({ readonly snapshotId?: undefined } & RecoveryTime)

export type RollbackInput = OperationRun & RollbackTarget & { readonly hooks?: RollbackHooks }

/** How many undone snapshots an answer lists, so that it and the ledger stay small. */
const MAX_UNDONE_IDS = 1000

/** A pipeline that a rollback affects, in the answer; see {@link AffectedPipeline}. */
export interface AffectedPipelineDetails {
  readonly pipeline_id: string
  readonly role: AffectedPipeline['role']
  readonly state: string
  /** What the rollback needs first: that the pipeline is stopped, or its id in `accept_pipelines`. */
  readonly required: 'stop' | 'accept'
  readonly consequence: string
  readonly snapshots_count: number
  readonly rows_count: number
  readonly batch_ids: readonly number[]
}

/** Outcome of a rollback, or of its dry run, in the column names of Iceberg's `rollback_to_snapshot`. */
export interface RollbackDetails {
  readonly previous_snapshot_id: string
  readonly current_snapshot_id: string
  /** Snapshots whose changes are undone; they stay in the table until they expire. */
  readonly undone_snapshots_count: number
  /** Their ids, newest first; at most {@link MAX_UNDONE_IDS}. */
  readonly undone_snapshot_ids: readonly string[]
  /** Only of a rollback to a time: the time, and when `main` got and lost the snapshot. */
  readonly to_timestamp?: string
  readonly made_current_at?: string
  readonly current_until?: string
  readonly affected_pipelines: readonly AffectedPipelineDetails[]
  readonly base_snapshot_id: string
  readonly snapshot_id: string
}

interface RollbackPlan {
  readonly details: RollbackDetails
  readonly requirements: readonly TableRequirement[]
  readonly updates: readonly TableUpdate[]
}

/** What a rollback would undo; changes nothing. Errors as {@link runRollback}. */
export async function previewRollback(input: RollbackInput): Promise<RollbackDetails> {
  const table = await loadTarget(input)
  return (await planRollback(table, input)).details
}

/**
 * Makes an ancestor of the current snapshot current again. Errors: `NO_SUCH_SNAPSHOT`, `INVALID_ARGUMENT` when it is no
 * ancestor, `UNPROCESSABLE` for a time without such a state, `PLAN_STALE`, those of the hooks and of the catalog.
 */
export async function runRollback(input: RollbackInput): Promise<RollbackDetails> {
  const { staged } = await commitChange(input, async (fresh) => {
    requireUnchanged(fresh, input.expectedMetadataLocation)
    return { ...(await planRollback(fresh, input)), writtenFiles: [] }
  })
  return staged.details
}

async function planRollback(table: Table, input: RollbackInput): Promise<RollbackPlan> {
  const { metadata } = table
  const { hooks } = input
  const current = metadata.currentSnapshotId
  const { snapshotId, times } = resolveTarget(metadata, input)
  if (current === undefined || snapshotById(metadata, snapshotId) === undefined) {
    throw new IcebergError('NO_SUCH_SNAPSHOT', `the table has no snapshot ${snapshotId}`)
  }
  const undone = snapshotsAfter(metadata, current, snapshotId)
  const affected = (await hooks?.checkPipelines?.(table, undone)) ?? []
  return {
    details: {
      previous_snapshot_id: current.toString(),
      current_snapshot_id: snapshotId.toString(),
      undone_snapshots_count: undone.length,
      undone_snapshot_ids: undone.slice(0, MAX_UNDONE_IDS).map(({ snapshotId: id }) => id.toString()),
      ...times,
      affected_pipelines: affected.map(describeAffected),
      base_snapshot_id: current.toString(),
      snapshot_id: snapshotId.toString(),
    },
    requirements: [
      { type: 'assert-table-uuid', uuid: metadata.tableUuid },
      { type: 'assert-ref-snapshot-id', ref: mainBranch, 'snapshot-id': current },
    ],
    updates: [
      {
        action: 'set-snapshot-ref',
        'ref-name': mainBranch,
        ...snapshotRefToJson({ ...metadata.refs[mainBranch], type: 'branch', snapshotId }),
      },
    ],
  }
}

type TargetTimes = Pick<RollbackDetails, 'to_timestamp' | 'made_current_at' | 'current_until'>

/** The snapshot of a target. A time is resolved again on each attempt: another commit may have changed the history. */
function resolveTarget(
  metadata: TableMetadata,
  target: RollbackTarget,
): { readonly snapshotId: bigint; readonly times?: TargetTimes } {
  if (target.snapshotId !== undefined) return { snapshotId: target.snapshotId }
  const { snapshotId, fromMs, untilMs } = requireRecoveryPoint(metadata, target)
  const times = {
    to_timestamp: new Date(target.timestampMs).toISOString(),
    made_current_at: new Date(fromMs).toISOString(),
    ...(untilMs === undefined ? {} : { current_until: new Date(untilMs).toISOString() }),
  }
  return { snapshotId, times }
}

/** The snapshots of main after an ancestor of its head, newest first; `INVALID_ARGUMENT` when it is none. */
function snapshotsAfter(metadata: TableMetadata, head: bigint, ancestor: bigint): readonly Snapshot[] {
  const after: Snapshot[] = []
  for (const snapshot of ancestorsOf(metadata, head)) {
    if (snapshot.snapshotId === ancestor) return after
    after.push(snapshot)
  }
  throw new IcebergError(
    'INVALID_ARGUMENT',
    `snapshot_id: ${ancestor} is not an ancestor of the current snapshot ${head}; only an ancestor can be rolled back to`,
  )
}

function describeAffected(pipeline: AffectedPipeline): AffectedPipelineDetails {
  const { id, role, state, isLive, consequence, snapshots, rows, batchIds } = pipeline
  return {
    pipeline_id: id,
    role,
    state,
    required: isLive ? 'stop' : 'accept',
    consequence,
    snapshots_count: snapshots,
    rows_count: rows,
    batch_ids: batchIds,
  }
}

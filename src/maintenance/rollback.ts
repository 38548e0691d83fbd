import type { Catalog } from '../catalog/catalog.ts'
import { commitTable } from '../catalog/commit-table.ts'
import { IcebergError } from '../iceberg/errors.ts'
import { snapshotById } from '../iceberg/metadata.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import { mainBranch, snapshotRefToJson } from '../iceberg/snapshots.ts'
import type { TableIdentifier } from '../iceberg/table.ts'
import type { TableRequirement, TableUpdate } from '../iceberg/update/table-update.ts'
import { throwIfCancelled } from './group-rewrite.ts'
import { requireUnchanged } from './operation-hooks.ts'
import type { OperationHooks } from './operation-hooks.ts'

export interface RollbackInput {
  readonly catalog: Catalog
  readonly identifier: TableIdentifier
  readonly snapshotId: bigint
  /** From the dry run whose plan is applied; `PLAN_STALE` when the table has moved since. */
  readonly expectedMetadataLocation?: string
  readonly hooks?: OperationHooks
  readonly signal?: AbortSignal
}

/** Outcome of a rollback, or of its dry run, in the column names of Iceberg's `rollback_to_snapshot`. */
export interface RollbackDetails {
  readonly previous_snapshot_id: string
  readonly current_snapshot_id: string
  /** Snapshots whose changes are undone; they stay in the table until they expire. */
  readonly undone_snapshots_count: number
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
  const table = await input.catalog.loadTable(input.identifier)
  requireUnchanged(table, input.expectedMetadataLocation)
  return planRollback(table.metadata, input.snapshotId).details
}

/**
 * Makes an ancestor of the current snapshot current again. Errors: `NO_SUCH_SNAPSHOT`, `INVALID_ARGUMENT` when it is no
 * ancestor, `PLAN_STALE`, those of the catalog.
 */
export async function runRollback(input: RollbackInput): Promise<RollbackDetails> {
  const { hooks, signal } = input
  let plan: RollbackPlan | undefined
  await commitTable(
    input.catalog,
    input.identifier,
    async (fresh) => {
      requireUnchanged(fresh, input.expectedMetadataLocation)
      throwIfCancelled(signal)
      plan = planRollback(fresh.metadata, input.snapshotId)
      return { requirements: plan.requirements, updates: plan.updates, writtenFiles: [] }
    },
    { ...(signal && { signal }), ...(hooks?.onStaged && { onStaged: hooks.onStaged }) },
  )
  if (plan === undefined) throw new IcebergError('COMMIT_STATE_UNKNOWN', 'the rollback was committed without a plan')
  return plan.details
}

function planRollback(metadata: TableMetadata, snapshotId: bigint): RollbackPlan {
  const current = metadata.currentSnapshotId
  if (current === undefined || snapshotById(metadata, snapshotId) === undefined) {
    throw new IcebergError('NO_SUCH_SNAPSHOT', `the table has no snapshot ${snapshotId}`)
  }
  return {
    details: {
      previous_snapshot_id: current.toString(),
      current_snapshot_id: snapshotId.toString(),
      undone_snapshots_count: distanceToAncestor(metadata, current, snapshotId),
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

/** Number of snapshots between the head of main and an ancestor; `INVALID_ARGUMENT` when it is none. */
function distanceToAncestor(metadata: TableMetadata, head: bigint, ancestor: bigint): number {
  const parents = new Map(metadata.snapshots.map((snapshot) => [snapshot.snapshotId, snapshot.parentSnapshotId]))
  const seen = new Set<bigint>()
  let distance = 0
  for (let id: bigint | undefined = head; id !== undefined && !seen.has(id); id = parents.get(id)) {
    if (id === ancestor) return distance
    seen.add(id)
    distance += 1
  }
  throw new IcebergError(
    'INVALID_ARGUMENT',
    `snapshot_id: ${ancestor} is not an ancestor of the current snapshot ${head}; only an ancestor can be rolled back to`,
  )
}

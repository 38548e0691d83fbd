import { requestsOf } from '../operations/receipt.ts'
import type { OperationRecord, StoredFigures } from '../../storage/stores/operations/operation-record.ts'
import type { OperationStore } from '../../storage/stores/operations/operation-store.ts'
import type { PolicyDecisionsTable } from '../../storage/automation-schema.ts'
import {
  createDecisionStore,
  type DecisionStore,
  type PolicyTableState,
  type StateKey,
} from '../../storage/stores/policies/decision-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { SchedulerDeps } from './policy-deps.ts'

/** Failures or refusals in a row after which a policy leaves the table alone. */
export const FAILURES_TO_SUSPEND = 3

/** What a policy knows of an operation on a table before its first decision. */
export function newState(key: StateKey): PolicyTableState {
  return {
    ...key,
    table_uuid: null,
    last_run_ms: null,
    last_sequence: null,
    considered_ms: null,
    not_before_ms: null,
    without_effect: 0,
    failures: 0,
    is_suspended: false,
    decision_id: null,
  }
}

/** The key of what a policy knows about the subject of a decision. */
export function keyOf({ policy_id, table_name, operation }: StateKey): StateKey {
  return { policy_id, table_name, operation }
}

/**
 * Ends the decisions whose operations have ended, whichever process ran them. One whose process died before the ledger
 * had an operation is cancelled: nothing was done. So is one of this process that `isRunning` does not know: the database did
 * not respond when it was stored, or when it ended.
 */
export async function settleRuns(deps: SchedulerDeps, isRunning: (decisionId: string) => boolean): Promise<void> {
  const running = await deps.decisions.running()
  for (const decision of running) {
    const operation = await operationOf(deps.operations, decision)
    if (operation !== undefined) {
      if (operation.state !== 'running' && operation.state !== 'unknown') await settle(deps, decision, operation)
      continue
    }
    const owner = decision.instance_id
    if (owner === null) continue
    if (owner === deps.instance.id) {
      if (!isRunning(decision.id)) await endWithout(deps, decision, 'the state database did not respond')
    } else if (!(await deps.instance.isAlive(owner))) {
      await endWithout(deps, decision, 'the service stopped before the operation began')
    }
  }
}

async function operationOf(
  operations: OperationStore,
  { operation_id: operationId }: PolicyDecisionsTable,
): Promise<OperationRecord | undefined> {
  return operationId === null ? undefined : operations.find(operationId)
}

/** Ends a decision of which no operation came. */
export async function endWithout(
  deps: Pick<SchedulerDeps, 'inTransaction' | 'now'>,
  decision: PolicyDecisionsTable,
  detail: string,
): Promise<void> {
  const now = deps.now().toISOString()
  await deps.inTransaction(async (tx) => {
    const ended = { outcome: 'cancelled', detail, operation_id: null, updated_at: now }
    await createDecisionStore(tx).end(decision.id, ended)
  })
}

/** Writes the outcome of an operation to its decision and to what the policy knows of the table. */
export async function settle(
  deps: SchedulerDeps,
  decision: PolicyDecisionsTable,
  operation: OperationRecord,
): Promise<void> {
  const gain = gainOf(operation)
  const isEffective = operation.state === 'succeeded' && hasEffect(operation, gain)
  const columns = {
    operation_id: operation.id,
    outcome: outcomeOf(operation),
    reason: operation.state === 'succeeded' && !isEffective ? 'no_effect' : decision.reason,
    detail: operation.error === undefined ? decision.detail : `${decision.detail}; ${operation.error.message}`,
    updated_at: deps.now().toISOString(),
    ...gain,
    ...receiptColumns(operation),
  }
  await deps.inTransaction(async (tx) => {
    const decisions = createDecisionStore(tx)
    if (!(await decisions.end(decision.id, columns))) return
    const before = (await decisions.state(keyOf(decision))) ?? newState(keyOf(decision))
    const after = stateAfter(before, { operation, isEffective })
    await decisions.saveState(after)
    if (after.is_suspended && !before.is_suspended) {
      await reportSuspension(deps, tx, { decision, error: operation.error })
    }
  })
}

function stateAfter(
  state: PolicyTableState,
  { operation, isEffective }: { readonly operation: OperationRecord; readonly isEffective: boolean },
): PolicyTableState {
  if (operation.state === 'cancelled') return state
  if (operation.state === 'failed') {
    const failures = state.failures + 1
    return { ...state, failures, is_suspended: failures >= FAILURES_TO_SUSPEND }
  }
  return { ...state, failures: 0, without_effect: isEffective ? 0 : state.without_effect + 1 }
}

/** Why a policy is suspended for a table. */
interface Suspension {
  readonly decision: PolicyDecisionsTable
  readonly error: { readonly code: string; readonly message: string } | undefined
}

/** Appends `policy.suspended` to the event log, in the transaction of the suspension. */
export async function reportSuspension(
  deps: Pick<SchedulerDeps, 'events'>,
  tx: Tx,
  { decision, error }: Suspension,
): Promise<void> {
  await deps.events.append(tx, {
    type: 'policy.suspended',
    objectType: 'policy',
    objectId: decision.policy_id,
    data: {
      policy: decision.policy_name,
      table: decision.table_name,
      operation: decision.operation,
      failures: FAILURES_TO_SUSPEND,
      error: error === undefined ? null : { code: error.code, message: error.message },
    },
  })
}

function outcomeOf({ state }: OperationRecord): 'ran' | 'failed' | 'cancelled' {
  if (state === 'succeeded') return 'ran'
  return state === 'cancelled' ? 'cancelled' : 'failed'
}

type Gain = Pick<
  PolicyDecisionsTable,
  'score_before' | 'score_after' | 'files_removed' | 'delete_files_removed' | 'bytes_freed' | 'bytes_rewritten'
>

type ReceiptColumns = Pick<
  PolicyDecisionsTable,
  | 'storage_freed_bytes'
  | 'projected_files_removed'
  | 'projected_delete_files_removed'
  | 'projected_bytes_freed'
  | 'planning_saved_us'
  | 'scan_requests_saved'
>

/** A number of a stored health or result; undefined when it has none of that name. */
function figureOf(stored: unknown, name: string): number | undefined {
  if (typeof stored !== 'object' || stored === null) return undefined
  const value: unknown = new Map<string, unknown>(Object.entries(stored)).get(name)
  return typeof value === 'number' ? value : undefined
}

/** What the receipt has measured; without one, the difference of the healths from before and after. */
function gainOf({ healthBefore, healthAfter, bytesRead, result, receipt }: OperationRecord): Gain {
  const measured: Partial<StoredFigures> = receipt?.measured ?? {}
  const difference = (name: string): number | null => {
    const [before, after] = [figureOf(healthBefore, name), figureOf(healthAfter, name)]
    return before === undefined || after === undefined ? null : before - after
  }
  return {
    score_before: figureOf(healthBefore, 'score') ?? null,
    score_after: figureOf(healthAfter, 'score') ?? null,
    files_removed: measured.files_removed ?? difference('data_file_count'),
    delete_files_removed: measured.delete_files_removed ?? difference('delete_file_count'),
    bytes_freed: measured.bytes_freed ?? figureOf(result, 'freed_bytes') ?? difference('total_size_bytes'),
    bytes_rewritten: bytesRead ?? null,
  }
}

/** What only a receipt has. */
function receiptColumns({ receipt }: OperationRecord): ReceiptColumns {
  const { projected, measured, scan } = receipt ?? { projected: null, measured: undefined, scan: null }
  return {
    storage_freed_bytes: measured?.storage_freed_bytes ?? null,
    projected_files_removed: projected?.files_removed ?? null,
    projected_delete_files_removed: projected?.delete_files_removed ?? null,
    projected_bytes_freed: projected?.bytes_freed ?? null,
    planning_saved_us: scan && Math.round((scan.before.planningMs - scan.after.planningMs) * 1000),
    scan_requests_saved: scan && requestsOf(scan.before) - requestsOf(scan.after),
  }
}

/** Counts of which fewer are better. */
const COUNTS = ['data_file_count', 'small_file_count', 'delete_file_count', 'snapshot_count', 'manifest_count'] as const

/** Whether the table is better than before. A new snapshot alone is no effect: rewriting all files always makes one. */
function hasEffect({ kind, result, healthBefore, healthAfter }: OperationRecord, gain: Gain): boolean {
  // a few files of keys can become many files of positions
  if (kind === 'convert_deletes') return (figureOf(result, 'converted_delete_files_count') ?? 0) > 0
  if ((gain.files_removed ?? 0) > 0) return true
  if ((gain.score_after ?? 0) > (gain.score_before ?? 100)) return true
  return COUNTS.some((name) => (figureOf(healthAfter, name) ?? 0) < (figureOf(healthBefore, name) ?? 0))
}

/** Runs that are known to the process, by table. */
export async function busyTables(decisions: DecisionStore, operations: OperationStore): Promise<Map<string, string>> {
  const busy = new Map<string, string>()
  for (const { table_name: table, policy_name: name } of await decisions.running()) {
    busy.set(table, `the policy ${name} runs an operation on the table`)
  }
  for (const { table, kind, requestedBy } of await operations.listUnsettled()) {
    busy.set(table, `${kind} by ${requestedBy} runs on the table`)
  }
  return busy
}

import { parseIdentifier } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import type { ErrorCode } from '../../domain/error-codes.ts'
import { DomainError } from '../../domain/errors.ts'
import { isWithoutEffect, readBytes } from '../../domain/tables/operations.ts'
import { policyUser } from '../../domain/policies/policy.ts'
import { formatBytes } from '../../lib/text.ts'
import { withoutPaths } from '../../domain/without-paths.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { propertyText } from '../../iceberg/metadata/metadata.ts'
import { isUniqueViolation } from '../../storage/database-error.ts'
import type { PolicyDecisionsTable } from '../../storage/automation-schema.ts'
import type { TableHealth } from '../../storage/stores/tables/health-index-store.ts'
import { createDecisionStore, type PolicyTableState } from '../../storage/stores/policies/decision-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { MaintenanceRequest } from '../operations/maintenance-service.ts'
import { MAINTENANCE_PROPERTY } from '../tables/health-index/measure-table.ts'
import { type Assessment, cooldownEnd, type DecisionReason, plannedBytes } from './assess.ts'
import type { Governing } from './governance.ts'
import type { SchedulerDeps } from './policy-deps.ts'
import { FAILURES_TO_SUSPEND, keyOf, newState, reportSuspension, settle } from './settle-runs.ts'
import { stateOfTable } from './table-state.ts'

/** An operation that may run now. */
export interface ReadyRun {
  readonly governing: Governing
  readonly row: TableHealth
  readonly assessment: Assessment
  /** Bytes that the policy may still read in this hour; undefined: no limit. */
  readonly bytesLeft?: number | undefined
}

/** An operation that is stored as running. */
export interface ClaimedRun {
  readonly decision: PolicyDecisionsTable
  /** What the policy knew of the table before. */
  readonly before: PolicyTableState
}

/** Why a claimed operation did not run. */
interface NotRun {
  readonly outcome: 'skipped' | 'deferred' | 'cancelled'
  readonly reason: DecisionReason
  readonly detail: string
  /** Set if the same request is refused each time: after three in a row the operation is suspended. */
  readonly refusal?: { readonly code: ErrorCode; readonly message: string }
}

/**
 * Runs an operation of an active policy, whose decision {@link claim} has stored: the operation is previewed and its
 * plan applied, as a person would do it. Resolves when the operation has ended.
 */
export async function runOperation(deps: SchedulerDeps, ready: ReadyRun, claimed: ClaimedRun): Promise<void> {
  const { decision } = claimed
  const operationId = deps.newId('op')
  const context: RequestContext = {
    operationId,
    caller: { user: policyUser(decision.policy_name), role: 'LeadDataEngineer', via: 'system' },
    requestId: decision.id,
  }
  try {
    const notRun = await apply(deps, ready, { decision, context, operationId })
    if (notRun !== undefined) return await endNotRun(deps, claimed, notRun)
  } catch (error) {
    deps.log.warn('an operation of a policy failed', {
      policy: decision.policy_name,
      table: decision.table_name,
      error,
    })
    if ((await deps.operations.find(operationId)) === undefined) return await refused(deps, claimed, error)
  }
  const operation = await deps.operations.find(operationId)
  if (operation !== undefined && operation.state !== 'running' && operation.state !== 'unknown') {
    await settle(deps, decision, operation)
  }
}

/** Stores that the operation runs, before it does; undefined when another one runs on the table. */
export async function claim(deps: SchedulerDeps, ready: ReadyRun): Promise<ClaimedRun | undefined> {
  const decision = decisionRow(deps, ready, 'running')
  try {
    return await deps.inTransaction(async (tx) => {
      const decisions = createDecisionStore(tx)
      const key = { policy_id: decision.policy_id, table_name: decision.table_name, operation: decision.operation }
      const before = stateOfTable(await decisions.state(key), ready.row) ?? newState(key)
      const nowMs = deps.now().getTime()
      // another process may have run it since this one looked
      if ((cooldownEnd({ governing: ready.governing, state: before }) ?? 0) > nowMs) return undefined
      await decisions.insert(decision)
      const last = { last_run_ms: nowMs, considered_ms: nowMs, last_sequence: ready.row.sequence_number }
      const table = { table_uuid: ready.row.table_uuid }
      await decisions.saveState({ ...before, ...last, ...table, decision_id: decision.id, not_before_ms: null })
      return { decision, before }
    })
  } catch (error) {
    if (isUniqueViolation(error)) return undefined
    throw error
  }
}

/** The row of a new decision. */
export function decisionRow(
  { newId, now, instance }: Pick<SchedulerDeps, 'newId' | 'now' | 'instance'>,
  { governing, row, assessment }: ReadyRun,
  outcome: string,
): PolicyDecisionsTable {
  const at = now().toISOString()
  const score = assessment.action?.projected['score']
  return {
    id: newId('dec'),
    policy_id: governing.policy.id,
    policy_name: governing.policy.settings.name,
    table_name: row.table_name,
    operation: governing.operation,
    outcome,
    reason: assessment.reason,
    detail: assessment.detail,
    operation_id: null,
    instance_id: outcome === 'running' ? instance.id : null,
    planned_bytes: plannedBytes(assessment.action) ?? null,
    projected_score: score ?? null,
    score_before: row.score,
    score_after: null,
    files_removed: null,
    delete_files_removed: null,
    bytes_freed: null,
    bytes_rewritten: null,
    storage_freed_bytes: null,
    projected_files_removed: null,
    projected_delete_files_removed: null,
    projected_bytes_freed: null,
    planning_saved_us: null,
    scan_requests_saved: null,
    not_before: assessment.notBeforeMs === undefined ? null : new Date(assessment.notBeforeMs).toISOString(),
    repeated: 1,
    created_at: at,
    updated_at: at,
  }
}

/** A decision that is carried out. */
interface CarriedOut {
  readonly decision: PolicyDecisionsTable
  readonly context: RequestContext
  readonly operationId: string
}

/** Previews and applies; returns why nothing was applied. */
async function apply(
  { maintenance, catalog, decisions, policies }: SchedulerDeps,
  { governing: { policy, operation, configured }, assessment, bytesLeft }: ReadyRun,
  { decision, context, operationId }: CarriedOut,
): Promise<NotRun | undefined> {
  const table = decision.table_name
  const { metadata } = await catalog.current().loadTable(parseIdentifier(table))
  if (propertyText(metadata, MAINTENANCE_PROPERTY)?.toLowerCase() === 'off') {
    return skip(`${decision.detail}; maintenance is off for the table`)
  }
  const request: MaintenanceRequest = { table, ...configured.options }
  const preview = await maintenance.preview(operation, request, context)
  const { details } = preview
  if (isWithoutEffect(operation, details)) return skip(decision.detail)
  const bytes = readBytes(details) ?? decision.planned_bytes
  if (bytesLeft !== undefined && bytes !== null && bytes > bytesLeft) {
    const detail = `${decision.detail}; it needs ${formatBytes(bytes)}, and ${formatBytes(Math.max(0, bytesLeft))} are left in this hour`
    return { outcome: 'deferred', reason: 'budget_spent', detail }
  }
  await decisions.update(decision.id, { planned_bytes: bytes })
  const planned = { ...request, ...(preview.plan_id === undefined ? {} : { plan_id: preview.plan_id }) }
  if ((await policies.find(policy.id))?.revision !== policy.revision) {
    const detail = `${decision.detail}, but the policy was changed before it began`
    return { outcome: 'cancelled', reason: assessment.reason, detail }
  }
  // stored first, so that whoever settles the decision after a crash finds the operation, and no other
  await decisions.update(decision.id, { operation_id: operationId })
  const started = await maintenance.start(operation, planned, context)
  await started.done
  return undefined
}

function skip(detail: string): NotRun {
  return { outcome: 'skipped', reason: 'nothing_to_do', detail }
}

/** How long an operation waits when the bytes of the hour are spent, ms. */
const BUDGET_WAIT_MS = 5 * 60_000

/** Ends a decision without an operation. Only one that is skipped counts as a run: it has its cooldown. */
async function endNotRun(deps: SchedulerDeps, { decision, before }: ClaimedRun, notRun: NotRun): Promise<void> {
  const now = deps.now()
  await deps.inTransaction(async (tx) => {
    const decisions = createDecisionStore(tx)
    const { outcome, reason, detail } = notRun
    const ended = { outcome, reason, detail, operation_id: null, updated_at: now.toISOString() }
    await decisions.end(decision.id, ended)
    const state = await decisions.state(keyOf(decision))
    if (state === undefined) return
    if (notRun.refusal !== undefined) return countRefusal(deps, tx, { decision, state, error: notRun.refusal })
    if (notRun.outcome === 'skipped') return
    const { last_run_ms, last_sequence, considered_ms } = before
    const notBeforeMs = notRun.outcome === 'deferred' ? now.getTime() + BUDGET_WAIT_MS : null
    await decisions.saveState({ ...state, last_run_ms, last_sequence, considered_ms, not_before_ms: notBeforeMs })
  })
}

interface CountedRefusal {
  readonly decision: PolicyDecisionsTable
  readonly state: PolicyTableState
  readonly error: NonNullable<NotRun['refusal']>
}

/** Counts a refusal as a failure: the third in a row suspends the operation for the table. */
async function countRefusal(deps: SchedulerDeps, tx: Tx, { decision, state, error }: CountedRefusal): Promise<void> {
  const failures = state.failures + 1
  const isSuspended = failures >= FAILURES_TO_SUSPEND
  await createDecisionStore(tx).saveState({ ...state, failures, is_suspended: isSuspended })
  if (isSuspended && !state.is_suspended) await reportSuspension(deps, tx, { decision, error })
}

/** Codes of refusals that the request itself causes, such as a column that the table does not have. */
const REFUSED_EACH_TIME: ReadonlySet<ErrorCode> = new Set([
  'INVALID_REQUEST',
  'UNPROCESSABLE',
  'FORBIDDEN',
  'INVALID_ARGUMENT',
  'UNSUPPORTED',
  'NO_SUCH_COLUMN',
  'GC_DISABLED',
])

/** Ends a decision whose operation was refused before the ledger had it. It is tried again after the cooldown. */
async function refused(deps: SchedulerDeps, claimed: ClaimedRun, error: unknown): Promise<void> {
  const isKnown = error instanceof DomainError || error instanceof IcebergError
  const message = isKnown ? withoutPaths(error.message) : 'unexpected error, see the log'
  return endNotRun(deps, claimed, {
    outcome: 'skipped',
    reason: 'refused',
    detail: `${claimed.decision.detail}; ${message}`,
    ...(isKnown && REFUSED_EACH_TIME.has(error.code) ? { refusal: { code: error.code, message } } : {}),
  })
}

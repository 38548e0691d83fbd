import { isOpen, nextOpening, nextTime } from '../../domain/policies/calendar.ts'
import { cooldownAfter, dueBecause, type TableFigures } from '../../domain/policies/due.ts'
import { parseDuration } from '../../domain/duration.ts'
import { operationEntry, readBytes } from '../../domain/tables/operations.ts'
import type { decisionReason, PolicySettings } from '../../schemas/policies.ts'
import type { PolicyTableState } from '../../storage/stores/policies/decision-store.ts'
import type { TableHealth } from '../../storage/stores/tables/health-index-store.ts'
import type { PolicyRecord } from '../../storage/stores/policies/policy-store.ts'
import { indexedActions } from '../tables/health-index/health-index-service.ts'
import type { IndexedAction } from '../tables/health-index/measure-table.ts'
import type { Governing } from './governance.ts'
import type { z } from 'zod'

/** A reason that is stored with a decision. */
export type DecisionReason = z.output<typeof decisionReason>

/** What becomes of an operation that is due. */
export interface Assessment {
  readonly outcome: 'ready' | 'deferred' | 'skipped'
  readonly reason: DecisionReason
  /** Why the operation is due, and what the reason does not say. */
  readonly detail: string
  /** When it is worth another look, ms since the epoch. */
  readonly notBeforeMs?: number | undefined
  readonly action?: IndexedAction | undefined
}

/** What one policy may still do now. */
export interface Allowance {
  /** Undefined: no limit. */
  readonly bytesLeft: number | undefined
  readonly runsLeft: number
}

export interface AssessInput {
  readonly governing: Governing
  readonly row: TableHealth
  readonly state: PolicyTableState | undefined
  readonly allowance: Allowance
  /** Why the table is busy; undefined when it is not. */
  readonly busy: string | undefined
  readonly nowMs: number
}

const DEFAULT_COOLDOWN_MS = 3_600_000
const DEFAULT_CONCURRENT = 2
const HOUR_MS = 3_600_000

/** The cooldown of a policy, ms. */
export function cooldownMs({ cooldown }: PolicySettings): number {
  return parseDuration(cooldown) ?? DEFAULT_COOLDOWN_MS
}

/** How many operations a policy runs at a time. */
export function concurrentOperations({ budget }: PolicySettings): number {
  return budget?.concurrent_operations ?? DEFAULT_CONCURRENT
}

/** The figures of a row that conditions look at. */
export function figuresOf(row: TableHealth): TableFigures {
  return {
    score: row.score ?? undefined,
    smallFiles: row.small_file_count,
    deleteRatio: row.deleted_ppm / 1_000_000,
    equalityDeleteFiles: row.equality_delete_file_count,
    snapshots: row.snapshot_count,
    sequenceNumber: row.sequence_number,
  }
}

/** Why the operation is due; undefined when it is not. */
export function dueReason({ governing, row, state, nowMs }: Omit<AssessInput, 'allowance' | 'busy'>) {
  const { policy } = governing
  const history = { lastSequence: state?.last_sequence ?? undefined, scheduledFromMs: scheduledFrom(policy, state) }
  return dueBecause(policy.settings.when, figuresOf(row), { history, nowMs })
}

function scheduledFrom({ updatedAt }: PolicyRecord, state: PolicyTableState | undefined): number {
  return Math.max(Date.parse(updatedAt), state?.considered_ms ?? 0)
}

/** What becomes of an operation now; undefined when it is not due, or waits for a time that was decided before. */
export function assess(input: AssessInput): Assessment | undefined {
  const { governing, row, state, nowMs } = input
  const due = isLeftAlone(row, state) ? undefined : dueReason(input)
  if (due === undefined) return undefined
  const resting = cooldownEnd(input)
  if (resting !== undefined && resting > nowMs) {
    return wait('cooldown', due, resting)
  }
  if (nowMs < (state?.not_before_ms ?? 0)) return undefined
  const action = actionOf(input)
  if (action === undefined && isKnownWork(governing, row)) {
    return { outcome: 'skipped', reason: 'nothing_to_do', detail: due }
  }
  return obstacle(input, { due, action }) ?? { outcome: 'ready', reason: 'due', detail: due, action }
}

function isLeftAlone(row: TableHealth, state: PolicyTableState | undefined): boolean {
  return row.is_off || state?.is_suspended === true
}

/** What prevents an operation that has something to do from running now. */
function obstacle(
  input: AssessInput,
  work: { readonly due: string; readonly action: IndexedAction | undefined },
): Assessment | undefined {
  const { governing, nowMs, busy } = input
  const { window } = governing.policy.settings
  if (window !== undefined && !isOpen(window, nowMs)) {
    return wait('window_closed', work.due, nextOpening(window, nowMs))
  }
  if (busy !== undefined) return wait('table_busy', `${work.due}; ${busy}`, undefined)
  return limitOf(input, work)
}

function limitOf(
  { allowance, nowMs }: AssessInput,
  { due, action }: { readonly due: string; readonly action: IndexedAction | undefined },
): Assessment | undefined {
  if (allowance.runsLeft <= 0) {
    return wait('too_many_running', due, undefined)
  }
  const bytes = plannedBytes(action)
  if (allowance.bytesLeft !== undefined && bytes !== undefined && bytes > allowance.bytesLeft) {
    return wait('budget_spent', due, nowMs + HOUR_MS / 12)
  }
  return undefined
}

function wait(reason: DecisionReason, detail: string, notBeforeMs: number | undefined): Assessment {
  return { outcome: 'deferred', reason, detail, notBeforeMs }
}

/** When the cooldown after the last run ends; undefined when it has never run. */
export function cooldownEnd({ governing, state }: Pick<AssessInput, 'governing' | 'state'>): number | undefined {
  if (state === undefined || state.last_run_ms === null) return undefined
  return state.last_run_ms + cooldownAfter(cooldownMs(governing.policy.settings), state.without_effect)
}

/** Whether the index can tell that there is nothing to do: it knows the work of the default options. */
export function isKnownWork({ operation, configured }: Governing, row: TableHealth): boolean {
  // the report leaves out what a compaction would do too, but the policy may have no compaction
  if (operation === 'convert_deletes') return row.equality_delete_file_count === 0
  return operationEntry(operation).byHealth === true && Object.keys(configured.options ?? {}).length === 0
}

/** What the health report recommended for this operation. */
export function actionOf({ governing, row }: Pick<AssessInput, 'governing' | 'row'>): IndexedAction | undefined {
  return indexedActions(row).find(({ operation }) => operation === governing.operation)
}

/** Bytes that an operation would read; undefined when that is not known. */
export function plannedBytes(action: IndexedAction | undefined): number | undefined {
  return action && readBytes(action.projected)
}

/** When an operation that is not due now becomes due by its schedule. */
export function nextScheduled(policy: PolicyRecord, state: PolicyTableState | undefined): number | undefined {
  const { schedule } = policy.settings.when
  return schedule && nextTime(schedule, scheduledFrom(policy, state))
}

import { type ApprovalRule, DEFAULT_APPROVAL_RULE } from '../../domain/approvals.ts'
import { type Environment, nextStep, RUN_ENVIRONMENTS, type RunEnvironment } from '../../domain/environments.ts'
import { parseDuration } from '../../domain/duration.ts'
import { isTimezone } from '../../domain/policies/calendar.ts'
import { type ChangeWindow, isChangeOpen, nextChangeOpening } from '../../domain/policies/change-windows.ts'
import { TIMEZONE_RULE } from '../../domain/policies/policy-problems.ts'
import type { EnvironmentSettings, RollbackSettings, SetEnvironmentRequest } from '../../schemas/environments.ts'
import { fieldRefusal } from '../../schemas/issues.ts'
import type { EnvironmentStore } from '../../storage/stores/environment-store.ts'

/** What moves into an environment, and deployments there, must observe. */
export interface EnvironmentRules {
  readonly approvals: ApprovalRule
  readonly windows: readonly ChangeWindow[]
  readonly rollbackIf: RollbackSettings | null
  /** Changes with the rules. */
  readonly revision: number
}

/** Settings of an environment that was never changed. */
export const DEFAULT_SETTINGS: EnvironmentSettings = {
  parameters: {},
  writes: ['*'],
  deploy: 'manual',
  defaults: {
    trigger_interval: '5 seconds',
    checkpoint_root: 'checkpoints',
    max_files_per_batch: 1000,
    max_bytes_per_batch: 2 ** 30,
    engine: 'embedded',
  },
  approvals: null,
  windows: [],
  rollback_if: null,
}

/** The environments that versions move into only with approvals. */
const APPROVED: readonly Environment[] = RUN_ENVIRONMENTS.map((from) => nextStep(from, 'promote'))
  .filter((step) => step?.kind === 'approval')
  .map((step) => step.to)

/** Whether versions move into an environment only with approvals. */
export function needsApproval(environment: Environment): boolean {
  return APPROVED.includes(environment)
}

/** The rules of an environment as they are now; over a transaction, as they stay until its end. */
export async function readRules(
  store: Pick<EnvironmentStore, 'find'>,
  environment: RunEnvironment,
): Promise<EnvironmentRules> {
  const found = await store.find(environment)
  // settings that an earlier version of the service has stored lack the newer members
  const { approvals, windows, rollback_if: rollbackIf } = { ...DEFAULT_SETTINGS, ...found?.settings }
  return { approvals: approvals ?? DEFAULT_APPROVAL_RULE, windows, rollbackIf, revision: found?.revision ?? 0 }
}

/** Whether changes of an environment are permitted now. */
export function isOpenNow({ windows }: Pick<EnvironmentRules, 'windows'>, now: Date): boolean {
  return isChangeOpen(windows, now.getTime())
}

/** When changes of an environment are permitted next; null: not within 400 days. */
export function opensAt({ windows }: Pick<EnvironmentRules, 'windows'>, now: Date): string | null {
  const opening = nextChangeOpening(windows, now.getTime())
  return opening === undefined ? null : new Date(opening).toISOString()
}

const LONGEST_WATCH_MS = 7 * 86_400_000

/** Refuses rules that are well-formed and mean nothing. */
export function requireRules(environment: RunEnvironment, change: SetEnvironmentRequest, now: Date): void {
  const [first, ...others] = [
    ...approvalProblems(environment, change),
    ...windowProblems(change.windows ?? [], now),
    ...rollbackProblems(change.rollback_if ?? null),
  ]
  if (first) throw fieldRefusal('UNPROCESSABLE', [first, ...others])
}

interface Problem {
  readonly path: string
  readonly message: string
}

function approvalProblems(environment: RunEnvironment, { approvals }: SetEnvironmentRequest): readonly Problem[] {
  if ((approvals ?? null) === null || needsApproval(environment)) return []
  const message = `must be null: moves to ${environment} need no approval, only those to ${APPROVED.join(' and ')} do`
  return [{ path: 'approvals', message }]
}

function windowProblems(windows: readonly ChangeWindow[], now: Date): readonly Problem[] {
  const problems = windows.flatMap(({ timezone, dates }, at) => [
    ...(isTimezone(timezone) ? [] : [{ path: `windows.${at}.timezone`, message: TIMEZONE_RULE }]),
    ...(dates ?? []).flatMap((entry, index) => {
      const message = dateProblem(entry)
      return message === undefined ? [] : [{ path: `windows.${at}.dates.${index}`, message }]
    }),
  ])
  if (problems.length > 0 || nextChangeOpening(windows, now.getTime()) !== undefined) return problems
  return [{ path: 'windows', message: 'must permit changes at some time within the next 400 days' }]
}

function dateProblem(entry: string): string | undefined {
  const [first = '', last = first] = entry.split('/')
  const unknown = [first, last].find((date) => !isDate(date))
  if (unknown !== undefined) return `${unknown} is not a date of the calendar`
  return first > last ? 'must not end before it begins' : undefined
}

function isDate(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}

function rollbackProblems(rule: RollbackSettings | null): readonly Problem[] {
  if (rule === null) return []
  const watchMs = parseDuration(rule.within) ?? 0
  return [
    ...(watchMs > LONGEST_WATCH_MS ? [{ path: 'rollback_if.within', message: 'must be at most 7 days' }] : []),
    ...(rule.lag_over === null && rule.failed_batches === null
      ? [{ path: 'rollback_if', message: 'must have lag_over or failed_batches' }]
      : []),
  ]
}

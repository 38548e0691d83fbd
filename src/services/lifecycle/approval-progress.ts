import { isRunEnvironment } from '../../domain/deployments.ts'
import { parseDuration } from '../../domain/duration.ts'
import { type Environment, nextStep } from '../../domain/environments.ts'
import { isSameUser, type OpenRequest } from '../../domain/approvals.ts'
import type { ApprovalSummary, PendingApproval } from '../../storage/stores/approvals/approval-store.ts'
import type { Vote } from '../../storage/stores/approvals/vote-store.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import { type EnvironmentRules, isOpenNow, opensAt, readRules } from '../environments/environment-rules.ts'

/** What decides how far a request is. */
export interface ProgressDeps {
  /** Whether no requester may decide, in any environment. */
  readonly forbidSelf: boolean
  readonly now: () => Date
}

/** An approval of a request. */
export interface GivenApproval {
  readonly user: string
  readonly approved_at: string
  /** False: an approval of the requester, whom the rule forbids to decide. */
  readonly counts: boolean
}

/** How far a request is by the rules of its environment as they are now. */
export interface ApprovalProgress {
  readonly given: readonly GivenApproval[]
  /** Null once decided. */
  readonly required: number | null
  readonly missing: number
  /** When the window opens that it waits for; null: it does not wait, or no window opens within 400 days. */
  readonly opensAt: string | null
  readonly expiresAt: string | null
  readonly forbidsSelf: boolean
}

/** The rules of the environment that a request leads to. */
export function rulesOfRequest(
  { environments }: Pick<LifecycleStores, 'environments'>,
  { toEnvironment }: { readonly toEnvironment: Environment },
): Promise<EnvironmentRules> {
  if (!isRunEnvironment(toEnvironment)) throw new Error(`requests do not lead to ${toEnvironment}`)
  return readRules(environments, toEnvironment)
}

/** What the progress of a request follows from. */
export interface ProgressFacts {
  readonly rules: EnvironmentRules
  readonly votes: readonly Vote[]
  /** When the window opens, for requests of which many have the same; default: it is computed. */
  readonly opening?: () => string | null
}

/** How far a request is. */
export function progressOf(deps: ProgressDeps, request: ApprovalSummary, facts: ProgressFacts): ApprovalProgress {
  const { rules, votes, opening = () => opensAt(rules, deps.now()) } = facts
  if (request.status !== 'pending') return decidedProgress(request, votes)
  const needed = nextStep(request.fromEnvironment, 'promote')?.kind === 'approval' ? rules.approvals.required : 0
  const forbidsSelf = needed > 0 && (deps.forbidSelf || rules.approvals.forbid_self)
  const given = votes.map(({ approver, approvedAt }) => ({
    user: approver,
    approved_at: approvedAt,
    counts: !(forbidsSelf && isSameUser(approver, request.requestedBy)),
  }))
  const missing = Math.max(0, needed - given.filter(({ counts }) => counts).length)
  return {
    given,
    required: needed,
    missing,
    opensAt: request.waitingSince === undefined ? null : opening(),
    expiresAt: missing > 0 ? expiryOf(request, rules) : null,
    forbidsSelf,
  }
}

function decidedProgress(request: Exclude<ApprovalSummary, PendingApproval>, votes: readonly Vote[]): ApprovalProgress {
  const given = votes.map(({ approver, approvedAt }) => ({ user: approver, approved_at: approvedAt, counts: true }))
  // earlier versions of the service stored only the one approver
  const { status, decidedBy, decidedAt } = request
  const only = status === 'approved' && decidedBy !== undefined && given.length === 0
  const shown = only ? [{ user: decidedBy, approved_at: decidedAt, counts: true }] : given
  return { given: shown, required: null, missing: 0, opensAt: null, expiresAt: null, forbidsSelf: false }
}

function expiryOf({ requestedAt }: ApprovalSummary, { approvals }: EnvironmentRules): string | null {
  const afterMs = approvals.expires_after === null ? undefined : parseDuration(approvals.expires_after)
  return afterMs === undefined ? null : new Date(Date.parse(requestedAt) + afterMs).toISOString()
}

/** An open request as {@link OpenRequest}. */
export function openRequestOf(
  deps: ProgressDeps,
  { waitingSince }: PendingApproval,
  { rules, progress }: { readonly rules: EnvironmentRules; readonly progress: ApprovalProgress },
): OpenRequest {
  return {
    isWaiting: waitingSince !== undefined,
    missing: progress.missing,
    expiresAtMs: progress.expiresAt === null ? undefined : Date.parse(progress.expiresAt),
    isWindowOpen: isOpenNow(rules, deps.now()),
  }
}

/** How far each of some requests is, by its id. */
export async function progressOfAll(
  deps: ProgressDeps,
  stores: Pick<LifecycleStores, 'environments' | 'votes'>,
  requests: readonly ApprovalSummary[],
): Promise<ReadonlyMap<string, ApprovalProgress>> {
  const votes = Map.groupBy(await stores.votes.listOf(requests.map(({ id }) => id)), ({ requestId }) => requestId)
  const targets = Map.groupBy(requests, ({ toEnvironment }) => toEnvironment)
  const progress = new Map<string, ApprovalProgress>()
  for (const [toEnvironment, ofTarget] of targets) {
    const rules = await rulesOfRequest(stores, { toEnvironment })
    const found: { opening?: string | null } = {}
    const opening = (): string | null => (found.opening ??= opensAt(rules, deps.now()))
    for (const request of ofTarget) {
      progress.set(request.id, progressOf(deps, request, { rules, votes: votes.get(request.id) ?? [], opening }))
    }
  }
  return progress
}

import { EXPIRED, requestStep } from '../../domain/approvals.ts'
import { parseDuration } from '../../domain/duration.ts'
import { RUN_ENVIRONMENTS, type RunEnvironment } from '../../domain/environments.ts'
import { type Loop, type LoopLease, startLoop } from '../../lib/start-loop.ts'
import type { OpenFilter } from '../../storage/stores/approvals/approval-store.ts'
import { type NamedLeaseDeps, namedLease } from '../../storage/stores/lease-store.ts'
import { createLifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { Tx } from '../../storage/transactions.ts'
import { type EnvironmentRules, isOpenNow, readRules } from '../environments/environment-rules.ts'
import type { Logger } from '../logger.ts'
import { baseOf, type DecisionDeps } from './approval-decision.ts'
import { openRequestOf, progressOf, rulesOfRequest } from './approval-progress.ts'
import { apply, contentChanged, endRequest, hold, isContentSame, type OpenWork, recordStep } from './approval-steps.ts'

export interface KeeperDeps extends DecisionDeps, NamedLeaseDeps {
  readonly log: Pick<Logger, 'warn'>
  /** Between two looks at the open requests, ms; shortened in tests. */
  readonly tickMs?: number | undefined
}

const TICK_MS = 1000
const LEASE_MS = 60_000
const PAGE = 200

/**
 * Does what becomes due for open requests: moves versions when their window opens, ends requests that have expired, and
 * follows changes of the rules. Each request is settled in its own transaction by conditional updates, so that a step is
 * taken once, also with several processes and after a crash.
 */
export function keepRequests(deps: KeeperDeps): Loop {
  const lease = namedLease(deps, 'approvals', LEASE_MS)
  /** The rules that all open requests of an environment were settled by. */
  const settled = new Map<RunEnvironment, number>()
  return startLoop({
    everyMs: deps.tickMs ?? TICK_MS,
    lease,
    async tick(signal) {
      for (const environment of RUN_ENVIRONMENTS) {
        const rules = await readRules(deps.stores.environments, environment)
        const filters = dueFilters(deps, rules, { environment, isSettled: settled.get(environment) === rules.revision })
        let isComplete = true
        for (const filter of filters) isComplete = (await settleAll(deps, filter, { signal, lease })) && isComplete
        if (isComplete) settled.set(environment, rules.revision)
        else settled.delete(environment)
      }
    },
    onError: (error) => deps.log.warn('open approval requests could not be settled', { error }),
  })
}

interface Place {
  readonly environment: RunEnvironment
  readonly isSettled: boolean
}

/** The requests that may be due; all of them after a change of the rules. */
function dueFilters(
  deps: KeeperDeps,
  rules: EnvironmentRules,
  { environment, isSettled }: Place,
): readonly OpenFilter[] {
  if (!isSettled) return [{ environment }]
  const now = deps.now()
  const afterMs = parseDuration(rules.approvals.expires_after ?? '')
  const until = afterMs === undefined ? undefined : new Date(now.getTime() - afterMs).toISOString()
  return [
    ...(isOpenNow(rules, now) ? [{ environment, isWaiting: true }] : []),
    ...(until === undefined ? [] : [{ environment, requestedUntil: until }]),
  ]
}

interface Turn {
  readonly signal: AbortSignal
  readonly lease: LoopLease
}

/** Settles requests page by page; false when some were left out, which are settled later. */
async function settleAll(deps: KeeperDeps, filter: OpenFilter, { signal, lease }: Turn): Promise<boolean> {
  let isComplete = true
  let after: string | undefined
  while (!signal.aborted && (await lease.take())) {
    const requests = await deps.stores.approvals.listOpen(filter, { limit: PAGE, after })
    for (const { id } of requests) {
      if (signal.aborted) return false
      isComplete = (await settleOne(deps, id)) && isComplete
    }
    if (requests.length < PAGE) return isComplete
    after = requests.at(-1)?.id
  }
  return false
}

async function settleOne(deps: KeeperDeps, id: string): Promise<boolean> {
  try {
    await deps.inTransaction((tx) => settle(deps, tx, id))
    return true
  } catch (error) {
    deps.log.warn('an approval request could not be settled yet', { request_id: id, error })
    return false
  }
}

/** Takes the step that is due for a request, by the rules as they are in this transaction. */
async function settle(deps: KeeperDeps, tx: Tx, id: string): Promise<void> {
  const stores = createLifecycleStores(tx)
  const request = await stores.approvals.find(id)
  if (request?.status !== 'pending') return
  const rules = await rulesOfRequest(stores, request)
  const votes = await stores.votes.listOf([id])
  const progress = progressOf(deps, request, { rules, votes })
  const step = requestStep(openRequestOf(deps, request, { rules, progress }), deps.now().getTime())
  if (step === 'stay') return
  const work: OpenWork = { deps, tx, stores, request, rules, votes, baseVersionId: await baseOf(stores, request) }
  const context = undefined
  switch (step) {
    case 'apply':
      return moveOrReject(work)
    case 'expire':
      return void (await endRequest(work, {
        status: 'rejected',
        reason: EXPIRED,
        context,
        action: 'approval.expire',
        event: 'approval.expired',
      }))
    case 'hold':
      return void (await hold(work, { context, action: 'approval.hold' }))
    default: {
      const { waitingSince: _, ...reopened } = request
      await stores.approvals.setWaiting(id, null)
      await recordStep(work, { context, action: 'approval.reopen', event: 'approval.reopened' }, reopened)
    }
  }
}

/** Moves the version; a request whose version has changed is rejected, because nobody waits for the error. */
async function moveOrReject(work: OpenWork): Promise<void> {
  const { request, stores, votes } = work
  const version = await stores.versions.find(request.definitionId, request.versionId)
  const isUnchanged = version?.environment === request.fromEnvironment && isContentSame(request, version)
  const context = undefined
  if (!isUnchanged) {
    const reason = contentChanged(request).message
    await endRequest(work, {
      status: 'rejected',
      reason,
      context,
      action: 'approval.reject',
      event: 'approval.rejected',
    })
    return
  }
  await apply(work, { context, action: 'approval.apply', decidedBy: votes.at(-1)?.approver })
}

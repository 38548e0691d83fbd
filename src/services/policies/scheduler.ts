import { LRUCache } from 'lru-cache'
import { sleep } from '../../lib/sleep.ts'
import { type Loop, type LoopLease, type NextTick, startLoop } from '../../lib/start-loop.ts'
import { namedLease } from '../../storage/stores/lease-store.ts'
import type { PolicyDecisionsTable } from '../../storage/automation-schema.ts'
import type { TableHealth } from '../../storage/stores/tables/health-index-store.ts'
import { createDecisionStore, type PolicyTableState } from '../../storage/stores/policies/decision-store.ts'
import type { PolicyRecord } from '../../storage/stores/policies/policy-store.ts'
import { assess, type Allowance, concurrentOperations, cooldownMs, plannedBytes } from './assess.ts'
import { governingPolicies } from './governance.ts'
import type { SchedulerDeps } from './policy-deps.ts'
import { claim, decisionRow, type ReadyRun, runOperation } from './run-operation.ts'
import { busyTables, keyOf, newState, settleRuns } from './settle-runs.ts'
import { stateOfTable } from './table-state.ts'

/** Carries out the policies, on one of the processes that share the state. */
export interface PolicyScheduler {
  start(): void
  /** Looks at all tables at once. */
  wake(): void
  /** Starts nothing more, and waits until what it started has ended. */
  close(): Promise<void>
}

const TICK_MS = 15_000
/** A look at all tables takes at most a tenth of the time: after one of 10 s the next is 100 s later. */
const IDLE_SHARE = 10
const LONGEST_PAUSE_MS = 5 * 60_000
const LEASE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const KEPT_DECISIONS_MS = 90 * DAY_MS
/** Last decisions that are remembered; others are read from the database: about 20 MB of memory at most. */
const MAX_LAST = 50_000
/** How often a decision that has not changed is written again. */
const REPEAT_MS = 10 * 60_000

/** A scheduler over the health index. */
export function createPolicyScheduler(deps: SchedulerDeps): PolicyScheduler {
  return new Scheduler(deps)
}

class Scheduler implements PolicyScheduler {
  readonly #deps: SchedulerDeps
  /** What runs here, by the id of its decision. */
  readonly #runs = new Map<string, Promise<void>>()
  /** The last decision about each operation of each table, so that one that stays the same is not written each time. */
  readonly #last = new LRUCache<string, LastDecision>({ max: MAX_LAST })
  readonly #lease: LoopLease
  #loop: Loop | undefined
  #prunedAtMs = 0

  constructor(deps: SchedulerDeps) {
    this.#deps = deps
    this.#lease = namedLease(deps, 'policies', LEASE_MS)
  }

  start(): void {
    this.#loop ??= startLoop({
      everyMs: this.#deps.tickMs ?? TICK_MS,
      lease: this.#lease,
      tick: (signal) => this.#paced(signal, () => this.#lookAtAll(signal)),
      otherwise: (signal) => this.#paced(signal, () => this.#settleRuns()),
      onError: (error) => this.#report(error),
    })
  }

  wake(): void {
    this.#loop?.wake()
  }

  async close(): Promise<void> {
    await this.#loop?.stop()
    await Promise.all(this.#runs.values())
  }

  #report(error: unknown): void {
    this.#deps.log.warn('the policies could not be carried out', { error })
  }

  /** Does work, also such that fails, with pauses that grow with its time. */
  async #paced(signal: AbortSignal, work: () => Promise<void>): Promise<NextTick> {
    const startedAt = performance.now()
    await work().catch((error: unknown) => this.#report(error))
    const tookMs = performance.now() - startedAt
    // a scheduler that is woken again and again leaves half of the time to other work
    await sleep(Math.min(LONGEST_PAUSE_MS, tookMs), signal)
    return { waitMs: Math.min(LONGEST_PAUSE_MS, Math.max(this.#deps.tickMs ?? TICK_MS, tookMs * IDLE_SHARE)) }
  }

  #settleRuns(): Promise<void> {
    return settleRuns(this.#deps, (id) => this.#runs.has(id))
  }

  async #lookAtAll(signal: AbortSignal): Promise<void> {
    const { policies, reconciler, instance } = this.#deps
    // the operations of a process that died would keep their tables busy for ever
    if (instance.isShared) await reconciler.run()
    await this.#settleRuns()
    const records = await policies.list()
    if (records.length === 0) return
    await this.#prune()
    const round = await openRound(this.#deps, records)
    for await (const rows of this.#deps.index.walk()) {
      if (signal.aborted || !(await this.#lease.take())) return
      await this.#considerAll(round, records, { rows, signal })
    }
  }

  async #considerAll(round: Round, records: readonly PolicyRecord[], { rows, signal }: Page): Promise<void> {
    const governed = rows.flatMap((row) =>
      governingPolicies(records, row.table_name).map((governing) => ({ governing, row })),
    )
    const states = await statesOf(this.#deps, governed)
    const noted: Noted[] = []
    for (const one of governed) {
      if (signal.aborted) break
      const { governing, row } = one
      const stored = states.get(stateKey(governing.policy.id, row.table_name, governing.operation))
      const state = stateOfTable(stored, row)
      const decided = await this.#consider(round, { ...one, state })
      if (decided !== undefined) noted.push(decided)
    }
    // those that are written at the same time share a transaction
    await Promise.all(noted.map((one) => this.#note(one)))
    await nextTurn()
  }

  /** Runs what may run; returns what is decided without a run. */
  async #consider(round: Round, { governing, row, state }: Governed): Promise<Noted | undefined> {
    const { policy } = governing
    const nowMs = this.#deps.now().getTime()
    const allowance = round.allowances.get(policy.id) ?? NOTHING_ALLOWED
    const assessment = assess({ governing, row, state, allowance, busy: round.busy.get(row.table_name), nowMs })
    if (assessment === undefined) return undefined
    const ready: ReadyRun = { governing, row, assessment, bytesLeft: allowance.bytesLeft }
    if (assessment.outcome !== 'ready') return { ...ready, outcome: assessment.outcome, state }
    if (policy.settings.mode === 'shadow') return { ...ready, outcome: 'would_run', state }
    // stored before the next look at all tables, which counts what runs
    const claimed = await claim(this.#deps, ready)
    if (claimed === undefined) return undefined
    spend(round, ready)
    const run = runOperation(this.#deps, ready, claimed)
      .catch((error: unknown) => this.#deps.log.error('an operation of a policy was lost', { error }))
      .finally(() => {
        this.#runs.delete(claimed.decision.id)
        this.wake()
      })
    this.#runs.set(claimed.decision.id, run)
    return undefined
  }

  /** Stores a decision that runs nothing; one that is the same as before is only counted, now and then. */
  async #note(ready: Noted): Promise<void> {
    const { governing, row, assessment, outcome, state } = ready
    const key = `${stateKey(governing.policy.id, row.table_name, governing.operation)} ${row.table_uuid}`
    const last = this.#last.get(key) ?? (await this.#lastStored(state))
    const nowMs = this.#deps.now().getTime()
    if (last?.outcome === outcome && last.reason === assessment.reason) {
      this.#last.set(key, last)
      if (nowMs - Date.parse(last.updated_at) < REPEAT_MS) return
      const again = {
        repeated: last.repeated + 1,
        detail: assessment.detail,
        updated_at: new Date(nowMs).toISOString(),
      }
      await this.#deps.inTransaction((tx) => createDecisionStore(tx).update(last.id, again))
      this.#last.set(key, { ...last, ...again })
      return
    }
    const decision = decisionRow(this.#deps, ready, outcome)
    await this.#deps.inTransaction(async (tx) => {
      const decisions = createDecisionStore(tx)
      await decisions.insert(decision)
      const before = state ?? newState(keyOf(decision))
      const subject = { table_uuid: row.table_uuid, decision_id: decision.id }
      await decisions.saveState({ ...before, ...this.#after(ready), ...subject })
    })
    this.#last.set(key, lastDecision(decision))
  }

  /** What a decision that runs nothing changes: a schedule counts as kept, and a run of shadow mode has its cooldown. */
  #after({ governing, assessment, outcome }: Noted): Partial<PolicyTableState> {
    const nowMs = this.#deps.now().getTime()
    if (outcome === 'deferred') return {}
    const rest = cooldownMs(governing.policy.settings)
    return { considered_ms: nowMs, not_before_ms: assessment.notBeforeMs ?? nowMs + rest }
  }

  async #lastStored(state: PolicyTableState | undefined): Promise<LastDecision | undefined> {
    if (state === undefined || state.decision_id === null) return undefined
    const decision = await this.#deps.decisions.find(state.decision_id)
    return decision && lastDecision(decision)
  }

  async #prune(): Promise<void> {
    const nowMs = this.#deps.now().getTime()
    if (nowMs - this.#prunedAtMs < DAY_MS) return
    this.#prunedAtMs = nowMs
    await this.#deps.decisions.prune(new Date(nowMs - KEPT_DECISIONS_MS).toISOString())
  }
}

/** What the next look compares with; there is one for each operation that was ever due. */
type LastDecision = Pick<PolicyDecisionsTable, 'id' | 'outcome' | 'reason' | 'repeated' | 'updated_at'>

function lastDecision({ id, outcome, reason, repeated, updated_at }: PolicyDecisionsTable): LastDecision {
  return { id, outcome, reason, repeated, updated_at }
}

/** An operation of a table with its policy, and what that knows of it. */
interface Governed extends Pick<ReadyRun, 'governing' | 'row'> {
  readonly state: PolicyTableState | undefined
}

/** A decision that runs nothing. */
interface Noted extends ReadyRun {
  readonly outcome: string
  readonly state: PolicyTableState | undefined
}

/** Some of the tables, until the signal ends the look at them. */
interface Page {
  readonly rows: readonly TableHealth[]
  readonly signal: AbortSignal
}

/** What one look at all tables knows. */
interface Round {
  readonly busy: Map<string, string>
  readonly allowances: Map<string, Allowance>
}

const NOTHING_ALLOWED: Allowance = { bytesLeft: undefined, runsLeft: 0 }

async function openRound(deps: SchedulerDeps, policies: readonly PolicyRecord[]): Promise<Round> {
  const [busy, running] = await Promise.all([busyTables(deps.decisions, deps.operations), deps.decisions.running()])
  const since = new Date(deps.now().getTime() - HOUR_MS).toISOString()
  const allowances = new Map<string, Allowance>()
  for (const { id, settings } of policies) {
    const perHour = settings.budget?.bytes_per_hour
    const runs = running.filter(({ policy_id: policy }) => policy === id).length
    const bytesLeft = perHour === undefined ? undefined : perHour - (await deps.decisions.bytesSince(id, since))
    allowances.set(id, { bytesLeft, runsLeft: concurrentOperations(settings) - runs })
  }
  return { busy, allowances }
}

/** What the policies know of the tables that they govern. */
async function statesOf(
  { decisions }: SchedulerDeps,
  governed: readonly Pick<Governed, 'governing' | 'row'>[],
): Promise<ReadonlyMap<string, PolicyTableState>> {
  if (governed.length === 0) return new Map()
  const policies = new Set(governed.map(({ governing }) => governing.policy.id))
  const tables = new Set(governed.map(({ row }) => row.table_name))
  const states = await decisions.statesOf([...policies], [...tables])
  return new Map(states.map((state) => [stateKey(state.policy_id, state.table_name, state.operation), state]))
}

/** Takes what a run uses from what its policy may still do in this round. */
function spend({ allowances, busy }: Round, { governing: { policy }, row, assessment }: ReadyRun): void {
  const { bytesLeft, runsLeft } = allowances.get(policy.id) ?? NOTHING_ALLOWED
  const bytes = plannedBytes(assessment.action) ?? 0
  allowances.set(policy.id, {
    bytesLeft: bytesLeft === undefined ? undefined : bytesLeft - bytes,
    runsLeft: runsLeft - 1,
  })
  busy.set(row.table_name, `the policy ${policy.settings.name} runs an operation on the table`)
}

function stateKey(policy: string, table: string, operation: string): string {
  return `${policy} ${operation} ${table}`
}

/** Lets requests be answered between two pages: SQLite answers without a pause. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

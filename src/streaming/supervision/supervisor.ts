import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { ownedEngine } from '../../engines/owned-engine.ts'
import type { PipelineRecord, PipelineStore, PipelineUpdate } from '../../storage/stores/pipeline-store.ts'
import { type BatchQuery, copyQuery } from '../sink/batch-query.ts'
import type { BatchProgress } from '../sink/batch-progress.ts'
import type { BatchSlots } from './batch-slots.ts'
import { FairShare } from './fair-share.ts'
import type { MetricsHub } from './metrics-hub.ts'
import type { PinKeeper } from '../pins/pin-keeper.ts'
import { canReadOn, LeaseLost } from './pipeline-errors.ts'
import { PipelineRunner, type RunEnd, type RunEvents } from './pipeline-runner.ts'
import type { SessionDeps } from './pipeline-session.ts'
import type { PipelineSpec } from '../pipeline-spec.ts'
import { describePipeline } from './pipeline-view.ts'
import { pinIdle } from '../pins/reassert-pins.ts'
import { fromStoredPosition, toStoredPositions } from '../checkpoint/stored-positions.ts'
import type { BackOff } from '../../iceberg/back-off.ts'

/** The log methods that the supervisor needs; the service's logger has them. */
export interface SupervisorLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

export interface SupervisorDeps {
  readonly store: PipelineStore
  readonly session: Omit<SessionDeps, 'checkLease'>
  readonly slots: BatchSlots
  readonly hub: MetricsHub
  /** This process, among those that share the state database. */
  readonly instance: { readonly id: number; readonly isShared: boolean; alive(): Promise<ReadonlySet<number>> }
  readonly log: SupervisorLog
  /** Counts what the pipelines of this process do. */
  readonly observer?: BatchObserver | undefined
  /** Prevents other engines from expiring unread snapshots. */
  readonly pins?: PinKeeper
  /** The query of a pipeline; default: it copies. */
  readonly queryOf?: (record: PipelineRecord) => Promise<BatchQuery | undefined>
  readonly backoff?: BackOff
  readonly lease?: LeaseTimes
}

/** Sees each batch that is finished, and each attempt that failed. */
export interface BatchObserver {
  onBatch(batch: BatchProgress): void
  onFailure(): void
}

/** How long a lease is valid, and how often leases are renewed and checked, ms. */
export interface LeaseTimes {
  readonly ms: number
  readonly tickMs: number
}

/** Keeps all pipelines running whose desired state is `running`; processes on one state database share them. */
export interface Supervisor {
  /** Starts pipelines that should run but have no process, now and on every tick. */
  start(): Promise<void>
  /** Starts a pipeline that was just recorded. */
  launch(id: string): Promise<void>
  /** Ends a run after `desired_state` was set; resolves when it has ended here, immediately for `immediate`. */
  stop(id: string, mode: 'graceful' | 'immediate'): Promise<void>
  /** Ends all runs of this process after their batches and releases the leases; the desired states do not change. */
  close(): Promise<void>
}

/** A process that hangs loses its pipelines after 10 s; the others notice within another 2.5 s. */
const LEASE: LeaseTimes = { ms: 10_000, tickMs: 2500 }
/** Snapshots that stay unread for longer than this are protected from expiry by other engines. */
const RISKY_LAG_MS = 60_000
const FAILURES_BEFORE_PIN = 3
const BACKOFF: BackOff = { firstMs: 1000, maxMs: 300_000 }

interface Running {
  readonly runner: PipelineRunner
  readonly done: Promise<void>
}

/** A supervisor in this process. */
export function createSupervisor(deps: SupervisorDeps): Supervisor {
  return new ProcessSupervisor(deps)
}

class ProcessSupervisor implements Supervisor {
  readonly #deps: SupervisorDeps
  readonly #lease: LeaseTimes
  readonly #running = new Map<string, Running>()
  readonly #share = new FairShare()
  #leaseUntilMs = 0
  #timer: NodeJS.Timeout | undefined
  #tick: Promise<void> | undefined
  /** Pipelines whose lease is being requested. */
  readonly #taking = new Set<string>()
  #isClosing = false

  constructor(deps: SupervisorDeps) {
    this.#deps = deps
    this.#lease = deps.lease ?? LEASE
  }

  async start(): Promise<void> {
    await this.#tickOnce()
    if (!this.#isClosing) this.#timer = setInterval(() => void this.#tickOnce(), this.#lease.tickMs)
  }

  /** A tick that takes longer than the interval replaces the next one. */
  #tickOnce(): Promise<void> {
    this.#tick ??= this.#runTick().finally(() => {
      this.#tick = undefined
    })
    return this.#tick
  }

  async launch(id: string): Promise<void> {
    if (this.#isClosing) return
    const record = await this.#deps.store.find(id)
    if (record === undefined) return
    this.#deps.hub.publish('state', id, describePipeline(record))
    const earlier = this.#running.get(id)
    if (earlier !== undefined && !isRunOf(earlier, record)) await earlier.done
    await this.#take(record)
  }

  async stop(id: string, mode: 'graceful' | 'immediate'): Promise<void> {
    const record = await this.#publish(id)
    if (record?.desiredState !== 'stopped') return // it was started again meanwhile
    const live = this.#running.get(id)
    if (live === undefined) return this.#settle(id)
    if (!isRunOf(live, record)) return
    live.runner.stop(mode)
    if (mode === 'graceful') await live.done
  }

  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#timer)
    await this.#tick
    for (const { runner } of this.#running.values()) runner.stop('graceful')
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  get #nowMs(): number {
    return this.#deps.session.now().getTime()
  }

  async #runTick(): Promise<void> {
    try {
      await this.#renew()
      const alive = await this.#deps.instance.alive()
      const records = await this.#deps.store.listLive()
      this.#share.begin(records.length, alive.size)
      for (const record of records) {
        if (this.#isClosing) return
        const live = this.#running.get(record.id)
        if (live === undefined) await this.#takeUp(record, alive)
        else if (record.desiredState === 'stopped' && isRunOf(live, record)) live.runner.stop('graceful')
      }
      this.#handOver()
    } catch (error) {
      this.#deps.log.error('pipelines could not be checked', { error })
    }
  }

  async #renew(): Promise<void> {
    const nowMs = this.#nowMs
    const untilMs = nowMs + this.#lease.ms
    const held = new Set(await this.#deps.store.renew({ owner: this.#deps.instance.id, untilMs }, nowMs))
    this.#leaseUntilMs = untilMs
    for (const [id, { runner }] of this.#running) if (!held.has(id)) runner.stop('immediate')
  }

  async #takeUp(record: PipelineRecord, alive: ReadonlySet<number>): Promise<void> {
    const { id, leaseOwner, leaseUntilMs } = record
    const isOwn = leaseOwner === this.#deps.instance.id // its run ended here, as the lease was not renewed in time
    const dead = leaseOwner !== undefined && !alive.has(leaseOwner) ? leaseOwner : undefined
    const isFree = leaseOwner === undefined || dead !== undefined || (leaseUntilMs ?? 0) <= this.#nowMs
    if (!isOwn && !isFree) this.#share.forget(id)
    else if (record.desiredState === 'stopped') {
      if (isOwn) await this.#deps.store.release(id, this.#deps.instance.id)
      await this.#settle(id, dead)
    } else if (isOwn || this.#share.mayTake(id, this.#running.size)) await this.#take(record, dead)
  }

  /** Runs a pipeline if this process can get its lease. */
  async #take(record: PipelineRecord, dead?: number): Promise<void> {
    const { id } = record
    if (this.#running.has(id) || this.#taking.has(id)) return
    this.#taking.add(id)
    try {
      if (await this.#claim(id, dead)) await this.#launch(record)
    } finally {
      this.#taking.delete(id)
    }
  }

  async #claim(id: string, dead: number | undefined): Promise<boolean> {
    const { store, instance } = this.#deps
    const nowMs = this.#nowMs
    const untilMs = Math.max(this.#leaseUntilMs, nowMs + this.#lease.tickMs * 2)
    const lease = { owner: instance.id, untilMs }
    if (!(await store.claim(id, lease, { nowMs, ...(dead === undefined ? {} : { dead }) }))) return false
    this.#leaseUntilMs = Math.max(this.#leaseUntilMs, untilMs)
    return true
  }

  async #launch(record: PipelineRecord): Promise<void> {
    const { id } = record
    const runner = await this.#runnerOf(record)
    if (this.#isClosing) return this.#deps.store.release(id, this.#deps.instance.id)
    const done = this.#run(record, runner).finally(() => this.#running.delete(id))
    this.#running.set(id, { runner, done })
    this.#share.forget(id)
  }

  /** Hands over the newest pipelines when other processes have capacity for them. */
  #handOver(): void {
    const surplus = this.#share.surplus(this.#running.size)
    if (surplus === 0) return
    for (const [id, { runner }] of [...this.#running].slice(-surplus)) {
      this.#deps.log.info('pipeline handed over', { pipeline_id: id })
      runner.stop('graceful')
    }
  }

  async #run(record: PipelineRecord, runner: PipelineRunner): Promise<void> {
    const { log } = this.#deps
    log.info('pipeline started', { pipeline_id: record.id, run_id: record.runId })
    const end = await runner.run()
    log.info('pipeline ended', { pipeline_id: record.id, run_id: record.runId, end })
    try {
      await this.#afterRun(record.id, end)
    } catch (error) {
      log.error('the end of a pipeline was not recorded', { pipeline_id: record.id, error })
    }
  }

  async #afterRun(id: string, end: RunEnd): Promise<void> {
    const { store, instance } = this.#deps
    if (end !== 'stopped') return
    const record = await store.find(id)
    if (record?.leaseOwner !== instance.id) return // another process has it
    const isWanted = record.desiredState === 'running'
    const continuesInOtherProcess = isWanted && (await instance.alive()).size > 1
    if (!continuesInOtherProcess) await pinIdle(this.#deps.pins, record)
    if (!isWanted) {
      await this.#update(id, { state: 'stopped', stoppedAt: this.#deps.session.now().toISOString() })
    } else await store.release(id, instance.id) // the process stops, the pipeline does not
  }

  /**
   * Ends a pipeline that should stop and has no running process. A process of a shared database that seems to have ended may
   * only have lost its connection: its lease must expire, so that it commits nothing more.
   */
  async #settle(id: string, dead?: number): Promise<void> {
    const { session, store, instance } = this.#deps
    const now = session.now()
    const ended = dead === undefined || instance.isShared ? {} : { dead }
    const settled = await store.settle(id, 'stopped', { ms: now.getTime(), iso: now.toISOString(), ...ended })
    const record = settled ? await this.#deps.store.find(id) : undefined
    if (record === undefined) return
    await pinIdle(this.#deps.pins, record)
    await this.#publish(id)
  }

  async #runnerOf(record: PipelineRecord): Promise<PipelineRunner> {
    const { session, slots, backoff } = this.#deps
    const { id } = record
    const checkLease = (): void => {
      if (this.#nowMs >= this.#leaseUntilMs) throw new LeaseLost(`the lease on pipeline ${id} has expired`)
    }
    const query = (await this.#deps.queryOf?.(record)) ?? copyQuery
    return new PipelineRunner(
      {
        session: { ...session, engine: ownedEngine(session.engine, record.createdBy), checkLease },
        slots,
        backoff: backoff ?? BACKOFF,
        events: this.#eventsOf(record),
      },
      specOf(record, query),
    )
  }

  #eventsOf(record: PipelineRecord): RunEvents {
    const { id, sources } = record
    const { pins, hub, log, observer } = this.#deps
    let { warnings, positions } = record
    let isFirst = record.progress === undefined
    const isSlow = record.triggerMs >= RISKY_LAG_MS
    const pin = async (mustHold: boolean, isIdle = false): Promise<void> =>
      pins?.keep({ pipelineId: id, sources, positions: (positions ?? []).map(fromStoredPosition), mustHold, isIdle })
    return {
      onRunning: async (read, isCaughtUp) => {
        positions = toStoredPositions(sources, read)
        await this.#update(id, { state: 'running', error: null, positions })
        if (isCaughtUp) await pin(isSlow)
      },
      onBatch: async (batch, read, skippedSnapshots) => {
        const isNew = skippedSnapshots > 0 && !warnings.includes(SKIPPED)
        if (isNew) warnings = [...warnings, SKIPPED]
        positions = toStoredPositions(sources, read)
        await this.#write(id, { positions, progress: batch, ...(isNew ? { warnings } : {}) })
        hub.publish('progress', id, batch)
        observer?.onBatch(batch)
        if (isFirst || isNew) await this.#publish(id)
        isFirst = false
        await pin(isSlow || isRisky(batch))
      },
      onIdle: (batch) => hub.publish('progress', id, batch),
      onDegraded: async (error, cause, failures) => {
        observer?.onFailure()
        log.warn('pipeline retries after an error', { pipeline_id: id, error: cause })
        await this.#update(id, { state: 'degraded', error: { ...error, failures } })
        if (failures >= FAILURES_BEFORE_PIN) await pin(true)
      },
      onFailed: async (error, cause) => {
        observer?.onFailure()
        log.error('pipeline failed', { pipeline_id: id, error: cause })
        await pin(canReadOn(error.code), true)
        const stoppedAt = this.#deps.session.now().toISOString()
        await this.#update(id, { state: 'failed', desiredState: 'stopped', error, stoppedAt })
      },
    }
  }

  async #update(id: string, update: PipelineUpdate): Promise<void> {
    await this.#write(id, update)
    await this.#publish(id)
  }

  async #write(id: string, update: PipelineUpdate): Promise<void> {
    const written = await this.#deps.store.update(id, this.#deps.instance.id, update)
    if (!written) throw new LeaseLost(`another process runs pipeline ${id}`)
  }

  async #publish(id: string): Promise<PipelineRecord | undefined> {
    const record = await this.#deps.store.find(id)
    if (record) this.#deps.hub.publish('state', id, describePipeline(record))
    return record
  }
}

/** Whether a run is the one that was recorded; a pipeline that was started again has a new one. */
function isRunOf({ runner }: Running, { runId }: PipelineRecord): boolean {
  return runner.spec.runId === runId
}

const SKIPPED =
  'snapshots that changed or deleted rows of the source were skipped because on_delete is "skip": the sink keeps rows ' +
  'that the source no longer has, and misses rows that such snapshots added'

/** Whether snapshots are unread for so long that another engine could expire them. */
function isRisky({ sources }: BatchProgress): boolean {
  return sources.some(({ lag }) => lag.files > 0 && lag.seconds * 1000 > RISKY_LAG_MS)
}

function specOf(record: PipelineRecord, query: BatchQuery): PipelineSpec {
  const { options } = record
  return {
    pipelineId: record.id,
    runId: record.runId,
    queryId: record.queryId,
    sources: record.sources.map(parseIdentifier),
    sink: parseIdentifier(record.sinkTable),
    checkpointLocation: record.checkpointLocation,
    triggerMs: record.triggerMs,
    limits: { maxFiles: options.maxFilesPerBatch, maxBytes: options.maxBytesPerBatch },
    onDelete: options.onDelete,
    query,
    owner: record.createdBy,
  }
}

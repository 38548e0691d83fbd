import { parseIdentifier } from '../catalog/table-identifier.ts'
import { ownedEngine } from '../engines/owned-engine.ts'
import type { StoredJson } from '../storage/json-column.ts'
import type { PipelineRecord, PipelineStore, PipelineUpdate } from '../storage/pipeline-store.ts'
import { type BatchQuery, copyQuery } from './batch-query.ts'
import type { BatchProgress } from './batch-progress.ts'
import type { BatchSlots } from './batch-slots.ts'
import { FairShare } from './fair-share.ts'
import type { MetricsHub } from './metrics-hub.ts'
import type { PinKeeper } from './pin-keeper.ts'
import { canReadOn, LeaseLost } from './pipeline-errors.ts'
import { type Backoff, PipelineRunner, type RunEnd, type RunEvents } from './pipeline-runner.ts'
import type { SessionDeps } from './pipeline-session.ts'
import type { PipelineSpec } from './pipeline-spec.ts'
import { describePipeline } from './pipeline-view.ts'
import { pinAtRest } from './resting-pins.ts'
import { fromStoredPosition, toStoredPositions } from './stored-positions.ts'

/** What the supervisor needs to log; the service's own logger fits. */
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
  /** This process among those that share the state database. */
  readonly instance: { readonly id: number; alive(): Promise<ReadonlySet<number>> }
  readonly log: SupervisorLog
  /** Keeps other engines from expiring what pipelines have still to read. */
  readonly pins?: PinKeeper
  /** What a pipeline does between sources and sink; default: it copies. */
  readonly queryOf?: (record: PipelineRecord) => Promise<BatchQuery | undefined>
  readonly backoff?: Backoff
  readonly lease?: LeaseTimes
}

/** How long a lease is good, and how often it is renewed and others' are looked at, ms. */
export interface LeaseTimes {
  readonly ms: number
  readonly tickMs: number
}

/** Keeps the pipelines running that are wanted to run; several processes on one state database share them. */
export interface Supervisor {
  /** Takes up what is wanted to run and nobody runs, now and from now on. */
  start(): Promise<void>
  /** Takes up a pipeline that was just recorded. */
  launch(id: string): Promise<void>
  /** Ends a run after `desired_state` was set; resolves when it has ended here, at once for `immediate`. */
  stop(id: string, mode: 'graceful' | 'immediate'): Promise<void>
  /** Ends all runs of this process after their batches and gives the leases up; what is wanted to run stays wanted. */
  close(): Promise<void>
}

/** A process that stands still loses its pipelines after 10 s; the others notice within 2.5 s more. */
const LEASE: LeaseTimes = { ms: 10_000, tickMs: 2500 }
/** What is not read for longer is kept from other engines' expiry. */
const RISKY_LAG_MS = 60_000
const FAILURES_BEFORE_PIN = 3
const BACKOFF: Backoff = { firstMs: 1000, maxMs: 300_000 }

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
  /** Pipelines whose lease is being asked for. */
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

  /** A tick that takes longer than their distance is the next one, too. */
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
    await this.#take(record)
  }

  async stop(id: string, mode: 'graceful' | 'immediate'): Promise<void> {
    await this.#publish(id)
    const live = this.#running.get(id)
    if (live === undefined) return this.#settle(id)
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
        else if (record.desiredState === 'stopped') live.runner.stop('graceful')
      }
      this.#handOver()
    } catch (error) {
      this.#deps.log.error('pipelines could not be looked after', { error })
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
      await this.#settle(id)
    } else if (isOwn || this.#share.mayTake(id, this.#running.size)) await this.#take(record, dead)
  }

  /** Runs a pipeline if its lease can be had. */
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

  /** Lets go of the pipelines that came last, when other processes have room for them. */
  #handOver(): void {
    const surplus = this.#share.surplus(this.#running.size)
    if (surplus === 0) return
    for (const [id, { runner }] of [...this.#running].slice(-surplus)) {
      this.#deps.log.info('pipeline is handed over', { pipeline_id: id })
      runner.stop('graceful')
    }
  }

  async #run(record: PipelineRecord, runner: PipelineRunner): Promise<void> {
    const { log } = this.#deps
    log.info('pipeline runs', { pipeline_id: record.id, run_id: record.runId })
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
    const goesOnElsewhere = isWanted && (await instance.alive()).size > 1
    if (!goesOnElsewhere) await pinAtRest(this.#deps.pins, record)
    if (!isWanted) {
      await this.#update(id, { state: 'stopped', stoppedAt: this.#deps.session.now().toISOString() })
    } else await store.release(id, instance.id) // the process ends, not the pipeline
  }

  /** Ends a pipeline that is to be stopped and that nobody runs. */
  async #settle(id: string): Promise<void> {
    const now = this.#deps.session.now()
    const settled = await this.#deps.store.settle(id, 'stopped', { ms: now.getTime(), iso: now.toISOString() })
    const record = settled ? await this.#deps.store.find(id) : undefined
    if (record === undefined) return
    await pinAtRest(this.#deps.pins, record)
    await this.#publish(id)
  }

  async #runnerOf(record: PipelineRecord): Promise<PipelineRunner> {
    const { session, slots, backoff } = this.#deps
    const { id } = record
    const checkLease = (): void => {
      if (this.#nowMs >= this.#leaseUntilMs) throw new LeaseLost(`the lease on pipeline ${id} has run out`)
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
    const { pins, hub, log } = this.#deps
    let { warnings, positions } = record
    let isFirst = record.progress === undefined
    const isSlow = record.triggerMs >= RISKY_LAG_MS
    const pin = async (mustHold: boolean, isResting = false): Promise<void> =>
      pins?.keep({ pipelineId: id, sources, positions: (positions ?? []).map(fromStoredPosition), mustHold, isResting })
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
        const progress = batch as unknown as StoredJson
        await this.#write(id, { positions, progress, ...(isNew ? { warnings } : {}) })
        hub.publish('progress', id, batch)
        if (isFirst || isNew) await this.#publish(id)
        isFirst = false
        await pin(isSlow || isRisky(batch))
      },
      onIdle: (batch) => hub.publish('progress', id, batch),
      onDegraded: async (error, cause, failures) => {
        log.warn('pipeline tries again after an error', { pipeline_id: id, error: cause })
        await this.#update(id, { state: 'degraded', error })
        if (failures >= FAILURES_BEFORE_PIN) await pin(true)
      },
      onFailed: async (error, cause) => {
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
    if (!written) throw new LeaseLost(`another process works on pipeline ${id}`)
  }

  async #publish(id: string): Promise<void> {
    const record = await this.#deps.store.find(id)
    if (record) this.#deps.hub.publish('state', id, describePipeline(record))
  }
}

const SKIPPED =
  'snapshots that changed or deleted rows of the source were left out, as on_delete is "skip": the sink keeps rows that ' +
  'the source has no more, and lacks those that such snapshots added'

/** Whether so much is unread, for so long, that an expiry elsewhere could take it. */
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

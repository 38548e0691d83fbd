import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { ownedEngine } from '../../engines/owned-engine.ts'
import type { PipelineRecord, PipelineStore, PipelineUpdate } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import { copyQuery } from '../query/copy-query.ts'
import { fromStoredPosition } from '../checkpoint/stored-positions.ts'
import type { BatchSlots } from '../run/batch-slots.ts'
import { FairShare } from './fair-share.ts'
import type { MetricsHub } from './metrics-hub.ts'
import type { PinKeeper } from '../pins/pin-keeper.ts'
import { LeaseLost } from '../pipeline-errors.ts'
import type { PipelineRun, RunEnd } from '../run/pipeline-run.ts'
import { type BatchObserver, createRunEvents, type SupervisorLog } from './run-events.ts'
import { SparkRunner, type SparkServer } from '../spark/spark-runner.ts'
import { PipelineRunner } from '../run/pipeline-runner.ts'
import type { SessionDeps } from '../run/pipeline-session.ts'
import type { PipelineSpec } from '../pipeline-spec.ts'
import { copyModesOf } from './copy-modes.ts'
import { describePipeline } from './pipeline-view.ts'
import { pinIdle, pinStart } from '../pins/reassert-pins.ts'
import type { BackOff } from '../../lib/back-off.ts'
import { type Loop, startLoop } from '../../lib/start-loop.ts'

export interface SupervisorDeps {
  readonly store: PipelineStore
  readonly session: Omit<SessionDeps, 'checkLease'>
  readonly slots: BatchSlots
  /** Runs the pipelines whose engine is `spark`; undefined: none is configured. */
  readonly spark?: SparkServer | undefined
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

/** How long a lease is valid, and how often leases are renewed and checked, ms. */
export interface LeaseTimes {
  readonly ms: number
  readonly tickMs: number
}

/** Keeps all pipelines running whose desired state is `running`; processes on one state database share them. */
export interface Supervisor {
  /** Starts pipelines that should run but have no process, now and on every tick. */
  start(): Promise<void>
  /** Runs a pipeline that was just recorded, without waiting for the next tick. */
  runNow(id: string): Promise<void>
  /** Ends a run after `desired_state` was set; resolves when it has ended here, immediately for `immediate`. */
  stop(id: string, mode: 'graceful' | 'immediate'): Promise<void>
  /** Ends all runs of this process after their batches and releases the leases; the desired states do not change. */
  close(): Promise<void>
}

/** A process that hangs loses its pipelines after 10 s; the others notice within another 2.5 s. */
const LEASE: LeaseTimes = { ms: 10_000, tickMs: 2500 }
const BACKOFF: BackOff = { firstMs: 1000, maxMs: 300_000 }

interface Running {
  readonly run: PipelineRun
  readonly done: Promise<void>
  /** Resolves when the run reports that it cannot be stopped yet. */
  readonly notStopped: PromiseWithResolvers<void>
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
  #loop: Loop | undefined
  /** The end of the first tick. */
  readonly #first = Promise.withResolvers<void>()
  /** Pipelines whose lease is being requested. */
  readonly #leasing = new Set<string>()
  #isClosing = false

  constructor(deps: SupervisorDeps) {
    this.#deps = deps
    this.#lease = deps.lease ?? LEASE
  }

  async start(): Promise<void> {
    this.#loop = startLoop({
      everyMs: this.#lease.tickMs,
      tick: () => this.#tick().finally(this.#first.resolve),
      onError: (error) => this.#deps.log.error('pipelines could not be checked', { error }),
    })
    await this.#first.promise
  }

  async runNow(id: string): Promise<void> {
    if (this.#isClosing) return
    const record = await this.#deps.store.find(id)
    if (record === undefined) return
    this.#deps.hub.publish('state', id, describePipeline(record))
    const earlier = this.#running.get(id)
    if (earlier !== undefined && !isRunOf(earlier, record)) await earlier.done
    await this.#runWithLease(record)
  }

  async stop(id: string, mode: 'graceful' | 'immediate'): Promise<void> {
    const record = await this.#publish(id)
    if (record?.desiredState !== 'stopped') return // it was started again meanwhile
    if (!this.#running.has(id)) await this.#settleOrRun(record)
    const live = this.#running.get(id)
    if (live === undefined || !isRunOf(live, record)) return
    live.run.stop(mode)
    if (mode === 'graceful') await Promise.race([live.done, live.notStopped.promise])
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.#loop?.stop()
    this.#first.resolve()
    for (const { run } of this.#running.values()) run.leave('graceful')
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  get #nowMs(): number {
    return this.#deps.session.now().getTime()
  }

  async #tick(): Promise<void> {
    await this.#renew()
    const alive = await this.#deps.instance.alive()
    const records = await this.#deps.store.listLive()
    this.#share.begin(records.length, alive.size)
    for (const record of records) {
      if (this.#isClosing) return
      const live = this.#running.get(record.id)
      if (live === undefined) await this.#checkRecord(record, alive)
      else if (record.desiredState === 'stopped' && isRunOf(live, record)) live.run.stop('graceful')
    }
    this.#handOver()
  }

  async #renew(): Promise<void> {
    const nowMs = this.#nowMs
    const untilMs = nowMs + this.#lease.ms
    const held = new Set(await this.#deps.store.renew({ owner: this.#deps.instance.id, untilMs }, nowMs))
    this.#leaseUntilMs = untilMs
    for (const [id, { run }] of this.#running) if (!held.has(id)) run.leave('immediate')
  }

  async #checkRecord(record: PipelineRecord, alive: ReadonlySet<number>): Promise<void> {
    const { id, leaseOwner, leaseUntilMs } = record
    const isOwn = leaseOwner === this.#deps.instance.id // its run ended here, as the lease was not renewed in time
    const dead = leaseOwner !== undefined && !alive.has(leaseOwner) ? leaseOwner : undefined
    const isFree = leaseOwner === undefined || dead !== undefined || (leaseUntilMs ?? 0) <= this.#nowMs
    if (!isOwn && !isFree) this.#share.forget(id)
    else if (record.desiredState === 'stopped') {
      if (isOwn) await this.#deps.store.release(id, this.#deps.instance.id)
      await this.#settleOrRun(record, dead)
    } else if (isOwn || this.#share.mayTake(id, this.#running.size)) await this.#runWithLease(record, dead)
  }

  /** Runs a pipeline in this process if it can get the lease. */
  async #runWithLease(record: PipelineRecord, dead?: number): Promise<void> {
    const { id } = record
    if (this.#running.has(id) || this.#leasing.has(id)) return
    this.#leasing.add(id)
    try {
      if (await this.#takeLease(id, dead)) await this.#startRun(record)
    } finally {
      this.#leasing.delete(id)
    }
  }

  async #takeLease(id: string, dead: number | undefined): Promise<boolean> {
    const { store, instance } = this.#deps
    const nowMs = this.#nowMs
    const untilMs = Math.max(this.#leaseUntilMs, nowMs + this.#lease.tickMs * 2)
    const lease = { owner: instance.id, untilMs }
    if (!(await store.claim(id, lease, { nowMs, ...(dead === undefined ? {} : { dead }) }))) return false
    this.#leaseUntilMs = Math.max(this.#leaseUntilMs, untilMs)
    return true
  }

  async #startRun(record: PipelineRecord): Promise<void> {
    const { id } = record
    const notStopped = Promise.withResolvers<void>()
    const run = await this.#createRun(record, notStopped.resolve)
    if (this.#isClosing) return this.#deps.store.release(id, this.#deps.instance.id)
    if (record.desiredState === 'stopped') run.stop('graceful')
    const done = this.#untilEnd(record, run).finally(() => this.#running.delete(id))
    this.#running.set(id, { run, done, notStopped })
    this.#share.forget(id)
  }

  /** Hands over the newest pipelines when other processes have capacity for them. */
  #handOver(): void {
    const surplus = this.#share.surplus(this.#running.size)
    if (surplus === 0) return
    for (const [id, { run }] of [...this.#running].slice(-surplus)) {
      this.#deps.log.info('pipeline handed over', { pipeline_id: id })
      run.leave('graceful')
    }
  }

  async #untilEnd(record: PipelineRecord, run: PipelineRun): Promise<void> {
    const { log } = this.#deps
    log.info('pipeline started', { pipeline_id: record.id, run_id: record.runId })
    await pinStart(this.#deps.pins, record)
    const end = await run.run()
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
    if (!isWanted && record.spark === undefined) {
      await this.#update(id, { state: 'stopped', stoppedAt: this.#deps.session.now().toISOString() })
    } else await store.release(id, instance.id) // the process stops, the pipeline does not
  }

  /** Ends a pipeline that should stop and has no running process; one that may run in Spark needs a process to stop it. */
  async #settleOrRun(record: PipelineRecord, dead?: number): Promise<void> {
    await (record.spark === undefined ? this.#settle(record.id, dead) : this.#runWithLease(record, dead))
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

  async #createRun(record: PipelineRecord, onNotStopped: () => void): Promise<PipelineRun> {
    const { session, slots, backoff = BACKOFF, spark } = this.#deps
    const { id } = record
    const checkLease = (): void => {
      if (this.#nowMs >= this.#leaseUntilMs) throw new LeaseLost(`the lease on pipeline ${id} has expired`)
    }
    const query = (await this.#deps.queryOf?.(record)) ?? copyQuery(copyModesOf(record.options))
    const spec = specOf(record, query)
    const events = createRunEvents(
      {
        ...this.#deps,
        now: session.now,
        onNotStopped,
        write: (update) => this.#write(id, update),
        publish: () => this.#publish(id),
      },
      record,
    )
    if (record.engine === 'spark') {
      const { catalog, tables, checkpointIo, now } = session
      const deps = { catalog, tables, checkpointIo, now, checkLease, spark, backoff, events }
      const positions = (record.positions ?? []).map(fromStoredPosition)
      return new SparkRunner(deps, { spec, known: record.spark, positions, lastBatch: record.progress?.batch_id })
    }
    const owned = { ...session, engine: ownedEngine(session.engine, record.createdBy), checkLease }
    return new PipelineRunner({ session: owned, slots, backoff, events }, spec)
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
function isRunOf({ run }: Running, { runId }: PipelineRecord): boolean {
  return run.runId === runId
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
    ...(options.start ? { start: options.start.map(fromStoredPosition) } : {}),
    ...(options.branch ? { branch: options.branch } : {}),
    query,
    owner: record.createdBy,
  }
}

import { IcebergError } from '../../iceberg/errors.ts'
import { sleep } from '../../lib/sleep.ts'
import { startLoop } from '../../lib/start-loop.ts'
import type { Instance } from '../../storage/instance-registry.ts'
import type { LeaseStore } from '../../storage/stores/lease-store.ts'
import type { Logger } from '../logger.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'

/** Who waits for a table, and holds it. */
export interface TableHolder {
  /** Ends the wait. */
  readonly signal: AbortSignal
  /** Called when the table is lost to another process: the work must end. */
  readonly abort: (reason: IcebergError) => void
  /** Called now and then while the table is held and other processes share it. */
  readonly onRenewed?: (() => Promise<void>) | undefined
}

/** A table that is held. */
export interface TableHold {
  /**
   * Throws `CANCELLED` when another process may have taken the table; no answer of the state in time counts as that. Call it
   * right before each commit and each deletion.
   */
  confirm(): Promise<void>
}

/** Runs work on one table at a time, in order of arrival; other tables do not wait. */
export interface TableLock {
  run<T>(table: string, holder: TableHolder, work: (hold: TableHold) => Promise<T>): Promise<T>
  /** Runs work if nobody works on the table, and nobody waits for it here. Undefined, with nothing done, otherwise. */
  runIfFree<T>(table: string, work: (hold: TableHold) => Promise<T>): Promise<T | undefined>
}

/** How long a lock outlives a process that does not renew it or has ended, and how often it is renewed and asked for, ms. */
export interface LockTimes {
  readonly leaseMs: number
  readonly renewMs: number
  readonly pollMs: number
}

export interface TableLockDeps {
  readonly leases: LeaseStore
  readonly instance: Pick<Instance, 'id' | 'isShared'>
  readonly now: () => Date
  readonly log: Logger
  readonly times?: Partial<LockTimes> | undefined
}

const TIMES: LockTimes = { leaseMs: 30_000, renewMs: 5_000, pollMs: 250 }

/** Locks of this process alone. */
export function createLocalTableLock(): TableLock {
  const lock = createKeyedLock()
  const hold: TableHold = { confirm: async () => undefined }
  return {
    run: (table, { signal }, work) => lock.run(table, signal, () => work(hold)),
    runIfFree: async (table, work) => (lock.isBusy(table) ? undefined : lock.run(table, never(), () => work(hold))),
  }
}

/** The signal of what is not cancelled. */
const never = (): AbortSignal => new AbortController().signal

/**
 * Locks that all processes on the same state respect: within a process in order of arrival, between processes by a lease.
 * The lock of a process that hangs or has ended is free after its lease: one that seems to have ended may only have lost its
 * connection, and may be in the middle of a commit that it has confirmed. What it does later is refused by
 * {@link TableHold.confirm}. Where no other process can share the state, no lease is taken.
 */
export function createTableLock(deps: TableLockDeps): TableLock {
  if (!deps.instance.isShared) return createLocalTableLock()
  const lock = createKeyedLock()
  return {
    run: (table, holder, work) =>
      lock.run(table, holder.signal, async () => {
        const lease = await acquire(deps, table, holder)
        return whileHeld(deps, { lease, holder }, () => work(lease))
      }),
    async runIfFree(table, work) {
      if (lock.isBusy(table)) return undefined
      return lock.run(table, never(), async () => {
        const holder = { signal: never(), abort: () => undefined }
        const lease = await take(deps, table, holder)
        return lease && whileHeld(deps, { lease, holder }, () => work(lease))
      })
    },
  }
}

/** Waits for the lease on a table. */
async function acquire(deps: TableLockDeps, table: string, { signal, abort }: TableHolder): Promise<TableLease> {
  const { pollMs } = { ...TIMES, ...deps.times }
  while (true) {
    signal.throwIfAborted()
    const lease = await take(deps, table, { abort })
    if (lease !== undefined) return lease
    await sleep(pollMs, signal)
  }
}

/** The lease on a table; undefined when another process has it. */
async function take(
  deps: TableLockDeps,
  table: string,
  { abort }: Pick<TableHolder, 'abort'>,
): Promise<TableLease | undefined> {
  const { leases, instance, now, times } = deps
  const { leaseMs } = { ...TIMES, ...times }
  const name = `table:${table}`
  const nowMs = now().getTime()
  const untilMs = nowMs + leaseMs
  const isAlive = async (): Promise<boolean> => true // whoever has it keeps it to its end
  const isTaken = await leases.take(name, { owner: instance.id, untilMs, nowMs, isAlive })
  return isTaken ? new TableLease(deps, { name, table, untilMs, leaseMs, abort }) : undefined
}

interface Held {
  readonly lease: TableLease
  readonly holder: TableHolder
}

/**
 * Works with a lease, renews it meanwhile, and gives it back. While the state does not respond, the lease may end: then it is
 * lost.
 */
async function whileHeld<T>(deps: TableLockDeps, { lease, holder }: Held, work: () => Promise<T>): Promise<T> {
  const { renewMs } = { ...TIMES, ...deps.times }
  const renewal = startLoop({
    everyMs: renewMs,
    firstMs: renewMs,
    async tick() {
      if (lease.isLost) return
      await lease.confirm()
      await holder.onRenewed?.()
    },
    onError(error) {
      deps.log.warn('the lock of a table was not renewed', { error })
      if (lease.isOver) lease.lose()
    },
  })
  try {
    return await work()
  } finally {
    await renewal.stop()
    await lease.release()
  }
}

interface Taken {
  readonly name: string
  readonly table: string
  readonly untilMs: number
  readonly leaseMs: number
  readonly abort: TableHolder['abort']
}

/** A lease that this process has taken. Once it is lost, it stays lost, also when nobody holds it any more. */
class TableLease implements TableHold {
  readonly #deps: TableLockDeps
  readonly #taken: Taken
  #untilMs: number
  #lost: IcebergError | undefined
  /** One renewal at a time: each depends on the time that the one before has stored. */
  #last: Promise<void> = Promise.resolve()

  constructor(deps: TableLockDeps, taken: Taken) {
    this.#deps = deps
    this.#taken = taken
    this.#untilMs = taken.untilMs
  }

  get isLost(): boolean {
    return this.#lost !== undefined
  }

  get isOver(): boolean {
    return this.#deps.now().getTime() >= this.#untilMs
  }

  /** Extends the lease. Throws `CANCELLED` when it is lost, and errors of the state. */
  async confirm(): Promise<void> {
    const renewal = this.#last.then(() => this.#renew())
    this.#last = renewal.catch(() => undefined)
    return renewal
  }

  /** Ends the work that holds the table. */
  lose(): IcebergError {
    const { table, abort } = this.#taken
    this.#lost ??= new IcebergError(
      'CANCELLED',
      `another process may have taken table ${table}, because this one did not renew its lock in time`,
    )
    abort(this.#lost)
    return this.#lost
  }

  async release(): Promise<void> {
    if (this.#lost !== undefined) return
    const { leases, instance, log } = this.#deps
    await leases.release(this.#taken.name, instance.id).catch((error: unknown) => {
      log.warn('the lock of a table was not released; it ends by itself', { table: this.#taken.table, error })
    })
  }

  async #renew(): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost
    const { leases, instance, now } = this.#deps
    const { name, leaseMs } = this.#taken
    const untilMs = Math.max(now().getTime() + leaseMs, this.#untilMs + 1)
    const renewal = leases.renew(name, { owner: instance.id, heldUntilMs: this.#untilMs, untilMs })
    const isMine = await this.#beforeEnd(renewal)
    if (!isMine) throw this.lose()
    this.#untilMs = untilMs
  }

  /** The answer to a renewal; false when the renewed lease would end before: a database lost in silence never answers. */
  async #beforeEnd(renewal: Promise<boolean>): Promise<boolean> {
    const answered = new AbortController()
    try {
      return await Promise.race([renewal, sleep(this.#taken.leaseMs, answered.signal).then(() => false)])
    } finally {
      answered.abort()
    }
  }
}

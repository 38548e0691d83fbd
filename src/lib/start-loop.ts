import { type BackOff, backOffMs } from './back-off.ts'
import { sleep } from './sleep.ts'

/** Work that only one process at a time does. */
export interface LoopLease {
  /** Acquires or extends the lease; false while another process holds the lease. */
  take(): Promise<boolean>
  release(): Promise<void>
}

/** What a tick returns to set the wait between its end and the next tick, ms. */
export interface NextTick {
  readonly waitMs: number
}

export interface LoopOptions {
  /** The time from the start of one tick to the start of the next, ms. Starts that a long tick misses are skipped. */
  readonly everyMs: number
  /** The wait before the first tick, ms; default: none. */
  readonly firstMs?: number
  /** The waits after ticks that threw; default: `everyMs`. */
  readonly backOff?: BackOff
  /** Acquired before each tick. A tick that takes long extends the lease itself. */
  readonly lease?: LoopLease
  /**
   * Does the work once; may return another wait than that of `everyMs`. The signal is aborted by {@link Loop.stop}. A tick
   * must not wait for the end of its own loop.
   */
  readonly tick: (signal: AbortSignal) => Promise<NextTick | void>
  /** Replaces the tick while another process holds the lease, with the same signal and result; default: nothing. */
  readonly otherwise?: (signal: AbortSignal) => Promise<NextTick | void>
  /** Reports what a tick or the lease threw; the loop continues. */
  readonly onError: (error: unknown) => void
}

/** Background work that repeats until it is stopped. */
export interface Loop {
  /** Starts the next tick at once; while a tick runs, as soon as that tick has ended. */
  wake(): void
  /** Ends a wait at once and lets a running tick finish, then releases the lease. Later calls return the same promise. */
  stop(): Promise<void>
}

/**
 * Repeats a tick, one at a time, until the loop is stopped. The first tick begins after the caller has the loop. Other work
 * of the process gets a turn between two ticks.
 */
export function startLoop(options: LoopOptions): Loop {
  const { everyMs, firstMs, backOff, lease, onError } = options
  const stopping = new AbortController()
  let woken = new AbortController()
  let failures = 0

  /** Runs one tick; returns the wait before the next, ms. */
  async function tickOnce(): Promise<number> {
    const startedAt = performance.now()
    try {
      const next = await workOnce(options, stopping.signal)
      failures = 0
      return next?.waitMs ?? everyMs - ((performance.now() - startedAt) % everyMs)
    } catch (error) {
      onError(error)
      failures += 1
      return backOff === undefined ? everyMs : backOffMs(backOff, failures)
    }
  }

  async function run(): Promise<void> {
    if (firstMs !== undefined) await sleep(firstMs, woken.signal)
    while (!stopping.signal.aborted) {
      woken = new AbortController()
      const waitMs = await tickOnce()
      await (woken.signal.aborted ? sleep(0) : sleep(waitMs, woken.signal))
    }
    await lease?.release().catch(() => undefined) // a lease that is not released expires
  }

  const running = Promise.resolve().then(run) // the caller has the loop before the first tick runs
  return {
    wake: () => woken.abort(),
    stop() {
      stopping.abort()
      woken.abort()
      return running
    },
  }
}

async function workOnce({ lease, tick, otherwise }: LoopOptions, signal: AbortSignal): Promise<NextTick | void> {
  if (lease !== undefined && !(await lease.take())) return otherwise?.(signal)
  return signal.aborted ? undefined : tick(signal)
}

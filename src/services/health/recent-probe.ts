/** What a check found, and how long that counts. */
export interface Recent<T> {
  readonly outcome: T
  /** On the clock of the probe, in ms. */
  readonly validUntilMs: number
}

export interface RecentProbeOptions<T> {
  readonly check: () => Promise<T>
  /** The outcome of a check that rejects, or takes longer than 5 s. */
  readonly failed: T
  /** How long an outcome counts from the start of its check. */
  readonly freshMs: number
  readonly nowMs: () => number
}

/** The outcome of a check that began at most `freshMs` ago, or of one that all present callers share. */
export type RecentProbe<T> = () => Promise<Recent<T>>

const CHECK_LIMIT_MS = 5000

/** A check that is made when someone asks, and not again while its outcome counts. */
export function createRecentProbe<T>({ check, failed, freshMs, nowMs }: RecentProbeOptions<T>): RecentProbe<T> {
  let last: Recent<T> | undefined
  let running: Promise<Recent<T>> | undefined
  const run = async (): Promise<Recent<T>> => {
    const validUntilMs = nowMs() + freshMs
    last = { outcome: await withinLimit(check, failed), validUntilMs }
    running = undefined
    return last
  }
  return async () => (last !== undefined && nowMs() < last.validUntilMs ? last : (running ??= run()))
}

async function withinLimit<T>(check: () => Promise<T>, failed: T): Promise<T> {
  const { promise: late, resolve } = Promise.withResolvers<T>()
  const timer = setTimeout(() => resolve(failed), CHECK_LIMIT_MS)
  try {
    return await Promise.race([check(), late])
  } catch {
    return failed
  } finally {
    clearTimeout(timer)
  }
}

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
/** A check without an answer is begun again after this time. */
const REPEAT_MS = 60_000

/**
 * A check that is made when someone asks, and not again while its outcome counts. A check that takes longer than its limit is
 * not begun a second time within a minute: otherwise checks of a part that hangs would take all connections.
 */
export function createRecentProbe<T>({ check, failed, freshMs, nowMs }: RecentProbeOptions<T>): RecentProbe<T> {
  let last: Recent<T> | undefined
  let running: Promise<Recent<T>> | undefined
  let unanswered: { readonly answer: Promise<T>; readonly sinceMs: number } | undefined
  const answer = (): Promise<T> => {
    if (unanswered !== undefined && nowMs() - unanswered.sinceMs < REPEAT_MS) return unanswered.answer
    const begun = { answer: check(), sinceMs: nowMs() }
    const end = (): void => {
      if (unanswered === begun) unanswered = undefined
    }
    begun.answer.then(end, end)
    unanswered = begun
    return begun.answer
  }
  const run = async (): Promise<Recent<T>> => {
    const validUntilMs = nowMs() + freshMs
    last = { outcome: await withinLimit(answer, failed), validUntilMs }
    running = undefined
    return last
  }
  return async () => (last !== undefined && nowMs() < last.validUntilMs ? last : (running ??= run()))
}

async function withinLimit<T>(answer: () => Promise<T>, failed: T): Promise<T> {
  const { promise: late, resolve } = Promise.withResolvers<T>()
  const timer = setTimeout(() => resolve(failed), CHECK_LIMIT_MS)
  try {
    return await Promise.race([answer(), late])
  } catch {
    return failed
  } finally {
    clearTimeout(timer)
  }
}

/** A timer for longer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Resolves after `ms`, or as soon as the signal is aborted; never rejects: check the signal afterwards. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, Math.min(ms, MAX_TIMER_MS))
    signal?.addEventListener('abort', done)
    if (signal?.aborted === true) done()
  })
}

/** Runs work on one key (a table, a user's notebook) at a time, in order of arrival; other keys do not wait. */
export interface KeyedLock {
  /** Waits for its turn. An aborted signal ends the wait and rejects with the signal's reason. */
  run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>
  /** Whether work on a key runs or waits. */
  isBusy(key: string): boolean
}

/** Locks for the keys of this process. `table-lock.ts` has those that processes share. */
export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<void>>()
  return {
    async run(key, signal, work) {
      const previous = tails.get(key) ?? Promise.resolve()
      const { promise: done, resolve: release } = Promise.withResolvers<void>()
      const tail = previous.then(() => done)
      tails.set(key, tail)
      try {
        await Promise.race([previous, rejectWhenAborted(signal)])
        signal.throwIfAborted()
        return await work()
      } finally {
        release()
        if (tails.get(key) === tail) tails.delete(key)
      }
    },
    isBusy: (key) => tails.has(key),
  }
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined)
  if (signal.aborted) reject(signal.reason)
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}

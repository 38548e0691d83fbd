/** Runs work on one table at a time, in the order of arrival; other tables are not held up. */
export interface TableLock {
  /** Waits for its turn; an aborted signal gives the turn up and rejects with the signal's reason. */
  run<T>(table: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

/** Locks for the tables of this process; other processes are kept apart by the catalog's swap. */
export function createTableLock(): TableLock {
  const tails = new Map<string, Promise<void>>()
  return {
    async run(table, signal, work) {
      const previous = tails.get(table) ?? Promise.resolve()
      const { promise: done, resolve: release } = Promise.withResolvers<void>()
      const tail = previous.then(() => done)
      tails.set(table, tail)
      try {
        await Promise.race([previous, rejectWhenAborted(signal)])
        signal.throwIfAborted()
        return await work()
      } finally {
        release()
        if (tails.get(table) === tail) tails.delete(table)
      }
    },
  }
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined)
  if (signal.aborted) reject(signal.reason)
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}

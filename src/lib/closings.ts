/** Closes what was opened, in the reverse order. */
export interface Closings {
  /** Adds what closes something that was opened just now. Closings of one call run at the same time. */
  add(...closings: readonly (() => unknown)[]): void
  /**
   * Closes everything once, the last opened first. One that fails does not keep the others open; throws the first error
   * afterwards. Later calls return the same promise.
   */
  close(): Promise<void>
}

/** An empty list. */
export function createClosings(): Closings {
  const opened: (readonly (() => unknown)[])[] = []
  let closed: Promise<void> | undefined

  async function closeAll(): Promise<void> {
    const failures: unknown[] = []
    for (let group = opened.pop(); group !== undefined; group = opened.pop()) {
      const outcomes = await Promise.allSettled(group.map(async (close) => close()))
      for (const outcome of outcomes) if (outcome.status === 'rejected') failures.push(outcome.reason)
    }
    if (failures.length > 0) throw failures[0]
  }

  return {
    add: (...closings) => void opened.push(closings),
    close: () => (closed ??= closeAll()),
  }
}

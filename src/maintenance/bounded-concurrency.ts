/**
 * Runs `work` over items, at most `limit` at a time, in order of start. Stops starting new ones after the first failure,
 * waits for those running, then throws that failure.
 */
export async function forEachBounded<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]()
  let failure: { readonly error: unknown } | undefined
  const worker = async (): Promise<void> => {
    while (failure === undefined) {
      const next = iterator.next()
      if (next.done === true) return
      try {
        await work(next.value)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: limit }, worker))
  if (failure !== undefined) throw failure.error
}

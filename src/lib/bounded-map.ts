/**
 * Maps items with an asynchronous function, at most `limit` at a time; results are in the order of the items.
 * After the first failure no further item is started; the failure is thrown when the running ones have ended.
 */
export async function mapBounded<T, R>(
  items: readonly T[],
  limit: number,
  map: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  let failure: { readonly error: unknown } | undefined
  const work = async (): Promise<void> => {
    while (failure === undefined && next < items.length) {
      const index = next++
      const item = items[index]
      if (item === undefined) continue
      try {
        results[index] = await map(item, index)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work))
  if (failure !== undefined) throw failure.error
  return results
}

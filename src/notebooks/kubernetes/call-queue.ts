import { ClusterError } from '../cluster-error.ts'

/** Runs calls of the cluster, a limited number at a time; the others wait in order. */
export type RunInTurn = <T>(call: () => Promise<T>) => Promise<T>

/**
 * Creates a queue for `atOnce` calls, with room for `maxWaiting` more. Throws `ClusterError` `unavailable` when it is
 * full. Without a queue, many calls at once exceed their time limits together, and each is then sent again.
 */
export function createCallQueue(atOnce: number, maxWaiting: number): RunInTurn {
  const waiting: (() => void)[] = []
  let running = 0
  const enter = async (): Promise<void> => {
    if (running < atOnce) {
      running += 1
      return
    }
    if (waiting.length >= maxWaiting) {
      throw new ClusterError('unavailable', 'too many calls are waiting for the cluster')
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.push(resolve)
    await promise
  }
  const leave = (): void => {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next() // takes over the place of this call
  }
  return async (call) => {
    await enter()
    try {
      return await call()
    } finally {
      leave()
    }
  }
}

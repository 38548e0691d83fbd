/** A message, and how many messages were dropped for newer ones since the delivery before. */
export interface Delivery<T> {
  readonly message: T
  readonly dropped: number
}

/** A queue between a sender who never waits and one taker who may be slow. */
export interface Mailbox<T> {
  /** Puts a message last in line; an older one with the same key that still waits is dropped. */
  put(key: string, message: T): void
  /** The next message, in the order in which they were put; undefined once the signal is aborted. */
  take(): Promise<Delivery<T> | undefined>
}

/**
 * A mailbox of at most two messages per key, so it is bounded by what the messages are about. What waits is taken in
 * rounds: a message whose round has begun is not dropped any more, so a key that changes all the time is heard too.
 */
export function createMailbox<T>(signal: AbortSignal): Mailbox<T> {
  let waiting = new Map<string, T>()
  let round: Iterator<T> = [].values()
  let dropped = 0
  let wake = (): void => undefined
  signal.addEventListener('abort', () => wake(), { once: true })
  const nextOfRound = (): IteratorResult<T> => {
    const next = round.next()
    if (next.done !== true || waiting.size === 0) return next
    round = waiting.values()
    waiting = new Map()
    return round.next()
  }
  return {
    put(key, message) {
      if (waiting.delete(key)) dropped += 1
      waiting.set(key, message)
      wake()
    },
    async take() {
      while (!signal.aborted) {
        const next = nextOfRound()
        if (next.done !== true) {
          const delivery = { message: next.value, dropped }
          dropped = 0
          return delivery
        }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return undefined
    },
  }
}

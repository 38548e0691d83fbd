/** Messages that were taken together, and how many were dropped for newer ones since those before. */
export interface Delivery<T> {
  readonly messages: readonly T[]
  readonly dropped: number
}

/** A queue between a sender who never waits and one taker who may be slow. */
export interface Mailbox<T> {
  /** Puts a message last in line; an older one with the same key that still waits is dropped. */
  put(key: string, message: T): void
  /** All that waits, at least one message, in the order in which they were put; undefined once the signal is aborted. */
  take(): Promise<Delivery<T> | undefined>
}

/** A mailbox that holds at most one message per key, so it is bounded by what the messages are about. */
export function createMailbox<T>(signal: AbortSignal): Mailbox<T> {
  const waiting = new Map<string, T>()
  let dropped = 0
  let wake: (() => void) | undefined
  signal.addEventListener('abort', () => wake?.(), { once: true })
  return {
    put(key, message) {
      if (waiting.delete(key)) dropped += 1
      waiting.set(key, message)
      wake?.()
    },
    async take() {
      while (waiting.size === 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      if (signal.aborted) return undefined
      const delivery = { messages: [...waiting.values()], dropped }
      waiting.clear()
      dropped = 0
      return delivery
    },
  }
}

/** A message, and how many older ones it and its neighbours took the place of since the last one was taken. */
export interface Delivery<T> {
  readonly message: T
  readonly dropped: number
}

/** A queue between one sender who never waits and one taker who may be slow. */
export interface Mailbox<T> {
  /** Puts a message last in line; one with the same key that was not taken yet is dropped. */
  put(key: string, message: T): void
  /** The message that waits longest, or the next one; undefined once the signal is aborted. */
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
        wake = undefined
      }
      if (signal.aborted) return undefined
      for (const [key, message] of waiting) {
        waiting.delete(key)
        const delivery = { message, dropped }
        dropped = 0
        return delivery
      }
      return undefined
    },
  }
}

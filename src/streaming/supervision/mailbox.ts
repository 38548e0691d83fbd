/** Messages taken together, and how many were replaced by newer ones since the last delivery. */
export interface Delivery<T> {
  readonly messages: readonly T[]
  readonly dropped: number
}

/** A queue between a sender that never waits and one receiver that may be slow. */
export interface Mailbox<T> {
  /** Appends a message; an older queued one with the same key is dropped. */
  put(key: string, message: T): void
  /** All queued messages, at least one, in order; undefined once the signal is aborted. */
  take(): Promise<Delivery<T> | undefined>
}

/** A mailbox that holds at most one message per key, so its size is bounded by the number of keys. */
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

import { createNotebookStore } from '../../storage/stores/notebooks/notebook-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'

export interface TouchesDeps {
  readonly inTransaction: InTransaction
  readonly nowMs: () => number
  /** A user's activity is written at most this often, in ms. */
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

/** Records which users are active in their notebooks, for all replicas. */
export interface Touches {
  touch(user: string): void
  /** Writes the pending records. */
  flush(): Promise<void>
}

/** Batches activity records: they reach the state soon, and are cheap however often they come. */
export function createTouches({ inTransaction, nowMs, everyMs, onError }: TouchesDeps): Touches {
  const pending = new Map<string, number>()
  let written = new Map<string, number>()
  let timer: ReturnType<typeof setTimeout> | undefined

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const due = [...pending]
    pending.clear()
    if (due.length === 0) return
    await inTransaction(async (tx) => {
      const store = createNotebookStore(tx)
      for (const [user, atMs] of due) {
        const session = await store.find(user)
        if (session) await store.touch(session, new Date(atMs).toISOString())
      }
    })
    written = new Map([...written, ...due].filter(([, atMs]) => nowMs() - atMs < everyMs))
  }
  return {
    touch(user) {
      const now = nowMs()
      pending.set(user, now)
      const isDue = now - (written.get(user) ?? Number.NEGATIVE_INFINITY) >= everyMs
      // The first activity after a pause may cancel an announced stop, so it is written at once.
      timer ??= setTimeout(() => void flush().catch(onError), isDue ? 0 : everyMs)
    },
    flush,
  }
}

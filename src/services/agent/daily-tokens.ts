import type { TokenBudget } from '../../agent/agent-loop.ts'
import { type AgentUsageStore, createAgentUsageStore } from '../../storage/agent-usage-store.ts'
import type { Tx } from '../../storage/transactions.ts'

export interface DailyTokensOptions {
  readonly store: Pick<AgentUsageStore, 'spent'>
  /** How many tokens one user may spend in a day (UTC). */
  readonly limit: number
  readonly now: () => Date
}

/** The budget of one run, which shares that of its user's other runs as they spend. */
export interface RunBudget extends TokenBudget {
  /** Stores what the run has spent. */
  store(tx: Tx): Promise<void>
  /** To be called when the transaction of {@link store} is committed. */
  stored(): void
}

/** Tokens of all users by the day. */
export interface DailyTokens {
  open(user: string): Promise<RunBudget>
  /** Seconds until the next day begins. */
  secondsLeft(): number
}

interface Book {
  readonly day: string
  /** Spent in this process, stored or not. */
  here: number
  /** The part of `here` that is stored. */
  stored: number
}

/** Books of this process over the stored usage, so that runs that go on at once know of each other. */
export function createDailyTokens({ store, limit, now }: DailyTokensOptions): DailyTokens {
  const books = new Map<string, Book>()
  const today = (): string => now().toISOString().slice(0, 10)

  function bookOf(user: string, day: string): Book {
    for (const [other, book] of books) if (book.day !== day) books.delete(other)
    const book = books.get(user) ?? { day, here: 0, stored: 0 }
    books.set(user, book)
    return book
  }

  return {
    async open(user) {
      const day = today()
      const book = bookOf(user, day)
      // What was stored here is in both numbers, and counts once.
      const elsewhere = (await store.spent(user, day)) - book.stored
      let own = 0
      return {
        remaining: () => limit - elsewhere - book.here,
        spend(tokens) {
          own += tokens
          book.here += tokens
        },
        async store(tx) {
          if (own > 0) await createAgentUsageStore(tx).add(user, day, own)
        },
        stored() {
          book.stored += Math.max(0, own)
        },
      }
    },
    secondsLeft() {
      const dayMs = 24 * 60 * 60 * 1000
      return Math.ceil((dayMs - (now().getTime() % dayMs)) / 1000)
    },
  }
}

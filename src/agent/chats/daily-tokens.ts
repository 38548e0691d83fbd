import type { TokenBudget } from '../loop/agent-loop.ts'
import { type AgentUsageStore, createAgentUsageStore } from '../../storage/stores/agent/usage-store.ts'
import type { Tx } from '../../storage/transactions.ts'

export interface DailyTokensOptions {
  readonly store: Pick<AgentUsageStore, 'spent'>
  /** How many tokens one user may spend in a day (UTC). */
  readonly limit: number
  readonly now: () => Date
}

/** The budget of one run. Runs of the same user share their daily budget. */
export interface RunBudget extends TokenBudget {
  /** Stores the tokens that the run used. */
  store(tx: Tx): Promise<void>
  /** Must be called when the transaction of {@link store} is committed. */
  stored(): void
}

/** Daily token usage of all users. */
export interface DailyTokens {
  open(user: string): Promise<RunBudget>
  /** Seconds until the next day (UTC). */
  secondsLeft(): number
}

interface DayUsage {
  readonly day: string
  /** Used in this process, stored or not. */
  here: number
  /** The part of `here` that is stored. */
  stored: number
}

/** Tracks usage in memory on top of the stored usage, so that concurrent runs see each other's usage. */
export function createDailyTokens({ store, limit, now }: DailyTokensOptions): DailyTokens {
  const usages = new Map<string, DayUsage>()
  const today = (): string => now().toISOString().slice(0, 10)

  function usageOf(user: string, day: string): DayUsage {
    for (const [other, usage] of usages) if (usage.day !== day) usages.delete(other)
    const usage = usages.get(user) ?? { day, here: 0, stored: 0 }
    usages.set(user, usage)
    return usage
  }

  return {
    async open(user) {
      const day = today()
      const usage = usageOf(user, day)
      // Tokens stored by this process are in both numbers and must count once.
      const otherInstances = (await store.spent(user, day)) - usage.stored
      let own = 0
      return {
        remaining: () => limit - otherInstances - usage.here,
        spend(tokens) {
          own += tokens
          usage.here += tokens
        },
        async store(tx) {
          if (own > 0) await createAgentUsageStore(tx).add(user, day, own)
        },
        stored() {
          usage.stored += Math.max(0, own)
        },
      }
    },
    secondsLeft() {
      const dayMs = 24 * 60 * 60 * 1000
      return Math.ceil((dayMs - (now().getTime() % dayMs)) / 1000)
    },
  }
}

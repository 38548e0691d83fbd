import { type Kysely, sql } from 'kysely'

import type { StateTables } from '../../schema.ts'

/** Tokens used by users' chats; days are UTC, such as `2026-11-20`. */
export interface AgentUsageStore {
  spent(user: string, day: string): Promise<number>
  add(user: string, day: string, tokens: number): Promise<void>
}

/** Usage in the state database. */
export function createAgentUsageStore(db: Kysely<StateTables>): AgentUsageStore {
  return {
    async spent(user, day) {
      const query = db.selectFrom('agent_usage').select('tokens').where('user_id', '=', user).where('day', '=', day)
      return (await query.executeTakeFirst())?.tokens ?? 0
    },
    async add(user, day, tokens) {
      await db
        .insertInto('agent_usage')
        .values({ user_id: user, day, tokens })
        .onConflict((conflict) =>
          conflict.columns(['user_id', 'day']).doUpdateSet({
            tokens: sql`agent_usage.tokens + excluded.tokens`,
          }),
        )
        .execute()
    },
  }
}

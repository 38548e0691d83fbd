import type { Kysely } from 'kysely'

import type { AlertConditionsTable } from '../../automation-schema.ts'
import { flagColumns, type WithFlags } from '../../flag-columns.ts'
import type { StateTables } from '../../schema.ts'

const flags = flagColumns('is_told')

/** A condition that an alert knows of: an opening event whose closing event has not come yet. */
export type AlertCondition = WithFlags<AlertConditionsTable, 'is_told'>

/** When an alert last notified of an object, and how many events it has held back since. */
export interface Cooldown {
  readonly notifiedMs: number
  readonly heldBack: number
}

/** What alerts remember of conditions and objects. */
export interface ConditionStore {
  /** All of them. */
  list(): Promise<readonly AlertCondition[]>
  save(condition: AlertCondition): Promise<void>
  remove(alertId: string, key: string): Promise<void>
  /** Waiting conditions that are due. */
  due(nowMs: number): Promise<readonly AlertCondition[]>
  /** When the next waiting condition is due; undefined when none waits. */
  nextDueMs(): Promise<number | undefined>
  /** The number of conditions of each alert that has some. */
  counts(): Promise<ReadonlyMap<string, number>>
  cooldown(alertId: string, object: string): Promise<Cooldown | undefined>
  saveCooldown(alertId: string, object: string, cooldown: Cooldown): Promise<void>
}

/** Conditions in the state database. */
export function createConditionStore(db: Kysely<StateTables>): ConditionStore {
  return { ...conditions(db), ...cooldowns(db) }
}

function conditions(db: Kysely<StateTables>): Omit<ConditionStore, 'cooldown' | 'saveCooldown'> {
  const all = () => db.selectFrom('alert_conditions').selectAll()
  return {
    async list() {
      return (await all().execute()).map((row) => flags.read(row))
    },
    async save(condition) {
      const row = flags.write(condition)
      const { event_seq, state, is_told, due_ms } = row
      await db
        .insertInto('alert_conditions')
        .values(row)
        .onConflict((conflict) =>
          conflict.columns(['alert_id', 'condition_key']).doUpdateSet({ event_seq, state, is_told, due_ms }),
        )
        .execute()
    },
    async remove(alertId, key) {
      const query = db.deleteFrom('alert_conditions').where('alert_id', '=', alertId)
      await query.where('condition_key', '=', key).execute()
    },
    async due(nowMs) {
      const query = all().where('state', '=', 'waiting').where('due_ms', '<=', nowMs)
      return (await query.orderBy('due_ms').limit(500).execute()).map((row) => flags.read(row))
    },
    async nextDueMs() {
      const query = db.selectFrom('alert_conditions').select('due_ms').where('state', '=', 'waiting')
      return (await query.orderBy('due_ms').limit(1).executeTakeFirst())?.due_ms
    },
    async counts() {
      const query = db.selectFrom('alert_conditions').select(['alert_id', ({ fn }) => fn.countAll().as('count')])
      return new Map((await query.groupBy('alert_id').execute()).map(({ alert_id: id, count }) => [id, Number(count)]))
    },
  }
}

function cooldowns(db: Kysely<StateTables>): Pick<ConditionStore, 'cooldown' | 'saveCooldown'> {
  return {
    async cooldown(alertId, object) {
      const query = db.selectFrom('alert_cooldowns').selectAll().where('alert_id', '=', alertId)
      const row = await query.where('object_key', '=', object).executeTakeFirst()
      return row && { notifiedMs: row.notified_ms, heldBack: row.held_back }
    },
    async saveCooldown(alertId, object, { notifiedMs, heldBack }) {
      const change = { notified_ms: notifiedMs, held_back: heldBack }
      await db
        .insertInto('alert_cooldowns')
        .values({ alert_id: alertId, object_key: object, ...change })
        .onConflict((conflict) => conflict.columns(['alert_id', 'object_key']).doUpdateSet(change))
        .execute()
    },
  }
}

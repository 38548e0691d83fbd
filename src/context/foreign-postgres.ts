import { Kysely, sql } from 'kysely'
import type { PostgresAddress } from '../catalog/sql-postgres-address.ts'
import { DomainError } from '../domain/errors.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { StateTables } from '../storage/schema.ts'

interface StatePlace {
  readonly runtime: Pick<Runtime, 'openPostgres'>
  /** Where the state is, when it is in PostgreSQL. */
  readonly databaseUrl: string | undefined
  readonly db: Kysely<StateTables>
}

/**
 * Refuses (`UNPROCESSABLE`) the address of a catalog when it leads to the database of the service's own state, in
 * whatever schema and however the server is called: the servers themselves are asked who they are. A server that does
 * not answer is not refused here; opening it tells.
 */
export function foreignPostgres({ databaseUrl, db, runtime }: StatePlace): (address: PostgresAddress) => Promise<void> {
  return async (address) => {
    if (databaseUrl === undefined) return
    const catalog = new Kysely<object>({ dialect: await runtime.openPostgres(address) })
    try {
      const [theirs, ours] = await Promise.all([identityOf(catalog), identityOf(db)])
      if (theirs !== undefined && theirs === ours) throw refusal()
    } finally {
      await catalog.destroy()
    }
  }
}

/** Which database of which server a connection leads to; undefined when it does not tell. */
async function identityOf<T>(db: Kysely<T>): Promise<string | undefined> {
  const question = sql<{ id: string }>`select system_identifier::text || '/' || d.oid::text as id
    from pg_control_system(), pg_database d where d.datname = current_database()`
  try {
    return (await question.execute(db)).rows[0]?.id
  } catch {
    return undefined
  }
}

function refusal(): DomainError {
  const message = 'is the database of this service itself: choose another database'
  return new DomainError('UNPROCESSABLE', `uri: ${message}`, { fields: [{ path: 'uri', message }] })
}

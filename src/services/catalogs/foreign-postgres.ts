import { Kysely, sql } from 'kysely'
import type { PostgresAddress } from '../../catalog/sql/postgres-address.ts'
import type { DomainError } from '../../domain/errors.ts'
import { openPostgres } from '../../storage/dialects/open-postgres.ts'
import type { StateTables } from '../../storage/schema.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

interface StatePlace {
  /** Where the state is stored, when it is in PostgreSQL. */
  readonly databaseUrl: string | undefined
  readonly db: Kysely<StateTables>
}

/**
 * Throws `UNPROCESSABLE` for a catalog address that leads to the database of the service's own state, in any schema and
 * under any name of the server: the servers are asked for their identity. A server that does not respond is not refused
 * here; opening it fails.
 */
export function foreignPostgres({ databaseUrl, db }: StatePlace): (address: PostgresAddress) => Promise<void> {
  return async (address) => {
    if (databaseUrl === undefined) return
    const catalog = new Kysely<object>({ dialect: await openPostgres(address) })
    try {
      const [theirs, ours] = await Promise.all([identityOf(catalog), identityOf(db)])
      if (theirs !== undefined && theirs === ours) throw refusal()
    } finally {
      await catalog.destroy()
    }
  }
}

/** Identifies the database and server of a connection; undefined when the server does not reveal it. */
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
  return fieldRefusal('UNPROCESSABLE', [{ path: 'uri', message }])
}

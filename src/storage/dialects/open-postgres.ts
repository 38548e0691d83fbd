import type { Dialect } from 'kysely'
import type { PostgresAddress } from '../../catalog/sql/postgres-address.ts'

/** A Kysely dialect over PostgreSQL, see `postgresDialect`; the driver is loaded at the first call. */
export async function openPostgres(server: string | PostgresAddress): Promise<Dialect> {
  return (await import('./postgres.ts')).postgresDialect(server)
}

/** The same for migrations of a state database: their statements have no time limits. */
export async function openPostgresForMigrations(url: string): Promise<Dialect> {
  const { postgresDialect, UNLIMITED } = await import('./postgres.ts')
  return postgresDialect(url, UNLIMITED)
}

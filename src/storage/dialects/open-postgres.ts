import type { Dialect } from 'kysely'
import type { PostgresAddress } from '../../catalog/sql/postgres-address.ts'

/** A Kysely dialect over PostgreSQL, see `postgresDialect`; the driver is loaded at the first call. */
export async function openPostgres(server: string | PostgresAddress): Promise<Dialect> {
  return (await import('./postgres.ts')).postgresDialect(server)
}

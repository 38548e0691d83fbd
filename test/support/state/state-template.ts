import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Name of a database with the tables of a new state, which nothing is connected to. */
    readonly stateTemplate?: string
  }
}

/** Migrates one PostgreSQL database for a whole test run, if there is a server: a copy takes a fraction of the migrations. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const { postgresPlace, postgresServer } = await import('../../storage/open.ts')
  if (postgresServer === undefined) return undefined
  const { openStateDatabase } = await import('../../../src/storage/state-database.ts')
  const { postgresDialect } = await import('../../../src/storage/dialects/postgres.ts')
  const { place, remove } = await postgresPlace()
  await (await openStateDatabase(postgresDialect(place))).destroy()
  project.provide('stateTemplate', new URL(place).pathname.slice(1))
  return remove
}

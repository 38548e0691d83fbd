import { isLongRun, isWholeRun } from '../effort.ts'
import { migratedPostgresPlace, postgresServer } from '../../storage/open.ts'

interface StatePlace {
  /** Environment that makes a service keep its state there. */
  readonly env: Readonly<Record<string, string>>
  readonly remove: () => Promise<void>
}

interface StateKind {
  readonly name: string
  readonly skip: boolean
  readonly place: () => Promise<StatePlace>
}

const SQLITE: StateKind = {
  name: 'SQLite',
  skip: false,
  place: async () => ({ env: {}, remove: async () => undefined }),
}

/** A short run tests the stores on PostgreSQL, not every service again. */
function kinds(isPostgresTested: boolean): readonly StateKind[] {
  const place = async () => {
    const { place: database, remove } = await migratedPostgresPlace()
    return { env: { DATABASE_URL: database }, remove }
  }
  return [SQLITE, { name: 'PostgreSQL', skip: postgresServer === undefined || !isPostgresTested, place }]
}

/** Where a service can keep its state: suites of what depends on the transactions of a database run once for each that is at hand. */
export const stateKinds = kinds(isLongRun)

/** The same for suites that use the stores as others do: CI runs them on SQLite alone. */
export const stateKindsOfWholeRuns = kinds(isWholeRun)

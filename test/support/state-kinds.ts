import { isLongRun } from './effort.ts'
import { postgresPlace, postgresServer } from '../storage/open.ts'

interface StatePlace {
  /** Environment that makes a service keep its state there. */
  readonly env: Readonly<Record<string, string>>
  readonly remove: () => Promise<void>
}

/** Where a service can keep its state: suites run once for each that is at hand. */
export const stateKinds: readonly {
  readonly name: string
  readonly skip: boolean
  readonly place: () => Promise<StatePlace>
}[] = [
  { name: 'SQLite', skip: false, place: async () => ({ env: {}, remove: async () => undefined }) },
  {
    name: 'PostgreSQL',
    // a short run tests the stores on PostgreSQL, not every service again
    skip: postgresServer === undefined || !isLongRun,
    place: async () => {
      const { place, remove } = await postgresPlace()
      return { env: { DATABASE_URL: place }, remove }
    },
  },
]

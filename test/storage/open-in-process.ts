// Opens the state database whose kind and place are the arguments; started by tests as a process of its own.
import { postgresDialect } from '../../src/runtime/postgres.ts'
import { sqliteDialect } from '../../src/runtime/sqlite.ts'
import { openStateDatabase } from '../../src/storage/state-database.ts'

const [, , kind, place] = process.argv
if (place === undefined) throw new Error('The place of the database is missing')
const db = await openStateDatabase(kind === 'SQLite' ? sqliteDialect(place) : postgresDialect(place))
await db.destroy()

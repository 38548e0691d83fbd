// Opens the state database whose kind and place are the arguments; tests start it as a separate process.
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import { openStateFile } from '../support/state/state-file.ts'
import { openStateDatabase } from '../../src/storage/state-database.ts'

const [, , kind, place] = process.argv
if (place === undefined) throw new Error('The place of the database is missing')
const db = await openStateDatabase(kind === 'SQLite' ? openStateFile(place) : postgresDialect(place))
await db.destroy()

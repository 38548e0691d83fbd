// Opens the state database whose path is the first argument; started by tests as a process of its own.
import { sqliteDialect } from '../../src/runtime/sqlite.ts'
import { openStateDatabase } from '../../src/storage/state-database.ts'

const path = process.argv[2]
if (path === undefined) throw new Error('The path of the database is missing')
const db = await openStateDatabase(sqliteDialect(path))
await db.destroy()

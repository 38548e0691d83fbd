import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '../config/config.ts'
import type { Home } from '../context.ts'

/**
 * Prepares the folder of the service's own state, and holds it: a second process on the same folder is refused with
 * `ConfigError`, because each believes that what the ledger calls running is its own. The lock ends with the process.
 */
export async function prepareHome(folder: string): Promise<Home> {
  const root = resolve(folder)
  const stateDatabase = join(root, 'state.db')
  const isNew = !existsSync(stateDatabase)
  const scratch = join(root, 'scratch')
  const warehouse = join(root, 'warehouse')
  try {
    await mkdir(scratch, { recursive: true })
    await mkdir(warehouse, { recursive: true })
  } catch (cause) {
    throw new ConfigError(`LOCKHOUSE_HOME ${folder} cannot be written`, { cause })
  }
  const release = holdLock(join(root, 'lock.db'), folder)
  return {
    isNew,
    stateDatabase,
    catalogDatabase: join(root, 'catalog.db'),
    warehouse: pathToFileURL(warehouse).href,
    scratch,
    release,
  }
}

/** An exclusive SQLite lock: the operating system drops it when the process ends, however it ends. */
function holdLock(path: string, folder: string): () => void {
  const database = new DatabaseSync(path)
  try {
    database.exec('pragma busy_timeout = 0; begin exclusive')
  } catch (cause) {
    database.close()
    throw new ConfigError(`LOCKHOUSE_HOME ${folder} is in use by another process`, { cause })
  }
  return () => database.close()
}

import { existsSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '../config/config-error.ts'
import type { Home } from '../context/create-context.ts'
import { checkpointFile } from '../services/audit/checkpoint-file.ts'
import { databaseError } from '../storage/dialects/sqlite-error.ts'

/**
 * Prepares and locks the state folder: a second process on the same folder fails with `ConfigError`, because each process
 * treats running ledger entries as its own. The lock ends with the process.
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
    await probeWrite(join(root, 'write-probe')) // scratch may be a separate disk, which startup does not need
  } catch (cause) {
    throw new ConfigError(`LOCKHOUSE_HOME ${folder} cannot be written`, { cause })
  }
  const lock = join(root, 'lock.db')
  const release = holdLock(lock, folder)
  return {
    isNew,
    stateDatabase,
    catalogDatabase: join(root, 'catalog.db'),
    ownDatabases: [stateDatabase, lock],
    warehouse: pathToFileURL(warehouse).href,
    scratch,
    auditKey: await auditKey(join(root, 'audit.key')),
    auditCheckpoint: checkpointFile(join(root, 'audit-checkpoint.json')),
    release,
  }
}

const AUDIT_KEY_BYTES = 32

/** The key that signs the end of the audit log; created once and stored next to the database, never in it. */
async function auditKey(path: string): Promise<Uint8Array> {
  try {
    const file = await open(path, 'wx', 0o600)
    await file.writeFile(randomBytes(AUDIT_KEY_BYTES))
    await file.sync()
    await file.close()
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) {
      throw new ConfigError('the audit key in LOCKHOUSE_HOME cannot be written', { cause })
    }
  }
  const key = await readFile(path)
  if (key.length === AUDIT_KEY_BYTES) return new Uint8Array(key)
  throw new ConfigError('audit.key in LOCKHOUSE_HOME is damaged: restore it from a backup')
}

/** Finds a full or read-only disk before anything else fails on it. */
async function probeWrite(path: string): Promise<void> {
  await writeFile(path, randomBytes(4096), { flush: true })
  await rm(path)
}

/** An exclusive SQLite lock: the operating system releases it when the process ends, even after a crash. */
function holdLock(path: string, folder: string): () => void {
  const database = new DatabaseSync(path)
  try {
    database.exec('pragma busy_timeout = 0; begin exclusive')
  } catch (error) {
    database.close()
    const cause = databaseError(error, `LOCKHOUSE_HOME ${folder} cannot be locked`)
    if (cause.code !== 'BUSY') throw cause
    throw new ConfigError(`LOCKHOUSE_HOME ${folder} is in use by another process`, { cause })
  }
  return () => database.close()
}

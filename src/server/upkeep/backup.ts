import { existsSync } from 'node:fs'
import { chmod, copyFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '../../config/config-error.ts'
import { databaseError } from '../../storage/dialects/sqlite-error.ts'
import { VERSION } from '../../config/version.ts'
import {
  type BackupManifest,
  damageOf,
  flush,
  hashFile,
  HOME_FILES,
  type HomeFile,
  inspect,
  MANIFEST,
  PRIVATE_FILE,
} from './backup-files.ts'
import { makeUnfinishedFolder } from './unfinished-folder.ts'

export interface BackupOptions {
  /** `LOCKHOUSE_HOME` of a service, which may run. */
  readonly home: string
  /** Folder to create. */
  readonly target: string
  readonly now: () => Date
}

const LOCK_WAIT_MS = 30_000

/**
 * Copies the state, the keys and the embedded catalog of a service into a new folder; the service may go on writing. Tables
 * and checkpoints are not copied. The folder appears when it is complete and was read back.
 *
 * The order of the copies makes the catalog newer than the state, as after a crash between a commit and its entry in the
 * ledger, which the next start settles. A state newer than its catalog would count batches as done that no table has.
 */
export async function createBackup({ home, target, now }: BackupOptions): Promise<BackupManifest> {
  const names = HOME_FILES.filter((name) => existsSync(join(home, name)))
  if (!names.some((name) => name.endsWith('.db'))) throw new ConfigError(`${home} is not the folder of a service`)
  if (existsSync(target)) throw new ConfigError(`${target} exists already: name a new folder`)
  const created = now().toISOString()
  const unfinished = await makeUnfinishedFolder(target)
  try {
    const files: BackupManifest['files'] = []
    for (const name of names) files.push(await copied(name, { home, folder: unfinished }))
    const manifest: BackupManifest = {
      format: 1,
      lockhouse: VERSION,
      created_at: created,
      home: resolve(home),
      files,
    }
    await writeFile(join(unfinished, MANIFEST), `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: PRIVATE_FILE })
    await flush(join(unfinished, MANIFEST))
    await flush(unfinished)
    await rename(unfinished, target)
    await flush(dirname(resolve(target)))
    return manifest
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  }
}

interface Places {
  readonly home: string
  readonly folder: string
}

async function copied(name: HomeFile, { home, folder }: Places): Promise<BackupManifest['files'][number]> {
  const to = join(folder, name)
  if (name.endsWith('.db')) copyDatabase(join(home, name), to)
  else await copyFile(join(home, name), to)
  await chmod(to, PRIVATE_FILE)
  await flush(to)
  const damage = name.endsWith('.db') ? inspect(to, damageOf) : undefined
  if (damage !== undefined) throw new ConfigError(`${name} is damaged: ${damage}`)
  return { name, bytes: (await stat(to)).size, sha256: await hashFile(to) }
}

/** A consistent copy of a database that others write to. */
function copyDatabase(from: string, to: string): void {
  const database = new DatabaseSync(from, { timeout: LOCK_WAIT_MS })
  try {
    database.exec(`vacuum into '${to.replaceAll("'", "''")}'`)
  } catch (error) {
    throw new ConfigError(databaseError(error, `${from} cannot be copied`).message, { cause: error })
  } finally {
    database.close()
  }
}

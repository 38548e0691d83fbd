import { existsSync } from 'node:fs'
import { chmod, copyFile, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '../../config/config-error.ts'
import { LocalFileIO } from '../../iceberg/io/local.ts'
import {
  type BackupManifest,
  damageOf,
  flush,
  hashFile,
  inspect,
  NEWEST_SCHEMA,
  PRIVATE_FILE,
  readManifest,
  schemaVersion,
} from './backup-files.ts'
import { makeUnfinishedFolder } from './unfinished-folder.ts'

export interface RestoreOptions {
  readonly source: string
  /** Folder that is created; it may exist when it is empty. */
  readonly home: string
}

/** What was restored. */
export interface Restored extends BackupManifest {
  /** Tables of the embedded catalog. */
  readonly tables: number
  /** Those on this machine whose current metadata file does not exist. */
  readonly missing: readonly string[]
}

/**
 * Makes a folder for a service from a backup. Everything is checked before the folder appears: sums, the databases
 * themselves, and that this program knows the version of the state. Throws {@link ConfigError}, with nothing changed.
 */
export async function restoreBackup({ source, home }: RestoreOptions): Promise<Restored> {
  const manifest = await readManifest(source)
  await requireEmpty(home)
  const unfinished = await makeUnfinishedFolder(home)
  try {
    for (const file of manifest.files) await copyChecked(file, { source, folder: unfinished })
    const state = join(unfinished, 'state.db')
    if (existsSync(state)) pointAtRestoredCatalog(state, { from: manifest.home, to: resolve(home) })
    const catalog = join(unfinished, 'catalog.db')
    const pointers = existsSync(catalog) ? inspect(catalog, tablePointers) : []
    const missing = await missingFiles(pointers)
    await flush(unfinished)
    if (existsSync(home)) await rmdir(home) // fails when something was put into it meanwhile
    await rename(unfinished, home)
    await flush(dirname(resolve(home)))
    return { ...manifest, tables: pointers.length, missing }
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  }
}

async function requireEmpty(home: string): Promise<void> {
  const found = await stat(home).catch(() => undefined)
  if (found === undefined) return
  if (!found.isDirectory()) throw new ConfigError(`${home} is not a folder`)
  if ((await readdir(home)).length > 0) throw new ConfigError(`${home} is not empty: name a new folder`)
}

interface Places {
  readonly source: string
  readonly folder: string
}

async function copyChecked(file: BackupManifest['files'][number], { source, folder }: Places): Promise<void> {
  const { name, bytes, sha256 } = file
  const to = join(folder, name)
  await copyFile(join(source, name), to).catch((cause: unknown) => {
    throw new ConfigError(`the backup is incomplete: ${name} cannot be copied`, { cause })
  })
  await chmod(to, PRIVATE_FILE)
  await flush(to)
  if ((await stat(to)).size !== bytes || (await hashFile(to)) !== sha256) {
    throw new ConfigError(`the backup is damaged: ${name} is not what was backed up`)
  }
  if (name.endsWith('.db')) checkDatabase(name, to)
}

function checkDatabase(name: string, path: string): void {
  const { damage, version } = inspect(path, (database) => ({
    damage: damageOf(database),
    version: schemaVersion(database),
  }))
  if (damage !== undefined) throw new ConfigError(`the backup is damaged: ${name}: ${damage}`)
  if (version > NEWEST_SCHEMA) {
    throw new ConfigError(
      `the backup has schema version ${version}, this release knows ${NEWEST_SCHEMA}: restore it with the newer release`,
    )
  }
}

interface Move {
  readonly from: string
  readonly to: string
}

/** The configuration names the embedded catalog by its path: from now on the restored one. Other catalogs stay. */
function pointAtRestoredCatalog(state: string, { from, to }: Move): void {
  const database = new DatabaseSync(state)
  try {
    const found = database.prepare("select value_json from settings where key = 'catalog'").get()
    const text = found?.['value_json']
    if (typeof text !== 'string') return
    const settings: unknown = JSON.parse(text)
    if (typeof settings !== 'object' || settings === null || !('uri' in settings)) return
    if (settings.uri !== embeddedUri(from)) return
    const moved = JSON.stringify({ ...settings, uri: embeddedUri(to) })
    database.prepare("update settings set value_json = ? where key = 'catalog'").run(moved)
  } finally {
    database.close()
  }
}

function embeddedUri(home: string): string {
  return `sqlite:///${join(home, 'catalog.db')}`
}

interface Pointer {
  readonly table: string
  readonly location: string
}

function tablePointers(database: DatabaseSync): readonly Pointer[] {
  const exists = database.prepare("select 1 from sqlite_master where name = 'iceberg_tables'").get()
  if (exists === undefined) return []
  const query = database.prepare('select table_namespace, table_name, metadata_location from iceberg_tables')
  return query.all().flatMap((row) => {
    const { table_namespace: namespace, table_name: name, metadata_location: location } = row
    return typeof location === 'string' ? [{ table: `${String(namespace)}.${String(name)}`, location }] : []
  })
}

async function missingFiles(pointers: readonly Pointer[]): Promise<readonly string[]> {
  const io = new LocalFileIO()
  const missing: string[] = []
  for (const { table, location } of pointers) {
    if (/^(file:|\/)/.test(location) && (await io.stat(location)) === undefined) missing.push(table)
  }
  return missing
}

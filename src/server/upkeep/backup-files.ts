import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { ConfigError } from '../../config/config-error.ts'
import { databaseError } from '../../storage/dialects/sqlite-error.ts'
import { MIGRATIONS } from '../../storage/migrations/all.ts'

/** Files of a home that a backup has, in the order in which they are copied; see {@link createBackup}. */
export const HOME_FILES = ['audit.key', 'audit-checkpoint.json', 'state.db', 'catalog.db'] as const

export type HomeFile = (typeof HOME_FILES)[number]

/** Name of the list of a backup's files inside its folder. */
export const MANIFEST = 'backup.json'

/** Only the user who runs the service may read a backup: it has the keys. */
export const PRIVATE_FOLDER = 0o700
export const PRIVATE_FILE = 0o600

const manifest = z.strictObject({
  format: z.literal(1),
  /** Version of the program that wrote it. */
  lockhouse: z.string(),
  created_at: z.iso.datetime(),
  /** The folder of the service, an absolute path. */
  home: z.string(),
  files: z
    .array(
      z.strictObject({
        name: z.enum(HOME_FILES),
        bytes: z.number().int().min(0),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .min(1),
})

/** What a backup says of itself. */
export type BackupManifest = z.infer<typeof manifest>

/** Reads the list of a backup. Throws {@link ConfigError} when the folder is not a complete backup. */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch(() => undefined)
  if (text === undefined) throw new ConfigError(`${folder} is not a backup: it has no ${MANIFEST}`)
  const result = manifest.safeParse(parsed(text))
  if (!result.success) throw new ConfigError(`${MANIFEST} in ${folder} is damaged`)
  return result.data
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** SHA-256 of a file, as hex. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path)) hash.update(bytes as Uint8Array)
  return hash.digest('hex')
}

/** Makes the content of a file or the names in a folder durable. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** The newest schema version of the state that this program knows. */
export const NEWEST_SCHEMA: number = Math.max(...MIGRATIONS.keys())

/** Reads from a SQLite file without changing it. Throws {@link ConfigError} when that is not possible. */
export function inspect<T>(path: string, read: (database: DatabaseSync) => T): T {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true })
    return read(database)
  } catch (error) {
    throw new ConfigError(databaseError(error, `${basename(path)} cannot be read`).message, { cause: error })
  } finally {
    database?.close()
  }
}

/** What is wrong inside a SQLite file; undefined when nothing is. */
export function damageOf(database: DatabaseSync): string | undefined {
  const rows = database.prepare('pragma integrity_check(1)').all()
  const text = String(Object.values(rows[0] ?? {})[0])
  return text === 'ok' ? undefined : text
}

/** Schema version of a state; 0 for a file that is none. */
export function schemaVersion(database: DatabaseSync): number {
  const found = database.prepare("select 1 from sqlite_master where name = '_migrations'").get()
  if (found === undefined) return 0
  return Number(database.prepare('select max(version) as version from _migrations').get()?.['version'] ?? 0)
}

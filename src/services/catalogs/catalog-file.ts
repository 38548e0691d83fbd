import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Kysely, sql } from 'kysely'
import type { DomainError } from '../../domain/errors.ts'
import { realFolder } from '../../iceberg/io/real-folder.ts'
import { sqliteDialect } from '../../storage/dialects/sqlite.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

/** The requirements for the file of an `sql` catalog. */
export interface CatalogFileRule {
  /** SQLite files of the service itself, which no catalog may use, under any name. */
  readonly own: readonly string[]
  /** Whether the file, or the catalog's tables in it, may be created. */
  readonly create: boolean
}

/** Files that SQLite creates next to a database. */
const COMPANIONS = ['', '-wal', '-shm', '-journal']

/**
 * Returns the absolute path of a catalog's SQLite file when it may be opened. Throws `UNPROCESSABLE` for a file of the
 * service itself (also through links), for a file that is missing or has no catalog tables unless they may be created,
 * and for a file that is not a SQLite database.
 */
export async function admitCatalogFile(path: string, { own, create }: CatalogFileRule): Promise<string> {
  const absolute = resolve(path) // never a file: URI, which SQLite interprets differently
  if (await isOneOf(absolute, own)) throw refusal('is a database of this service itself: choose another file')
  const found = await statOf(absolute)
  if (found === undefined) {
    if ((await statOf(dirname(absolute)))?.isDirectory() !== true) throw refusal('is in a folder that does not exist')
    if (!create) throw refusal('file not found: correct the path, or send create: true to create the file')
    return absolute
  }
  if (!found.isFile()) throw refusal('names a folder, or something else that is not a file')
  if (!(await hasCatalogTables(absolute)) && !create) {
    throw refusal('names a database without catalog tables: correct it, or send create: true to create them')
  }
  return absolute
}

async function isOneOf(path: string, own: readonly string[]): Promise<boolean> {
  const real = await realFolder(path).catch(() => path)
  const file = await statOf(path)
  for (const one of own.flatMap((name) => COMPANIONS.map((suffix) => name + suffix))) {
    if (one === path || (await realFolder(one).catch(() => one)) === real) return true
    const other = await statOf(one)
    if (file !== undefined && other !== undefined && file.dev === other.dev && file.ino === other.ino) return true
  }
  return false
}

async function statOf(path: string) {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw refusal('names a file that cannot be read', error)
  }
}

async function hasCatalogTables(path: string): Promise<boolean> {
  const db = new Kysely<object>({ dialect: sqliteDialect(path, { readonly: true }) })
  try {
    const found = await sql`select 1 from sqlite_master where name = 'iceberg_tables' limit 1`.execute(db)
    return found.rows.length > 0
  } catch (error) {
    throw refusal('names a file that cannot be opened as a SQLite database', error)
  } finally {
    await db.destroy()
  }
}

function refusal(why: string, cause?: unknown): DomainError {
  return fieldRefusal('UNPROCESSABLE', [{ path: 'uri', message: why }], cause)
}

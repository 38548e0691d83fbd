import { DatabaseError, type DatabaseErrorCode } from '../database-error.ts'

/** By SQLite's primary result code (https://www.sqlite.org/rescode.html). */
const PRIMARY_CODES: ReadonlyMap<number, readonly [DatabaseErrorCode, string]> = new Map([
  [5, ['BUSY', 'another process holds its lock']],
  [6, ['BUSY', 'it is locked']],
  [8, ['READ_ONLY', 'it is read-only']],
  [11, ['CORRUPT', 'it is damaged']],
  [13, ['FULL', 'there is no space left']],
  [14, ['CANNOT_OPEN', 'the file cannot be opened; check that its folder exists and is accessible']],
  [19, ['CONSTRAINT_VIOLATION', 'a constraint forbids it']],
  [26, ['CORRUPT', 'it is not a SQLite database']],
])
const UNIQUE_CODES: ReadonlySet<number> = new Set([1555, 2067, 2579]) // PRIMARYKEY, UNIQUE, ROWID

/** Converts an error of `node:sqlite` or `bun:sqlite` to a `DatabaseError`; `what` describes the failed action. */
export function databaseError(error: unknown, what: string): DatabaseError {
  if (error instanceof DatabaseError) return error
  const code = resultCode(error)
  if (code === undefined) return new DatabaseError('FAILED', what, { cause: error })
  if (UNIQUE_CODES.has(code)) return new DatabaseError('UNIQUE_VIOLATION', `${what}: the key exists`, { cause: error })
  const [name, reason] = PRIMARY_CODES.get(code & 0xff) ?? ['FAILED', `SQLite error ${code}`]
  return new DatabaseError(name, `${what}: ${reason}`, { cause: error })
}

/** For errors without a code: those of Deno's `DatabaseSync` itself. The texts are SQLite's own (`sqlite3_errstr`). */
const CODES_OF_TEXTS: readonly (readonly [text: RegExp, code: number])[] = [
  [/^database is locked/, 5],
  [/^attempt to write a readonly database/, 8],
  [/^database disk image is malformed/, 11],
  [/^database or disk is full/, 13],
  [/^unable to open database file/, 14],
  [/^UNIQUE constraint failed/, 2067],
  [/constraint failed/, 19],
  [/^file is not a database/, 26],
]

/** SQLite's extended result code: `errcode` of `node:sqlite`, `errno` of a `SQLiteError` of `bun:sqlite`. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode
  if ('code' in error && error.code === 'ERR_SQLITE_ERROR') {
    return CODES_OF_TEXTS.find(([text]) => text.test(error.message))?.[1]
  }
  const isBunError = error.name === 'SQLiteError' && 'errno' in error
  return isBunError && typeof error.errno === 'number' ? error.errno : undefined
}

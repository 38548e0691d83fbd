/** Why a database failed, independent of the driver. */
export type DatabaseErrorCode =
  | 'UNIQUE_VIOLATION' // a row with this key exists
  | 'CONSTRAINT_VIOLATION' // any other constraint
  | 'BUSY' // another process holds the lock for too long; nothing happened
  | 'READ_ONLY'
  | 'FULL' // no space, or a size limit
  | 'CORRUPT' // not a database, or a damaged one
  | 'CANNOT_OPEN'
  | 'NEWER_VERSION' // written by a newer release
  | 'FAILED'

interface DatabaseErrorOptions {
  readonly cause?: unknown
  readonly refused?: boolean
}

/** An error of a database driver, which is its cause. Messages never contain SQL text or parameters. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  readonly code: DatabaseErrorCode
  /** Whether the statement certainly had no effect and will have none. */
  readonly refused: boolean

  constructor(code: DatabaseErrorCode, message: string, { cause, refused }: DatabaseErrorOptions = {}) {
    super(message, { cause })
    this.code = code
    this.refused = refused === true
  }
}

/** Whether `error` means that a row with the same key exists. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'UNIQUE_VIOLATION'
}

/** Closed list of what can go wrong in the table format, a catalog or an engine. */
export const ICEBERG_ERROR_CODES = [
  'INVALID_ARGUMENT', // the caller asked for something that makes no sense
  'INVALID_METADATA', // table metadata, manifest or schema breaks the spec
  'CORRUPT_FILE', // bytes that are not what their name says
  'UNSUPPORTED', // legal Iceberg that this code must not touch
  'FILE_NOT_FOUND',
  'FILE_EXISTS',
  'NO_SPACE',
  'IO_FAILED',
  'NO_SUCH_NAMESPACE',
  'NAMESPACE_EXISTS',
  'NAMESPACE_NOT_EMPTY',
  'NO_SUCH_TABLE',
  'TABLE_EXISTS',
  'TABLES_OVERLAP', // another table keeps files in the same folders, or is the same table under another name
  'NO_SUCH_COLUMN',
  'NO_SUCH_SNAPSHOT',
  'NOT_AN_ANCESTOR', // no known history leads from one snapshot to the other
  'SCHEMA_CHANGE_REFUSED', // the table format forbids this change
  'GC_DISABLED', // gc.enabled=false: files may belong to another table
  'COMMIT_CONFLICT', // another commit was first; this change is not visible
  'COMMIT_STATE_UNKNOWN', // the commit may or may not have happened; nothing may be deleted
  'ROWS_NOT_CONSERVED', // a rewrite would have lost, invented or changed rows; nothing was changed
  'ENGINE_FAILED',
  'LIMIT_EXCEEDED', // work takes more time, memory or disk than it may; a retry does not help
  'CANCELLED',
] as const

/** One of {@link ICEBERG_ERROR_CODES}. */
export type IcebergErrorCode = (typeof ICEBERG_ERROR_CODES)[number]

/** An error of the table format, a catalog or an engine; `code` is stable, `message` is for people, `cause` is kept. */
export class IcebergError extends Error {
  override readonly name = 'IcebergError'
  readonly code: IcebergErrorCode

  constructor(code: IcebergErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** Whether `error` is an {@link IcebergError} with the given code. */
export function isIcebergError(error: unknown, code?: IcebergErrorCode): error is IcebergError {
  return error instanceof IcebergError && (code === undefined || error.code === code)
}

import { IcebergError } from '../../iceberg/errors.ts'

/** Validated options of an expiry; names as in Iceberg's `expire_snapshots`, defaults come from the table. */
export interface ExpiryOptions {
  /** Snapshots older than this expire, ms since the epoch; default: the table's setting, or 5 days. */
  readonly olderThanMs?: number
  /** Ancestors of each branch that stay regardless of age; default: the table's setting, or 1. */
  readonly retainLast?: number
  /** Snapshots to expire regardless of age. */
  readonly snapshotIds?: readonly bigint[]
  readonly cleanExpiredMetadata: boolean
  /** Whether files outside of the table's folders, such as imported ones, are deleted too. */
  readonly deleteForeignFiles: boolean
}

const KNOWN_FIELDS = new Set([
  'older_than',
  'retain_last',
  'snapshot_ids',
  'clean_expired_metadata',
  'delete_foreign_files',
])
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/
const MAX_LONG = 2n ** 63n - 1n

type Request = Readonly<Record<string, unknown>>

/** Reads the options of an expiry request (wire names); `INVALID_ARGUMENT` names the field. */
export function parseExpiryOptions(request: Request): ExpiryOptions {
  for (const field of Object.keys(request)) {
    if (!KNOWN_FIELDS.has(field)) throw invalid(field, 'is not an option of expiry')
  }
  const olderThanMs = readTimestamp(request, 'older_than')
  const retainLast = request['retain_last'] ?? undefined
  const snapshotIds = readSnapshotIds(request['snapshot_ids'] ?? undefined)
  if (retainLast !== undefined && !(Number.isSafeInteger(retainLast) && Number(retainLast) >= 1)) {
    throw invalid('retain_last', 'must be an integer of at least 1')
  }
  return {
    ...(olderThanMs === undefined ? {} : { olderThanMs }),
    ...(retainLast === undefined ? {} : { retainLast: Number(retainLast) }),
    ...(snapshotIds === undefined ? {} : { snapshotIds }),
    cleanExpiredMetadata: readFlag(request, 'clean_expired_metadata'),
    deleteForeignFiles: readFlag(request, 'delete_foreign_files'),
  }
}

function readFlag(request: Request, field: string): boolean {
  const value = request[field] ?? false
  if (typeof value !== 'boolean') throw invalid(field, 'must be true or false')
  return value
}

/** A point in time from a request field (RFC 3339 with zone), in ms since the epoch. */
export function readTimestamp(request: Request, field: string): number | undefined {
  const value = request[field] ?? undefined
  if (value === undefined) return undefined
  const ms = typeof value === 'string' && TIMESTAMP.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(ms)) throw invalid(field, 'must be a time such as "2024-05-01T00:00:00Z"')
  return ms
}

/** A snapshot id from a request: text of digits, as ids do not fit into JSON numbers. */
export function readSnapshotId(value: unknown, field: string): bigint {
  const id = typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? BigInt(value) : undefined
  if (id === undefined || id > MAX_LONG || id < -MAX_LONG - 1n) {
    throw invalid(field, 'must be a snapshot id written as text')
  }
  return id
}

function readSnapshotIds(value: unknown): readonly bigint[] | undefined {
  if (value === undefined) return undefined
  if (!Array.isArray(value) || value.length === 0) throw invalid('snapshot_ids', 'must be a non-empty list')
  return value.map((entry: unknown, index) => readSnapshotId(entry, `snapshot_ids[${index}]`))
}

function invalid(field: string, problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `${field} ${problem}`)
}

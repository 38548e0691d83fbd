import { IcebergError, isIcebergError } from '../iceberg/errors.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import { formatIdentifier } from './table-identifier.ts'

/**
 * The outcome of a commit. Files that were staged for it may be deleted only after `refused`: after `unknown`, the table
 * may already need them.
 */
export type CommitOutcome = Committed | Refused | Unknown

export interface Committed {
  readonly kind: 'committed'
  readonly table: Table
}

/** Nothing changed and nothing will. `COMMIT_CONFLICT`: another commit came first, so a retry on the reloaded table may work. */
export interface Refused {
  readonly kind: 'refused'
  readonly error: IcebergError
}

/** The table may have changed, or may still change. The error is `COMMIT_STATE_UNKNOWN`. */
export interface Unknown {
  readonly kind: 'unknown'
  readonly error: IcebergError
}

/** The outcome of a commit to several tables: all are committed, or none is. */
export type AllOutcome = { readonly kind: 'committed'; readonly tables: readonly Table[] } | Refused | Unknown

export function committed(table: Table): Committed {
  return { kind: 'committed', table }
}

/** For any `error` before the commit could take effect: one that is not an `IcebergError` becomes `IO_FAILED`. */
export function refused(identifier: TableIdentifier, error: unknown): Refused {
  if (isIcebergError(error)) return { kind: 'refused', error }
  const message = `The commit to ${formatIdentifier(identifier)} stopped before anything was changed.`
  return { kind: 'refused', error: new IcebergError('IO_FAILED', message, { cause: error }) }
}

/** Another commit came first. */
export function conflict(identifier: TableIdentifier, cause?: unknown): Refused {
  const message = `${formatIdentifier(identifier)} was changed by another commit at the same time; this change was not applied.`
  return { kind: 'refused', error: new IcebergError('COMMIT_CONFLICT', message, { cause }) }
}

export function unknown(identifier: TableIdentifier, cause: unknown): Unknown {
  if (isIcebergError(cause, 'COMMIT_STATE_UNKNOWN')) return { kind: 'unknown', error: cause }
  const message =
    `It is not known whether the commit to ${formatIdentifier(identifier)} happened: the catalog failed during the ` +
    'commit. No file was deleted; check the table before you retry.'
  return { kind: 'unknown', error: new IcebergError('COMMIT_STATE_UNKNOWN', message, { cause }) }
}

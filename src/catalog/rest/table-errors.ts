import { IcebergError } from '../../iceberg/errors.ts'
import type { TableIdentifier } from '../../iceberg/metadata/table.ts'
import { hasStatus, isCertainRefusal } from './errors.ts'
import { formatIdentifier, noSuchNamespace, noSuchTable, tableExists } from '../table-identifier.ts'

/** Catches an error with this status and returns undefined. */
export function unlessStatus(status: number): (error: unknown) => undefined {
  return (error) => {
    if (!hasStatus(error, status)) throw error
  }
}

/** Why a table was not loaded. */
export function loadError(error: unknown, identifier: TableIdentifier): unknown {
  if (!hasStatus(error, 404)) return error
  if (error.type !== 'NotFoundException') return noSuchTable(identifier)
  const message = `The catalog cannot find the metadata file of ${formatIdentifier(identifier)}.`
  return new IcebergError('FILE_NOT_FOUND', message, { cause: error })
}

/** Why a table was not created or registered; `COMMIT_STATE_UNKNOWN` when the outcome is unknown. */
export function creationError(error: unknown, identifier: TableIdentifier): unknown {
  if (hasStatus(error, 404)) return noSuchNamespace(identifier.namespace)
  if (hasStatus(error, 409)) return tableExists(identifier)
  if (isCertainRefusal(error)) return error
  const message = `It is not known whether ${formatIdentifier(identifier)} was created; no file was deleted.`
  return new IcebergError('COMMIT_STATE_UNKNOWN', message, { cause: error })
}

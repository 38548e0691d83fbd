import { IcebergError } from '../iceberg/errors.ts'
import type { TableIdentifier } from '../iceberg/metadata/table.ts'
import { formatIdentifier, formatNamespace } from './table-identifier.ts'

/** The error `NO_SUCH_TABLE` with the table's name; `hint` is a further sentence. */
export function noSuchTable(identifier: TableIdentifier, hint?: string): IcebergError {
  const message = `Table ${formatIdentifier(identifier)} does not exist.`
  return new IcebergError('NO_SUCH_TABLE', hint === undefined ? message : `${message} ${hint}`)
}

/** The error `NO_SUCH_NAMESPACE` with the namespace's name. */
export function noSuchNamespace(namespace: readonly string[]): IcebergError {
  return new IcebergError('NO_SUCH_NAMESPACE', `Namespace ${formatNamespace(namespace)} does not exist.`)
}

/** The error `TABLE_EXISTS`: a table or a view has this name. */
export function tableExists(identifier: TableIdentifier): IcebergError {
  return new IcebergError('TABLE_EXISTS', `${formatIdentifier(identifier)} already exists, as a table or a view.`)
}

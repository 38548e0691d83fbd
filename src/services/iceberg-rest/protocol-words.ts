import { checkIdentifier, checkNamespace, formatIdentifier, formatNamespace } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { TableIdentifier } from '../../iceberg/metadata/table.ts'

/** What a request is about. */
export interface Subject {
  /** The namespace that must exist. */
  readonly namespace?: readonly string[]
  /** The table that must exist. */
  readonly table?: TableIdentifier
  /** The namespace that is created. */
  readonly newNamespace?: readonly string[]
  /** The name that must be free. */
  readonly newTable?: TableIdentifier
}

/**
 * Runs work for a client of the protocol. Errors about names get the words of the reference implementation, by which
 * clients and their users know them; the text of the catalog follows where it says more.
 */
export async function inProtocolWords<T>(subject: Subject, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isIcebergError(error) ? worded(error, subject) : error
  }
}

/**
 * Whatever a load of the table at `location` throws, in the same words when its metadata file is missing. The location
 * is shown in full, which clients know from every other answer with the table.
 */
export function whenFileIsMissing(location: string | undefined): (error: unknown) => never {
  return (error) => {
    if (location === undefined || !isIcebergError(error, 'FILE_NOT_FOUND')) throw error
    throw new DomainError('NOT_FOUND', `Failed to open input stream for file: ${location}`)
  }
}

function worded(error: IcebergError, subject: Subject): IcebergError {
  const { table, newTable } = subject
  const place = namespaceIn(subject)
  if (error.code === 'INVALID_ARGUMENT') return absent(error, subject)
  if (error.code === 'NO_SUCH_NAMESPACE' && place !== undefined) {
    return reworded(error, `Namespace does not exist: ${formatNamespace(place)}`)
  }
  if (error.code === 'NO_SUCH_TABLE' && table !== undefined) {
    return reworded(error, `Table does not exist: ${formatIdentifier(table)}`)
  }
  if (error.code === 'TABLE_EXISTS' && newTable !== undefined) {
    return reworded(error, `Table already exists: ${formatIdentifier(newTable)}. ${error.message}`)
  }
  return error
}

function namespaceIn({ namespace, newNamespace, table, newTable }: Subject): readonly string[] | undefined {
  return namespace ?? newNamespace ?? newTable?.namespace ?? table?.namespace
}

/** Clients look for names of their own making, such as one with a dot, and take 404 for an answer. */
function absent(error: IcebergError, { namespace, table }: Subject): IcebergError {
  if (namespace !== undefined && !isLegal(() => checkNamespace(namespace))) {
    const message = `Namespace does not exist: ${formatNamespace(namespace)}`
    return new IcebergError('NO_SUCH_NAMESPACE', message, { cause: error })
  }
  if (table !== undefined && !isLegal(() => checkIdentifier(table))) {
    return new IcebergError('NO_SUCH_TABLE', `Table does not exist: ${formatIdentifier(table)}`, { cause: error })
  }
  return error
}

function isLegal(check: () => void): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

function reworded(error: IcebergError, message: string): IcebergError {
  return new IcebergError(error.code, message, { cause: error })
}

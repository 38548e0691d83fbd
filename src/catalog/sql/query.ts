import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import { isBusy } from './tables.ts'

const ATTEMPTS = 3

/**
 * Converts driver errors to catalog errors; not used for the swap, whose caller determines the outcome. Statements
 * refused because of concurrent ones are retried.
 */
export async function query<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (isIcebergError(error)) throw error
      if (!isBusy(error) || attempt === ATTEMPTS) throw databaseFailure(error)
    }
  }
}

/** A driver error as a catalog error. */
export function databaseFailure(cause: unknown): IcebergError {
  const detail = cause instanceof Error ? ` (${cause.message})` : ''
  return new IcebergError('IO_FAILED', `The catalog database did not respond${detail}.`, { cause })
}

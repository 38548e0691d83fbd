import { DomainError } from '../../../domain/errors.ts'
import type { Caller } from '../../../domain/roles.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import { isLimited, seesTable } from './require-access.ts'

/** For whom an error is shown. */
export interface Shown {
  readonly caller: Caller
  /** Texts that the request itself contains; an answer may repeat them. */
  readonly named: readonly string[]
}

/** Two or more words joined by dots, maybe with the name of a catalog before them: a table name, among other things. */
const DOTTED = /(?:[A-Za-z0-9][\w-]{0,62}:)?[\p{L}_][^\s"'`,;:()[\]{}<>=]*(?:\.[^\s"'`,;:()[\]{}<>=.]+)+/gu

/**
 * The error for a caller whom grants limit: names that may be those of hidden tables are replaced. Services check tables
 * before; this covers errors that explain a conflict with another table.
 */
export function withoutHiddenTables(error: unknown, shown: Shown): unknown {
  if (!isLimited(shown.caller)) return error
  if (error instanceof IcebergError) {
    const message = hideNames(error.message, shown)
    return message === error.message ? error : new IcebergError(error.code, message, { cause: error })
  }
  if (!(error instanceof DomainError)) return error
  const paths = error.fields.map(({ path }) => path)
  const hide = (text: string): string => hideNames(text, { ...shown, named: [...shown.named, ...paths] })
  const fields = error.fields.map(({ path, message }) => ({ path, message: hide(message) }))
  const { retryAfterS, allowed, cause } = error
  return new DomainError(error.code, hide(error.message), {
    cause,
    fields,
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    ...(allowed === undefined ? {} : { allowed }),
  })
}

/** The text without dotted names that do not exist for the caller. */
export function hideNames(text: string, { caller, named }: Shown): string {
  return text.replaceAll(DOTTED, (name) =>
    seesTable(caller, name) || named.some((given) => given.includes(name)) ? name : 'another table',
  )
}

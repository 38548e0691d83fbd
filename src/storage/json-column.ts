import { DatabaseError } from './database-error.ts'

/** The value of a JSON column. 64-bit integers are strings here, as in the API. */
export type StoredJson =
  | string
  | number
  | boolean
  | null
  | readonly StoredJson[]
  | { readonly [key: string]: StoredJson }

/** JSON text for a column; an absent value is NULL. Throws for a bigint, which must be converted to a string first. */
export function toColumn(value: object | StoredJson | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** JSON text for a column that is never NULL. */
export function toRequiredColumn(value: object | StoredJson): string {
  return JSON.stringify(value)
}

/** The value of a JSON column in the shape that its store wrote; undefined for NULL. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- names the shape at the call
export function fromColumn<T = StoredJson>(text: string | null): T | undefined {
  return text === null ? undefined : fromRequiredColumn<T>(text)
}

/** The value of a JSON column that is never NULL, in the shape that its store wrote. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- names the shape at the call
export function fromRequiredColumn<T = StoredJson>(text: string): T {
  try {
    const value: T = JSON.parse(text)
    return value
  } catch (cause) {
    throw new DatabaseError('CORRUPT', 'A JSON column of the state database is damaged', { cause })
  }
}

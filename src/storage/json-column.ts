import { DatabaseError } from './database-error.ts'

/** What a JSON column holds. 64-bit integers are strings here, as they are in the API. */
export type StoredJson =
  | string
  | number
  | boolean
  | null
  | readonly StoredJson[]
  | { readonly [key: string]: StoredJson }

/** JSON text for a column; an absent value is NULL. A bigint throws: it must have been made a string before. */
export function toColumn(value: object | StoredJson | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** JSON text for a column that is never NULL. */
export function toRequiredColumn(value: object | StoredJson): string {
  return JSON.stringify(value)
}

/** The value of a JSON column as it was stored, in the shape in which its store wrote it; undefined for NULL. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- names the shape at the call
export function fromColumn<T = StoredJson>(text: string | null): T | undefined {
  return text === null ? undefined : fromRequiredColumn<T>(text)
}

/** The value of a JSON column that is never NULL, in the shape in which its store wrote it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- names the shape at the call
export function fromRequiredColumn<T = StoredJson>(text: string): T {
  try {
    const value: T = JSON.parse(text)
    return value
  } catch (cause) {
    throw new DatabaseError('CORRUPT', 'A JSON column of the state database is damaged', { cause })
  }
}

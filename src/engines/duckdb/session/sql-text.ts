import { IcebergError } from '../../../iceberg/errors.ts'

/** A quoted SQL identifier; `UNSUPPORTED` for a name with a NUL character, which no SQL text can carry. */
export function quoteName(name: string): string {
  if (name.includes('\0')) throw new IcebergError('UNSUPPORTED', `the name ${JSON.stringify(name)} has a NUL character`)
  return `"${name.replaceAll('"', '""')}"`
}

/** A text literal; SQL text ends at a NUL character, so NUL characters are inserted as `chr(0)`. */
export function quoteText(text: string): string {
  if (!text.includes('\0')) return `'${text.replaceAll("'", "''")}'`
  return `(${text.split('\0').map(quoteText).join(' || chr(0) || ')})`
}

/** A list literal of texts. */
export function textList(texts: readonly string[]): string {
  return `[${texts.map(quoteText).join(', ')}]`
}

/** `a AND b`, or `true` of nothing. */
export function allOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'true' : conditions.join(' AND ')
}

/** A value of an environment's parameter; a string `env:NAME` stands for an environment variable of the server. */
export type ParameterValue = string | number | boolean

/** Values by parameter name. */
export type ParameterValues = Readonly<Record<string, ParameterValue>>

/** The prefix of a value that is read from the server's environment. */
const SECRET_PREFIX = 'env:'

/** The variable that a value names; undefined for a plain value. */
export function secretName(value: ParameterValue): string | undefined {
  return typeof value === 'string' && value.startsWith(SECRET_PREFIX) ? value.slice(SECRET_PREFIX.length) : undefined
}

/** A part of a text: literal text, a parameter, or a `${` that is not followed by a name and `}`. */
export type TextPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string }
  | { readonly kind: 'malformed'; readonly text: string }

const MARKER = /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]{0,62})\})?/g

/** The parts of a text with `${name}` parameters; `$${` becomes the literal text `${`. */
export function textParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = []
  let from = 0
  for (const { 0: found, 1: name, index } of text.matchAll(MARKER)) {
    if (index > from) parts.push({ kind: 'text', text: text.slice(from, index) })
    from = index + found.length
    if (found === '$${') parts.push({ kind: 'text', text: '${' })
    else if (name !== undefined) parts.push({ kind: 'parameter', name })
    else parts.push({ kind: 'malformed', text: text.slice(index, index + 40) })
  }
  if (from < text.length) parts.push({ kind: 'text', text: text.slice(from) })
  return parts
}

/** Spaces that are not ASCII: outside of simple cases DuckDB replaces them, also inside of strings. */
const SPACES = /(?=\P{ASCII})[\p{White_Space}\p{Cf}]/gu

/**
 * A value as a complete SQL expression in parentheses, which no neighbouring text can change: text in quotes, a number,
 * or TRUE or FALSE. The value must be free of NUL and of unpaired surrogates, and a number must be finite.
 */
export function sqlLiteral(value: ParameterValue): string {
  if (typeof value === 'boolean') return value ? '(TRUE)' : '(FALSE)'
  if (typeof value === 'number') return `(${value})`
  const quoted = value.replaceAll("'", "''")
  return `('${quoted.replaceAll(SPACES, (space) => `' || chr(${space.codePointAt(0)}) || '`)}')`
}

/** Why a value cannot be used; undefined when it can. */
export function valueProblem(value: ParameterValue): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'its value is not a finite number'
  if (typeof value === 'boolean') return undefined
  if (value.includes('\0')) return 'its value contains a NUL character'
  return value.isWellFormed() ? undefined : 'its value is not valid Unicode'
}

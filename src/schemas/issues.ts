import type { z } from 'zod'
import type { DomainErrorCode } from '../domain/error-codes.ts'
import { DomainError, type FieldError } from '../domain/errors.ts'

type RawIssue = z.core.$ZodRawIssue
type Issue = z.core.$ZodIssue

/** The valid value of a schema, or its issues with messages for people. */
export type Checked<Schema extends z.ZodType> = z.ZodSafeParseResult<z.output<Schema>>

/**
 * Checks a value with a schema. Each issue's message is a predicate of its field, such as `is required` or
 * `must be 1 or more`; a message that the schema itself names stays. Use {@link sentenceOf} for a whole sentence.
 */
export function check<Schema extends z.ZodType>(schema: Schema, value: unknown): Checked<Schema> {
  return schema.safeParse(value, { error: predicate })
}

/** Every field error of the issues of {@link check}: an unknown field and a part of a union have errors of their own. */
export function fieldErrors(issues: readonly Issue[], parent: readonly PropertyKey[] = []): FieldError[] {
  return issues.flatMap((issue): FieldError[] => {
    const path = [...parent, ...issue.path]
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: dotted([...path, key]), message: 'is not a known field' }))
    }
    if (issue.code === 'invalid_union') {
      const nearest = nearestBranch(issue.errors)
      if (nearest !== undefined) return fieldErrors(nearest, path)
    }
    if (issue.code === 'invalid_key') return fieldErrors(issue.issues, path)
    return [{ path: dotted(path), message: issue.message }]
  })
}

/** A sentence about the first of the errors, as {@link sentenceOf}. */
export function firstSentence(errors: readonly FieldError[], whole: string): string {
  return sentenceOf(errors[0] ?? { path: '', message: 'is not valid' }, whole)
}

/**
 * One sentence about a field. `whole` names the value that was checked, such as `the body`, and is the subject where the
 * path is empty.
 */
export function sentenceOf({ path, message }: FieldError, whole: string): string {
  const subject = path === '' ? whole : path
  return PREDICATE.test(message) ? `${subject} ${message}` : `${subject}: ${message}`
}

/** The refusal of the fields of a request. Its message is the sentence about the first field. */
export function fieldRefusal(
  code: DomainErrorCode,
  fields: readonly [FieldError, ...FieldError[]],
  cause?: unknown,
): DomainError {
  return new DomainError(code, firstSentence(fields, 'the request'), { fields, cause })
}

/** Words that begin a predicate; other messages are clauses of their own. */
const PREDICATE =
  /^(must|is|has|have|needs?|may|are|cannot|contains?|exceeds?|names?|ends?|begins?|does|resolves|differs|forms?|would)\b/

function dotted(path: readonly PropertyKey[]): string {
  return path.map(String).join('.')
}

/** The branch of a union that the value was meant for: the only one whose type fits. Undefined when the type is wrong. */
function nearestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const fitting = branches.filter(
    (issues) => !issues.some(({ code, path }) => path.length === 0 && ['invalid_type', 'invalid_value'].includes(code)),
  )
  return fitting.length === 1 ? fitting[0] : undefined
}

/** Names of types, with what to write. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/** Formats with an example. */
const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'must be a time such as 2026-11-20T10:00:00.000Z',
  email: 'must be an e-mail address such as name@example.com',
  url: 'must be a URL such as https://example.com',
}

function predicate(issue: RawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${typeName(issue.expected)}${notGiven(issue.input, issue.expected)}`
    case 'too_small':
      return limit(issue.origin, Number(issue.minimum), { isMinimum: true, ...limitOptions(issue) })
    case 'too_big':
      return limit(issue.origin, Number(issue.maximum), { isMinimum: false, ...limitOptions(issue) })
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : `must be ${alternatives(issue.values)}`
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'has the wrong form'
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_union':
      return unionPredicate(issue)
    default:
      return 'is not valid'
  }
}

function typeName(expected: string): string {
  return TYPES[expected] ?? `of the type ${expected}`
}

function notGiven(input: unknown, expected: string): string {
  const given = input === null ? 'null' : Array.isArray(input) ? 'array' : typeof input
  const name = TYPES[given]
  const isSame = given === 'number' && ['int', 'number'].includes(expected)
  return name === undefined || isSame ? '' : `, not ${name}`
}

interface LimitOptions {
  readonly isMinimum: boolean
  readonly isInclusive: boolean
  readonly isExact: boolean
}

function limitOptions(issue: { readonly inclusive?: boolean | undefined; readonly exact?: boolean | undefined }) {
  return { isInclusive: issue.inclusive !== false, isExact: issue.exact === true }
}

/** Nouns of what a limit counts. */
const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
  map: ['entry', 'entries'],
  object: ['field', 'fields'],
}

function limit(origin: string, value: number, { isMinimum, isInclusive, isExact }: LimitOptions): string {
  const unit = UNITS[origin]
  const verb = unit === undefined ? 'be' : 'have'
  const amount = unit === undefined ? String(value) : `${value} ${unit[value === 1 ? 0 : 1]}`
  if (isExact) return `must ${verb} exactly ${amount}`
  if (!isInclusive) return `must be ${isMinimum ? 'more' : 'less'} than ${amount}`
  if (isMinimum && unit !== undefined && value === 1) return 'must not be empty'
  return isMinimum
    ? `must ${verb} ${amount} or more`
    : `must ${verb} ${amount} or ${unit === undefined ? 'less' : 'fewer'}`
}

function alternatives(values: readonly unknown[]): string {
  return values.length === 1 ? String(values[0]) : `one of ${values.map(String).join(', ')}`
}

/** A wrong discriminator names its values; a value of none of the types names these. */
function unionPredicate(issue: RawIssue & { readonly code: 'invalid_union' }): string {
  if ('options' in issue && Array.isArray(issue.options)) return `must be ${alternatives(issue.options)}`
  if (issue.input === undefined) return 'is required'
  const first = issue.errors.flatMap((issues) => issues.slice(0, 1))
  const messages = first.flatMap(({ path, message }) =>
    path.length === 0 ? [message.replace(/^must be |, not .*$/g, '')] : [],
  )
  return messages.length === 0 ? 'is not valid' : `must be ${[...new Set(messages)].join(' or ')}`
}

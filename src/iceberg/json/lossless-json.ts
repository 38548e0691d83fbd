import { IcebergError } from '../errors.ts'
import { parseDocument } from './document-parser.ts'
import { JsonFloat } from './json-float.ts'
import { JsonParser } from './json-parser.ts'
import type { JsonObject, JsonValue } from './json-value.ts'

export type { JsonObject, JsonValue } from './json-value.ts'

/**
 * Deepest nesting that is read or written. Table metadata needs about twice the depth of its deepest column;
 * Java's reader stops at 1000 too.
 */
export const MAX_JSON_DEPTH = 1000

/**
 * Parses one JSON document (RFC 8259) without rounding integers: table metadata has 64-bit ids as bare numbers.
 *
 * Bytes must be UTF-8. Throws `CORRUPT_FILE` with line and column for anything that is not strict JSON, for numbers
 * beyond the range of a double, and for nesting deeper than {@link MAX_JSON_DEPTH}. The last of repeated keys wins,
 * as in the readers of other Iceberg implementations.
 */
export function parseJson(text: string | Uint8Array): JsonValue {
  return parse(text, false)
}

/**
 * The same for what a client sends: repeated keys are `CORRUPT_FILE` too, because systems on the way may have read
 * another of the values (RFC 8259, section 4).
 */
export function parseUniqueJson(text: string | Uint8Array): JsonValue {
  return parse(text, true)
}

/** A smaller document is parsed faster as a whole. */
const LARGE_BYTES = 256 * 1024

function parse(text: string | Uint8Array, refusesRepeats: boolean): JsonValue {
  if (typeof text !== 'string' && text.length >= LARGE_BYTES && !refusesRepeats) {
    const document = parseDocument(text, MAX_JSON_DEPTH)
    if (document !== undefined) return document
  }
  const decoded = typeof text === 'string' ? text : decodeUtf8(text)
  return new JsonParser(decoded, { maxDepth: MAX_JSON_DEPTH, refusesRepeats }).parse()
}

/**
 * Prints a JSON value; bigint becomes digits. With `indent` above 0, each member is on its own line.
 *
 * Throws `INVALID_ARGUMENT` for values that JSON cannot represent (NaN, Infinity, undefined), naming the place.
 */
export function stringifyJson(value: JsonValue, indent = 0): string {
  const compact = indent === 0 ? printCompact(value, 0) : undefined
  return compact ?? printValue(value, { step: ' '.repeat(indent), margin: '\n', path: [] })
}

/** What was printed of a document before, by its parts: lists and their elements, and objects. */
const printedParts = new WeakMap<object, string>()

/** How deep parts are kept: the members of a document, and their elements. */
const KEPT_DEPTH = 2

/**
 * The same as {@link stringifyJson} without an indent, for a document whose parts are replaced and never changed: those that
 * were printed before, in an earlier version of the document, are not printed again.
 */
export function stringifyVersion(document: JsonObject): string {
  const members: string[] = []
  for (const key of Object.keys(document)) {
    const printed = printPart(document[key] as JsonValue, 1)
    if (printed === undefined) return stringifyJson(document) // which names the place
    members.push(`${quote(key)}:${printed}`)
  }
  return `{${members.join(',')}}`
}

function printPart(value: JsonValue, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null || depth > KEPT_DEPTH) return printCompact(value, depth)
  const known = printedParts.get(value)
  if (known !== undefined) return known
  const printed = Array.isArray(value) ? printListOfParts(value, depth) : printCompact(value, depth)
  if (printed !== undefined) printedParts.set(value, printed)
  return printed
}

function printListOfParts(list: readonly JsonValue[], depth: number): string | undefined {
  const elements: string[] = []
  for (const element of list) {
    const printed = printPart(element, depth + 1)
    if (printed === undefined) return undefined
    elements.push(printed)
  }
  return `[${elements.join(',')}]`
}

/** Text that a JSON string has unchanged. */
const UNESCAPED = /^[ !#-[\]-~]*$/

/** The same as {@link printValue} without line breaks, several times faster; undefined for what JSON cannot represent. */
function printCompact(value: JsonValue, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      if (!Number.isFinite(value)) return undefined
      return Object.is(value, -0) ? '-0' : String(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object':
      if (value instanceof JsonFloat) return value.toString()
      return value === null ? 'null' : printCompactContainer(value, depth)
    default:
      return undefined
  }
}

function printCompactContainer(value: JsonValue[] | JsonObject, depth: number): string | undefined {
  if (depth >= MAX_JSON_DEPTH) return undefined
  let text = ''
  if (Array.isArray(value)) {
    for (const element of value) {
      const printed = printCompact(element, depth + 1)
      if (printed === undefined) return undefined
      text += text === '' ? printed : `,${printed}`
    }
    return `[${text}]`
  }
  for (const key of Object.keys(value)) {
    const printed = printCompact(value[key] as JsonValue, depth + 1)
    if (printed === undefined) return undefined
    text += `${text === '' ? '' : ','}${quote(key)}:${printed}`
  }
  return `{${text}}`
}

function quote(text: string): string {
  return UNESCAPED.test(text) ? `"${text}"` : JSON.stringify(text)
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new IcebergError('CORRUPT_FILE', 'JSON document is not valid UTF-8.', { cause })
  }
}

interface PrintState {
  readonly step: string
  /** Line break and indentation at the current depth. */
  readonly margin: string
  /** Keys that lead to the current value, for messages. */
  readonly path: (string | number)[]
}

function printValue(value: JsonValue, state: PrintState): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'number':
      return printNumber(value, state)
    case 'bigint':
      return value.toString()
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value instanceof JsonFloat) return value.toString()
      return value === null ? 'null' : printContainer(value, state)
    default:
      throw notJson(typeof value, state)
  }
}

function printNumber(value: number, state: PrintState): string {
  if (!Number.isFinite(value)) throw notJson(String(value), state)
  return Object.is(value, -0) ? '-0' : String(value)
}

function printContainer(value: JsonValue[] | JsonObject, state: PrintState): string {
  if (state.path.length >= MAX_JSON_DEPTH) throw notJson(`nesting deeper than ${MAX_JSON_DEPTH}`, state)
  const inner = { ...state, margin: state.margin + state.step }
  const members = Array.isArray(value) ? printElements(value, inner) : printMembers(value, inner)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (members.length === 0) return open + close
  if (state.step === '') return open + members.join(',') + close
  return open + inner.margin + members.join(`,${inner.margin}`) + state.margin + close
}

function printElements(array: JsonValue[], state: PrintState): string[] {
  return array.map((element, index) => printAt(element, index, state))
}

function printMembers(object: JsonObject, state: PrintState): string[] {
  const colon = state.step === '' ? ':' : ': '
  return Object.entries(object).map(([key, member]) => JSON.stringify(key) + colon + printAt(member, key, state))
}

function printAt(value: JsonValue, key: string | number, state: PrintState): string {
  state.path.push(key)
  const text = printValue(value, state)
  state.path.pop()
  return text
}

function notJson(what: string, state: PrintState): IcebergError {
  const place = state.path.length === 0 ? 'the top' : `"${state.path.slice(0, 20).join('.')}"`
  return new IcebergError('INVALID_ARGUMENT', `JSON cannot represent ${what} (at ${place}).`)
}

import { IcebergError } from '../errors.ts'
import { decimalType, maxTypeDepth, parsePrimitiveType } from './type-names.ts'
import type { NestedField, StructType, Type } from './types.ts'

const aliases: ReadonlyMap<string, string> = new Map([
  ['bool', 'boolean'],
  ['integer', 'int'],
  ['bigint', 'long'],
  ['real', 'float'],
  ['text', 'string'],
  ['varchar', 'string'],
  ['bytes', 'binary'],
  ['varbinary', 'binary'],
  ['timestamp_ntz', 'timestamp'],
  ['timestamp_ltz', 'timestamptz'],
])

interface Cursor {
  readonly text: string
  at: number
}

/**
 * Reads a type written by people: in any case, with SQL names for some types (`bigint`, `array<…>`, `varchar`),
 * `struct<a: int, `b c`: list<string>>` with names in backquotes where needed. All field ids are 0 and all nested
 * fields optional: ids are assigned when the type is added to a table. `INVALID_ARGUMENT` when it is not a type.
 */
export function parseTypeText(text: string): Type {
  if (text.length > 100_000) throw refuse('the type is longer than 100,000 characters')
  const cursor = { text, at: 0 }
  const type = readType(cursor, 0)
  skipSpace(cursor)
  if (cursor.at < text.length)
    throw unreadable(cursor, `remove "${text.slice(cursor.at, cursor.at + 20)}" after the type`)
  return type
}

function readType(cursor: Cursor, depth: number): Type {
  if (depth > maxTypeDepth) throw refuse(`types are nested deeper than ${maxTypeDepth} levels`)
  skipSpace(cursor)
  const word = readPattern(cursor, /[A-Za-z_][A-Za-z0-9_]*/y)
  if (word === undefined) throw unreadable(cursor, `write a type${place(cursor)}, such as int or string`)
  const name = word.toLowerCase()
  switch (name) {
    case 'struct':
    case 'row':
      return readStruct(cursor, depth)
    case 'list':
    case 'array':
      return readList(cursor, depth)
    case 'map':
      return readMap(cursor, depth)
    default:
      return readPrimitive(cursor, name)
  }
}

function readStruct(cursor: Cursor, depth: number): StructType {
  expect(cursor, '<', STRUCT)
  const fields: NestedField[] = []
  const names = new Set<string>()
  do {
    const name = readFieldName(cursor)
    expect(cursor, ':', STRUCT)
    const type = readType(cursor, depth + 1)
    if (names.has(name.toLowerCase())) throw refuse(`a struct has two fields named "${name}"`)
    names.add(name.toLowerCase())
    fields.push({ id: 0, name, required: false, type })
  } while (accept(cursor, ','))
  expect(cursor, '>', STRUCT)
  return { kind: 'struct', fields }
}

function readList(cursor: Cursor, depth: number): Type {
  expect(cursor, '<', LIST)
  const element = readType(cursor, depth + 1)
  expect(cursor, '>', LIST)
  return { kind: 'list', elementId: 0, element, elementRequired: false }
}

function readMap(cursor: Cursor, depth: number): Type {
  expect(cursor, '<', MAP)
  const key = readType(cursor, depth + 1)
  expect(cursor, ',', MAP)
  const value = readType(cursor, depth + 1)
  expect(cursor, '>', MAP)
  return { kind: 'map', keyId: 0, key, valueId: 0, value, valueRequired: false }
}

function readPrimitive(cursor: Cursor, name: string): Type {
  if (name === 'decimal' || name === 'numeric' || name === 'dec') return readDecimal(cursor)
  const canonical = aliases.get(name) ?? name
  skipSpace(cursor)
  const parameters = readPattern(cursor, /\([^()]*\)|\[[^[\]]*\]/y)
  const type = parsePrimitiveType(primitiveText(canonical, parameters))
  if (type === undefined) throw refuse(`unknown type "${name}${parameters ?? ''}"`)
  return type
}

function primitiveText(name: string, parameters: string | undefined): string {
  if (parameters === undefined) return name
  // SQL writes fixed(16) and varchar(20); Iceberg writes fixed[16] and has no limit on the length of strings.
  if (name === 'fixed') return `fixed[${parameters.slice(1, -1)}]`
  if (name === 'string' && /^\(\s*\d+\s*\)$/.test(parameters)) return name
  return name + parameters
}

function readDecimal(cursor: Cursor): Type {
  skipSpace(cursor)
  const parameters = readPattern(cursor, /\(\s*\d{1,3}\s*(?:,\s*\d{1,3}\s*)?\)/y)
  if (parameters === undefined) throw refuse('a decimal needs precision and scale, for example decimal(10,2)')
  const [precision = 0, scale = 0] = parameters.slice(1, -1).split(',').map(Number)
  const type = decimalType(precision, scale)
  if (type === undefined)
    throw refuse(`decimal(${precision},${scale}) is out of range: precision 1 to 38, scale 0 to the precision`)
  return type
}

function readFieldName(cursor: Cursor): string {
  skipSpace(cursor)
  const quoted = readPattern(cursor, /`(?:[^`]|``)+`/y)
  if (quoted !== undefined) return quoted.slice(1, -1).replaceAll('``', '`')
  const plain = readPattern(cursor, /[^\s:<>,()`]+/y)
  if (plain === undefined) throw unreadable(cursor, STRUCT)
  return plain
}

function readPattern(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at
  const match = pattern.exec(cursor.text)?.[0]
  if (match !== undefined) cursor.at += match.length
  return match
}

function accept(cursor: Cursor, token: string): boolean {
  skipSpace(cursor)
  if (cursor.text[cursor.at] !== token) return false
  cursor.at += 1
  return true
}

const STRUCT = 'write struct fields as name: type, such as struct<a: int>'
const LIST = 'write a list with the type of its elements, such as list<int>'
const MAP = 'write a map with the types of its keys and values, such as map<string, int>'

/** Reads a token, or refuses the type with the hint how to write it. */
function expect(cursor: Cursor, token: string, hint: string): void {
  if (!accept(cursor, token)) throw unreadable(cursor, hint)
}

function place({ text, at }: Cursor): string {
  return at < text.length ? ` instead of "${text.slice(at, at + 20)}"` : ' at the end'
}

function unreadable({ text }: Cursor, hint: string): IcebergError {
  return refuse(`cannot read "${text.slice(0, 200)}": ${hint}`)
}

function skipSpace(cursor: Cursor): void {
  while (/\s/.test(cursor.text[cursor.at] ?? '')) cursor.at += 1
}

function refuse(problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `type: ${problem}`)
}

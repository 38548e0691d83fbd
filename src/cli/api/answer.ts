import type { Call } from '../command.ts'
import { type Column, showRows } from '../show.ts'
import { type Cell, durationText, jsonText, sizeText, textList } from '../text.ts'

/** A column: a field of the entries, or its header and the field. */
export type ColumnSpec<Field extends string = string> = Field | readonly [header: string, field: Field]

/** Rows of a list of an answer under headers. */
export function showList(call: Call, answer: unknown, list: ListView): void {
  showRows(call, answer, { rows: list.rows, none: list.none, columns: list.columns.map(columnOf) })
}

export interface ListView {
  readonly rows: readonly unknown[]
  readonly columns: readonly ColumnSpec[]
  /** What is said when there are no rows. */
  readonly none: string
}

function columnOf(spec: ColumnSpec): Column<unknown> {
  const [header, field] = typeof spec === 'string' ? [headerFor(spec), spec] : spec
  return { header, cell: (row) => columnCell(field, valueAt(row, field)) }
}

/** A list of objects is JSON in a column; as one of many values of an answer, it is only counted. */
function columnCell(field: string, value: unknown): Cell {
  const isList = Array.isArray(value) && value.some((part) => typeof part === 'object' && part !== null)
  return isList ? jsonText(value) : cellFor(field, value)
}

function headerFor(field: string): string {
  const last = field.split('.').at(-1) ?? field
  return last
    .replace(/_(count|at|bytes|ms)$/, '')
    .replaceAll('_', ' ')
    .toUpperCase()
}

/** The value at a path such as `error.code` or `operations[].operation`; undefined when there is none. */
export function valueAt(value: unknown, path: string): unknown {
  const [, first = '', isList, rest] = /^(.*?)(\[\])?(?:\.(.*))?$/.exec(path) ?? []
  const inner: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, first) : undefined
  if (rest === undefined) return inner
  if (isList === undefined) return valueAt(inner, rest)
  return Array.isArray(inner) ? inner.map((entry) => valueAt(entry, rest)) : undefined
}

/** A value as people read it: sizes and durations with units, lists of words, objects as JSON. */
export function cellFor(field: string, value: unknown): Cell {
  switch (typeof value) {
    case 'number':
      if (/(^|_)bytes$/.test(field)) return sizeText(value)
      return field.endsWith('_ms') ? durationText(value) : Math.round(value * 1000) / 1000
    case 'string':
      return value
    case 'boolean':
      return value ? 'yes' : 'no'
    case 'object':
      return value === null ? null : objectCell(value)
    default:
      return null
  }
}

function objectCell(value: object): Cell {
  if (!Array.isArray(value)) return membersText(value)
  if (value.length === 0) return null
  return value.every((part) => typeof part !== 'object') ? value.join(', ') : entriesText(value)
}

/** Members such as `day=2026-03-11, city=Bern`; JSON where they have members themselves. */
function membersText(value: object): Cell {
  const members = Object.entries(value as Readonly<Record<string, unknown>>)
  if (members.length === 0) return null
  if (members.some(([, inner]) => typeof inner === 'object' && inner !== null)) return jsonText(value)
  return members.map(([name, inner]) => `${name}=${String(inner)}`).join(', ')
}

const entriesText = (list: readonly unknown[]): string => `${list.length} with --json`

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0
}

/** A name and a value of an answer. */
type Pair = readonly [name: string, value: Cell]

/** Members that say nothing to a person. */
const SILENT: ReadonlySet<string> = new Set(['success', 'next_page_token'])
/** Members of an object that are shown one a line, and not as JSON. */
const MAX_FLAT = 3

/** Names and values of an answer; members of members are named `error code`. `except` has paths that are left out. */
export function pairsOf(answer: unknown, except: readonly string[] = []): readonly Pair[] {
  if (Array.isArray(answer)) return []
  const isLeftOut = (path: string): boolean => except.some((one) => path === one || path.startsWith(`${one}.`))
  return flat(answer, '', 0)
    .filter(([path]) => !isLeftOut(path))
    .map(([path, cell]) => [labelFor(path), cell])
}

function flat(value: unknown, prefix: string, depth: number): readonly Pair[] {
  return Object.entries((value ?? {}) as Readonly<Record<string, unknown>>).flatMap(([name, inner]) => {
    const path = `${prefix}${name}`
    if (SILENT.has(name)) return []
    const isNested = typeof inner === 'object' && inner !== null && !Array.isArray(inner) && !isEmpty(inner)
    if (isNested && depth < MAX_FLAT) return flat(inner, `${path}.`, depth + 1)
    return [[path, cellFor(name, inner)] as const]
  })
}

function labelFor(path: string): string {
  const words = path.replace(/_(bytes|ms)$/, '').replace(/([a-z]*)_count$/, (_, noun: string) => plainPlural(noun))
  return words.replaceAll(/[._]/g, ' ')
}

const NOUNS = /^(file|node|edge|turn|record|snapshot|manifest)$/

/** Names such as `node_count` and `files_count` mean nodes and files; `matched_count` has no noun. */
function plainPlural(word: string): string {
  return NOUNS.test(word) ? `${word}s` : word
}

/** An answer as names and values, then its lists as tables. With `--json` the answer as it is. */
export function showAnswer(call: Call, answer: unknown, view: AnswerView): void {
  if (call.isSet('json')) return call.terminal.out(jsonText(answer ?? null))
  const inner = view.inside === undefined ? answer : valueAt(answer, view.inside)
  const tables = Object.entries(view.tables ?? {})
  const pairs = shownPairs(inner, view)
  if (pairs.length > 0) call.terminal.out(textList(pairs))
  for (const [list, columns] of tables) {
    const rows = valueAt(inner, list)
    if (!Array.isArray(rows) || rows.length === 0) continue
    if (pairs.length > 0 || tables.length > 1) call.terminal.out(`\n${labelFor(list)}:`)
    showList(call, rows, { rows, columns, none: '' })
  }
}

/** The fields that are shown as names and values; paths of a view are relative to what is shown. */
function shownPairs(inner: unknown, { inside, fields, except = [], tables = {} }: AnswerView): readonly Pair[] {
  const relative = (path: string): string => (inside === undefined ? path : path.replace(`${inside}.`, ''))
  if (fields === undefined) return pairsOf(inner, [...Object.keys(tables), ...except.map(relative)])
  return fields.map((field) => chosenPair(inner, field, relative))
}

/** What is shown of an answer. */
export interface AnswerView {
  /** The member that has what is shown, such as `pipeline`. */
  readonly inside?: string
  /** The fields that are shown, in order, some with a name; undefined: all. */
  readonly fields?: readonly ColumnSpec[]
  readonly except?: readonly string[]
  /** Lists that are shown as tables below, by their path. */
  readonly tables?: Readonly<Record<string, readonly ColumnSpec[]>>
}

function chosenPair(answer: unknown, spec: ColumnSpec, relative: (path: string) => string): Pair {
  const path = relative(typeof spec === 'string' ? spec : spec[1])
  const label = typeof spec === 'string' ? labelFor(path) : spec[0]
  return [label, cellFor(path.split('.').at(-1) ?? '', valueAt(answer, path))]
}

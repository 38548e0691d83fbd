import { IcebergError } from '../../../iceberg/errors.ts'
import { AGGREGATE_NAMES } from './allowed-functions.ts'
import { isAllowedTypeText } from './allowed-types.ts'

/**
 * Functions whose result size depends on an argument, with the positions of these arguments; their results are not
 * covered by the engine's memory limit.
 */
const SIZED_FUNCTIONS: ReadonlyMap<string, readonly number[]> = new Map([
  ['repeat', [1]],
  ['lpad', [1]],
  ['rpad', [1]],
  ['list_resize', [1]],
  ['array_resize', [1]],
  ['bitstring', [1]],
  ['reservoir_quantile', [2]],
  ['range', [0, 1, 2]],
  ['generate_series', [0, 1, 2]],
])
const MAX_SIZE = 10_000
/** Doubles lists outside of the memory limit when applied to its own results. */
const FLATTEN = 'flatten'
const MAX_FLATTENS = 3
/** Functions whose first argument may contain padding widths. */
const FORMATS: ReadonlySet<string> = new Set(['printf', 'format'])
const MAX_FORMAT = 200
/** Functions whose third argument replaces each match of the second. */
const REPLACEMENTS: ReadonlySet<string> = new Set(['replace', 'regexp_replace'])
/** Maximum growth factor of a value by all replacements of a text together. */
const MAX_GROWTH = 32
const WIDE_FORMAT = /\d{4,}|\*|\{[^}]*\{/
/** Functions whose second argument names the aggregate that they call. */
const CALLERS: ReadonlySet<string> = new Set([
  'aggregate',
  'array_aggr',
  'array_aggregate',
  'list_aggr',
  'list_aggregate',
])
/** Functions whose second argument is a structure of types, as JSON, to which they cast. */
const STRUCTURED: ReadonlySet<string> = new Set([
  'from_json',
  'from_json_strict',
  'json_transform',
  'json_transform_strict',
])

/** What the calls of a text add up to. */
export interface CallCounts {
  flattens: number
  growth: number
}

/**
 * Refuses arguments that make an allowed function do more than compute a bounded value from its arguments. `args` are nodes
 * of the syntax tree; undefined stands for an argument whose node is not known.
 */
export function requireHarmlessCall(name: string, args: readonly unknown[], counts: CallCounts): void {
  if (name === FLATTEN && ++counts.flattens > MAX_FLATTENS) {
    throw refusal(`${FLATTEN} can be used at most ${MAX_FLATTENS} times here`)
  }
  requireBoundedSize(name, args)
  if (FORMATS.has(name)) requireShortFormat(name, args[0])
  if (REPLACEMENTS.has(name)) requireBoundedGrowth(name, args, counts)
  if (CALLERS.has(name)) requireNamedAggregate(name, args)
  if (STRUCTURED.has(name)) requireStructure(name, args[1])
}

/** The engine ends its process for the offset -2^63 (DuckDB 1.5.6), so offsets stay far from it. */
const MAX_OFFSET = 1_000_000_000

/** Refuses an offset of `lag` or `lead` that is not a constant of moderate size; `offset` is a node of the syntax tree. */
export function requireBoundedOffset(name: string, offset: unknown): void {
  if (offset === null || offset === undefined) return
  const rows = constantOf(offset)
  if (typeof rows === 'number' && Math.abs(rows) <= MAX_OFFSET) return
  throw refusal(`${name} takes a constant offset of at most ${MAX_OFFSET} rows here`)
}

function requireBoundedGrowth(name: string, args: readonly unknown[], counts: CallCounts): void {
  const from = constantOf(args[1])
  const to = constantOf(args[2])
  if (typeof to !== 'string') throw refusal(`${name} takes a constant replacement here`)
  const found = name === 'replace' && typeof from === 'string' ? from.length : 1
  counts.growth *= Math.max(1, to.length / Math.max(1, found))
  if (counts.growth > MAX_GROWTH) throw refusal(`replacements can make a text at most ${MAX_GROWTH} times longer here`)
}

function requireBoundedSize(name: string, args: readonly unknown[]): void {
  const sizes = SIZED_FUNCTIONS.get(name)?.filter((at) => at < Math.max(args.length, 2)) ?? []
  for (const at of sizes) {
    const size = constantOf(args[at])
    if (typeof size === 'number' && Math.abs(size) <= MAX_SIZE) continue
    if (at >= args.length && args.length > 0 && sizes.length > 1) continue // range(5)
    throw refusal(`${name} takes a constant number of at most ${MAX_SIZE} here`)
  }
}

function requireShortFormat(name: string, argument: unknown): void {
  const format = constantOf(argument)
  if (typeof format !== 'string' || format.length > MAX_FORMAT || WIDE_FORMAT.test(format)) {
    throw refusal(`${name} takes a short constant format without widths of more than three digits here`)
  }
}

/** The engine finds the aggregate by its name when it plans the call, after the check of the syntax. */
function requireNamedAggregate(name: string, [list, argument, ...rest]: readonly unknown[]): void {
  const called = constantOf(argument)
  if (typeof called !== 'string') throw refusal(`${name} takes the constant name of an aggregate here`)
  const aggregate = called.toLowerCase()
  if (!AGGREGATE_NAMES.has(aggregate)) throw refusal(`${name} cannot call ${JSON.stringify(called)} here`)
  requireBoundedSize(aggregate, [list, ...rest])
}

function requireStructure(name: string, argument: unknown): void {
  const structure = constantOf(argument)
  if (typeof structure === 'string' && isStructure(structure)) return
  throw refusal(`${name} takes a constant JSON structure of ordinary types here`)
}

/** A text in JSON, and whether it is the name of a member. */
const JSON_TEXT = /("(?:[^"\\]|\\.)*")(\s*:)?/g

/** Whether every text of a JSON structure names an allowed type, also of members that a parser would drop as duplicates. */
function isStructure(json: string): boolean {
  try {
    JSON.parse(json)
  } catch {
    return false
  }
  const types = [...json.matchAll(JSON_TEXT)].filter(([, , isName]) => isName === undefined)
  return types.every(([, text = '""']) => isAllowedTypeText(String(JSON.parse(text))))
}

/** The value of a constant node; undefined for any other node. */
function constantOf(node: unknown): unknown {
  if (!isNode(node) || node['class'] !== 'CONSTANT' || !isNode(node['value'])) return undefined
  return node['value']['value']
}

function isNode(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function refusal(why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', why)
}

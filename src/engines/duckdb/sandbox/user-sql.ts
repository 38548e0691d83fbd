import { IcebergError } from '../../../iceberg/errors.ts'
import type { UserSql } from '../../sql-sandbox.ts'

/** The functions of an engine without extensions. */
export interface KnownFunctions {
  /** Scalar functions and macros. */
  readonly scalar: ReadonlySet<string>
  readonly aggregate: ReadonlySet<string>
}

/** Table functions that depend only on their arguments. */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set(['unnest', 'range', 'generate_series', 'json_each', 'json_tree'])

/** Scalar functions that read or affect more than their arguments. */
const DENIED_FUNCTIONS: ReadonlySet<string> = new Set([
  'add_parquet_key',
  'col_description',
  'current_connection_id',
  'current_query',
  'current_query_id',
  'current_schemas',
  'current_setting',
  'current_transaction_id',
  'currval',
  'get_block_size',
  'getenv',
  'getvariable',
  'in_search_path',
  'json_deserialize_sql',
  'json_execute_serialized_sql',
  'json_serialize_plan',
  'json_serialize_sql',
  'nextval',
  'obj_description',
  'parse_duckdb_log_message',
  'query',
  'query_table',
  'setseed',
  'shobj_description',
  'sleep_ms',
  'stats',
  'txid_current',
  'which_secret',
  'write_log',
])
const DENIED_FAMILIES =
  /^(__internal_|pg_|has_\w+_privilege$|inet_|read_|parquet_|duckdb_|pragma_|sniff_|glob$|icu_collate_)/

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

const EXPRESSION_CLASSES: ReadonlySet<string> = new Set([
  'BETWEEN',
  'CASE',
  'CAST',
  'COLLATE',
  'COLUMN_REF',
  'COMPARISON',
  'CONJUNCTION',
  'CONSTANT',
  'DEFAULT',
  'FUNCTION',
  'LAMBDA',
  'LAMBDA_REF',
  'OPERATOR',
  'POSITIONAL_REFERENCE',
  'STAR',
  'SUBQUERY',
  'TYPE',
  'WINDOW',
])

/** Types of nodes that are not expressions: query nodes, relations, modifiers. */
const NODE_TYPES: ReadonlySet<string> = new Set([
  'SELECT_NODE',
  'SET_OPERATION_NODE',
  'RECURSIVE_CTE_NODE',
  'CTE_NODE',
  'EMPTY',
  'BASE_TABLE',
  'TABLE_FUNCTION',
  'SUBQUERY',
  'JOIN',
  'EXPRESSION_LIST',
  'PIVOT',
  'ORDER_MODIFIER',
  'LIMIT_MODIFIER',
  'LIMIT_PERCENT_MODIFIER',
  'DISTINCT_MODIFIER',
  'ORDER_DEFAULT',
  'ASCENDING',
  'DESCENDING',
])

/** Prefix of names in generated queries, which users must not use. */
export const RESERVED_PREFIX = 'lockhouse_'

/** DuckDB's own tree of a statement (`json_serialize_sql`). */
type Tree = Readonly<Record<string, unknown>>

interface Scope {
  readonly sql: UserSql
  readonly functions: KnownFunctions
  /** Relations that are visible in this scope, as {@link foldName} returns them. */
  readonly names: ReadonlySet<string>
  readonly counts: { flattens: number; growth: number }
}

/** Refuses SQL that is not allowed in {@link UserSql}, by the engine's own syntax tree. */
export function requireHarmless(sql: UserSql, serialized: unknown, functions: KnownFunctions): void {
  const node = singleSelect(serialized)
  const names = new Set(sql.relations.map(foldName))
  if (sql.kind === 'expression') requireBareExpression(node)
  visit(node, { sql, functions, names, counts: { flattens: 0, growth: 1 } })
}

function singleSelect(serialized: unknown): Tree {
  if (!isTree(serialized)) throw refusal('the text is not valid SQL')
  if (serialized['error'] === true) {
    const message = String(serialized['error_message'])
    throw refusal(message.includes('Only SELECT') ? 'only SELECT is allowed here' : message)
  }
  const { statements } = serialized
  if (!Array.isArray(statements) || statements.length !== 1) {
    throw refusal(
      Array.isArray(statements) && statements.length > 1 ? 'only one statement is allowed here' : 'the text is empty',
    )
  }
  const statement: unknown = statements[0]
  const node = isTree(statement) ? statement['node'] : undefined
  if (!isTree(node)) throw refusal('the text is not valid SQL')
  return node
}

/** The expression was put into `SELECT (…)`: anything but one column means that it closed the parentheses. */
function requireBareExpression(node: Tree): void {
  const list = node['select_list']
  const from = node['from_table']
  const isBare =
    node['type'] === 'SELECT_NODE' &&
    Array.isArray(list) &&
    list.length === 1 &&
    isTree(list[0]) &&
    list[0]['alias'] === '' &&
    isTree(from) &&
    from['type'] === 'EMPTY' &&
    hasNoClauses(node)
  if (!isBare) throw refusal('only one expression is allowed here')
}

function hasNoClauses(node: Tree): boolean {
  return (
    node['aggregate_handling'] === 'STANDARD_HANDLING' &&
    ['where_clause', 'having', 'sample', 'qualify'].every((part) => node[part] === null) &&
    ['modifiers', 'group_expressions', 'group_sets'].every((part) => isEmptyList(node[part])) &&
    isTree(node['cte_map']) &&
    isEmptyList(node['cte_map']['map'])
  )
}

function visit(value: unknown, scope: Scope): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, scope)
    return
  }
  if (!isTree(value)) return
  const { cte_map: named, ...own } = value
  const inner = isTree(named) ? visitNamedQueries(named, scope) : scope
  if (typeof value['class'] === 'string') {
    requireExpression(value, inner)
    if (value['class'] === 'CONSTANT') return
  } else if (typeof value['type'] === 'string') requireNode(value, inner)
  if (value['type'] === 'RECURSIVE_CTE_NODE') return visitRecursion(own, inner)
  const parts = value['type'] === 'TABLE_FUNCTION' ? tableFunctionParts(own) : Object.values(own)
  for (const part of parts) visit(part, inner)
}

/** A table function is checked separately and produces its rows one after another; its arguments are visited. */
function tableFunctionParts({ function: call, ...rest }: Tree): readonly unknown[] {
  return [...Object.values(rest), isTree(call) ? call['children'] : undefined]
}

/**
 * The scope of a query after its named queries (`WITH`). Each of them sees the previous ones: under its own name, and
 * under a later one, the engine would find a table of its own.
 */
function visitNamedQueries({ map }: Tree, scope: Scope): Scope {
  let inner = scope
  for (const entry of Array.isArray(map) ? map : []) {
    if (!isTree(entry)) throw refusal('the text is not valid SQL')
    const name = String(entry['key'])
    requireUnreserved(name)
    visit(entry['value'], withoutName(inner, name))
    inner = withName(inner, name)
  }
  return inner
}

/** Only the second part of a recursive query can use its name. */
function visitRecursion({ right, ...rest }: Tree, scope: Scope): void {
  for (const part of Object.values(rest)) visit(part, scope)
  visit(right, withName(scope, String(rest['cte_name'])))
}

function withName(scope: Scope, name: string): Scope {
  return { ...scope, names: new Set([...scope.names, foldName(name)]) }
}

/** Without a name, unless a relation also has it. */
function withoutName(scope: Scope, name: string): Scope {
  const folded = foldName(name)
  const isRelation = scope.sql.relations.some((relation) => foldName(relation) === folded)
  return isRelation ? scope : { ...scope, names: new Set([...scope.names].filter((known) => known !== folded)) }
}

/** A name as the engine compares it: ignoring the case of ASCII letters only. */
function foldName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

function requireExpression(tree: Tree, scope: Scope): void {
  const kind = String(tree['class'])
  if (kind === 'PARAMETER') throw refusal('parameters are not allowed here')
  if (!EXPRESSION_CLASSES.has(kind)) throw refusal(`${kind.toLowerCase()} expressions are not allowed here`)
  if (kind === 'WINDOW' && scope.sql.kind === 'expression')
    throw refusal('a window needs the rows of a whole batch: use a sql node')
  if (kind === 'FUNCTION' || kind === 'WINDOW') requireFunction(tree, kind, scope)
}

function requireFunction(tree: Tree, kind: 'FUNCTION' | 'WINDOW', scope: Scope): void {
  const name = String(tree['function_name']).toLowerCase()
  requireKnownFunction(name, kind, scope)
  if (name === FLATTEN && ++scope.counts.flattens > MAX_FLATTENS) {
    throw refusal(`${FLATTEN} can be used at most ${MAX_FLATTENS} times here`)
  }
  const children: readonly unknown[] = Array.isArray(tree['children']) ? tree['children'] : []
  // in `tags.list_resize(5)` the qualifier is the first argument
  const isQualified = String(tree['schema']) !== '' || String(tree['catalog']) !== ''
  const args = isQualified ? [undefined, ...children] : children
  requireBoundedSize(name, args)
  if (FORMATS.has(name)) requireShortFormat(name, args[0])
  if (REPLACEMENTS.has(name)) requireBoundedGrowth(name, args, scope)
}

function requireKnownFunction(name: string, kind: 'FUNCTION' | 'WINDOW', scope: Scope): void {
  if (DENIED_FUNCTIONS.has(name) || DENIED_FAMILIES.test(name))
    throw refusal(`the function ${name} is not allowed here`)
  const { scalar, aggregate } = scope.functions
  if (kind === 'FUNCTION' && scope.sql.kind === 'expression' && aggregate.has(name) && !scalar.has(name)) {
    throw refusal(`${name} aggregates the rows of a batch: use a sql node`)
  }
  if (!scalar.has(name) && !aggregate.has(name) && name !== 'unnest') throw refusal(`there is no function ${name} here`)
}

function requireBoundedGrowth(name: string, args: readonly unknown[], { counts }: Scope): void {
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

function constantOf(tree: unknown): unknown {
  if (!isTree(tree) || tree['class'] !== 'CONSTANT' || !isTree(tree['value'])) return undefined
  return tree['value']['value']
}

function requireNode(tree: Tree, scope: Scope): void {
  const type = String(tree['type'])
  if (type === 'SHOW_REF') throw refusal('DESCRIBE, SHOW and SUMMARIZE are not allowed here')
  if (type === 'BASE_TABLE') requireRelation(tree, scope)
  else if (type === 'TABLE_FUNCTION') requireTableFunction(tree)
  else if (!NODE_TYPES.has(type) && !isEnumValue(tree)) throw refusal(`${type.toLowerCase()} is not allowed here`)
}

/** An enum value, such as the kind of a join. */
function isEnumValue(tree: Tree): boolean {
  return !Object.values(tree).some((value) => typeof value === 'object' && value !== null)
}

function requireRelation(tree: Tree, { names, sql }: Scope): void {
  const name = String(tree['table_name'])
  const qualified = tree['schema_name'] !== '' || tree['catalog_name'] !== ''
  if (qualified || tree['at_clause'] !== null || !names.has(foldName(name))) {
    const known =
      sql.relations.length === 0 ? 'no table can be read here' : `only ${sql.relations.join(', ')} can be read here`
    throw refusal(`there is no table ${JSON.stringify(name)}: ${known}`)
  }
}

function requireTableFunction(tree: Tree): void {
  const call = tree['function']
  const name = isTree(call) ? String(call['function_name']).toLowerCase() : ''
  if (!TABLE_FUNCTIONS.has(name)) throw refusal(`the table function ${name} is not allowed here`)
}

function requireUnreserved(name: string): void {
  if (name.toLowerCase().startsWith(RESERVED_PREFIX))
    throw refusal(`names that start with ${RESERVED_PREFIX} are reserved`)
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function refusal(why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', why)
}

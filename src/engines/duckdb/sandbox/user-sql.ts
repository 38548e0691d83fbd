import { IcebergError } from '../../../iceberg/errors.ts'
import type { UserSql } from '../../sql-sandbox.ts'
import { AGGREGATE_NAMES, SCALAR_NAMES, TABLE_FUNCTIONS } from './allowed-functions.ts'
import { type FieldRule, kindOf, type NodeFamily, type NodeRule, type PlainPart, ruleOf } from './allowed-syntax.ts'
import { type CallCounts, requireBoundedOffset, requireHarmlessCall } from './function-rules.ts'

/** Prefix of names in generated queries, which users must not use. */
export const RESERVED_PREFIX = 'lockhouse_'

/** DuckDB's own tree of a statement (`json_serialize_sql`). */
type Tree = Readonly<Record<string, unknown>>

interface Scope {
  readonly sql: UserSql
  /** Relations that are visible in this scope, as {@link foldName} returns them. */
  readonly names: ReadonlySet<string>
  readonly counts: CallCounts
}

/**
 * Refuses SQL that is not allowed in {@link UserSql}, by the engine's own syntax tree. Only functions, kinds of nodes and
 * fields of nodes that are listed are allowed, so that additions of a newer engine are refused.
 */
export function requireHarmless(sql: UserSql, serialized: unknown): void {
  const node = singleSelect(serialized)
  const names = new Set(sql.relations.map(foldName))
  if (sql.kind === 'expression') requireBareExpression(node)
  visit(node, 'query', { sql, names, counts: { flattens: 0, growth: 1 } })
}

/** The query of a serialized text. `INVALID_ARGUMENT` unless the text is one SELECT. */
export function singleSelect(serialized: unknown): Tree {
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

/** Checks a node, or each node of a list, of a family. */
function visit(value: unknown, family: NodeFamily, scope: Scope): void {
  if (value === null || value === undefined) return
  if (Array.isArray(value)) {
    for (const item of value) visit(item, family, scope)
    return
  }
  if (!isTree(value)) throw refusal(`the syntax of this ${family} is not known here`)
  const rule = ruleOf(family, value) ?? refuseKind(family, value)
  if (family === 'expression') requireExpression(value, scope)
  if (family === 'relation') requireRelation(value, scope)
  if (family === 'query') visitQuery(value, rule, scope)
  else visitFields(value, rule, { family, scope })
}

function refuseKind(family: NodeFamily, tree: Tree): never {
  const kind = kindOf(family, tree)
  if (kind === 'SHOW_REF') throw refusal('DESCRIBE, SHOW and SUMMARIZE are not allowed here')
  const what = kind.replaceAll('_', ' ').toLowerCase()
  if (family === 'type info') throw refusal('a type of this kind is not allowed here')
  throw refusal(family === 'expression' ? `${what} expressions are not allowed here` : `${what} is not allowed here`)
}

interface Visiting {
  readonly family: NodeFamily
  readonly scope: Scope
}

function visitFields(tree: Tree, rule: NodeRule, { family, scope }: Visiting): void {
  for (const [name, value] of Object.entries(tree)) {
    const field = Object.hasOwn(rule, name) ? rule[name] : undefined
    if (field === undefined) throw refusal(`"${name}" of a ${familyName(family, tree)} is not known here`)
    visitField(value, field, { name, family: familyName(family, tree), scope })
  }
}

interface VisitingField {
  readonly name: string
  /** What has the field, for messages. */
  readonly family: string
  readonly scope: Scope
}

function visitField(value: unknown, rule: FieldRule, { name, family, scope }: VisitingField): void {
  if (typeof rule === 'string') return visit(value, rule, scope)
  if (rule.holds === 'nothing') {
    if (!saysNothing(value)) throw refusal(`${rule.feature} is not allowed here`)
    return
  }
  const items: readonly unknown[] = Array.isArray(value) ? value.flat(Infinity) : [value]
  for (const item of items) {
    if (rule.or !== undefined && isTree(item)) visit(item, rule.or, scope)
    else if (!isPlain(item, rule)) {
      const what = rule.what ?? `${name.replaceAll('_', ' ')} of a ${family}`
      throw refusal(`the ${what} ${shown(item)} is not allowed here`)
    }
  }
}

function isPlain(value: unknown, { allows }: PlainPart): boolean {
  if (value === null) return true
  return typeof value !== 'object' && (allows === undefined || allows(value))
}

function familyName(family: NodeFamily, tree: Tree): string {
  return kindOf(family, tree).replaceAll('_', ' ').toLowerCase()
}

function saysNothing(value: unknown): boolean {
  return value === null || value === false || value === '' || isEmptyList(value)
}

function shown(value: unknown): string {
  return typeof value === 'object' ? 'structure' : JSON.stringify(value)
}

/** A query sees its named queries (`WITH`). Only the second part of a recursive query can use its name. */
function visitQuery(tree: Tree, rule: NodeRule, scope: Scope): void {
  const { cte_map: named, right, ...rest } = tree
  const inner = isTree(named) ? visitNamedQueries(named, scope) : scope
  visitFields(rest, rule, { family: 'query', scope: inner })
  if (right === undefined) return
  const isRecursive = tree['type'] === 'RECURSIVE_CTE_NODE'
  visit(right, 'query', isRecursive ? withName(inner, String(tree['cte_name'])) : inner)
}

/**
 * The scope of a query after its named queries. Each of them sees the previous ones: under its own name, and under a later
 * one, the engine would find a table of its own.
 */
function visitNamedQueries(named: Tree, scope: Scope): Scope {
  visitFields({ ...named, map: [] }, ruleOf('named queries', named) ?? {}, { family: 'named queries', scope })
  let inner = scope
  for (const entry of Array.isArray(named['map']) ? named['map'] : []) {
    if (!isTree(entry)) throw refusal('the text is not valid SQL')
    const name = String(entry['key'])
    requireUnreserved(name)
    visit(entry, 'named query entry', withoutName(inner, name))
    inner = withName(inner, name)
  }
  return inner
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

function requireExpression(tree: Tree, { sql, counts }: Scope): void {
  switch (tree['class']) {
    case 'PARAMETER':
      if (sql.parameters?.includes(String(tree['identifier'])) === true) return
      throw refusal('parameters are not allowed here')
    case 'WINDOW':
      if (sql.kind === 'expression') throw refusal('a window needs the rows of a whole batch: use a sql node')
      requireBoundedOffset(foldName(String(tree['function_name'])), tree['offset_expr'])
      return requireFunction(tree, sql, counts)
    case 'FUNCTION':
      return requireFunction(tree, sql, counts)
    default:
  }
}

function requireFunction(tree: Tree, sql: UserSql, counts: CallCounts): void {
  const name = foldName(String(tree['function_name']))
  requireAllowedFunction(name, sql)
  const children: readonly unknown[] = Array.isArray(tree['children']) ? tree['children'] : []
  // in `tags.list_resize(5)` the qualifier is the first argument
  const isQualified = String(tree['schema']) !== '' || String(tree['catalog']) !== ''
  requireHarmlessCall(name, isQualified ? [undefined, ...children] : children, counts)
}

function requireAllowedFunction(name: string, { kind }: UserSql): void {
  if (SCALAR_NAMES.has(name)) return
  if (!AGGREGATE_NAMES.has(name)) {
    throw refusal(`the function ${name} is not allowed here (docs/security.md lists the functions that are)`)
  }
  if (kind === 'expression') throw refusal(`${name} aggregates the rows of a batch: use a sql node`)
}

function requireRelation(tree: Tree, scope: Scope): void {
  if (tree['type'] === 'TABLE_FUNCTION') requireTableFunction(tree)
  if (tree['type'] !== 'BASE_TABLE') return
  const { names, sql } = scope
  const name = String(tree['table_name'])
  const qualified = tree['schema_name'] !== '' || tree['catalog_name'] !== ''
  if (qualified || !names.has(foldName(name))) {
    const known =
      sql.relations.length === 0 ? 'no table can be read here' : `only ${sql.relations.join(', ')} can be read here`
    throw refusal(`table ${JSON.stringify(name)} does not exist: ${known}`)
  }
}

function requireTableFunction(tree: Tree): void {
  const call = tree['function']
  const name = isTree(call) ? foldName(String(call['function_name'])) : ''
  if (!TABLE_FUNCTIONS.names.has(name)) throw refusal(`the table function ${name} is not allowed here`)
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

import type { SqlExpression, SqlItem, SqlQuery, SqlRelation } from '../../../engines/sql-syntax.ts'
import { type ResolveColumn, translateExpression } from './expressions.ts'
import { condition } from './operators.ts'
import { Refusal, refuseFunction, refuseSyntax } from './refusal.ts'
import {
  columnValue,
  foldName,
  type SelectedValue,
  selectRows,
  type SparkColumn,
  type SparkRelation,
  unionRows,
} from './relations.ts'
import type { SparkValue } from './values.ts'

/** Finds the rows that a name after FROM stands for; each may be read once. */
export type ResolveRelation = (name: string) => SparkRelation

/** What a SELECT reads: its rows, and the name for them in columns. */
interface Scope {
  readonly rows: SparkRelation
  readonly name: string | undefined
}

/** The column of a relation with a name; throws a `Refusal` when none or several have it. */
export function columnNamed({ columns }: SparkRelation, name: string): SparkValue {
  const found = columns.filter((column) => column.name !== undefined && foldName(column.name) === foldName(name))
  const [column] = found
  if (column !== undefined && found.length === 1) return columnValue(column)
  if (found.length > 1) throw new Refusal(`${name} is the name of two columns`)
  // DuckDB reads names such as `current_date` as functions when no column has them
  if (name.startsWith('current_')) throw refuseFunction(name)
  throw new Refusal(
    `${name} is no column of its input; names of expressions and whole rows are not translated for Spark`,
  )
}

/** Rows of a query in Spark's SQL; throws a `Refusal`. */
export function translateQuery(query: SqlQuery, outer: ResolveRelation): SparkRelation {
  if (query.kind === 'other') throw refuseSyntax(query)
  const resolve = withNamed(query, outer)
  if (query.kind === 'union all') {
    const parts = query.parts.map((part) => translateQuery(part, resolve))
    return unionRows(
      parts,
      (parts[0]?.columns ?? []).map(({ name }) => name),
    )
  }
  const scope = scopeOf(query.from, resolve)
  const columns = columnsOf(scope)
  const where = query.where && condition(translateExpression(query.where, columns))
  return selectRows(
    scope.rows,
    query.items.flatMap((item) => itemValues(item, scope, columns)),
    where,
  )
}

/** The relations of a query that begins with WITH: each named query sees those before it, and is translated where it is read. */
function withNamed({ named }: Exclude<SqlQuery, { kind: 'other' }>, outer: ResolveRelation): ResolveRelation {
  let resolve = outer
  for (const { name, query } of named) {
    const before = resolve
    let isRead = false
    resolve = (asked) => {
      if (foldName(asked) !== foldName(name)) return before(asked)
      if (isRead) throw new Refusal(`${name} is read twice, but Spark can read the rows of a table once only`)
      isRead = true
      return translateQuery(query, before)
    }
  }
  return resolve
}

function scopeOf(from: SqlRelation, resolve: ResolveRelation): Scope {
  if (from.kind === 'other') throw refuseSyntax(from)
  const isTable = from.kind === 'table'
  const rows = isTable ? resolve(from.name) : translateQuery(from.query, resolve)
  requireOwnNames(rows)
  return { rows, name: isTable ? (from.alias ?? from.name) : from.alias }
}

/** DuckDB makes up names for columns without one and for those of a name that is taken, and outer queries can use them. */
function requireOwnNames({ columns }: SparkRelation): void {
  const taken = new Set<string>()
  for (const { name } of columns) {
    if (name === undefined) throw new Refusal('an expression in an inner SELECT has no name: name it with AS')
    if (taken.has(foldName(name)))
      throw new Refusal(`an inner SELECT has two columns ${name}: name one of them with AS`)
    taken.add(foldName(name))
  }
}

function columnsOf({ rows, name }: Scope): ResolveColumn {
  return (path) => {
    const [first = '', second] = path
    if (path.length === 1) return columnNamed(rows, first)
    const isQualified = path.length === 2 && name !== undefined && foldName(first) === foldName(name)
    if (isQualified && second !== undefined) return columnNamed(rows, second)
    throw new Refusal(`${path.join('.')} is a field of a struct, which is not translated for Spark`)
  }
}

function itemValues(item: SqlItem, scope: Scope, columns: ResolveColumn): readonly SelectedValue[] {
  if (item.kind === 'value') {
    return [{ name: item.alias ?? ownName(item.value), value: translateExpression(item.value, columns) }]
  }
  if (item.relation !== undefined && foldName(item.relation) !== foldName(scope.name ?? '')) {
    throw new Refusal(`${item.relation}.* is not translated for Spark`)
  }
  const left = new Set(item.except.map(foldName))
  const isKept = ({ name }: SparkColumn): boolean => name === undefined || !left.has(foldName(name))
  return scope.rows.columns.filter(isKept).map((column) => ({ name: column.name, value: columnValue(column) }))
}

/** A column keeps its name; the engine makes up names of other expressions. */
function ownName(expression: SqlExpression): string | undefined {
  return expression.kind === 'column' ? expression.path.at(-1) : undefined
}

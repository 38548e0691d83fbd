import type { NamedSqlQuery, SqlExpression, SqlItem, SqlQuery, SqlRelation } from '../../engines/sql-syntax.ts'

/** A column of a source table. */
export interface ColumnOrigin {
  readonly table: string
  readonly column: string
}

/** The columns of tables from which values are computed; null: unknown. */
export type Origins = readonly ColumnOrigin[] | null

/** A column of a relation, and where its values come from. */
export interface TracedColumn {
  readonly name: string
  readonly origins: Origins
}

/** The columns of relations by their names in lower case. */
export type TracedRelations = ReadonlyMap<string, readonly TracedColumn[]>

/** The columns of a query, and the columns that its conditions need. */
export interface TracedQuery {
  readonly columns: readonly TracedColumn[]
  readonly conditions: readonly Origins[]
}

/**
 * Finds where the columns of a query come from, for a query that handles each row alone (`SqlQuery`). Undefined for other
 * queries, such as joins and aggregates.
 */
export function traceQuery(query: SqlQuery, relations: TracedRelations): TracedQuery | undefined {
  if (query.kind === 'other') return undefined
  const known = withNamed(query.named, relations)
  if (known === undefined) return undefined
  const own = query.kind === 'select' ? traceSelect(query, known.relations) : traceUnion(query.parts, known.relations)
  return own && { columns: own.columns, conditions: [...known.conditions, ...own.conditions] }
}

interface Named {
  readonly relations: TracedRelations
  readonly conditions: readonly Origins[]
}

/** The relations that a query sees, with those of its `WITH`. */
function withNamed(named: readonly NamedSqlQuery[], relations: TracedRelations): Named | undefined {
  const known = new Map(relations)
  const conditions: Origins[] = []
  for (const { name, query } of named) {
    const traced = traceQuery(query, known)
    if (traced === undefined) return undefined
    known.set(name.toLowerCase(), traced.columns)
    conditions.push(...traced.conditions)
  }
  return { relations: known, conditions }
}

function traceUnion(parts: readonly SqlQuery[], relations: TracedRelations): TracedQuery | undefined {
  const traced = parts.map((part) => traceQuery(part, relations))
  const [first] = traced
  if (first === undefined || traced.some((part) => part?.columns.length !== first.columns.length)) return undefined
  const columns = first.columns.map(({ name }, at) => ({
    name,
    origins: joinOrigins(traced.map((part) => part?.columns[at]?.origins ?? null)),
  }))
  return { columns, conditions: traced.flatMap((part) => part?.conditions ?? []) }
}

/** The relation of a FROM, with the name that references may begin with. */
interface Source extends TracedQuery {
  readonly name: string | undefined
}

function traceSelect(
  { from, items, where }: Extract<SqlQuery, { kind: 'select' }>,
  relations: TracedRelations,
): TracedQuery | undefined {
  const source = traceRelation(from, relations)
  if (source === undefined) return undefined
  const columns = items.flatMap((item) => traceItem(item, source))
  const conditions = where === undefined ? [] : [expressionOrigins(where, source)]
  return { columns, conditions: [...source.conditions, ...excluded(items, source), ...conditions] }
}

/** Columns that `EXCLUDE` names: without them the query fails. */
function excluded(items: readonly SqlItem[], { columns }: Source): readonly Origins[] {
  const names = items.flatMap((item) => (item.kind === 'star' ? item.except : []))
  return names.map(
    (name) => columns.find((column) => column.name.toLowerCase() === name.toLowerCase())?.origins ?? null,
  )
}

function traceRelation(from: SqlRelation, relations: TracedRelations): Source | undefined {
  if (from.kind === 'other') return undefined
  if (from.kind === 'subquery') {
    const traced = traceQuery(from.query, relations)
    return traced && { ...traced, name: from.alias }
  }
  const columns = relations.get(from.name.toLowerCase())
  return columns && { columns, conditions: [], name: from.alias ?? from.name }
}

function traceItem(item: SqlItem, source: Source): readonly TracedColumn[] {
  if (item.kind === 'star') {
    const left = new Set(item.except.map((name) => name.toLowerCase()))
    return source.columns.filter(({ name }) => !left.has(name.toLowerCase()))
  }
  const { value, alias } = item
  const name = alias ?? (value.kind === 'column' ? value.path.at(-1) : undefined) ?? ''
  return [{ name, origins: expressionOrigins(value, source) }]
}

function expressionOrigins(expression: SqlExpression, source: Source): Origins {
  switch (expression.kind) {
    case 'column':
      return referenceOrigins(expression.path, source)
    case 'constant':
      return []
    case 'call':
      return joinOrigins(expression.args.map((arg) => expressionOrigins(arg, source)))
    case 'cast':
      return expressionOrigins(expression.value, source)
    case 'other':
      return null
    default:
      return expression satisfies never
  }
}

/** The origins of what a reference names: `column`, `relation.column`, or a field inside of either; null if no column has the name. */
function referenceOrigins(path: readonly string[], { columns, name }: Source): Origins {
  const [first = '', second] = path
  const isQualified = second !== undefined && first.toLowerCase() === name?.toLowerCase()
  return (isQualified ? findColumn(columns, second) : undefined)?.origins ?? findColumn(columns, first)?.origins ?? null
}

/** A column by its name in any case, as queries compare names. */
export function findColumn(columns: readonly TracedColumn[], name: string): TracedColumn | undefined {
  return columns.find((column) => column.name.toLowerCase() === name.toLowerCase())
}

/** All origins, each once; null as soon as one is unknown. */
export function joinOrigins(all: readonly Origins[]): Origins {
  const found = new Map<string, ColumnOrigin>()
  for (const origins of all) {
    if (origins === null) return null
    for (const origin of origins) found.set(JSON.stringify([origin.table, origin.column]), origin)
  }
  return [...found.values()]
}

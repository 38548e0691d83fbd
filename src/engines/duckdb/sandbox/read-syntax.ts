import { IcebergError } from '../../../iceberg/errors.ts'
import { isJsonObject } from '../../../iceberg/json/json-fields.ts'
import type { JsonObject, JsonValue } from '../../../iceberg/json/lossless-json.ts'
import type { NamedSqlQuery, OtherSyntax, SqlItem, SqlQuery, SqlRelation } from '../../sql-syntax.ts'
import { expressionOf } from './sql-expressions.ts'
import { isEmptyPart, listOf, objectOf, other, textIn } from './syntax-parts.ts'

/**
 * A statement from the engine's own syntax tree (`json_serialize_sql`), read without rounding. Parts that are not known here
 * are `other`, so that nothing of a text is silently left out.
 */
export function syntaxOf(serialized: JsonValue): SqlQuery {
  const [statement] = listOf(objectOf(serialized)['statements'])
  const { node } = objectOf(statement)
  if (!isJsonObject(node)) throw new IcebergError('INVALID_ARGUMENT', 'the text is not valid SQL')
  return queryOf(node)
}

function queryOf(node: JsonObject): SqlQuery {
  const unusual = unusualModifier(node)
  if (unusual !== undefined) return unusual
  const { map } = objectOf(node['cte_map'])
  const named: NamedSqlQuery[] = []
  for (const entry of listOf(map)) {
    const query = namedQuery(objectOf(objectOf(entry)['value']))
    if (query.kind === 'other') return query
    named.push({ name: textIn(objectOf(entry), 'key'), query })
  }
  if (node['type'] === 'SET_OPERATION_NODE') return unionOf(node, named)
  return node['type'] === 'SELECT_NODE' ? selectOf(node, named) : other('a recursive or modifying query')
}

function namedQuery({ aliases, query, materialized, key_targets: keys, ...rest }: JsonObject): SqlQuery {
  const isPlain = isEmptyPart(aliases) && isEmptyPart(keys) && Object.values(rest).every(isEmptyPart)
  if (!isPlain || materialized !== 'CTE_MATERIALIZE_DEFAULT') return other('WITH with column names or MATERIALIZED')
  return queryOf(objectOf(objectOf(query)['node']))
}

const MODIFIERS: Readonly<Record<string, string>> = {
  DISTINCT_MODIFIER: 'DISTINCT',
  ORDER_MODIFIER: 'ORDER BY',
  LIMIT_MODIFIER: 'LIMIT',
  LIMIT_PERCENT_MODIFIER: 'LIMIT',
}

function unusualModifier({ modifiers }: JsonObject): OtherSyntax | undefined {
  const [first] = listOf(modifiers)
  if (first === undefined) return undefined
  return other(MODIFIERS[textIn(objectOf(first), 'type')] ?? 'a modifier', { isPerBatch: true })
}

function unionOf(node: JsonObject, named: readonly NamedSqlQuery[]): SqlQuery {
  const { setop_type: kind, setop_all: isAll, left, right, ...rest } = node
  if (kind === 'UNION_BY_NAME') return other('UNION BY NAME: use a union node')
  if (kind !== 'UNION' || isAll !== true) {
    const name = typeof kind === 'string' ? kind : 'a set operation'
    return other(isAll === true ? `${name} ALL` : name, { isPerBatch: true })
  }
  if (hasMore(rest)) return other('a set operation of this kind')
  return { kind: 'union all', named, parts: [queryOf(objectOf(left)), queryOf(objectOf(right))] }
}

/** Clauses of a SELECT that need all rows of a batch. */
const CLAUSES: readonly (readonly [part: string, name: string])[] = [
  ['group_expressions', 'GROUP BY'],
  ['group_sets', 'GROUP BY'],
  ['having', 'HAVING'],
  ['qualify', 'QUALIFY'],
  ['sample', 'a sample'],
]

function selectOf(node: JsonObject, named: readonly NamedSqlQuery[]): SqlQuery {
  const clause = CLAUSES.find(([part]) => !isEmptyPart(node[part]))
  if (clause !== undefined) return other(clause[1], { isPerBatch: true })
  const { select_list: list, from_table: from, where_clause: where, aggregate_handling: handling, ...rest } = node
  if (handling !== 'STANDARD_HANDLING') return other('GROUP BY', { isPerBatch: true })
  if (hasMore(rest)) return other('a SELECT of this kind')
  const items: SqlItem[] = []
  for (const item of listOf(list)) {
    const found = itemOf(objectOf(item))
    if (found.kind === 'other') return found
    items.push(found)
  }
  const condition = isJsonObject(where) ? expressionOf(where) : undefined
  return { kind: 'select', named, items, from: relationOf(objectOf(from)), where: condition }
}

/** Parts that every query node has, or that are handled. */
const KNOWN_PARTS: ReadonlySet<string> = new Set(['type', 'modifiers', 'cte_map', 'query_location'])

/** Whether a node has parts that nobody looked at, as a newer version of the engine may. */
function hasMore(rest: JsonObject): boolean {
  return Object.entries(rest).some(([name, part]) => !KNOWN_PARTS.has(name) && !isEmptyPart(part))
}

function itemOf(item: JsonObject): SqlItem | OtherSyntax {
  const { alias } = item
  if (item['class'] !== 'STAR') {
    return { kind: 'value', value: expressionOf(item), alias: typeof alias === 'string' && alias ? alias : undefined }
  }
  const { relation_name: relation, exclude_list: except, columns, expr, ...rest } = item
  const names = listOf(except)
  const isPlain = columns === false && isEmptyPart(expr) && names.every((name) => typeof name === 'string')
  const { class: _, type: __, query_location: ___, ...lists } = rest
  if (!isPlain || !Object.values(lists).every(isEmptyPart)) return other('COLUMNS, REPLACE or RENAME in SELECT *')
  return { kind: 'star', relation: typeof relation === 'string' && relation ? relation : undefined, except: names }
}

const RELATIONS: Readonly<Record<string, string>> = {
  JOIN: 'a join',
  EMPTY: 'a SELECT without FROM',
  EXPRESSION_LIST: 'VALUES',
  TABLE_FUNCTION: 'a table function',
  PIVOT: 'PIVOT',
}

function relationOf(from: JsonObject): SqlRelation {
  const type = textIn(from, 'type')
  if (!isEmptyPart(from['sample'])) return other('a sample', { isPerBatch: true })
  if (type !== 'BASE_TABLE' && type !== 'SUBQUERY') {
    return other(RELATIONS[type] ?? 'a relation of this kind', { isPerBatch: true })
  }
  if (!isEmptyPart(from['column_name_alias'])) return other('column names after the name of a relation')
  const alias = textIn(from, 'alias') || undefined
  if (type === 'SUBQUERY')
    return { kind: 'subquery', query: queryOf(objectOf(objectOf(from['subquery'])['node'])), alias }
  return { kind: 'table', name: textIn(from, 'table_name'), alias }
}

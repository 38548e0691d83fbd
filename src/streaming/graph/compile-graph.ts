import type { GraphPlan, PlannedNode } from './graph-plan.ts'

/** The name in the query for the rows of the n-th source table. */
export function sourceRelation(source: number): string {
  return `lockhouse_source_${source}`
}

/** The name in the query for the rows of a node, by its index in the plan. */
export function nodeRelation(at: number): string {
  return `lockhouse_node_${at}`
}

/** The name in the query for the rows of the n-th lookup table. */
export function lookupRelation(lookup: number): string {
  return `lockhouse_lookup_${lookup}`
}

/** The name in the query for the rows that the sink has when the batch starts. */
export const SINK_RELATION = 'lockhouse_sink'

/** A column with the numbers of rows, which no input of a node that keeps the order may have. */
export const ORDER_COLUMN = 'lockhouse_order'

/** A name that a `sql` node uses for one of its inputs. */
export interface InputName {
  readonly name: string
  readonly nodeId: string
}

/**
 * The names of the inputs in a `sql` node: as its config says, else `input` for a single one, and every node id that
 * is a valid name, unless another id differs only in case.
 */
export function inputNames({ inputs, config }: Extract<PlannedNode, { type: 'sql' }>): readonly InputName[] {
  if (config.inputs !== undefined) return Object.entries(config.inputs).map(([name, nodeId]) => ({ name, nodeId }))
  const named = inputs
    .filter((id) => /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(id) && !id.toLowerCase().startsWith('lockhouse_'))
    .map((id) => ({ name: id, nodeId: id }))
  const all = inputs.length === 1 && inputs[0] !== undefined ? [{ name: 'input', nodeId: inputs[0] }, ...named] : named
  return all.filter(({ name }, at) => all.findIndex((other) => other.name.toLowerCase() === name.toLowerCase()) === at)
}

/**
 * SQL for the rows of one node, given the names of its inputs. User-written SQL is put in parentheses on separate
 * lines; the caller must have checked that it is complete (`SqlSandbox.check`).
 */
export function nodeSql(node: PlannedNode, plan: GraphPlan): string {
  const relation = (id: string | undefined): string => nodeRelation(plan.nodes.findIndex((other) => other.id === id))
  switch (node.type) {
    case 'iceberg-source':
      return `SELECT * FROM ${sourceRelation(plan.sources.indexOf(node.config.table))}`
    case 'filter':
      return `SELECT * FROM ${relation(node.inputs[0])} WHERE (\n${node.config.condition}\n)`
    case 'select':
      return selectSql(node, relation(node.inputs[0]))
    case 'sql':
      return sqlNodeSql(node, relation)
    case 'union':
      return node.inputs.map((id) => `SELECT * FROM ${relation(id)}`).join(' UNION ALL BY NAME ')
    case 'check': {
      const conditions = node.config.expectations.map(({ condition }) => `(\n${condition}\n)`)
      return `SELECT * FROM ${relation(node.inputs[0])} WHERE ${conditions.join(' AND ')}`
    }
    case 'lookup':
      return inOrder(plan, relation(node.inputs[0]), (from) =>
        lookupSql(node, from, lookupRelation(plan.lookups.indexOf(node.config.table))),
      )
    case 'deduplicate':
      return `SELECT * FROM ${relation(node.inputs[0])} QUALIFY ${rankSql(node)} = 1`
    case 'iceberg-sink':
      return `SELECT * FROM ${relation(node.inputs[0])}`
    default:
      return node satisfies never
  }
}

function selectSql({ config }: Extract<PlannedNode, { type: 'select' }>, from: string): string {
  const columns = config.columns.map(({ name, expression }) => {
    return `(\n${expression ?? quoted(name)}\n) AS ${quoted(name)}`
  })
  return `SELECT ${columns.join(', ')} FROM ${from}`
}

/**
 * A query over rows that gives them in their order where the order matters: of several rows with one key, a merge keeps the last one, and
 * joins and windows return rows in any order.
 */
export function inOrder({ write }: GraphPlan, from: string, query: (from: string) => string): string {
  if (write.mode === 'append') return query(from)
  const numbered = `(SELECT *, row_number() OVER () AS ${ORDER_COLUMN} FROM ${from})`
  return `SELECT * EXCLUDE (${ORDER_COLUMN}) FROM (${query(numbered)}) ORDER BY ${ORDER_COLUMN}`
}

/** Each row with at most one row of the table: of a key that the table has twice, any one. */
function lookupSql({ config }: Extract<PlannedNode, { type: 'lookup' }>, from: string, table: string): string {
  const { on, columns, kind } = config
  const keys = on.map(({ lookup_column: column }) => quoted(column))
  const matches = on.map(
    ({ column, lookup_column: partner }) => `lockhouse_row.${quoted(column)} = lockhouse_match.${quoted(partner)}`,
  )
  const added = columns.map(({ column, name = column }) => `lockhouse_match.${quoted(column)} AS ${quoted(name)}`)
  const one = `SELECT * FROM ${table} QUALIFY row_number() OVER (PARTITION BY ${keys.join(', ')}) = 1`
  return (
    `SELECT lockhouse_row.*, ${added.join(', ')} FROM ${from} AS lockhouse_row ` +
    `${kind === 'left' ? 'LEFT' : 'INNER'} JOIN (${one}) AS lockhouse_match ON ${matches.join(' AND ')}`
  )
}

/** The keys that a lookup table has more than once, with their numbers of rows; NULL matches nothing, so it may be repeated. */
export function duplicateKeysSql({ config }: Extract<PlannedNode, { type: 'lookup' }>, table: string): string {
  const keys = config.on.map(({ lookup_column: column }) => quoted(column))
  const areKeys = keys.map((key) => `${key} IS NOT NULL`).join(' AND ')
  return `SELECT ${keys.join(', ')} FROM ${table} WHERE ${areKeys} GROUP BY ALL HAVING count(*) > 1`
}

/**
 * The number of a row among the rows of its key; the row with number 1 is kept. Partitions of a floating-point column itself would return
 * -0.0 as 0.0 (DuckDB 1.5).
 */
export function rankSql({ config }: Extract<PlannedNode, { type: 'deduplicate' }>): string {
  const direction = config.keep === 'last' ? 'DESC' : 'ASC'
  const terms = (config.order_by ?? []).map((column) => `${quoted(column)} ${direction} NULLS LAST`)
  const order = terms.length === 0 ? '' : ` ORDER BY ${terms.join(', ')}`
  return `row_number() OVER (PARTITION BY row(${config.key.map(quoted).join(', ')})${order})`
}

/** True for a row `lockhouse_row` whose key is in the sink; NULL equals NULL. */
export function isInSinkSql({ config }: Extract<PlannedNode, { type: 'deduplicate' }>): string {
  const same = config.key.map(
    (column) => `lockhouse_old.${quoted(column)} IS NOT DISTINCT FROM lockhouse_row.${quoted(column)}`,
  )
  return `EXISTS (SELECT 1 FROM ${SINK_RELATION} AS lockhouse_old WHERE ${same.join(' AND ')})`
}

/** The user's query, with its inputs defined under their names. */
function sqlNodeSql(node: Extract<PlannedNode, { type: 'sql' }>, relation: (id: string) => string): string {
  const inputs = inputNames(node).map(({ name, nodeId }) => `${quoted(name)} AS (SELECT * FROM ${relation(nodeId)})`)
  return `SELECT * FROM (WITH ${inputs.join(', ')} SELECT * FROM (\n${node.config.query.replace(/[\s;]+$/, '')}\n))`
}

/** A quoted name; names come from JSON and may contain anything but NUL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

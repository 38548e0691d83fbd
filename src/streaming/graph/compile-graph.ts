import type { GraphPlan, PlannedNode } from './graph-plan.ts'

/** The name in the query for the rows of the n-th source table. */
export function sourceRelation(source: number): string {
  return `lockhouse_source_${source}`
}

/** The name in the query for the rows of a node, by its index in the plan. */
export function nodeRelation(at: number): string {
  return `lockhouse_node_${at}`
}

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

/** The user's query, with its inputs defined under their names. */
function sqlNodeSql(node: Extract<PlannedNode, { type: 'sql' }>, relation: (id: string) => string): string {
  const inputs = inputNames(node).map(({ name, nodeId }) => `${quoted(name)} AS (SELECT * FROM ${relation(nodeId)})`)
  return `SELECT * FROM (WITH ${inputs.join(', ')} SELECT * FROM (\n${node.config.query.replace(/[\s;]+$/, '')}\n))`
}

/**
 * The whole graph as one query; `columns` are the expressions it selects from the rows that reach the sink. `names` are the
 * columns of each node, by its id, where the engine would name them otherwise.
 */
export function graphSql(
  plan: GraphPlan,
  columns: readonly string[],
  names: ReadonlyMap<string, readonly string[]> = new Map(),
): string {
  const listed = (id: string): string => {
    const own = names.get(id)
    return own === undefined ? '' : `(${own.map(quoted).join(', ')})`
  }
  const steps = plan.nodes.map((node, at) => `${nodeRelation(at)}${listed(node.id)} AS (${nodeSql(node, plan)})`)
  return `WITH ${steps.join(',\n')}\nSELECT ${columns.join(', ')} FROM ${nodeRelation(plan.nodes.length - 1)}`
}

/** A quoted name; names come from JSON and may contain anything but NUL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

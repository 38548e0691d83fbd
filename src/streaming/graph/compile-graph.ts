import type { GraphPlan, PlannedNode } from './graph-plan.ts'

/** What the query calls the rows of the n-th source table. */
export function sourceRelation(source: number): string {
  return `lockhouse_source_${source}`
}

/** What the query calls the rows of a node, by its place in the plan. */
export function nodeRelation(at: number): string {
  return `lockhouse_node_${at}`
}

/** A name that a `sql` node calls one of its inputs by. */
export interface InputName {
  readonly name: string
  readonly nodeId: string
}

/**
 * The names under which a `sql` node sees its inputs: as its config says, else `input` for a single one, and every id
 * that is a name, unless another one is the same in another case.
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
 * SQL of the rows of one node, given what its inputs are called. The texts of users stand in parentheses, on lines of
 * their own; they must have been checked to be whole (`SqlSandbox.check`).
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

/** The query of the user, in a place where its inputs have their names. */
function sqlNodeSql(node: Extract<PlannedNode, { type: 'sql' }>, relation: (id: string) => string): string {
  const inputs = inputNames(node).map(({ name, nodeId }) => `${quoted(name)} AS (SELECT * FROM ${relation(nodeId)})`)
  return `SELECT * FROM (WITH ${inputs.join(', ')} SELECT * FROM (\n${node.config.query.replace(/[\s;]+$/, '')}\n))`
}

/** The whole graph as one query; `columns` are what it selects of the rows that reach the sink. */
export function graphSql(plan: GraphPlan, columns: readonly string[]): string {
  const steps = plan.nodes.map((node, at) => `${nodeRelation(at)} AS (${nodeSql(node, plan)})`)
  return `WITH ${steps.join(',\n')}\nSELECT ${columns.join(', ')} FROM ${nodeRelation(plan.nodes.length - 1)}`
}

/** A quoted name; names come from JSON and may hold anything but NUL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

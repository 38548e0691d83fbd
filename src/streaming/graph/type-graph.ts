import type { RelationShape, ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { CHANGE_COLUMNS, isChangeColumn } from '../../iceberg/changes/change-columns.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'
import { keyColumns } from '../sink/merge-key.ts'
import { inputNames, lookupRelation, nodeRelation, nodeSql, sourceRelation } from './compile-graph.ts'
import type { GraphPlan, PlannedNode } from './graph-plan.ts'
import { graphError, type GraphProblem } from './graph-problem.ts'
import { NodeProblem, requireDistinct, requireFitting, requireUnrounded } from './node-rules.ts'
import type { SecretValues } from './parameters.ts'

export interface TypedGraph {
  /** The columns that reach the sink; undefined when problems prevent finding them. */
  readonly columns: readonly ResultColumn[] | undefined
  /** The columns of each node without problems. */
  readonly byNode: ReadonlyMap<string, readonly ResultColumn[]>
  readonly problems: readonly GraphProblem[]
}

export interface TypeRequest {
  readonly plan: GraphPlan
  /** One per source table of the plan; undefined when it could not be loaded, which the caller reports. */
  readonly schemas: readonly (Schema | undefined)[]
  /** The schemas of lookup tables by name; of a table that is missing here, the caller reports why. */
  readonly lookups?: ReadonlyMap<string, Schema> | undefined
  /** The schema of the sink; undefined if it does not exist. */
  readonly sink?: Schema | undefined
  readonly sandbox: SqlSandbox
  /** The plan that runs, where it differs: with parameters in the places of secrets. */
  readonly bound?: BoundPlan | undefined
}

/** A plan with parameters in the places of secrets. */
export interface BoundPlan {
  readonly plan: GraphPlan
  readonly secrets: SecretValues
  /** The secrets as they are shown: `env:NAME`. */
  readonly secretNames: readonly string[]
}

/**
 * Checks the SQL of each node separately and finds its columns, so that each problem names its node. Nothing runs. Types and
 * names come from the plan that may be shown; the SQL that runs is checked, without the values of its secrets.
 */
export async function typeGraph(request: TypeRequest): Promise<TypedGraph> {
  const { plan } = request
  const problems: GraphProblem[] = []
  const columns = new Map<string, readonly ResultColumn[]>()
  for (const node of plan.nodes) {
    try {
      const found = await typeNode(node, columns, request)
      if (found !== undefined) columns.set(node.id, found)
    } catch (error) {
      if (error instanceof NodeProblem) problems.push(graphError(node.id, error.code, error.message))
      else if (isIcebergError(error, 'INVALID_ARGUMENT'))
        problems.push(graphError(node.id, 'INVALID_SQL', error.message))
      else if (isIcebergError(error, 'UNSUPPORTED'))
        problems.push(graphError(node.id, 'UNSUPPORTED_TABLE', error.message))
      else throw error
    }
  }
  return { columns: columns.get(plan.nodes.at(-1)?.id ?? ''), byNode: columns, problems }
}

/** Requires that the key and the columns of changes are clear. */
function requireReadable(
  { read, key = [] }: Extract<PlannedNode, { type: 'iceberg-source' }>['config'],
  schema: Schema,
): void {
  const [problem] = keyColumns(schema, key).problems
  if (problem !== undefined) throw new NodeProblem('INVALID_KEY', problem)
  const own = read === 'changes' ? schema.fields.find(isChangeColumn) : undefined
  if (own === undefined) return
  throw new NodeProblem('DUPLICATE_COLUMN', `the table has a column ${own.name}, so its changes cannot be read`)
}

/** The columns that a graph sees of its n-th source table. */
export function sourceFields(plan: GraphPlan, source: number, { fields }: Schema): readonly NestedField[] {
  return plan.reads[source]?.mode === 'changes' ? [...fields, ...CHANGE_COLUMNS] : fields
}

/** The columns of a node; undefined when one of its inputs has a problem, or its table could not be loaded. */
async function typeNode(
  node: PlannedNode,
  known: ReadonlyMap<string, readonly ResultColumn[]>,
  request: TypeRequest,
): Promise<readonly ResultColumn[] | undefined> {
  const { plan, sandbox } = request
  await checkSql(nodeThatRuns(node, request), request)
  const inputs = inputShapes(node, known, plan)
  const tables = tableShapes(node, request)
  if (inputs === undefined || tables === undefined) return undefined
  requireFitting(node, { inputs, tables, plan, sinkColumns: request.sink && sandbox.columnsOf(request.sink.fields) })
  const columns = await sandbox.describe([...tables, ...inputs], nodeSql(node, plan))
  if (node.type === 'union') requireUnrounded(inputs, columns)
  if (node.type === 'check') await requireOneValue(node, inputs, sandbox)
  requireDistinct(node.type === 'sql' ? await ownColumns(node, known, sandbox) : columns)
  return columns
}

/** Requires conditions that are about a row as a whole: `COLUMNS(*)` would make one test per column, of which only the first counts. */
async function requireOneValue(
  { config }: Extract<PlannedNode, { type: 'check' }>,
  inputs: readonly RelationShape[],
  sandbox: SqlSandbox,
): Promise<void> {
  for (const { name, condition } of config.expectations) {
    const tested = await sandbox.describe(inputs, `SELECT (\n${condition}\n) AS lockhouse_test FROM ${inputs[0]?.name}`)
    if (tested.length === 1) continue
    throw new NodeProblem(
      'INVALID_SQL',
      `expectation ${name}: the condition has several values, not one value: name its columns`,
    )
  }
}

function inputShapes(
  { inputs }: PlannedNode,
  known: ReadonlyMap<string, readonly ResultColumn[]>,
  { nodes }: GraphPlan,
): readonly RelationShape[] | undefined {
  const shapes: RelationShape[] = []
  for (const id of inputs) {
    const columns = known.get(id)
    if (columns === undefined) return undefined
    shapes.push({ name: nodeRelation(nodes.findIndex((other) => other.id === id)), columns })
  }
  return shapes
}

/** The table that a node reads, if it reads one; undefined when the table could not be loaded. */
function tableShapes(
  node: PlannedNode,
  { plan, schemas, lookups, sandbox }: TypeRequest,
): readonly RelationShape[] | undefined {
  if (node.type === 'lookup') {
    const schema = lookups?.get(node.config.table)
    const name = lookupRelation(plan.lookups.indexOf(node.config.table))
    return schema && [{ name, columns: sandbox.columnsOf(schema.fields) }]
  }
  if (node.type !== 'iceberg-source') return []
  const source = plan.sources.indexOf(node.config.table)
  const schema = schemas[source]
  if (schema === undefined) return undefined
  requireReadable(node.config, schema)
  return [{ name: sourceRelation(source), columns: sandbox.columnsOf(sourceFields(plan, source, schema)) }]
}

/** The columns of a user's query as named there: as a subquery, DuckDB would rename duplicate columns. */
async function ownColumns(
  node: Extract<PlannedNode, { type: 'sql' }>,
  known: ReadonlyMap<string, readonly ResultColumn[]>,
  sandbox: SqlSandbox,
): Promise<readonly ResultColumn[]> {
  const relations = inputNames(node).map(({ name, nodeId }) => ({ name, columns: known.get(nodeId) ?? [] }))
  return sandbox.describe(relations, node.config.query)
}

function nodeThatRuns(node: PlannedNode, { bound }: TypeRequest): PlannedNode {
  return bound?.plan.nodes.find(({ id }) => id === node.id) ?? node
}

async function checkSql(node: PlannedNode, request: TypeRequest): Promise<void> {
  const { sandbox } = request
  const parameters = secretParameters(request)
  if (node.type === 'filter') {
    await sandbox.check({ kind: 'expression', text: node.config.condition, relations: [], parameters })
  } else if (node.type === 'select') {
    for (const { name, expression } of node.config.columns) {
      if (name.includes('\0')) throw new NodeProblem('INVALID_CONFIG', 'columns: a name contains a NUL character')
      if (expression !== undefined) await checkPart(`column ${name}`, expression, request)
    }
  } else if (node.type === 'check') {
    for (const { name, condition } of node.config.expectations) {
      await checkPart(`expectation ${name}`, condition, request)
    }
  } else if (node.type === 'sql') {
    requireNames(node)
    const relations = inputNames(node).map(({ name }) => name)
    await sandbox.check({ kind: 'query', text: node.config.query, relations, parameters })
  }
}

/** Parameters that the SQL of users may contain, because the service has put them there. */
function secretParameters({ bound }: TypeRequest): readonly string[] {
  return Object.keys(bound?.secrets ?? {})
}

async function checkPart(what: string, text: string, request: TypeRequest): Promise<void> {
  const parameters = secretParameters(request)
  try {
    await request.sandbox.check({ kind: 'expression', text, relations: [], parameters })
  } catch (error) {
    if (!isIcebergError(error, 'INVALID_ARGUMENT')) throw error
    throw new NodeProblem('INVALID_SQL', `${what}: ${error.message}`)
  }
}

function requireNames(node: Extract<PlannedNode, { type: 'sql' }>): void {
  const names = inputNames(node)
  if (names.length === 0) throw new NodeProblem('INVALID_CONFIG', 'inputs: give each input a name')
  const unconnected = names.find(({ nodeId }) => !node.inputs.includes(nodeId))
  if (unconnected)
    throw new NodeProblem('INVALID_CONFIG', `inputs.${unconnected.name}: no edge comes from "${unconnected.nodeId}"`)
  const lower = names.map(({ name }) => name.toLowerCase())
  const duplicate = lower.find((name, at) => lower.indexOf(name) !== at)
  if (duplicate !== undefined) throw new NodeProblem('INVALID_CONFIG', `inputs: duplicate name ${duplicate}`)
}

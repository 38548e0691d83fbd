import type { QueryColumn, RelationShape, ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { CHANGE_COLUMNS, isChangeColumn } from '../../iceberg/changes/change-columns.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'
import { keyColumns } from '../sink/merge-key.ts'
import { inputNames, nodeRelation, nodeSql, sourceRelation } from './compile-graph.ts'
import type { GraphPlan, PlannedNode } from './graph-plan.ts'
import { graphError, type GraphProblem, type ProblemCode } from './graph-problem.ts'
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

class NodeProblem extends Error {
  override readonly name = 'NodeProblem'
  readonly code: ProblemCode

  constructor(code: ProblemCode, message: string) {
    super(message)
    this.code = code
  }
}

/** The columns of a node; undefined when one of its inputs has a problem. */
async function typeNode(
  node: PlannedNode,
  known: ReadonlyMap<string, readonly ResultColumn[]>,
  request: TypeRequest,
): Promise<readonly ResultColumn[] | undefined> {
  const { plan, schemas, sandbox } = request
  await checkSql(nodeThatRuns(node, request), request)
  const relations: RelationShape[] = []
  if (node.type === 'iceberg-source') {
    const source = plan.sources.indexOf(node.config.table)
    const schema = schemas[source]
    if (schema === undefined) return undefined
    requireReadable(node.config, schema)
    const columns = sandbox.columnsOf(sourceFields(plan, source, schema))
    relations.push({ name: sourceRelation(source), columns })
  }
  for (const id of node.inputs) {
    const columns = known.get(id)
    if (columns === undefined) return undefined
    relations.push({ name: nodeRelation(plan.nodes.findIndex((other) => other.id === id)), columns })
  }
  if (node.type === 'union' && node.config.missing_columns === 'fail') requireSameColumns(relations)
  const columns = await sandbox.describe(relations, nodeSql(node, plan))
  if (node.type === 'union') requireUnrounded(relations, columns)
  requireDistinct(node.type === 'sql' ? await ownColumns(node, known, sandbox) : columns)
  return columns
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
      if (expression !== undefined) await checkColumn(name, expression, request)
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

async function checkColumn(name: string, text: string, request: TypeRequest): Promise<void> {
  const parameters = secretParameters(request)
  try {
    await request.sandbox.check({ kind: 'expression', text, relations: [], parameters })
  } catch (error) {
    if (!isIcebergError(error, 'INVALID_ARGUMENT')) throw error
    throw new NodeProblem('INVALID_SQL', `column ${name}: ${error.message}`)
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

function requireSameColumns(relations: readonly RelationShape[]): void {
  const [first, ...others] = relations.map(({ columns }) => new Set(columns.map(({ name }) => name.toLowerCase())))
  for (const other of others) {
    const odd = [...(first ?? [])]
      .filter((name) => !other.has(name))
      .concat([...other].filter((name) => !first?.has(name)))
    if (odd.length === 0) continue
    const message = `not all inputs have the column ${odd.join(', ')}; allow it with missing_columns: "null"`
    throw new NodeProblem('COLUMN_MISMATCH', message)
  }
}

/** Types whose values are all values of a floating-point type, too. */
const EXACT: Readonly<Record<string, ReadonlySet<string>>> = {
  FLOAT: new Set(['FLOAT', 'TINYINT', 'UTINYINT', 'SMALLINT', 'USMALLINT']),
  DOUBLE: new Set(['DOUBLE', 'FLOAT', 'TINYINT', 'UTINYINT', 'SMALLINT', 'USMALLINT', 'INTEGER', 'UINTEGER']),
}

/** A union of an integer or decimal with a floating-point number would round it without a word. */
function requireUnrounded(relations: readonly RelationShape[], columns: readonly QueryColumn[]): void {
  const byName = columnsByName(relations)
  for (const { name, engineType } of columns) {
    const exact = EXACT[engineType]
    if (exact === undefined) continue
    const rounded = byName.get(name.toLowerCase())?.find((column) => !exact.has(column.engineType))
    if (rounded === undefined) continue
    const message = `column ${name} is ${rounded.engineType} in one input and would be rounded to ${engineType}: CAST it`
    throw new NodeProblem('TYPE_MISMATCH', message)
  }
}

/** The columns of all relations by their names in lower case. */
function columnsByName(relations: readonly RelationShape[]): ReadonlyMap<string, readonly QueryColumn[]> {
  const byName = new Map<string, QueryColumn[]>()
  for (const column of relations.flatMap(({ columns }) => columns)) {
    const name = column.name.toLowerCase()
    const known = byName.get(name)
    if (known === undefined) byName.set(name, [column])
    else known.push(column)
  }
  return byName
}

/** DuckDB compares names case-insensitively, and later nodes could not distinguish two columns with the same name. */
function requireDistinct(columns: readonly QueryColumn[]): void {
  const seen = new Set<string>()
  for (const { name } of columns) {
    if (seen.has(name.toLowerCase())) {
      throw new NodeProblem('DUPLICATE_COLUMN', `the result has two columns named ${name}: rename one with AS`)
    }
    seen.add(name.toLowerCase())
  }
}

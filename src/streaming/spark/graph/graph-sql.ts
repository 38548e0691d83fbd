import type { ResultColumn, SqlSandbox, UserSql } from '../../../engines/sql-sandbox.ts'
import type { SqlExpression } from '../../../engines/sql-syntax.ts'
import { inputNames } from '../../graph/compile-graph.ts'
import type { GraphPlan, PlannedNode } from '../../graph/graph-plan.ts'
import type { BatchSchemas, SparkBatch } from '../../sink/batch-query.ts'
import { ambiguousNames, typeProblems } from '../column-types.ts'
import { withRemedy } from '../readable.ts'
import { requireSameColumns } from './check-columns.ts'
import { checkedRows, requireRowByRow } from './checked-rows.ts'
import { translateExpression } from './expressions.ts'
import { condition } from './operators.ts'
import { columnNamed, translateQuery } from './queries.ts'
import { Refusal } from './refusal.ts'
import { columnValue, foldName, selectRows, type SparkRelation, sourceRows, unionByName } from './relations.ts'
import { sinkRows } from './sink-sql.ts'

/** A graph whose nodes have no problems in the embedded engine. */
export interface SparkGraph {
  readonly plan: GraphPlan
  readonly schemas: Pick<BatchSchemas, 'sources' | 'sink'>
  /** The columns of each node in the embedded engine. */
  readonly columns: ReadonlyMap<string, readonly ResultColumn[]>
  readonly sandbox: SqlSandbox
}

/** Each node is a query in another, for which Spark's parser needs its own stack. */
const MAX_NODES = 100

/**
 * A graph as one query in Spark's SQL, translated from the syntax of its parts; texts of users never become a part of it.
 * What Spark may compute differently is a problem that names its node (docs/adr/0016-graphs-on-spark.md).
 */
export async function sparkGraph(graph: SparkGraph): Promise<SparkBatch> {
  if (graph.plan.nodes.length > MAX_NODES) {
    return { query: '', problems: [withRemedy(`Spark runs graphs of at most ${MAX_NODES} nodes`)] }
  }
  const problems = tableProblems(graph)
  const known = new Map<string, SparkRelation>()
  for (const node of graph.plan.nodes) {
    if (node.inputs.some((id) => !known.has(id))) continue
    try {
      requireReadOnce(node, graph.plan)
      if (node.type === 'iceberg-sink') {
        const query = sinkRows(inputOf(node, known), graph.schemas.sink, graph.plan.sources.length)
        return { query, problems }
      }
      const rows = await nodeRows(node, known, graph)
      known.set(node.id, requireSameColumns(rows, graph.columns.get(node.id) ?? [], graph.sandbox))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      problems.push(withRemedy(`node ${node.id}: ${error.message}`))
    }
  }
  return { query: '', problems }
}

/** Spark reads whole tables, also columns that the graph does not use. */
function tableProblems({ plan, schemas }: SparkGraph): string[] {
  const tables = schemas.sources.map((schema, at) => ({ schema, name: plan.sources[at] }))
  return [...tables, { schema: schemas.sink, name: plan.sink }].flatMap(({ schema, name }) =>
    [...ambiguousNames(schema), ...schema.fields.flatMap((field) => typeProblems(field.name, field.type))].map(
      (problem) => withRemedy(`table ${name}: ${problem}`),
    ),
  )
}

/** Spark's checkpoint has an offset for each place where a table is read; ours has one for each table. */
function requireReadOnce(node: PlannedNode, { nodes }: GraphPlan): void {
  const readers = nodes.filter(({ inputs }) => inputs.includes(node.id))
  if (readers.length > 1) {
    const ids = readers.map(({ id }) => id).join(' and ')
    throw new Refusal(`its rows go to ${ids}, but Spark can read the rows of a table once only`)
  }
  if (node.type !== 'iceberg-source') return
  const first = nodes.find((other) => other.type === 'iceberg-source' && other.config.table === node.config.table)
  if (first?.id === node.id) return
  throw new Refusal(
    `node ${first?.id} reads ${node.config.table} too, but Spark can read the rows of a table once only`,
  )
}

async function nodeRows(
  node: Exclude<PlannedNode, { type: 'iceberg-sink' }>,
  known: ReadonlyMap<string, SparkRelation>,
  { plan, schemas, sandbox }: SparkGraph,
): Promise<SparkRelation> {
  switch (node.type) {
    case 'iceberg-source': {
      const source = plan.sources.indexOf(node.config.table)
      const fields = schemas.sources[source]?.fields ?? []
      return sourceRows(
        source,
        fields,
        sandbox.columnsOf(fields).map(({ name }) => name),
      )
    }
    case 'filter':
      return filteredRows(node, inputOf(node, known), sandbox)
    case 'select':
      return selectedRows(node, inputOf(node, known), sandbox)
    case 'sql':
      return queryRows(node, known, sandbox)
    case 'union':
      return unionByName(node.inputs.flatMap((id) => known.get(id) ?? []))
    case 'check':
      return passingRows(node, inputOf(node, known), sandbox)
    case 'lookup':
      throw new Refusal(
        `a lookup reads ${node.config.table} as it is when the batch starts, and a query in Spark may keep an older state of the table`,
      )
    case 'deduplicate':
      throw new Refusal(
        'deduplicate compares the rows of each batch, and a query in Spark would compare those of the whole stream',
      )
    default:
      return node satisfies never
  }
}

function inputOf({ inputs: [id = ''] }: PlannedNode, known: ReadonlyMap<string, SparkRelation>): SparkRelation {
  const rows = known.get(id)
  if (rows === undefined) throw new Error(`node ${id} has no rows yet`)
  return rows
}

async function filteredRows(
  { config }: Extract<PlannedNode, { type: 'filter' }>,
  input: SparkRelation,
  sandbox: SqlSandbox,
): Promise<SparkRelation> {
  const where = condition(translateExpression(await parsed(config.condition, sandbox), resolverOf(input)))
  const all = input.columns.map((column) => ({ name: column.name, value: columnValue(column) }))
  return selectRows(input, all, where)
}

async function passingRows(
  node: Extract<PlannedNode, { type: 'check' }>,
  input: SparkRelation,
  sandbox: SqlSandbox,
): Promise<SparkRelation> {
  requireRowByRow(node.config)
  const conditions: string[] = []
  for (const { name, condition: text } of node.config.expectations) {
    try {
      conditions.push(condition(translateExpression(await parsed(text, sandbox), resolverOf(input))))
    } catch (error) {
      throw error instanceof Refusal ? new Refusal(`expectation "${name}": ${error.message}`) : error
    }
  }
  return checkedRows(node, input, conditions)
}

async function selectedRows(
  { config }: Extract<PlannedNode, { type: 'select' }>,
  input: SparkRelation,
  sandbox: SqlSandbox,
): Promise<SparkRelation> {
  const resolve = resolverOf(input)
  const selected = []
  for (const { name, expression } of config.columns) {
    try {
      const value =
        expression === undefined
          ? columnNamed(input, name)
          : translateExpression(await parsed(expression, sandbox), resolve)
      selected.push({ name, value })
    } catch (error) {
      throw error instanceof Refusal ? new Refusal(`column ${name}: ${error.message}`) : error
    }
  }
  return selectRows(input, selected)
}

/** Columns of a node's only input, which has no name that users know. */
function resolverOf(input: SparkRelation) {
  return (path: readonly string[]) => {
    const [name = ''] = path
    if (path.length === 1) return columnNamed(input, name)
    throw new Refusal(`${path.join('.')} is a field of a struct, which is not translated for Spark`)
  }
}

/** The expression of a text, which the sandbox reads as the only column of a SELECT. */
async function parsed(text: string, sandbox: SqlSandbox): Promise<SqlExpression> {
  const query = await sandbox.syntax({ kind: 'expression', text, relations: [] })
  const item = query.kind === 'select' ? query.items[0] : undefined
  if (query.kind === 'other') return query
  return item?.kind === 'value' ? item.value : { kind: 'other', what: '*', isPerBatch: false }
}

async function queryRows(
  node: Extract<PlannedNode, { type: 'sql' }>,
  known: ReadonlyMap<string, SparkRelation>,
  sandbox: SqlSandbox,
): Promise<SparkRelation> {
  const names = inputNames(node)
  const sql: UserSql = { kind: 'query', text: node.config.query, relations: names.map(({ name }) => name) }
  const read = new Set<string>()
  const rows = translateQuery(await sandbox.syntax(sql), (name) => {
    const id = names.find((input) => foldName(input.name) === foldName(name))?.nodeId ?? ''
    const input = known.get(id)
    if (input === undefined) throw new Refusal(`there is no input ${name}`)
    if (read.has(id)) throw new Refusal(`input ${name} is read twice, but Spark can read the rows of a table once only`)
    read.add(id)
    return input
  })
  const unread = node.inputs.find((id) => !read.has(id))
  if (unread !== undefined) throw new Refusal(`its input ${unread} is not read, but Spark would leave its table out`)
  return rows
}

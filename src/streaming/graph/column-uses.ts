import { mayBeSameTable } from '../../catalog/table-identifier.ts'
import type { PipelineGraph, PipelineNode } from '../../domain/graph.ts'
import type { SqlSandbox, UserSql } from '../../engines/sql-sandbox.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { isNodeType, nodeConfigs, type NodeSpec } from '../../schemas/node-types.ts'
import type { ChangedColumn } from '../sink/batch-query.ts'
import { inputNames } from './compile-graph.ts'
import { planGraph } from './graph-plan.ts'
import { typeGraph } from './type-graph.ts'

/** Fields of configs that name a table. */
export const TABLE_FIELDS = ['table', 'divert_to'] as const

export interface ColumnUsesDeps {
  readonly sandbox: SqlSandbox
  /** The schema of a table; undefined when it cannot be loaded. */
  readonly loadSchema: (table: string) => Promise<Schema | undefined>
}

/**
 * Ids of the nodes that a change of the column would break. SQL is checked by its syntax tree. Where the answer is
 * unknown (`SELECT *`, SQL that cannot be parsed, node types that cannot run), the column counts as used.
 */
export async function nodesUsing(
  graph: PipelineGraph,
  asked: ChangedColumn,
  { sandbox, loadSchema }: ColumnUsesDeps,
): Promise<readonly string[]> {
  const using = [...(await nodesReading(graph, asked, sandbox))]
  for (const node of graph.nodes) {
    // every column of a table of diverted rows may be filled
    if (isNamedIn(node, 'divert_to', asked.table)) using.push(node.id)
    if (node.type === 'iceberg-sink' && isOf(node, asked) && (await mayFill(graph, asked, { sandbox, loadSchema })))
      using.push(node.id)
  }
  return using
}

/** As {@link nodesUsing}, for a table that the graph reads. */
export async function nodesReading(
  graph: PipelineGraph,
  asked: ChangedColumn,
  sandbox: SqlSandbox,
): Promise<readonly string[]> {
  const named = graph.nodes.filter((node) => node.type !== 'iceberg-sink' && isOf(node, asked))
  const carriers = named.filter(({ type }) => type === 'iceberg-source')
  const others = named.filter((node) =>
    node.type === 'iceberg-source' ? isInKey(node, asked) : mayLookUp(node, asked),
  )
  const using = new Set(others.map(({ id }) => id))
  const seen = new Set(carriers)
  for (let carrier = carriers.pop(); carrier !== undefined; carrier = carriers.pop()) {
    for (const node of nodesAfter(graph, carrier)) {
      if (seen.has(node)) continue
      seen.add(node)
      if (await needs(graph, node, { asked, sandbox })) using.add(node.id)
      if (PASSES_ON.has(node.type)) carriers.push(node)
    }
  }
  return [...using]
}

/** Types of nodes whose rows have all columns of their inputs under the same names. */
const PASSES_ON: ReadonlySet<string> = new Set(['filter', 'union', 'check', 'lookup', 'deduplicate'])

/** Whether a node names the table, whatever its type. */
function isOf(node: PipelineNode, asked: ChangedColumn): boolean {
  return isNamedIn(node, 'table', asked.table)
}

function isNamedIn({ config }: PipelineNode, field: (typeof TABLE_FIELDS)[number], table: string): boolean {
  const name = config[field]
  return typeof name === 'string' && mayBeSameTable(name, table)
}

/** Whether a node that names the table may need the column; of the columns of a lookup, only those in its config. */
function mayLookUp(node: PipelineNode, { path }: ChangedColumn): boolean {
  const spec = specOf(node)
  if (spec?.type !== 'lookup') return true
  const { on, columns } = spec.config
  const names = [...on.map((key) => key.lookup_column), ...columns.map(({ column }) => column)]
  return names.some((name) => sameName(name, path[0]))
}

/** Whether a source identifies rows by the column. */
function isInKey({ config: { key } }: PipelineNode, asked: ChangedColumn): boolean {
  return Array.isArray(key) && key.some((name) => typeof name === 'string' && sameName(name, asked.path[0]))
}

function nodesAfter({ edges, nodes }: PipelineGraph, { id }: PipelineNode): readonly PipelineNode[] {
  const targets = new Set(edges.filter(({ source }) => source === id).map(({ target }) => target))
  return nodes.filter((node) => targets.has(node.id))
}

interface Question {
  readonly asked: ChangedColumn
  readonly sandbox: SqlSandbox
}

/** Whether a node needs the column when it comes in under its own name. */
async function needs(graph: PipelineGraph, node: PipelineNode, question: Question): Promise<boolean> {
  const spec = specOf(node)
  if (spec === undefined) return true
  switch (spec.type) {
    case 'filter':
      return mentions({ kind: 'expression', text: spec.config.condition, relations: [] }, question)
    case 'select':
      return usedBySelect(spec.config.columns, question)
    case 'sql': {
      const inputs = graph.edges.filter(({ target }) => target === node.id).map(({ source }) => source)
      const relations = inputNames({ ...spec, id: node.id, inputs }).map(({ name }) => name)
      return mentions({ kind: 'query', text: spec.config.query, relations }, question)
    }
    case 'union':
      return spec.config.missing_columns === 'fail'
    case 'check':
      return usedByCheck(spec.config, question)
    case 'lookup':
      return spec.config.on.some(({ column }) => sameName(column, question.asked.path[0]))
    case 'deduplicate': {
      const { key, order_by: order = [] } = spec.config
      return [...key, ...order].some((name) => sameName(name, question.asked.path[0]))
    }
    default:
      return true
  }
}

function specOf({ type, config }: PipelineNode): NodeSpec | undefined {
  if (!isNodeType(type)) return undefined
  const parsed = nodeConfigs[type].safeParse(config)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema belongs to the type
  return parsed.success ? ({ type, config: parsed.data } as NodeSpec) : undefined
}

async function usedBySelect(
  columns: readonly { readonly name: string; readonly expression?: string | undefined }[],
  question: Question,
): Promise<boolean> {
  for (const { name, expression } of columns) {
    if (expression === undefined) {
      if (sameName(name, question.asked.path[0])) return true
    } else if (await mentions({ kind: 'expression', text: expression, relations: [] }, question)) return true
  }
  return false
}

/** A table of diverted rows gets all columns of the input. */
async function usedByCheck(
  { expectations, divert_to: table }: Extract<NodeSpec, { type: 'check' }>['config'],
  question: Question,
): Promise<boolean> {
  if (table !== undefined) return true
  for (const { condition: text } of expectations) {
    if (await mentions({ kind: 'expression', text, relations: [] }, question)) return true
  }
  return false
}

async function mentions(sql: UserSql, { asked, sandbox }: Question): Promise<boolean> {
  try {
    const { names: references, all } = await sandbox.references(sql)
    return all || references.some((reference) => reaches(reference, asked.path))
  } catch (error) {
    if (isIcebergError(error, 'INVALID_ARGUMENT')) return true
    throw error
  }
}

/** Whether a reference names the column, a field inside it or an enclosing column; its first parts may name a relation. */
function reaches(reference: readonly string[], path: readonly string[]): boolean {
  return reference.some((_, start) => {
    const parts = reference.slice(start)
    return parts.every((part, at) => at >= path.length || sameName(part, path[at]))
  })
}

/** Whether the graph writes the column of its sink; true when it cannot be told. */
async function mayFill(graph: PipelineGraph, asked: ChangedColumn, deps: ColumnUsesDeps): Promise<boolean> {
  const { plan } = planGraph(graph)
  if (plan === undefined) return true
  const schemas = await Promise.all(plan.sources.map((table) => deps.loadSchema(table)))
  const lookups = new Map<string, Schema>()
  for (const table of plan.lookups) {
    const schema = await deps.loadSchema(table)
    if (schema !== undefined) lookups.set(table, schema)
  }
  const { columns } = await typeGraph({ plan, schemas, lookups, sandbox: deps.sandbox })
  return columns === undefined || columns.some(({ name }) => sameName(name, asked.path[0]))
}

/** Queries and sinks compare names case-insensitively. */
function sameName(a: string, b: string | undefined): boolean {
  return a.toLowerCase() === b?.toLowerCase()
}

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
  const using = new Set(
    named.filter((node) => node.type !== 'iceberg-source' || isInKey(node, asked)).map(({ id }) => id),
  )
  const seen = new Set(carriers)
  for (let carrier = carriers.pop(); carrier !== undefined; carrier = carriers.pop()) {
    for (const node of nodesAfter(graph, carrier)) {
      if (seen.has(node)) continue
      seen.add(node)
      if (await needs(graph, node, { asked, sandbox })) using.add(node.id)
      if (node.type === 'filter' || node.type === 'union') carriers.push(node)
    }
  }
  return [...using]
}

/** Whether a node names the table, whatever its type. */
function isOf({ config }: PipelineNode, asked: ChangedColumn): boolean {
  const { table } = config
  return typeof table === 'string' && mayBeSameTable(table, asked.table)
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
  const { columns } = await typeGraph({ plan, schemas, sandbox: deps.sandbox })
  return columns === undefined || columns.some(({ name }) => sameName(name, asked.path[0]))
}

/** Queries and sinks compare names case-insensitively. */
function sameName(a: string, b: string | undefined): boolean {
  return a.toLowerCase() === b?.toLowerCase()
}

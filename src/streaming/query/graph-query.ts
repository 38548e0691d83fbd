import type { PipelineGraph } from '../../domain/graph.ts'
import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { BatchQuery, BatchSchemas, CompiledBatch, CompiledInput, SparkBatch } from '../sink/batch-query.ts'
import { sparkGraph } from '../spark/graph/graph-sql.ts'
import { graphSql, sourceRelation } from '../graph/compile-graph.ts'
import { followsChanges, type GraphPlan, type SourceRead } from '../graph/graph-plan.ts'
import type { GraphProblem } from '../graph/graph-problem.ts'
import { nodesReading } from '../graph/column-uses.ts'
import { type HideSecrets, hideSecrets } from '../graph/hide-secrets.ts'
import { sinkWrites, writesOf } from '../graph/sink-writes.ts'
import { NOT_ON_SPARK } from './copy-query.ts'
import { type BoundPlan, sourceFields, typeGraph } from '../graph/type-graph.ts'
import { keyColumns } from '../sink/merge-key.ts'

/** A graph that can run, with its parameters resolved, and with `env:NAME` as the values of secrets. */
export interface RunnableGraph {
  readonly graph: PipelineGraph
  readonly plan: GraphPlan
  /** The plan that runs, for a graph with secrets; {@link plan} has `env:NAME` in their places. */
  readonly bound?: BoundPlan | undefined
}

/** A table that a query reads. */
export interface NamedSchema {
  readonly name: string
  readonly schema: Schema
}

/** The rows that reach the sink of a graph, as a query. */
export interface GraphRows {
  /** One per table, in the order of the tables. */
  readonly inputs: readonly CompiledInput[]
  readonly query: string
  readonly columns: readonly ResultColumn[]
  /** Readable reasons why the query cannot run; empty when it can. */
  readonly problems: readonly string[]
}

/** The query of a graph, for its batches or for its rows alone. */
export interface GraphQuery extends BatchQuery {
  /** The secrets that its batches use, as they are shown: `env:NAME`. */
  readonly secretNames: readonly string[]
  readonly hide: HideSecrets
  /**
   * The rows before they are matched with the columns of the sink, over tables that include the graph's sources. Queries of
   * several graphs over the same tables have the same inputs. Secrets have the text `env:NAME` as their values.
   */
  rowsOver(tables: readonly NamedSchema[]): Promise<GraphRows>
}

/**
 * Runs a graph: the whole graph is one query per batch, compiled again whenever a schema changes. Values of secrets are
 * parameters of the query that runs; no check, plan, type or name is made of them.
 */
export function createGraphQuery(runnable: RunnableGraph, sandbox: SqlSandbox): GraphQuery {
  const { graph, plan, bound } = runnable
  return {
    isUntrusted: true,
    reads: plan.reads.map(({ mode }) => mode),
    write: plan.write,
    secretNames: bound?.secretNames ?? [],
    hide: hideSecrets(Object.values(bound?.secrets ?? {})),
    compile: (schemas) => compile(runnable, schemas, sandbox),
    sparkBatch: async (schemas) => (bound === undefined ? compileForSpark(plan, schemas, sandbox) : NO_SECRETS),
    rowsOver: (tables) => compileRows(plan, tables, sandbox),
    usesColumn: async (column) => (await nodesReading(graph, column, sandbox)).length > 0,
  }
}

async function compile(
  { plan, bound }: RunnableGraph,
  { sources, sink }: BatchSchemas,
  sandbox: SqlSandbox,
): Promise<CompiledBatch> {
  const typed = await typeGraph({ plan, schemas: sources, sandbox, bound })
  const fitted = typed.columns && sinkWrites({ columns: typed.columns, ...writesOf(plan) }, sink, sandbox)
  const select = fitted?.select ?? ['*']
  const names = new Map([...typed.byNode].map(([id, columns]) => [id, columns.map(({ name }) => name)]))
  return {
    inputs: inputsOf(plan, sources),
    ...(fitted?.merge === undefined ? {} : { merge: fitted.merge }),
    query: bound === undefined ? graphSql(plan, select) : graphSql(bound.plan, select, names),
    ...(bound === undefined ? {} : { secrets: bound.secrets }),
    isRepeatable: false,
    isOneToOne: false,
    isUntrusted: true,
    pairs: [],
    missing: [],
    problems: [...typed.problems.map(readable), ...(fitted?.problems ?? []).map(({ message }) => message)],
  }
}

/** What Spark runs is text that its UI and logs show. */
const NO_SECRETS: SparkBatch = {
  query: '',
  problems: ['the query contains secrets, which Spark would show in its UI and logs; use the embedded engine'],
}

const FOLLOWS_CHANGES: SparkBatch = { query: '', problems: [NOT_ON_SPARK] }

async function compileForSpark(plan: GraphPlan, schemas: BatchSchemas, sandbox: SqlSandbox): Promise<SparkBatch> {
  if (plan.write.mode !== 'append' || followsChanges(plan)) return FOLLOWS_CHANGES
  const { byNode, problems } = await typeGraph({ plan, schemas: schemas.sources, sandbox })
  if (problems.length > 0) return { query: '', problems: problems.map(readable) }
  return sparkGraph({ plan, schemas, columns: byNode, sandbox })
}

async function compileRows(plan: GraphPlan, tables: readonly NamedSchema[], sandbox: SqlSandbox): Promise<GraphRows> {
  const names = tables.map(({ name }) => name)
  const reads = names.map((name) => plan.reads[plan.sources.indexOf(name)] ?? NOT_READ)
  const wide = { ...plan, sources: names, reads }
  const schemas = tables.map(({ schema }) => schema)
  const { columns, problems } = await typeGraph({ plan: wide, schemas, sandbox })
  return {
    inputs: inputsOf(wide, schemas),
    query: graphSql(wide, ['*']),
    columns: columns ?? [],
    problems: problems.map(readable),
  }
}

const NOT_READ: SourceRead = { mode: 'appends', key: [] }

function inputsOf(plan: GraphPlan, sources: readonly Schema[]): readonly CompiledInput[] {
  return sources.map((source, at) => {
    const { mode, key } = plan.reads[at] ?? NOT_READ
    const input = { name: sourceRelation(at), fields: sourceFields(plan, at, source), columnsBy: 'name' } as const
    if (mode === 'appends') return input
    return { ...input, changes: { keyIds: keyColumns(source, key).fields.map(({ id }) => id), isByRowId: false } }
  })
}

function readable({ nodeId, message }: GraphProblem): string {
  return `node ${nodeId ?? ''}: ${message}`
}

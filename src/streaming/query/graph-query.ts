import type { PipelineGraph } from '../../domain/graph.ts'
import type { QueryStep } from '../../engines/row-checks.ts'
import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type {
  BatchQuery,
  BatchSchemas,
  CompiledBatch,
  CompiledDivert,
  CompiledInput,
  CompiledLookup,
  NodeCheck,
  OtherTables,
  SparkBatch,
} from '../sink/batch-query.ts'
import { sparkChangeProblems } from '../spark/change-problems.ts'
import { sparkGraph } from '../spark/graph/graph-sql.ts'
import { lookupRelation, SINK_RELATION, sourceRelation } from '../graph/compile-graph.ts'
import { divertedRowColumns, fitDiverted } from '../graph/divert-columns.ts'
import type { GraphPlan, SourceRead } from '../graph/graph-plan.ts'
import type { GraphProblem } from '../graph/graph-problem.ts'
import { type GraphSteps, graphSteps } from '../graph/graph-steps.ts'
import { nodesReading } from '../graph/column-uses.ts'
import { type HideSecrets, hideSecrets } from '../graph/hide-secrets.ts'
import { sinkWrites, writesOf } from '../graph/sink-writes.ts'
import { type BoundPlan, sourceFields, type TypedGraph, typeGraph } from '../graph/type-graph.ts'
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
  /** One per table, in the order of the tables: sources, then lookups. */
  readonly inputs: readonly CompiledInput[]
  readonly steps: readonly QueryStep[]
  readonly checks: readonly NodeCheck[]
  readonly query: string
  readonly columns: readonly ResultColumn[]
  /** Readable reasons why the query cannot run; empty when it can. */
  readonly problems: readonly string[]
}

/** The query of a graph, for its batches or for its rows alone. */
export interface GraphQuery extends BatchQuery {
  /** The secrets that its batches use, as they are shown: `env:NAME`. */
  readonly secretNames: readonly string[]
  readonly others: OtherTables
  readonly hide: HideSecrets
  /**
   * The rows before they are matched with the columns of the sink, over tables that include the graph's sources. Queries of
   * several graphs over the same tables have the same inputs. Secrets have the text `env:NAME` as their values.
   */
  rowsOver(tables: RowsTables): Promise<GraphRows>
}

/** The tables of one or several graphs. */
export interface RowsTables {
  readonly sources: readonly NamedSchema[]
  readonly lookups: readonly NamedSchema[]
  /** Makes the names of steps different from those of another graph. */
  readonly prefix: string
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
    comparesWithSink: plan.nodes.some((node) => node.type === 'deduplicate' && node.config.against_sink === true),
    secretNames: bound?.secretNames ?? [],
    others: { lookups: plan.lookups, diverts: plan.diverts },
    hide: hideSecrets(Object.values(bound?.secrets ?? {})),
    compile: (schemas) => compile(runnable, schemas, sandbox),
    sparkBatch: async (schemas) => (bound === undefined ? compileForSpark(plan, schemas, sandbox) : NO_SECRETS),
    rowsOver: (tables) => compileRows(plan, tables, sandbox),
    usesColumn: async (column) => (await nodesReading(graph, column, sandbox)).length > 0,
  }
}

async function compile(runnable: RunnableGraph, schemas: BatchSchemas, sandbox: SqlSandbox): Promise<CompiledBatch> {
  const { plan, bound } = runnable
  const { sources, sink, others = new Map<string, Schema>() } = schemas
  const typed = await typeGraph({ plan, schemas: sources, lookups: others, sink, sandbox, bound })
  const fitted = typed.columns && sinkWrites({ columns: typed.columns, ...writesOf(plan) }, sink, sandbox)
  const made = graphSteps({ plan, running: bound?.plan, columns: typed.byNode, hasSink: true })
  const diverts = compileDiverts(made, { typed, others, sandbox, plan })
  return {
    inputs: inputsOf(plan, sources),
    ...(fitted?.merge === undefined ? {} : { merge: fitted.merge }),
    lookups: lookupsOf(plan, others).map((lookup) => projected(lookup, plan, sandbox)),
    ...sinkRowsOf(plan, sink, sandbox),
    query: made.query(fitted?.select ?? ['*']),
    ...(made.steps.length === 0 ? {} : { steps: made.steps, checks: made.checks, diverts: diverts.compiled }),
    ...(bound === undefined ? {} : { secrets: bound.secrets }),
    isRepeatable: false,
    isOneToOne: false,
    isUntrusted: true,
    pairs: [],
    missing: [],
    problems: [
      ...missingTables(plan, others),
      ...typed.problems.map(readable),
      ...(fitted?.problems ?? []).map(({ message }) => message),
      ...diverts.problems.map(readable),
    ],
  }
}

interface DivertContext {
  readonly typed: TypedGraph
  readonly others: ReadonlyMap<string, Schema>
  readonly sandbox: SqlSandbox
  readonly plan: GraphPlan
}

function compileDiverts(
  { diverted }: GraphSteps,
  { typed, others, sandbox, plan }: DivertContext,
): { readonly compiled: readonly CompiledDivert[]; readonly problems: readonly GraphProblem[] } {
  const problems: GraphProblem[] = []
  const compiled = diverted.flatMap(({ nodeId, table, query }): CompiledDivert[] => {
    const schema = others.get(table)
    const columns = divertedRowColumns({ plan, columns: typed.byNode }, nodeId)
    if (schema === undefined || columns === undefined) return []
    const fitted = fitDiverted(columns, nodeId, { schema, sandbox })
    problems.push(...fitted.problems)
    return [{ nodeId, table, query: (stamp) => query(stamp, fitted.select) }]
  })
  return { compiled, problems }
}

function lookupsOf({ lookups }: GraphPlan, others: ReadonlyMap<string, Schema>): readonly CompiledLookup[] {
  return lookups.map((table, at) => ({
    table,
    name: lookupRelation(at),
    fields: others.get(table)?.fields ?? [],
    columnsBy: 'name',
  }))
}

/** The key columns of the sink, if a node compares rows with those of the sink. */
function sinkRowsOf({ nodes }: GraphPlan, { fields }: Schema, sandbox: SqlSandbox): Pick<CompiledBatch, 'sinkRows'> {
  const keys = nodes.flatMap((node) =>
    node.type === 'deduplicate' && node.config.against_sink === true ? node.config.key : [],
  )
  if (keys.length === 0) return {}
  const names = new Set(keys.map((name) => name.toLowerCase()))
  return { sinkRows: withColumns({ name: SINK_RELATION, fields, columnsBy: 'name' }, names, sandbox) }
}

/** A lookup without the columns that no node reads; each batch reads the whole table. */
function projected(lookup: CompiledLookup, { nodes }: GraphPlan, sandbox: SqlSandbox): CompiledLookup {
  const used = new Set<string>()
  for (const node of nodes) {
    if (node.type !== 'lookup' || node.config.table !== lookup.table) continue
    const { on, columns } = node.config
    for (const name of [...on.map((key) => key.lookup_column), ...columns.map(({ column }) => column)])
      used.add(name.toLowerCase())
  }
  return withColumns(lookup, used, sandbox)
}

/** An input with some of its columns only; `used` has their names in lower case. */
function withColumns<Input extends CompiledInput>(input: Input, used: ReadonlySet<string>, sandbox: SqlSandbox): Input {
  const names = sandbox.columnsOf(input.fields).map(({ name }) => name.toLowerCase())
  // names that differ in their case only depend on the columns that are there
  if (input.fields.some(({ name }, at) => name.toLowerCase() !== names[at])) return input
  return { ...input, fields: input.fields.filter((_, at) => used.has(names[at] ?? '')) }
}

function missingTables({ lookups, diverts }: GraphPlan, others: ReadonlyMap<string, Schema>): readonly string[] {
  return [...new Set([...lookups, ...diverts])]
    .filter((table) => !others.has(table))
    .map((table) => `table ${table} does not exist`)
}

/** What Spark runs is text that its UI and logs show. */
const NO_SECRETS: SparkBatch = {
  query: '',
  problems: ['the query contains secrets, which Spark would show in its UI and logs; use the embedded engine'],
}

async function compileForSpark(plan: GraphPlan, schemas: BatchSchemas, sandbox: SqlSandbox): Promise<SparkBatch> {
  const changes = changesOnSpark(plan)
  if (changes.length > 0) return { query: '', problems: changes }
  const { byNode, problems } = await typeGraph({ plan, schemas: schemas.sources, lookups: schemas.others, sandbox })
  if (problems.length > 0) return { query: '', problems: problems.map(readable) }
  return sparkGraph({ plan, schemas, columns: byNode, sandbox })
}

function changesOnSpark({ nodes, write }: GraphPlan): readonly string[] {
  const reads = nodes.flatMap((node) =>
    node.type === 'iceberg-source' ? [{ place: `node ${node.id}: `, setting: node.config.read }] : [],
  )
  return sparkChangeProblems(reads, { place: `node ${nodes.at(-1)?.id ?? ''}: `, setting: write })
}

async function compileRows(plan: GraphPlan, tables: RowsTables, sandbox: SqlSandbox): Promise<GraphRows> {
  const { sources, lookups, prefix } = tables
  const names = sources.map(({ name }) => name)
  const reads = names.map((name) => plan.reads[plan.sources.indexOf(name)] ?? NOT_READ)
  const wide = { ...plan, sources: names, reads, lookups: lookups.map(({ name }) => name) }
  const schemas = sources.map(({ schema }) => schema)
  const others = new Map(lookups.map(({ name, schema }) => [name, schema]))
  const { columns, byNode, problems } = await typeGraph({ plan: wide, schemas, lookups: others, sandbox })
  const made = graphSteps({ plan: wide, columns: byNode, prefix })
  return {
    inputs: [...inputsOf(wide, schemas), ...lookupsOf(wide, others)],
    steps: made.steps,
    checks: made.checks,
    query: made.query(['*']),
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

import { isTableMissing } from '../../catalog/load-if-present.ts'
import { mayBeSameTable, parseIdentifier } from '../../catalog/table-identifier.ts'
import type { PipelineGraph } from '../../domain/graph.ts'
import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'
import { divertedRowColumns, fitDiverted } from '../../streaming/graph/divert-columns.ts'
import { divertTable, type GraphPlan, type PlannedGraph, planGraph } from '../../streaming/graph/graph-plan.ts'
import { graphError, type GraphProblem, isRunnable } from '../../streaming/graph/graph-problem.ts'
import type { ParameterValues } from '../../streaming/graph/parameter-text.ts'
import { sinkWrites, writesOf } from '../../streaming/graph/sink-writes.ts'
import { type BoundPlan, type TypedGraph, typeGraph } from '../../streaming/graph/type-graph.ts'
import { createGraphQuery } from '../../streaming/query/graph-query.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { EnvironmentView } from '../../schemas/environments.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'
import { writesProblem } from '../environments/write-rules.ts'

export interface GraphCheckDeps {
  readonly catalog: CatalogService
  readonly sandbox: SqlSandbox
  readonly environments: EnvironmentService
}

/** A graph with its parameters resolved, checked against the current tables. */
export interface CheckedGraph extends PlannedGraph {
  /** With `env:NAME` as the values of secrets. */
  readonly graph: PipelineGraph
  /** What runs, for a graph with secrets. */
  readonly bound?: BoundPlan | undefined
  /** The columns that reach the sink; undefined while problems prevent determining them. */
  readonly columns?: readonly ResultColumn[] | undefined
  /** Whether the sink table exists; undefined while no sink is known. */
  readonly sinkExists?: boolean | undefined
  /** Tables of diverted rows that do not exist, with the columns that they need. */
  readonly missingDiverts?: readonly MissingTable[] | undefined
}

/** A table that a graph writes and that does not exist. */
export interface MissingTable {
  readonly table: string
  readonly nodeId: string
  readonly columns: readonly ResultColumn[]
}

/** Resolves a graph and finds all problems that prevent it from running with the current tables. */
export async function checkRunnable(
  deps: GraphCheckDeps,
  raw: PipelineGraph,
  parameters: ParameterValues,
): Promise<CheckedGraph> {
  const resolved = planResolved(deps.environments, raw, parameters)
  const { plan, problems, bound } = resolved
  if (plan === undefined) return resolved
  const found = await checkTables(deps, plan, bound)
  return { ...resolved, ...found, problems: [...problems, ...found.problems] }
}

/** The same, and whether the environment may write the sink. */
export async function checkAllowed(
  deps: GraphCheckDeps,
  raw: PipelineGraph,
  view: EnvironmentView,
): Promise<CheckedGraph> {
  const checked = await checkRunnable(deps, raw, view.parameters)
  const { plan, problems } = checked
  if (plan === undefined) return checked
  const refused: GraphProblem[] = []
  for (const { table, nodeId } of writtenTables(plan)) {
    const message = await writesProblem(view, { catalog: deps.catalog.current(), table })
    if (message !== undefined) refused.push(graphError(nodeId, 'SINK_NOT_ALLOWED', message))
  }
  return refused.length === 0 ? checked : { ...checked, problems: [...problems, ...refused] }
}

/** The tables that a graph writes, with the nodes that write them: the sink first. */
export function writtenTables(plan: GraphPlan): readonly { readonly table: string; readonly nodeId: string | null }[] {
  const diverts = plan.nodes.flatMap((node) => {
    const table = divertTable(node)
    return table === undefined ? [] : [{ table, nodeId: node.id }]
  })
  return [{ table: plan.sink, nodeId: sinkNodeOf(plan) }, ...diverts]
}

/** Resolves and plans a graph without looking at tables. */
export function planResolved(
  environments: EnvironmentService,
  raw: PipelineGraph,
  parameters: ParameterValues,
): PlannedGraph & Pick<CheckedGraph, 'graph' | 'bound'> {
  const { graph, bound, problems, secrets, secretNames } = environments.resolve(raw, parameters)
  const planned = planGraph(graph)
  if (problems.length > 0) {
    const unresolved = new Set(problems.map(({ nodeId }) => nodeId))
    const others = planned.problems.filter(({ nodeId, code }) => code !== 'INVALID_CONFIG' || !unresolved.has(nodeId))
    return { plan: undefined, problems: [...problems, ...others], graph }
  }
  if (secretNames.length === 0) return { ...planned, graph }
  const { plan, problems: ofBound } = planGraph(bound)
  if (plan === undefined) return { plan, problems: ofBound, graph }
  return { ...planned, graph, bound: { plan, secrets, secretNames } }
}

async function checkTables(
  deps: GraphCheckDeps,
  plan: GraphPlan,
  bound: BoundPlan | undefined,
): Promise<Pick<CheckedGraph, 'problems' | 'columns' | 'sinkExists' | 'missingDiverts'>> {
  const all: GraphProblem[] = []
  const schemas = await Promise.all(plan.sources.map((table) => loadSchema(deps, table)))
  for (const [at, loaded] of schemas.entries())
    if (typeof loaded === 'string') all.push(...atTables(plan, plan.sources[at], loaded))
  const sink = await loadSchema(deps, plan.sink)
  if (typeof sink === 'string') all.push(...atTables(plan, plan.sink, sink))
  if (plan.sources.includes(plan.sink)) {
    all.push(graphError(sinkNodeOf(plan), 'INVALID_CONFIG', 'table: the sink must differ from the sources'))
  }
  const known = schemas.map((loaded) => (typeof loaded === 'string' ? undefined : loaded))
  const lookups = await loadLookups(deps, plan, all)
  const sinkSchema = typeof sink === 'string' ? undefined : sink
  const typed = await typeGraph({ plan, schemas: known, lookups, sink: sinkSchema, sandbox: deps.sandbox, bound })
  all.push(...typed.problems)
  const diverts = await checkDiverts(deps, plan, typed)
  all.push(...diverts.problems)
  if (typed.columns !== undefined && typeof sink !== 'string') {
    const fitted = sinkWrites({ columns: typed.columns, ...writesOf(plan) }, sink, deps.sandbox)
    all.push(...fitted.problems.map(({ code, message }) => graphError(sinkNodeOf(plan), code, message)))
  }
  const { missing: missingDiverts } = diverts
  return { problems: all, columns: typed.columns, sinkExists: typeof sink !== 'string', missingDiverts }
}

async function loadLookups(
  deps: GraphCheckDeps,
  plan: GraphPlan,
  problems: GraphProblem[],
): Promise<ReadonlyMap<string, Schema>> {
  const lookups = new Map<string, Schema>()
  for (const table of plan.lookups) {
    const loaded = await loadSchema(deps, table)
    if (typeof loaded === 'string') problems.push(...atTables(plan, table, loaded))
    else lookups.set(table, loaded)
  }
  return lookups
}

/** The problems of tables of diverted rows, and those that do not exist. */
async function checkDiverts(
  deps: GraphCheckDeps,
  plan: GraphPlan,
  typed: TypedGraph,
): Promise<{ readonly problems: readonly GraphProblem[]; readonly missing: readonly MissingTable[] }> {
  const problems: GraphProblem[] = []
  const missing: MissingTable[] = []
  for (const node of plan.nodes) {
    const table = divertTable(node)
    if (table === undefined) continue
    const taken = [plan.sink, ...plan.sources].find((name) => mayBeSameTable(name, table))
    if (taken !== undefined) {
      const what = taken === plan.sink ? 'the sink' : 'a source'
      problems.push(
        graphError(node.id, 'INVALID_CONFIG', `divert_to: ${table} is ${what}: divert rows into another table`),
      )
      continue
    }
    const loaded = await loadSchema(deps, table)
    const columns = divertedRowColumns({ plan, columns: typed.byNode }, node.id)
    if (typeof loaded === 'string') {
      problems.push(graphError(node.id, 'NO_SUCH_TABLE', `divert_to: ${loaded}`))
      if (columns !== undefined) missing.push({ table, nodeId: node.id, columns })
    } else if (columns !== undefined) {
      problems.push(...fitDiverted(columns, node.id, { schema: loaded, sandbox: deps.sandbox }).problems)
    }
  }
  return { problems, missing }
}

/** The schema of a table, or the reason why it is not available. */
export async function loadSchema(
  { catalog }: Pick<GraphCheckDeps, 'catalog'>,
  table: string,
): Promise<Schema | string> {
  try {
    return currentSchema((await catalog.current().loadTable(parseIdentifier(table))).metadata)
  } catch (error) {
    if (isTableMissing(error) || isIcebergError(error, 'INVALID_ARGUMENT')) return `table ${table} does not exist`
    throw error
  }
}

function atTables({ nodes }: GraphPlan, table: string | undefined, message: string): GraphProblem[] {
  return nodes.flatMap((node) =>
    'table' in node.config && node.config.table === table ? [graphError(node.id, 'NO_SUCH_TABLE', message)] : [],
  )
}

/** The ids of the nodes that read or write tables, by the table's name. */
export function tableNodes({ nodes }: GraphPlan): ReadonlyMap<string, string> {
  return new Map(
    nodes.flatMap((node) => {
      const divert = divertTable(node)
      if (divert !== undefined) return [[divert, node.id] as const]
      return 'table' in node.config ? [[node.config.table, node.id] as const] : []
    }),
  )
}

/** The id of the sink's node. */
export function sinkNodeOf({ nodes }: GraphPlan): string | null {
  return nodes.at(-1)?.id ?? null
}

/**
 * Why Spark cannot run a graph with the rows of the embedded engine, each with its node and what to do; empty if Spark can. Null while
 * other problems prevent determining them.
 */
export async function sparkProblems(
  deps: Pick<GraphCheckDeps, 'catalog' | 'sandbox'>,
  { plan, graph, bound, problems, columns, sinkExists }: CheckedGraph,
): Promise<readonly string[] | null> {
  const others = problems.filter(({ code }) => sinkExists === true || code !== 'NO_SUCH_TABLE')
  if (plan === undefined || columns === undefined || !isRunnable(others)) return null
  const sources: Schema[] = []
  for (const table of plan.sources) {
    const schema = await loadSchema(deps, table)
    if (typeof schema === 'string') return null
    sources.push(schema)
  }
  const existing = await loadSchema(deps, plan.sink)
  const sink = typeof existing === 'string' ? sinkOf(columns) : existing
  const batch = await createGraphQuery({ graph, plan, bound }, deps.sandbox).sparkBatch?.({ sources, sink, known: [] })
  return batch?.problems ?? null
}

/** The sink that would be created from columns. */
function sinkOf(columns: readonly ResultColumn[]): Schema {
  const fields = columns.flatMap(({ name, type }, at): NestedField[] =>
    type === undefined ? [] : [{ id: at + 1, name, required: false, type }],
  )
  return { schemaId: 0, identifierFieldIds: [], fields }
}

import { parseIdentifier } from '../../catalog/table-identifier.ts'
import type { PipelineGraph } from '../../domain/graph.ts'
import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { type GraphPlan, type PlannedGraph, planGraph } from '../../streaming/graph/graph-plan.ts'
import { graphError, type GraphProblem } from '../../streaming/graph/graph-problem.ts'
import { type HideSecrets, hideSecrets, withoutSecrets } from '../../streaming/graph/hide-secrets.ts'
import type { ParameterValues } from '../../streaming/graph/parameter-text.ts'
import { sinkColumns } from '../../streaming/graph/sink-columns.ts'
import { typeGraph } from '../../streaming/graph/type-graph.ts'
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
  /** With secrets: never show it. */
  readonly graph: PipelineGraph
  readonly secrets: readonly string[]
  /** The columns that reach the sink; undefined while problems prevent determining them. */
  readonly columns?: readonly ResultColumn[] | undefined
}

/** Resolves a graph and finds all problems that prevent it from running with the current tables. */
export async function checkRunnable(
  deps: GraphCheckDeps,
  raw: PipelineGraph,
  parameters: ParameterValues,
): Promise<CheckedGraph> {
  const { plan, problems, graph, secrets } = planResolved(deps.environments, raw, parameters)
  if (plan === undefined) return { plan, problems, graph, secrets }
  const shown = secrets.length === 0 ? { plan, problems, secrets } : planShown(deps.environments, raw, parameters)
  if (shown.plan === undefined) return { plan: undefined, problems: shown.problems, graph, secrets }
  const hide = hideSecrets(shown.secrets)
  try {
    const found = await checkTables(deps, shown.plan, hide)
    const all = [...problems, ...found.problems].map((problem) => ({ ...problem, message: hide(problem.message) }))
    return { plan, graph, secrets, problems: all, columns: found.columns }
  } catch (error) {
    throw withoutSecrets(error, hide)
  }
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
  const message = await writesProblem(view, { catalog: deps.catalog.current(), table: plan.sink })
  if (message === undefined) return checked
  return { ...checked, problems: [...problems, graphError(sinkNodeOf(plan), 'SINK_NOT_ALLOWED', message)] }
}

/** Resolves and plans a graph without looking at tables. */
export function planResolved(
  environments: EnvironmentService,
  raw: PipelineGraph,
  parameters: ParameterValues,
): PlannedGraph & Pick<CheckedGraph, 'graph' | 'secrets'> {
  const { graph, problems, secrets } = environments.resolve(raw, parameters)
  const planned = planGraph(graph)
  if (problems.length === 0) return { ...planned, graph, secrets }
  const unresolved = new Set(problems.map(({ nodeId }) => nodeId))
  const others = planned.problems.filter(({ nodeId, code }) => code !== 'INVALID_CONFIG' || !unresolved.has(nodeId))
  return { plan: undefined, problems: [...problems, ...others], graph, secrets }
}

/** A plan with the names of secrets in the place of their values, because types and messages tell what they are made of. */
function planShown(
  environments: EnvironmentService,
  raw: PipelineGraph,
  parameters: ParameterValues,
): PlannedGraph & Pick<CheckedGraph, 'secrets'> {
  const { graph, secrets } = environments.resolveForDisplay(raw, parameters)
  return { ...planGraph(graph), secrets }
}

async function checkTables(
  deps: GraphCheckDeps,
  plan: GraphPlan,
  hide: HideSecrets,
): Promise<Pick<CheckedGraph, 'problems' | 'columns'>> {
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
  const typed = await typeGraph({ plan, schemas: known, sandbox: deps.sandbox })
  all.push(...typed.problems)
  if (typed.columns?.some(({ name }) => hide(name) !== name) === true) {
    const message = 'the name of a column contains the value of a secret: name the column with AS'
    return { problems: [...all, graphError(sinkNodeOf(plan), 'INVALID_PARAMETER', message)], columns: undefined }
  }
  if (typed.columns !== undefined && typeof sink !== 'string') {
    const fitted = sinkColumns(typed.columns, sink, deps.sandbox)
    all.push(...fitted.problems.map(({ code, message }) => graphError(sinkNodeOf(plan), code, message)))
  }
  return { problems: all, columns: typed.columns }
}

/** The schema of a table, or the reason why it is not available. */
export async function loadSchema(
  { catalog }: Pick<GraphCheckDeps, 'catalog'>,
  table: string,
): Promise<Schema | string> {
  try {
    return currentSchema((await catalog.current().loadTable(parseIdentifier(table))).metadata)
  } catch (error) {
    const isMissing = isIcebergError(error, 'NO_SUCH_TABLE') || isIcebergError(error, 'NO_SUCH_NAMESPACE')
    if (isMissing || isIcebergError(error, 'INVALID_ARGUMENT')) return `there is no table ${table}`
    throw error
  }
}

function atTables({ nodes }: GraphPlan, table: string | undefined, message: string): GraphProblem[] {
  return nodes.flatMap((node) =>
    (node.type === 'iceberg-source' || node.type === 'iceberg-sink') && node.config.table === table
      ? [graphError(node.id, 'NO_SUCH_TABLE', message)]
      : [],
  )
}

/** The ids of the nodes that read or write tables, by the table's name. */
export function tableNodes({ nodes }: GraphPlan): ReadonlyMap<string, string> {
  return new Map(
    nodes.flatMap((node) =>
      node.type === 'iceberg-source' || node.type === 'iceberg-sink' ? [[node.config.table, node.id] as const] : [],
    ),
  )
}

/** The id of the sink's node. */
export function sinkNodeOf({ nodes }: GraphPlan): string | null {
  return nodes.at(-1)?.id ?? null
}

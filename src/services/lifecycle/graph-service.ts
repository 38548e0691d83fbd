import { z } from 'zod'
import type { Environment, RunEnvironment } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import type { PipelineGraph } from '../../domain/graph.ts'
import type { ResultColumn, SqlSandbox } from '../../engines/sql-sandbox.ts'
import { NODE_TYPE_INFO, NODE_TYPES, nodeConfigs, type nodeTypeList } from '../../schemas/node-types.ts'
import type { EnvironmentView } from '../../schemas/environments.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { VersionRecord } from '../../storage/stores/version-store.ts'
import type { TouchedColumn } from '../../maintenance/evolve.ts'
import type { ColumnUse } from '../../maintenance/table-guard.ts'
import type { BatchQuery } from '../../streaming/sink/batch-query.ts'
import { planGraph } from '../../streaming/graph/graph-plan.ts'
import { withoutChangeColumns } from '../../streaming/graph/sink-writes.ts'
import { createGraphQuery } from '../../streaming/query/graph-query.ts'
import { type GraphProblem, isRunnable } from '../../streaming/graph/graph-problem.ts'
import type { ParameterValues } from '../../streaming/graph/parameter-text.ts'
import { PipelineStopped, type StopCode } from '../../streaming/pipeline-errors.ts'
import type { RequestContext } from '../../domain/audit.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'
import {
  createSinkTable,
  type SinkColumnView,
  sinkColumnViews,
  type SinkTableDeps,
} from '../pipelines/create-sink-table.ts'
import {
  checkAllowed,
  type CheckedGraph,
  checkRunnable,
  loadSchema,
  type MissingTable,
  planResolved,
  sparkProblems,
  tableNodes,
  writtenTables,
} from './check-graph.ts'
import { requireGraph } from './require-graph.ts'
import { versionsUsing } from './versions-using.ts'
import { requireRoleIn, requireWritesMatch } from '../environments/write-rules.ts'
import type { CompiledVersion } from '../pipelines/pipeline-deps.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

export interface GraphServiceDeps extends SinkTableDeps {
  readonly stores: LifecycleStores
  readonly catalog: CatalogService
  readonly sandbox: SqlSandbox
  readonly environments: EnvironmentService
  /** Whether pipelines can run on Spark here, so that validations say what prevents it. */
  readonly hasSpark: boolean
}

/** A table that a graph writes and that does not exist. */
interface MissingTableView {
  readonly table: string
  /** The nodes that write it. */
  readonly node_ids: readonly string[]
  /** Null while problems prevent determining them. */
  readonly columns: readonly SinkColumnView[] | null
}

/** The problems that prevent a graph from running, as the API returns them. */
export interface GraphValidationView {
  readonly success: true
  readonly runnable: boolean
  readonly problems: readonly {
    readonly node_id: string | null
    readonly code: GraphProblem['code']
    readonly message: string
    readonly severity: GraphProblem['severity']
    readonly parameter?: string
  }[]
  readonly source_tables: readonly string[]
  readonly sink_table: string | null
  readonly lookup_tables: readonly string[]
  readonly divert_tables: readonly string[]
  /** Tables that the graph writes and that do not exist. */
  readonly missing_tables: readonly MissingTableView[]
  /** Whether the sink table exists; null while no sink is known. */
  readonly sink_exists: boolean | null
  /** The columns that reach the sink; null while problems prevent determining them. */
  readonly sink_columns: readonly SinkColumnView[] | null
  /** Why Spark cannot run it with the same rows; null without Spark, and while other problems prevent determining this. */
  readonly spark_problems: readonly string[] | null
}

/** The same for a version. */
export interface ValidationView extends GraphValidationView {
  readonly definition_id: string
  readonly version_id: string
}

/** A table that was created for a version. */
export interface CreatedSink {
  readonly success: true
  readonly table: string
  readonly columns: readonly SinkColumnView[]
  /** All tables that were created. */
  readonly tables: readonly { readonly table: string; readonly columns: readonly SinkColumnView[] }[]
}

/** Versions of pipeline definitions as runnable pipelines (docs/api.md#pipeline-definitions). */
export interface GraphService {
  /** The runnable node types, with JSON Schemas of their configs. */
  nodeTypes(): Wire<typeof nodeTypeList>['node_types']
  /**
   * All problems that keep a user from running a version with the current tables and the parameters of an environment;
   * default: its own, production for a retired version. Throws `NOT_FOUND`.
   */
  validate(version: VersionPlace, user: string): Promise<ValidationView>
  /** The same for a graph that is not saved as a version; default: development. Throws `INVALID_GRAPH`. */
  validateGraph(
    graph: PipelineGraph,
    environment: RunEnvironment | undefined,
    user: string,
  ): Promise<GraphValidationView>
  /**
   * Creates the table that a version writes, from the columns that reach it. Throws `NOT_FOUND`, `TABLE_EXISTS`, and
   * `UNPROCESSABLE` when there are other problems than the missing table, and `FORBIDDEN` when the caller or the
   * environment must not write it.
   */
  createSink(version: VersionPlace, context: RequestContext): Promise<CreatedSink>
  /** Where a version runs. Throws `NOT_FOUND`, and `CONFLICT` for a retired one. */
  environmentOf(versionId: string): Promise<RunEnvironment>
  /**
   * A version, compiled to run in an environment; default: its own. Throws `NOT_FOUND`, `CONFLICT` for a retired version
   * without an environment, `UNPROCESSABLE` with the problems by node, and `FORBIDDEN` for a sink that the environment
   * must not write.
   */
  compileVersion(versionId: string, user: string, environment?: RunEnvironment): Promise<CompiledVersion>
  /** Versions in uat and production that would break when the columns are renamed or dropped. */
  columnUsers(table: string, columns: readonly TouchedColumn[]): Promise<readonly ColumnUse[]>
  /** The query of a pipeline that was started from a version; undefined for one that copies a table. */
  queryOf(pipeline: StartedPipeline): Promise<BatchQuery | undefined>
}

/** A version of a definition, and the environment to look at it in. */
export interface VersionPlace {
  readonly definitionId: string
  readonly versionId: string
  readonly environment?: RunEnvironment | undefined
}

/** What the query of a pipeline depends on. */
export interface StartedPipeline {
  readonly versionId?: string
  readonly createdBy: string
  /** As stored at its start; absent: started before there were parameters. */
  readonly parameters?: ParameterValues
}

/** A graph service over the stored versions and the current catalog. */
export function createGraphService(deps: GraphServiceDeps): GraphService {
  const { stores, sandbox } = deps
  return {
    nodeTypes: () => NODE_TYPES.map(describeNodeType),
    async validate(place, user) {
      const { version, view } = await findPlace(deps, place)
      const validation = await validationOf(depsOf(deps, user), version.graph, view)
      return { ...validation, definition_id: version.definitionId, version_id: version.id }
    },
    async validateGraph(graph, environment = 'development', user) {
      requireGraph(graph)
      const { value: view } = await deps.environments.get(environment)
      return validationOf(depsOf(deps, user), graph, view)
    },
    async createSink(place, context) {
      const { version, view } = await findPlace(deps, place)
      requireRoleIn(view.environment, context.caller)
      const checked = await checkRunnable(depsOf(deps, context.caller.user), version.graph, view.parameters)
      const { plan, columns, sinkExists, missingDiverts = [] } = checked
      const created = plan === undefined ? [] : writtenTables(plan)
      const isMissing = ({ code, nodeId }: GraphProblem): boolean =>
        code === 'NO_SUCH_TABLE' && created.some((written) => written.nodeId === nodeId)
      const others = checked.problems.filter((problem) => !isMissing(problem))
      if (plan === undefined || columns === undefined || !isRunnable(others)) throw notRunnable(version, others)
      const diverts = mergedByTable(missingDiverts)
      // a sink that exists is refused by the catalog, unless another table is to be created
      const wanted = new Map([
        ...(sinkExists === true && diverts.size > 0 ? [] : [[plan.sink, columns] as const]),
        ...diverts,
      ])
      const catalog = deps.catalog.current()
      for (const table of wanted.keys()) await requireWritesMatch(view, { catalog, table })
      const tables = []
      for (const [table, own] of wanted) {
        const write = table === plan.sink ? plan.write : APPENDED
        await createSinkTable(deps, { catalog, table, columns: own, write }, context)
        tables.push({ table, columns: sinkColumnViews(withoutChangeColumns(own, write)) })
      }
      const [first = { table: plan.sink, columns: [] }] = tables
      return { success: true, ...first, tables }
    },
    environmentOf: async (versionId) => environmentOf(await findById(stores, versionId)),
    compileVersion: (versionId, user, environment) => compileVersion(deps, { versionId, user, environment }),
    columnUsers: (table, columns) =>
      versionsUsing(table, columns, {
        stores,
        sandbox,
        environments: deps.environments,
        loadSchema: async (table) => {
          const schema = await loadSchema(deps, table)
          return typeof schema === 'string' ? undefined : schema
        },
      }),
    queryOf: (pipeline) => queryOf(deps, pipeline),
  }
}

/** The columns of each table; several nodes may divert rows into one. */
function mergedByTable(missing: readonly MissingTable[]): ReadonlyMap<string, readonly ResultColumn[]> {
  const merged = new Map<string, ResultColumn[]>()
  for (const { table, columns } of missing) {
    const known = merged.get(table) ?? []
    const names = new Set(known.map(({ name }) => name.toLowerCase()))
    merged.set(table, [...known, ...columns.filter(({ name }) => !names.has(name.toLowerCase()))])
  }
  return merged
}

/** How diverted rows get into their table. */
const APPENDED = { mode: 'append' } as const

interface Compilation {
  readonly versionId: string
  readonly user: string
  readonly environment: RunEnvironment | undefined
}

async function compileVersion(deps: GraphServiceDeps, asked: Compilation): Promise<CompiledVersion> {
  const version = await findById(deps.stores, asked.versionId)
  const { value: view } = await deps.environments.get(asked.environment ?? environmentOf(version))
  const { environment, parameters } = view
  const checked = await checkRunnable(depsOf(deps, asked.user), version.graph, parameters)
  const { plan, problems, graph, bound } = checked
  if (plan === undefined || !isRunnable(problems)) throw notRunnable(version, problems)
  const catalog = deps.catalog.current()
  for (const { table } of writtenTables(plan)) await requireWritesMatch(view, { catalog, table })
  return {
    definitionId: version.definitionId,
    versionId: version.id,
    environment,
    parameters,
    sources: plan.sources,
    sink: plan.sink,
    nodeOf: tableNodes(plan),
    query: createGraphQuery({ graph, plan, bound }, deps.sandbox.forOwner(asked.user)),
  }
}

async function queryOf(
  { stores, sandbox, environments }: GraphServiceDeps,
  { versionId, createdBy, parameters }: StartedPipeline,
): Promise<BatchQuery | undefined> {
  if (versionId === undefined) return undefined
  const version = await stores.versions.findById(versionId)
  if (version === undefined) {
    return endedQuery('VERSION_LOST', `version ${versionId} of this pipeline no longer exists`)
  }
  const planned =
    parameters === undefined
      ? { ...planGraph(version.graph), graph: version.graph, bound: undefined }
      : planResolved(environments, version.graph, parameters)
  const { plan, graph, bound } = planned
  if (plan !== undefined) return createGraphQuery({ graph, plan, bound }, sandbox.forOwner(createdBy))
  const problem = planned.problems.find(({ severity }) => severity === 'error')
  const what = `version ${versionId} can no longer run: node ${problem?.nodeId ?? ''}: ${problem?.message ?? ''}`
  return endedQuery(problem?.code === 'MISSING_SECRET' ? 'MISSING_SECRET' : 'VERSION_LOST', what)
}

/** A version and the environment to look at it in; production stands in for retired. */
async function findPlace(
  deps: GraphServiceDeps,
  { definitionId, versionId, environment }: VersionPlace,
): Promise<{ readonly version: VersionRecord; readonly view: EnvironmentView }> {
  const version = await findVersion(deps.stores, definitionId, versionId)
  const { value: view } = await deps.environments.get(environment ?? runEnvironmentOf(version.environment))
  return { version, view }
}

function runEnvironmentOf(environment: Environment): RunEnvironment {
  return environment === 'retired' ? 'production' : environment
}

function depsOf(deps: GraphServiceDeps, user: string): GraphServiceDeps {
  return { ...deps, sandbox: deps.sandbox.forOwner(user) }
}

async function findVersion(stores: LifecycleStores, definitionId: string, versionId: string): Promise<VersionRecord> {
  const version = await stores.versions.find(definitionId, versionId)
  if (version) return version
  throw new DomainError('NOT_FOUND', `no version ${versionId} of pipeline definition ${definitionId}`)
}

function describeNodeType(type: (typeof NODE_TYPES)[number]) {
  const { title, description, inputs, hasOutput } = NODE_TYPE_INFO[type]
  const { $schema: _, ...schema } = z.toJSONSchema(nodeConfigs[type], { io: 'input' })
  return { type, title, description, inputs, has_output: hasOutput, config_schema: schema }
}

async function validationOf(
  deps: GraphServiceDeps,
  graph: PipelineGraph,
  view: EnvironmentView,
): Promise<GraphValidationView> {
  const checked = await checkAllowed(deps, graph, view)
  return { ...validationView(checked), spark_problems: deps.hasSpark ? await sparkProblems(deps, checked) : null }
}

function validationView(checked: CheckedGraph): Omit<GraphValidationView, 'spark_problems'> {
  const { plan, problems, columns, sinkExists } = checked
  return {
    success: true,
    runnable: isRunnable(problems),
    problems: problems.map(({ nodeId, ...problem }) => ({ node_id: nodeId, ...problem })),
    source_tables: plan?.sources ?? [],
    sink_table: plan?.sink ?? null,
    lookup_tables: plan?.lookups ?? [],
    divert_tables: plan?.diverts ?? [],
    missing_tables: missingTables(checked),
    sink_exists: sinkExists ?? null,
    sink_columns: columns ? sinkColumnViews(columns) : null,
  }
}

function missingTables(checked: CheckedGraph): GraphValidationView['missing_tables'] {
  const { plan, columns, sinkExists, missingDiverts = [] } = checked
  const sink = plan !== undefined && sinkExists === false ? [{ table: plan.sink, columns }] : []
  const diverts = [...mergedByTable(missingDiverts)].map(([table, own]) => ({ table, columns: own }))
  const writers = plan === undefined ? [] : writtenTables(plan)
  return [...sink, ...diverts].map(({ table, columns: own }) => ({
    table,
    node_ids: writers.flatMap(({ table: written, nodeId }) => (written === table && nodeId !== null ? [nodeId] : [])),
    columns: own ? sinkColumnViews(own) : null,
  }))
}

function notFound(versionId: string): DomainError {
  return fieldRefusal('NOT_FOUND', [{ path: 'version_id', message: `names no version: ${versionId}` }])
}

async function findById({ versions }: LifecycleStores, versionId: string): Promise<VersionRecord> {
  const version = await versions.findById(versionId)
  if (version) return version
  throw notFound(versionId)
}

function environmentOf({ id, environment }: VersionRecord): RunEnvironment {
  if (environment !== 'retired') return environment
  const message = `names version ${id}, which is retired: retired versions cannot run`
  throw fieldRefusal('CONFLICT', [{ path: 'version_id', message }])
}

function notRunnable({ id, graph }: VersionRecord, problems: readonly GraphProblem[]): DomainError {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const fields = errors.map(({ nodeId, message }) => {
    const at = graph.nodes.findIndex((node) => node.id === nodeId)
    return { path: at < 0 ? 'version_id' : `nodes.${at}`, message }
  })
  return new DomainError('UNPROCESSABLE', `version ${id} cannot run: ${fields[0]?.message ?? ''}`, { fields })
}

/** A query of a pipeline that can never run again. */
function endedQuery(code: StopCode, message: string): BatchQuery {
  const end = (): never => {
    throw new PipelineStopped(code, message)
  }
  return { requireRunnable: end, compile: end }
}

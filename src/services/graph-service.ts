import { z } from 'zod'
import { parseIdentifier } from '../catalog/table-identifier.ts'
import { DomainError } from '../domain/errors.ts'
import type { PipelineGraph } from '../domain/graph.ts'
import type { ResultColumn, SqlSandbox } from '../engines/sql-sandbox.ts'
import { isIcebergError } from '../iceberg/errors.ts'
import { currentSchema } from '../iceberg/metadata.ts'
import type { Schema } from '../iceberg/schema.ts'
import { NODE_TYPE_INFO, NODE_TYPES, nodeConfigs } from '../schemas/node-types.ts'
import type { LifecycleStores } from '../storage/lifecycle-stores.ts'
import type { VersionRecord } from '../storage/version-store.ts'
import type { ColumnUser } from '../maintenance/table-guard.ts'
import type { BatchQuery } from '../streaming/batch-query.ts'
import type { AskedColumn } from '../streaming/graph/column-uses.ts'
import { createGraphQuery } from '../streaming/graph/graph-query.ts'
import { type GraphPlan, planGraph } from '../streaming/graph/graph-plan.ts'
import { graphError, type GraphProblem, isRunnable } from '../streaming/graph/graph-problem.ts'
import { sinkColumns } from '../streaming/graph/sink-columns.ts'
import { typeGraph } from '../streaming/graph/type-graph.ts'
import { PipelineStopped } from '../streaming/pipeline-errors.ts'
import type { RequestContext } from '../domain/audit.ts'
import type { CatalogService } from './catalog-service.ts'
import { createSinkTable, type SinkColumnView, sinkColumnViews, type SinkTableDeps } from './create-sink-table.ts'
import { requireGraph } from './lifecycle/require-graph.ts'
import { versionsUsing } from './lifecycle/versions-using.ts'
import type { CompiledVersion } from './pipeline-service.ts'

export interface GraphServiceDeps extends SinkTableDeps {
  readonly stores: LifecycleStores
  readonly catalog: CatalogService
  readonly sandbox: SqlSandbox
}

/** What keeps a graph from running, in the shape of the interface. */
export interface GraphValidationView {
  readonly success: true
  readonly runnable: boolean
  readonly problems: readonly {
    readonly node_id: string | null
    readonly code: GraphProblem['code']
    readonly message: string
    readonly severity: GraphProblem['severity']
  }[]
  readonly source_tables: readonly string[]
  readonly sink_table: string | null
  /** What reaches the sink; null while problems keep that from being known. */
  readonly sink_columns: readonly SinkColumnView[] | null
}

/** The same of a version. */
export interface ValidationView extends GraphValidationView {
  readonly definition_id: string
  readonly version_id: string
}

/** A table that was made for a version. */
export interface CreatedSink {
  readonly success: true
  readonly table: string
  readonly columns: readonly SinkColumnView[]
}

/** Versions of pipeline definitions as things that run (contract, section 7). */
export interface GraphService {
  /** The types of nodes that can run, with JSON Schemas of their configs. */
  nodeTypes(): readonly object[]
  /** Everything that keeps a version from running with the tables as they are. Throws `NOT_FOUND`. */
  validate(definitionId: string, versionId: string, context: RequestContext): Promise<ValidationView>
  /** The same for a graph that is no version yet. Throws `INVALID_GRAPH`. */
  validateGraph(graph: PipelineGraph, context: RequestContext): Promise<GraphValidationView>
  /**
   * Makes the table that a version writes, of the columns that reach it. Throws `NOT_FOUND`, `TABLE_EXISTS`, and
   * `UNPROCESSABLE` when more than the table is missing.
   */
  createSink(definitionId: string, versionId: string, context: RequestContext): Promise<CreatedSink>
  /** A version, ready to run. Throws `NOT_FOUND`, and `UNPROCESSABLE` with the problems by node. */
  compileVersion(versionId: string, user: string): Promise<CompiledVersion>
  /** Versions in uat and production that would break when the column is renamed or dropped. */
  columnUsers(column: AskedColumn): Promise<readonly ColumnUser[]>
  /** What a pipeline runs that was started from a version; undefined for one that copies. */
  queryOf(pipeline: { readonly versionId?: string; readonly createdBy: string }): Promise<BatchQuery | undefined>
}

/** Graphs over the stored versions and the current catalog. */
export function createGraphService(deps: GraphServiceDeps): GraphService {
  const { stores, sandbox } = deps
  return {
    nodeTypes: () => NODE_TYPES.map(describeNodeType),
    async validate(definitionId, versionId, { caller }) {
      const version = await findVersion(stores, definitionId, versionId)
      const validation = validationView(await checkRunnable(depsOf(deps, caller.user), version.graph))
      return { ...validation, definition_id: definitionId, version_id: versionId }
    },
    async validateGraph(graph, { caller }) {
      requireGraph(graph)
      return validationView(await checkRunnable(depsOf(deps, caller.user), graph))
    },
    async createSink(definitionId, versionId, context) {
      const version = await findVersion(stores, definitionId, versionId)
      const { plan, problems, columns } = await checkRunnable(depsOf(deps, context.caller.user), version.graph)
      const isMissing = ({ code, nodeId }: GraphProblem): boolean =>
        plan !== undefined && code === 'NO_SUCH_TABLE' && nodeId === sinkOf(plan)
      const others = problems.filter((problem) => !isMissing(problem))
      if (plan === undefined || columns === undefined || !isRunnable(others)) throw notRunnable(version, others)
      await createSinkTable(deps, { catalog: deps.catalog.current(), table: plan.sink, columns }, context)
      return { success: true, table: plan.sink, columns: sinkColumnViews(columns) }
    },
    async compileVersion(versionId, user) {
      const version = await stores.versions.findById(versionId)
      if (!version) throw notFound(versionId)
      const { plan, problems } = await checkRunnable(depsOf(deps, user), version.graph)
      if (plan === undefined || !isRunnable(problems)) throw notRunnable(version, problems)
      const { definitionId, id } = version
      return {
        definitionId,
        versionId: id,
        sources: plan.sources,
        sink: plan.sink,
        query: createGraphQuery(version.graph, plan, sandbox.forOwner(user)),
      }
    },
    columnUsers: (column) =>
      versionsUsing(column, {
        stores,
        sandbox,
        loadSchema: async (table) => {
          const schema = await loadSchema(deps, table)
          return typeof schema === 'string' ? undefined : schema
        },
      }),
    async queryOf({ versionId, createdBy }) {
      if (versionId === undefined) return undefined
      const version = await stores.versions.findById(versionId)
      const plan = version && planGraph(version.graph).plan
      return version === undefined || plan === undefined
        ? lostQuery(versionId)
        : createGraphQuery(version.graph, plan, sandbox.forOwner(createdBy))
    },
  }
}

function depsOf(deps: GraphServiceDeps, user: string): GraphServiceDeps {
  return { ...deps, sandbox: deps.sandbox.forOwner(user) }
}

async function findVersion(stores: LifecycleStores, definitionId: string, versionId: string): Promise<VersionRecord> {
  const version = await stores.versions.find(definitionId, versionId)
  if (version) return version
  throw new DomainError('NOT_FOUND', `no version ${versionId} of pipeline definition ${definitionId}`)
}

function describeNodeType(type: (typeof NODE_TYPES)[number]): object {
  const { title, description, inputs, hasOutput } = NODE_TYPE_INFO[type]
  const { $schema: _, ...schema } = z.toJSONSchema(nodeConfigs[type], { io: 'input' })
  return { type, title, description, inputs, has_output: hasOutput, config_schema: schema }
}

interface CheckedGraph {
  readonly plan: GraphPlan | undefined
  readonly problems: readonly GraphProblem[]
  /** What reaches the sink; undefined while problems keep that from being known. */
  readonly columns?: readonly ResultColumn[] | undefined
}

function validationView({ plan, problems, columns }: CheckedGraph): GraphValidationView {
  return {
    success: true,
    runnable: isRunnable(problems),
    problems: problems.map(({ nodeId, ...problem }) => ({ node_id: nodeId, ...problem })),
    source_tables: plan?.sources ?? [],
    sink_table: plan?.sink ?? null,
    sink_columns: columns ? sinkColumnViews(columns) : null,
  }
}

async function checkRunnable(deps: GraphServiceDeps, graph: PipelineGraph): Promise<CheckedGraph> {
  const { plan, problems } = planGraph(graph)
  if (plan === undefined) return { plan, problems }
  const all = [...problems]
  const schemas = await Promise.all(plan.sources.map((table) => loadSchema(deps, table)))
  for (const [at, loaded] of schemas.entries())
    if (typeof loaded === 'string') all.push(...atTables(plan, plan.sources[at], loaded))
  const sink = await loadSchema(deps, plan.sink)
  if (typeof sink === 'string') all.push(...atTables(plan, plan.sink, sink))
  if (plan.sources.includes(plan.sink)) {
    all.push(graphError(sinkOf(plan), 'INVALID_CONFIG', 'table: the sink must be another table than the sources'))
  }
  const known = schemas.map((loaded) => (typeof loaded === 'string' ? undefined : loaded))
  const typed = await typeGraph({ plan, schemas: known, sandbox: deps.sandbox })
  all.push(...typed.problems)
  if (typed.columns !== undefined && typeof sink !== 'string') {
    const fitted = sinkColumns(typed.columns, sink, deps.sandbox)
    all.push(...fitted.problems.map(({ code, message }) => graphError(sinkOf(plan), code, message)))
  }
  return { plan, problems: all, columns: typed.columns }
}

/** The schema of a table, or why it cannot be had. */
async function loadSchema({ catalog }: GraphServiceDeps, table: string): Promise<Schema | string> {
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

function sinkOf({ nodes }: GraphPlan): string | null {
  return nodes.at(-1)?.id ?? null
}

function notFound(versionId: string): DomainError {
  return new DomainError('NOT_FOUND', `version_id: there is no version ${versionId}`, {
    fields: [{ path: 'version_id', message: 'there is no such version' }],
  })
}

function notRunnable({ id, graph }: VersionRecord, problems: readonly GraphProblem[]): DomainError {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const fields = errors.map(({ nodeId, message }) => {
    const at = graph.nodes.findIndex((node) => node.id === nodeId)
    return { path: at < 0 ? 'version_id' : `nodes.${at}`, message }
  })
  return new DomainError('UNPROCESSABLE', `version_id: version ${id} cannot run: ${fields[0]?.message ?? ''}`, {
    fields,
  })
}

/** Stops a pipeline whose version is gone. */
function lostQuery(versionId: string): BatchQuery {
  return {
    compile() {
      throw new PipelineStopped('VERSION_LOST', `version ${versionId}, which says what to do, does not exist any more`)
    },
  }
}

import { loadIfPresent } from '../../catalog/load-if-present.ts'
import { DomainError } from '../../domain/errors.ts'
import type { PipelineGraph } from '../../domain/graph.ts'
import type { SqlSandbox } from '../../engines/sql-sandbox.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { DeployedVersion } from '../../storage/stores/version-store.ts'
import { type GraphColumns, graphColumns } from '../../streaming/graph/graph-columns.ts'
import { planGraph } from '../../streaming/graph/graph-plan.ts'
import type { ParameterValues } from '../../streaming/graph/parameter-text.ts'
import { mapColumns } from '../../streaming/sink/column-mapping.ts'
import { readSinkState } from '../../streaming/sink/progress.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'
import type { Flow } from './flow.ts'

export interface FlowColumnsDeps {
  readonly catalog: CatalogService
  readonly sandbox: SqlSandbox
  readonly environments: Pick<EnvironmentService, 'resolveForDisplay'>
  /** The version of a pipeline by its id. */
  readonly versions: ReadonlyMap<string, DeployedVersion>
  /** The parameters of the environment of a version that no pipeline runs. */
  readonly parametersOf: (environment: string) => ParameterValues
}

/** Finds the columns of a flow; undefined: unknown. */
export type FindColumns = (flow: Flow) => Promise<GraphColumns | undefined>

/** Finds the columns of flows; each table is loaded once. */
export function createColumnFinder(deps: FlowColumnsDeps): FindColumns {
  const loaded = new Map<string, Promise<Table | undefined>>()
  const load = (table: string): Promise<Table | undefined> => {
    const known = loaded.get(table) ?? loadIfPresent(deps.catalog.current(), table)
    loaded.set(table, known)
    return known
  }
  return async (flow) => {
    try {
      const graph = graphOf(flow, deps)
      if (graph === 'copy') return flow.kind === 'pipeline' ? await copyColumns(flow.pipeline, load) : undefined
      return graph && (await columnsOfGraph(graph, load, deps.sandbox))
    } catch (error) {
      // a table that cannot be read, or a busy sandbox: the columns are unknown, and the rest of the lineage is not
      if (isIcebergError(error) || error instanceof DomainError) return undefined
      throw error
    }
  }
}

/** The graph that a flow runs, with its parameters; undefined: it cannot run. */
function graphOf(flow: Flow, deps: FlowColumnsDeps): PipelineGraph | 'copy' | undefined {
  if (flow.kind === 'version') return resolved(flow.version.graph, deps.parametersOf(flow.environment), deps)
  const { versionId, parameters } = flow.pipeline
  if (versionId === undefined) return 'copy'
  const version = deps.versions.get(versionId)
  if (version === undefined || parameters === undefined) return version?.graph
  return resolved(version.graph, parameters, deps)
}

function resolved(
  raw: PipelineGraph,
  parameters: ParameterValues,
  { environments }: FlowColumnsDeps,
): PipelineGraph | undefined {
  const { graph, problems } = environments.resolveForDisplay(raw, parameters)
  return problems.length === 0 ? graph : undefined
}

type Load = (table: string) => Promise<Table | undefined>

async function columnsOfGraph(
  graph: PipelineGraph,
  load: Load,
  sandbox: SqlSandbox,
): Promise<GraphColumns | undefined> {
  const { plan } = planGraph(graph)
  if (plan === undefined) return undefined
  const [sink, ...sources] = await Promise.all([plan.sink, ...plan.sources].map(load))
  const lookups = new Map<string, Schema>()
  for (const name of plan.lookups) {
    const table = await load(name)
    if (table !== undefined) lookups.set(name, currentSchema(table.metadata))
  }
  return graphColumns({
    plan,
    lookups,
    schemas: sources.map((table) => table && currentSchema(table.metadata)),
    sink: sink && currentSchema(sink.metadata),
    sandbox,
  })
}

/** A copy reads every column of its source, and fills those of the sink that have a partner there. */
async function copyColumns(
  { sources, sinkTable, queryId }: PipelineRecord,
  load: Load,
): Promise<GraphColumns | undefined> {
  const [table = ''] = sources
  const [source, sink] = await Promise.all([load(table), load(sinkTable)])
  if (source === undefined || sink === undefined) return undefined
  const from = currentSchema(source.metadata)
  const to = currentSchema(sink.metadata)
  const known = readSinkState(sink.metadata, queryId).progress?.pairs ?? []
  const { pairs, problems } = mapColumns(from, to, known)
  if (problems.length > 0) return undefined
  const sourceOf = new Map(pairs.map(([sourceId, sinkId]) => [sinkId, sourceId]))
  return {
    reads: new Map([[table, from.fields.map(({ name }) => name)]]),
    writes: to.fields.flatMap(({ id, name }) => {
      const column = from.fields.find((field) => field.id === sourceOf.get(id))?.name
      return column === undefined ? [] : [{ name, origins: [{ table, column }] }]
    }),
  }
}

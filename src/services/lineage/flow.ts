import { isLiveState } from '../../streaming/supervision/rollback-effects.ts'
import type { RunEnvironment } from '../../domain/environments.ts'
import type { PipelineGraph } from '../../domain/graph.ts'
import { tableName } from '../../schemas/common.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { DeployedVersion } from '../../storage/stores/version-store.ts'

/** A pipeline, or a version that no pipeline runs, with the tables that it reads and writes. */
export type Flow = {
  /** The id of its node. */
  readonly id: string
  readonly sources: readonly string[]
  readonly sinks: readonly string[]
  /** Those of the sinks that get diverted rows only. */
  readonly diverts: readonly string[]
} & (
  | { readonly kind: 'pipeline'; readonly pipeline: PipelineRecord }
  | { readonly kind: 'version'; readonly version: DeployedVersion; readonly environment: RunEnvironment }
)

/** The flow of a pipeline. */
export function pipelineFlow(pipeline: PipelineRecord): Flow {
  const { id, sources, sinkTable, options } = pipeline
  const read = [...new Set([...sources, ...(options.lookups ?? [])])]
  const { diverts = [] } = options
  const sinks = [...new Set([sinkTable, ...diverts])]
  return { id: `pipeline:${id}`, kind: 'pipeline', pipeline, sources: read, sinks, diverts }
}

/** A version in its environment, with the environment's parameters in its graph. */
export interface ResolvedVersion {
  readonly version: DeployedVersion
  readonly environment: RunEnvironment
  readonly graph: PipelineGraph
  /** Nodes whose parameters have no valid values. */
  readonly unresolved: ReadonlySet<string | null>
}

/**
 * The flow of a version that no pipeline runs; undefined if its graph names no table. A graph that cannot run yet counts with the
 * tables that it names.
 */
export function versionFlow({ version, environment, graph, unresolved }: ResolvedVersion): Flow | undefined {
  const tablesOf = (fields: Readonly<Record<string, string>>): readonly string[] => [
    ...new Set(
      graph.nodes.flatMap((node) => {
        const table = node.config[fields[node.type] ?? '']
        const isTable = !unresolved.has(node.id) && tableName.safeParse(table).success
        return isTable && typeof table === 'string' ? [table] : []
      }),
    ),
  ]
  const flow: Flow = {
    id: `version:${version.id}`,
    kind: 'version',
    version,
    environment,
    sources: tablesOf({ 'iceberg-source': 'table', lookup: 'table' }),
    sinks: tablesOf({ 'iceberg-sink': 'table', check: 'divert_to' }),
    diverts: tablesOf({ check: 'divert_to' }),
  }
  return flow.sources.length + flow.sinks.length === 0 ? undefined : flow
}

/** Live pipelines first, then those that ended, then versions; otherwise in the given order. */
export function inOrderOfUse(flows: readonly Flow[]): readonly Flow[] {
  return flows.toSorted((a, b) => rankOf(a) - rankOf(b))
}

function rankOf(flow: Flow): number {
  if (flow.kind === 'version') return 2
  return isLiveState(flow.pipeline) ? 0 : 1
}

import { tableNodeId } from '../../domain/tables/table-use.ts'
import type { lineage } from '../../schemas/lineage.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { DeployedVersion } from '../../storage/stores/version-store.ts'
import type { GraphColumns } from '../../streaming/graph/graph-columns.ts'
import { isLiveState } from '../../streaming/supervision/rollback-effects.ts'
import type { Flow } from './flow.ts'
import type { TableFacts } from './table-facts.ts'
import type { Walked } from './walk.ts'

export type LineageView = Wire<typeof lineage>
export type LineageNode = LineageView['nodes'][number]
export type LineageEdge = LineageView['edges'][number]

/** A part of the lineage, and what is known of its tables and flows. */
export interface KnownLineage {
  readonly walked: Walked
  readonly tables: ReadonlyMap<string, TableFacts>
  /** How many flows of each table are not in this part; absent: none. */
  readonly hidden: ReadonlyMap<string, number>
  /** By the ids of flows; absent: unknown, or not asked for. */
  readonly columns: ReadonlyMap<string, GraphColumns>
  /** The versions that pipelines run, by id. */
  readonly versions: ReadonlyMap<string, DeployedVersion>
}

/** The nodes and edges of an answer, each once. */
export function lineageGraph(known: KnownLineage): Pick<LineageView, 'nodes' | 'edges'> {
  const nodes = new Map<string, LineageNode>()
  const edges = new Map<string, LineageEdge>()
  const add = (part: Part): void => {
    for (const node of part.nodes) if (!nodes.has(node.id)) nodes.set(node.id, node)
    for (const edge of part.edges) edges.set(edge.id, edge)
  }
  for (const table of known.walked.tables) add({ nodes: [tableNode(table, known)], edges: [] })
  for (const flow of known.walked.flows) {
    add({ nodes: [flowNode(flow)], edges: flowEdges(flow, known) })
    // a pipeline of another environment may have added the version, with the tables that it has there
    if (flow.kind === 'version') nodes.set(flow.id, flowNode(flow))
    const version = flow.kind === 'version' ? flow.version : known.versions.get(flow.pipeline.versionId ?? '')
    if (version !== undefined) add(versionPart(version, flow))
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] }
}

interface Part {
  readonly nodes: readonly LineageNode[]
  readonly edges: readonly LineageEdge[]
}

/** A version with its environment, and the pipeline that runs it. */
function versionPart(version: DeployedVersion, flow: Flow): Part {
  const node = versionNode(version, flow)
  const runs = plainEdge({ kind: 'runs', from: node.id, to: flow.id, state: stateOf(flow) })
  const edges = flow.kind === 'pipeline' ? [runs] : []
  const { environment } = version
  if (environment === 'retired') return { nodes: [node], edges }
  const place: LineageNode = { id: `environment:${environment}`, kind: 'environment', environment }
  const belongs = plainEdge({ kind: 'belongs_to', from: node.id, to: place.id, state: null })
  return { nodes: [node, place], edges: [...edges, belongs] }
}

function tableNode(table: string, { tables, hidden }: KnownLineage): LineageNode {
  const { exists = null, band = 'unknown', score = null } = tables.get(table) ?? {}
  const hiddenFlows = hidden.get(table) ?? 0
  return { id: tableNodeId(table), kind: 'table', table, exists, band, score, hidden_flows: hiddenFlows }
}

function flowNode(flow: Flow): LineageNode {
  if (flow.kind === 'version') return versionNode(flow.version, flow)
  const { id, state, error, environment, definitionId, versionId } = flow.pipeline
  return {
    id: flow.id,
    kind: 'pipeline',
    pipeline_id: id,
    state,
    error: error === undefined ? null : { code: error.code, message: error.message },
    environment: environment ?? null,
    definition_id: definitionId ?? null,
    version_id: versionId ?? null,
    source_tables: flow.sources,
    sink_tables: flow.sinks,
  }
}

/** `flow`: the version itself, or a pipeline that runs it. */
function versionNode(version: DeployedVersion, flow: Flow): LineageNode {
  return {
    id: `version:${version.id}`,
    kind: 'version',
    definition_id: version.definitionId,
    definition_name: version.definitionName,
    version_id: version.id,
    version: version.version,
    environment: version.environment,
    source_tables: flow.sources,
    sink_tables: flow.sinks,
  }
}

function flowEdges(flow: Flow, known: KnownLineage): readonly LineageEdge[] {
  const isShown = (table: string): boolean => known.walked.tables.has(table)
  const columns = known.columns.get(flow.id)
  return [
    ...flow.sources.filter(isShown).map((table) => readEdge(flow, table, columns)),
    ...flow.sinks.filter(isShown).map((table) => writeEdge(flow, table, columns)),
  ]
}

function readEdge(flow: Flow, table: string, columns: GraphColumns | undefined): LineageEdge {
  const edge = plainEdge({ kind: 'reads', from: tableNodeId(table), to: flow.id, state: stateOf(flow) })
  const lag = flow.kind === 'pipeline' ? lagOf(flow.pipeline, table) : null
  return { ...edge, columns: columns?.reads.get(table) ?? null, lag }
}

function writeEdge(flow: Flow, table: string, columns: GraphColumns | undefined): LineageEdge {
  const edge = plainEdge({ kind: 'writes', from: flow.id, to: tableNodeId(table), state: stateOf(flow) })
  // diverted rows have the columns of a check node's input, which are not traced
  const written = flow.diverts.includes(table) ? null : columns?.writes
  return {
    ...edge,
    columns: written?.map(({ name }) => name) ?? null,
    column_sources: written?.map(({ name, origins }) => ({ column: name, sources: origins })) ?? null,
  }
}

function stateOf(flow: Flow): LineageEdge['state'] {
  return flow.kind === 'pipeline' ? flow.pipeline.state : null
}

function plainEdge(edge: Pick<LineageEdge, 'kind' | 'from' | 'to' | 'state'>): LineageEdge {
  const id = JSON.stringify([edge.kind, edge.from, edge.to])
  return { id, ...edge, columns: null, column_sources: null, lag: null }
}

/** How far a live pipeline was behind a source at its last trigger; what an ended pipeline measured is not true any more. */
function lagOf(record: PipelineRecord, table: string): LineageEdge['lag'] {
  const { progress } = record
  const source = progress?.sources.find(({ description }) => description === table)
  if (progress === undefined || source === undefined || !isLiveState(record)) return null
  return { ...source.lag, measured_at: progress.timestamp }
}

import type { Lineage, LineageNode } from '../../api/types.ts'
import { formatDuration, formatPlural } from '../../strings/everywhere/units.ts'
import { lineage as words } from '../../strings/lineage.ts'

export type TableNode = Extract<LineageNode, { kind: 'table' }>
export type PipelineNode = Extract<LineageNode, { kind: 'pipeline' }>
export type VersionNode = Extract<LineageNode, { kind: 'version' }>

/** A pipeline, or a version that no pipeline runs, between its tables. */
export interface Flow {
  readonly node: PipelineNode | VersionNode
  /** What it runs: the version, or a copy. */
  readonly name: string
  readonly sources: readonly string[]
  readonly sinks: readonly string[]
  /** Undefined: not measured, or the measurement is out of date. */
  readonly lag: Lag | undefined
}

interface Lag {
  readonly text: string
  readonly measuredAt: string
}

/** The flows of an answer, in its order. */
export function flowsOf({ nodes, edges }: Pick<Lineage, 'nodes' | 'edges'>): readonly Flow[] {
  const runs = new Map(edges.flatMap(({ kind, from, to }) => (kind === 'runs' ? [[to, from] as const] : [])))
  const running = new Set(runs.values())
  const own = new Set(
    edges.flatMap(({ kind, from, to }) => (kind === 'reads' ? [to] : kind === 'writes' ? [from] : [])),
  )
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const lags = lagsOf(edges)
  return nodes.flatMap((node): Flow[] => {
    const isFlow = node.kind === 'pipeline' || (node.kind === 'version' && (!running.has(node.id) || own.has(node.id)))
    if (!isFlow) return []
    const version = node.kind === 'version' ? node : byId.get(runs.get(node.id) ?? '')
    const name = version?.kind === 'version' ? words.version(version.definition_name, version.version) : words.copy
    return [{ node, name, sources: node.source_tables, sinks: node.sink_tables, lag: lags.get(node.id) }]
  })
}

/** The largest lag of each pipeline whose measurement is current. */
function lagsOf(edges: Lineage['edges']): ReadonlyMap<string, Lag> {
  const largest = new Map<string, NonNullable<Lineage['edges'][number]['lag']>>()
  for (const { to, state, lag } of edges) {
    // a pipeline that starts or retries has not measured its lag since
    if (lag === null || (state !== 'running' && state !== 'stopping')) continue
    if (lag.seconds >= (largest.get(to)?.seconds ?? 0)) largest.set(to, lag)
  }
  return new Map([...largest].map(([id, lag]) => [id, { text: lagText(lag), measuredAt: lag.measured_at }]))
}

function lagText({ seconds, rows }: { readonly seconds: number; readonly rows: number }): string {
  if (seconds === 0 && rows === 0) return words.upToDate
  return words.behind(seconds > 0 ? formatDuration(seconds * 1000) : formatPlural(rows, 'row'))
}

const URGENCY = ['failed', 'degraded', 'running', 'starting', 'stopping', 'stopped'] as const

/** Those with trouble first, versions that do not run last. */
export function byUrgency(flows: readonly Flow[]): readonly Flow[] {
  const rank = ({ node }: Flow): number => (node.kind === 'version' ? URGENCY.length : URGENCY.indexOf(node.state))
  return flows.toSorted((a, b) => rank(a) - rank(b))
}

/** The flows that write a table, and those that read it. */
export function aroundTable(
  answer: Pick<Lineage, 'nodes' | 'edges'>,
  table: string,
): { readonly writers: readonly Flow[]; readonly readers: readonly Flow[] } {
  const flows = byUrgency(flowsOf(answer))
  return {
    writers: flows.filter(({ sinks }) => sinks.includes(table)),
    readers: flows.filter(({ sources }) => sources.includes(table)),
  }
}

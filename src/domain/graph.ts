import { canonicalJson } from './json/canonical-json.ts'
import type { FieldError } from './errors.ts'

/** Format version that the service writes, and the highest that it reads (docs/api.md#exported-versions). */
export const FORMAT_VERSION = 1

export const MAX_NODES = 1000

/** Position on the canvas. */
export interface Position {
  readonly x: number
  readonly y: number
}

/** A step of a pipeline; its type is any non-empty text. */
export interface PipelineNode {
  readonly id: string
  readonly type: string
  readonly config: Readonly<Record<string, unknown>>
  readonly position: Position
}

/** A connection from one node to another, by their ids. */
export interface PipelineEdge {
  readonly id: string
  readonly source: string
  readonly target: string
}

/** The content of a version. */
export interface PipelineGraph {
  readonly nodes: readonly PipelineNode[]
  readonly edges: readonly PipelineEdge[]
}

/** The canonical text of a graph, independent of the order of nodes, edges and members; used for the content hash. */
export function canonicalGraph({ nodes, edges }: PipelineGraph): string {
  return canonicalJson({ nodes: sortedById(nodes), edges: sortedById(edges) })
}

function sortedById<T extends { readonly id: string }>(items: readonly T[]): T[] {
  return [...items].sort((a, b) => (a.id < b.id ? -1 : 1))
}

/**
 * The errors of a graph; none if it is valid. Ids of nodes and of edges are unique, edges connect existing nodes,
 * there are no cycles, and there are at most {@link MAX_NODES} nodes (docs/api.md#pipeline-definitions).
 */
export function checkGraph({ nodes, edges }: PipelineGraph): FieldError[] {
  if (nodes.length > MAX_NODES) {
    return [{ path: 'nodes', message: `must have ${MAX_NODES} entries or fewer, not ${nodes.length}` }]
  }
  const errors = [...duplicates(nodes, 'nodes'), ...duplicates(edges, 'edges'), ...looseEnds({ nodes, edges })]
  if (errors.length > 0) return errors
  const cycle = findCycle({ nodes, edges })
  return cycle ? [{ path: 'edges', message: `form a cycle: ${cycle.join(' → ')}` }] : []
}

function* duplicates(items: readonly { readonly id: string }[], name: string): Generator<FieldError> {
  const seen = new Set<string>()
  for (const [i, { id }] of items.entries()) {
    if (seen.has(id))
      yield { path: `${name}.${i}.id`, message: `must be unique, and ${JSON.stringify(id)} is used twice` }
    seen.add(id)
  }
}

function* looseEnds({ nodes, edges }: PipelineGraph): Generator<FieldError> {
  const ids = new Set(nodes.map(({ id }) => id))
  for (const [i, edge] of edges.entries()) {
    for (const end of ['source', 'target'] as const) {
      if (ids.has(edge[end])) continue
      yield { path: `edges.${i}.${end}`, message: `names the node ${JSON.stringify(edge[end])}, which does not exist` }
    }
  }
}

/** The nodes of one cycle, with the first repeated at the end; undefined when there is none. */
function findCycle({ nodes, edges }: PipelineGraph): string[] | undefined {
  const sources = new Map<string, string[]>(nodes.map(({ id }) => [id, []]))
  const targets = new Map<string, string[]>(nodes.map(({ id }) => [id, []]))
  for (const { source, target } of edges) {
    sources.get(target)?.push(source)
    targets.get(source)?.push(target)
  }
  const waiting = new Map([...sources].map(([id, list]) => [id, list.length]))
  const ready = [...waiting].filter(([, count]) => count === 0).map(([id]) => id)
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    waiting.delete(id)
    for (const target of targets.get(id) ?? []) {
      const left = (waiting.get(target) ?? 0) - 1
      waiting.set(target, left)
      if (left === 0) ready.push(target)
    }
  }
  const [start] = waiting.keys()
  return start === undefined ? undefined : walkBack(start, sources, waiting)
}

/** Each remaining node has a remaining predecessor, so walking back from any of them ends in a cycle. */
function walkBack(
  start: string,
  sources: ReadonlyMap<string, readonly string[]>,
  left: ReadonlyMap<string, number>,
): string[] {
  const path: string[] = []
  const places = new Map<string, number>()
  let id: string | undefined = start
  while (id !== undefined && !places.has(id)) {
    places.set(id, path.length)
    path.push(id)
    id = sources.get(id)?.find((source) => left.has(source))
  }
  const cycle = path.slice(id === undefined ? 0 : places.get(id)).reverse()
  return [...cycle, ...cycle.slice(0, 1)]
}

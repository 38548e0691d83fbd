import type { Position } from '../../../../src/domain/graph.ts'
import { type Edge, type Graph, type Node, type NodeTypes, rounded } from '../../components/graph/graph.ts'

/** Why two nodes cannot be connected. */
export type ConnectRefusal = 'itself' | 'known' | 'circle' | 'no-output' | 'no-input' | 'full'

/** The graph with a new node, and the node's id: the short name of its type with a number. */
export function addNode(
  graph: Graph,
  type: string,
  position: Position,
): { readonly graph: Graph; readonly id: string } {
  const id = freeId(
    type.replace(/^iceberg-/, '').replaceAll(/[^A-Za-z0-9_]+/g, '_') || 'node',
    new Set(graph.nodes.map((node) => node.id)),
  )
  const node: Node = { id, type, config: {}, position: rounded(position) }
  return { graph: { ...graph, nodes: [...graph.nodes, node] }, id }
}

/** Distance between neighboring nodes, pixels. */
const STEP = { x: 232, y: 100 } as const

/**
 * A free position for a new node: right of the node that it comes after; else at `near` or below it; else right of all
 * nodes.
 */
export function freePlace({ nodes }: Graph, after: string | undefined, near?: Position): Position {
  const before = nodes.find(({ id }) => id === after) ?? (near ? undefined : rightmost(nodes))
  const begin = before ? { x: before.position.x + STEP.x, y: before.position.y } : (near ?? { x: 0, y: 0 })
  const { x } = begin
  let { y } = begin
  const isTaken = (at: number): boolean =>
    nodes.some(({ position }) => Math.abs(position.x - x) < STEP.x * 0.8 && Math.abs(position.y - at) < STEP.y * 0.8)
  while (isTaken(y)) y += STEP.y
  return { x, y }
}

function rightmost(nodes: readonly Node[]): Node | undefined {
  return nodes.reduce<Node | undefined>(
    (found, node) => (found === undefined || node.position.x > found.position.x ? node : found),
    undefined,
  )
}

/** The first of `name`, `name_2`, `name_3`, … that is not taken: names that SQL can use. */
export function freeId(name: string, taken: ReadonlySet<string>): string {
  let n = 1
  while (taken.has(n === 1 ? name : `${name}_${n}`)) n += 1
  return n === 1 ? name : `${name}_${n}`
}

/** A graph without these nodes and edges, and without the edges of these nodes. */
export function removeElements(graph: Graph, nodeIds: ReadonlySet<string>, edgeIds: ReadonlySet<string>): Graph {
  return {
    nodes: graph.nodes.filter(({ id }) => !nodeIds.has(id)),
    edges: graph.edges.filter(
      ({ id, source, target }) => !edgeIds.has(id) && !nodeIds.has(source) && !nodeIds.has(target),
    ),
  }
}

/** Why an edge from one node to another is impossible; undefined when it is possible. */
export function whyNotConnect(
  graph: Graph,
  types: NodeTypes,
  { source, target }: { readonly source: string; readonly target: string },
): ConnectRefusal | undefined {
  if (source === target) return 'itself'
  if (graph.edges.some((edge) => edge.source === source && edge.target === target)) return 'known'
  const typeOf = (id: string) => types.get(graph.nodes.find((node) => node.id === id)?.type ?? '')
  if (typeOf(source)?.has_output === false) return 'no-output'
  const max = typeOf(target)?.inputs.max
  if (max === 0) return 'no-input'
  if (leadsTo(graph, target, source)) return 'circle'
  const inputs = graph.edges.filter((edge) => edge.target === target).length
  return typeof max === 'number' && inputs >= max ? 'full' : undefined
}

function leadsTo({ edges }: Graph, from: string, to: string): boolean {
  const targets = Map.groupBy(edges, (edge) => edge.source)
  const seen = new Set<string>()
  const open = [from]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === to) return true
    if (seen.has(id)) continue
    seen.add(id)
    for (const { target } of targets.get(id) ?? []) open.push(target)
  }
  return false
}

/** The graph with a new edge. */
export function connect(graph: Graph, source: string, target: string): Graph {
  const id = freeId(`${source}-${target}`.slice(0, 190), new Set(graph.edges.map((edge) => edge.id)))
  const edge: Edge = { id, source, target }
  return { ...graph, edges: [...graph.edges, edge] }
}

/** A graph with another config of a node. */
export function configure(graph: Graph, id: string, config: Node['config']): Graph {
  return withNodes(graph, (node) => (node.id === id ? { ...node, config } : node))
}

/** A graph with another id of a node; edges, and the inputs of SQL that name it, follow. */
export function renameNode(graph: Graph, from: string, to: string): Graph {
  const end = (id: string): string => (id === from ? to : id)
  const renamed = withNodes(graph, (node) => ({ ...node, id: end(node.id), config: renamedInputs(node.config, end) }))
  return {
    ...renamed,
    edges: graph.edges.map((edge) =>
      edge.source === from || edge.target === from
        ? { ...edge, source: end(edge.source), target: end(edge.target) }
        : edge,
    ),
  }
}

function renamedInputs(config: Node['config'], end: (id: string) => string): Node['config'] {
  const { inputs } = config
  if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs)) return config
  const entries = Object.entries(inputs).map(([name, id]) => [name, typeof id === 'string' ? end(id) : id])
  return { ...config, inputs: Object.fromEntries(entries) as Readonly<Record<string, unknown>> }
}

function withNodes(graph: Graph, change: (node: Node) => Node): Graph {
  return { ...graph, nodes: graph.nodes.map(change) }
}

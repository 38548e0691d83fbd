import {
  canonicalGraph,
  type PipelineEdge,
  type PipelineGraph,
  type PipelineNode,
  type Position,
} from '../../../../src/domain/graph.ts'
import type { NodeTypeList } from '../../api/types.ts'

export type Graph = PipelineGraph
export type Node = PipelineNode
export type Edge = PipelineEdge
export type NodeTypeInfo = NodeTypeList['node_types'][number]
export type NodeTypes = ReadonlyMap<string, NodeTypeInfo>

/** Size of a drawn node, pixels. */
export const NODE_SIZE = { width: 176, height: 68 } as const

export const EMPTY_GRAPH: Graph = { nodes: [], edges: [] }

/** Whether two graphs have the same content, including the positions of nodes. */
export function isSameGraph(a: Graph, b: Graph): boolean {
  return a === b || canonicalGraph(a) === canonicalGraph(b)
}

/** The node with an id. */
export function nodeById(graph: Graph, id: string | undefined): Node | undefined {
  return graph.nodes.find((node) => node.id === id)
}

/** Whether two nodes share a position, which means that the graph was made by a program that did not set positions. */
export function lacksPositions({ nodes }: Graph): boolean {
  const positions = new Set(nodes.map(({ position: { x, y } }) => `${x},${y}`))
  return positions.size < nodes.length
}

/** The smallest rectangle around nodes; there must be at least one. */
export function boundsOf(nodes: Graph['nodes']): Position & { readonly width: number; readonly height: number } {
  const xs = nodes.map(({ position }) => position.x)
  const ys = nodes.map(({ position }) => position.y)
  const x = Math.min(...xs)
  const y = Math.min(...ys)
  return { x, y, width: Math.max(...xs) - x + NODE_SIZE.width, height: Math.max(...ys) - y + NODE_SIZE.height }
}

/** A graph with some nodes at other positions, rounded to whole pixels. */
export function moveNodes(graph: Graph, positions: ReadonlyMap<string, Position>): Graph {
  const move = (node: Node): Node => {
    const position = positions.get(node.id)
    return position ? { ...node, position: rounded(position) } : node
  }
  return { ...graph, nodes: graph.nodes.map(move) }
}

/** A position in whole pixels, as versions store it. */
export function rounded({ x, y }: Position): Position {
  return { x: Math.round(x), y: Math.round(y) }
}

import {
  canonicalGraph,
  type PipelineEdge,
  type PipelineGraph,
  type PipelineNode,
} from '../../../../src/domain/graph.ts'
import type { NodeTypeList } from '../../api/types.ts'

export type Graph = PipelineGraph
export type Node = PipelineNode
export type Edge = PipelineEdge
export type NodeTypeInfo = NodeTypeList['node_types'][number]
export type NodeTypes = ReadonlyMap<string, NodeTypeInfo>

export const EMPTY_GRAPH: Graph = { nodes: [], edges: [] }

/** Whether two graphs are the same version, places on the canvas included. */
export function isSameGraph(a: Graph, b: Graph): boolean {
  return a === b || canonicalGraph(a) === canonicalGraph(b)
}

/** The node of an id. */
export function nodeById(graph: Graph, id: string | undefined): Node | undefined {
  return graph.nodes.find((node) => node.id === id)
}

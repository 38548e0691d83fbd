import { Graph as LayoutGraph, layout } from '@dagrejs/dagre'
import type { Position } from '../../../../src/domain/graph.ts'
import { NODE_SIZE } from './graph.ts'

/** Space between nodes, pixels. */
const GAP = { x: 56, y: 32 } as const

/** The part of a graph that decides where its nodes go. */
export interface LayoutRequest {
  readonly nodeIds: readonly string[]
  readonly edges: readonly { readonly source: string; readonly target: string }[]
}

/** The type of the labels that dagre reads sizes from and writes centers to, pixels. */
interface NodeBox {
  readonly width: number
  readonly height: number
  readonly x?: number
  readonly y?: number
}

/**
 * The top left corner of each node, pixels: every node to the right of its inputs, with few crossing edges. Takes about
 * 1 ms per node, so pages call it in a worker (`arrange.ts`). Edges to unknown nodes are ignored.
 */
export function layOut({ nodeIds, edges }: LayoutRequest): ReadonlyMap<string, Position> {
  // Nodes are numbered, because dagre keeps them as properties of an object, where an id such as __proto__ fails.
  const numbers = new Map(nodeIds.map((id, index) => [id, String(index)]))
  const boxes = new LayoutGraph<object, NodeBox, object>()
  boxes.setGraph({ rankdir: 'LR', nodesep: GAP.y, ranksep: GAP.x })
  for (const number of numbers.values()) boxes.setNode(number, { ...NODE_SIZE })
  for (const { source, target } of edges) {
    const [from, to] = [numbers.get(source), numbers.get(target)]
    if (from !== undefined && to !== undefined) boxes.setEdge(from, to, {})
  }
  layout(boxes)
  return new Map([...numbers].map(([id, number]) => [id, cornerOf(boxes.node(number))]))
}

function cornerOf({ x = 0, y = 0, width, height }: NodeBox): Position {
  return { x: x - width / 2, y: y - height / 2 }
}

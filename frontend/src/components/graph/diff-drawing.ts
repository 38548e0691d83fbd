import type { VersionDiff } from '../../api/types.ts'
import { type Graph, type Node, NODE_SIZE } from './graph.ts'

/** How one node or edge differs in a comparison. */
export type Mark = 'added' | 'removed' | 'changed' | 'moved' | 'same'

/** A mark of content: a move on the canvas is not one. */
export type ContentMark = Exclude<Mark, 'moved'>

/** Two versions in one drawing: the newer one, and what was removed from the older one. */
export interface DiffDrawing {
  readonly graph: Graph
  readonly nodeMarks: ReadonlyMap<string, Mark>
  readonly edgeMarks: ReadonlyMap<string, Mark>
}

/** The marks of the nodes, or of the edges, that a comparison names, by id. */
export function marksOf(part: VersionDiff['nodes'] | VersionDiff['edges']): ReadonlyMap<string, ContentMark> {
  const entries = (items: readonly { readonly id: string }[], mark: ContentMark) =>
    items.map(({ id }): [string, ContentMark] => [id, mark])
  return new Map([
    ...entries(part.changed, 'changed'),
    ...entries(part.added, 'added'),
    ...entries(part.removed, 'removed'),
  ])
}

/** Draws a comparison over the newer of its two versions. */
export function drawDiff(diff: VersionDiff, newer: Graph): DiffDrawing {
  const removedNodes = diff.nodes.removed.map((node) => movedAside(node, newer.nodes))
  const removedEdges = diff.edges.removed.map((edge) => ({ ...edge, id: removedId(edge.id, newer) }))
  return {
    graph: { nodes: [...newer.nodes, ...removedNodes], edges: [...newer.edges, ...removedEdges] },
    nodeMarks: new Map<string, Mark>([
      ...diff.moves.map(({ id }): [string, Mark] => [id, 'moved']),
      ...marksOf(diff.nodes),
    ]),
    edgeMarks: new Map(
      [...marksOf(diff.edges)].map(([id, mark]) => [mark === 'removed' ? removedId(id, newer) : id, mark]),
    ),
  }
}

/** The id that a removed edge is drawn with: the newer version may have another edge with the same id. */
function removedId(id: string, { edges }: Graph): string {
  return edges.some((edge) => edge.id === id) ? `${id} (removed)` : id
}

/** Space between a removed node and existing ones, pixels. */
const GAP = 16

/** A removed node, moved down if it would cover a node that exists. */
function movedAside(node: Node, others: readonly Node[]): Node {
  const covers = (y: number): boolean =>
    others.some(
      ({ position }) =>
        Math.abs(position.x - node.position.x) < NODE_SIZE.width && Math.abs(position.y - y) < NODE_SIZE.height + GAP,
    )
  let { y } = node.position
  while (covers(y)) y += NODE_SIZE.height / 2
  return { ...node, position: { x: node.position.x, y } }
}

import type { VersionDiff } from '../../api/types.ts'
import { NODE_SIZE } from './auto-layout.ts'
import type { Graph, Node } from './graph.ts'

/** What a comparison says of one node or edge. */
export type Mark = 'added' | 'removed' | 'changed' | 'moved' | 'same'

/** Two versions in one drawing: all of the newer one, and what it has no more. */
export interface DiffDrawing {
  readonly graph: Graph
  readonly nodeMarks: ReadonlyMap<string, Mark>
  readonly edgeMarks: ReadonlyMap<string, Mark>
}

/** One line of a comparison; `path` is a JSON pointer from the node or edge. */
export interface DiffLine {
  readonly mark: Exclude<Mark, 'same'>
  readonly kind: 'node' | 'edge'
  readonly id: string
  readonly path: string
  readonly from?: unknown
  readonly to?: unknown
}

/** Draws a comparison over the newer of its versions. */
export function drawDiff(diff: VersionDiff, newer: Graph): DiffDrawing {
  const nodeMarks = new Map<string, Mark>(diff.moves.map(({ id }) => [id, 'moved']))
  const edgeMarks = new Map<string, Mark>()
  mark(nodeMarks, diff.nodes)
  mark(edgeMarks, diff.edges)
  const removed = diff.nodes.removed.map((node) => asideOf(node, newer.nodes))
  return {
    graph: {
      nodes: [...newer.nodes, ...removed],
      edges: [...newer.edges, ...diff.edges.removed.map((edge) => ({ ...edge, id: removedId(edge.id, newer) }))],
    },
    nodeMarks,
    edgeMarks: new Map([...edgeMarks].map(([id, what]) => [what === 'removed' ? removedId(id, newer) : id, what])),
  }
}

/** An id of a removed edge is its own: the newer version has no edge of that id. */
function removedId(id: string, { edges }: Graph): string {
  return edges.some((edge) => edge.id === id) ? `${id} (removed)` : id
}

function mark(marks: Map<string, Mark>, part: VersionDiff['nodes'] | VersionDiff['edges']): void {
  for (const { id } of part.changed) marks.set(id, 'changed')
  for (const { id } of part.added) marks.set(id, 'added')
  for (const { id } of part.removed) marks.set(id, 'removed')
}

/** Room between a removed node and those that are there, pixels. */
const ASIDE = 16

/** A removed node, moved down where it would lie on one that is there now. */
function asideOf(node: Node, others: readonly Node[]): Node {
  const covers = (y: number): boolean =>
    others.some(
      ({ position }) =>
        Math.abs(position.x - node.position.x) < NODE_SIZE.width && Math.abs(position.y - y) < NODE_SIZE.height + ASIDE,
    )
  let { y } = node.position
  while (covers(y)) y += NODE_SIZE.height / 2
  return { ...node, position: { x: node.position.x, y } }
}

/** A comparison as a list: what came, what went, what changed and what only moved. */
export function diffLines(diff: VersionDiff): DiffLine[] {
  const part = (kind: DiffLine['kind'], { added, removed, changed }: VersionDiff['nodes'] | VersionDiff['edges']) => [
    ...added.map((item): DiffLine => ({ mark: 'added', kind, id: item.id, path: '', to: item })),
    ...removed.map((item): DiffLine => ({ mark: 'removed', kind, id: item.id, path: '', from: item })),
    ...changed.flatMap(({ id, changes }) =>
      changes.map(({ path, from, to }): DiffLine => ({ mark: 'changed', kind, id, path, from, to })),
    ),
  ]
  const moves = diff.moves.map(({ id, from, to }): DiffLine => ({
    mark: 'moved',
    kind: 'node',
    id,
    path: '/position',
    from,
    to,
  }))
  return [...part('node', diff.nodes), ...part('edge', diff.edges), ...moves]
}

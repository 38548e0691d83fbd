import { type JsonChange, jsonChanges } from './json/json-changes.ts'
import type { PipelineEdge, PipelineGraph, PipelineNode, Position } from './graph.ts'

/** A node or edge that differs between the graphs; pointers are relative to the node or edge. */
interface Changed {
  readonly id: string
  readonly changes: readonly JsonChange[]
}

/** Items that were added, removed and changed. */
export interface Differences<T> {
  readonly added: readonly T[]
  readonly removed: readonly T[]
  readonly changed: readonly Changed[]
}

/** The difference of two graphs. Positions on the canvas have no meaning, so moves are listed separately. */
export interface GraphDiff {
  readonly nodes: Differences<PipelineNode>
  readonly edges: Differences<PipelineEdge>
  readonly moves: readonly { readonly id: string; readonly from: Position; readonly to: Position }[]
}

/** The changes from `from` to `to`. Nodes and edges are matched by id; their order is ignored. */
export function diffGraphs(from: PipelineGraph, to: PipelineGraph): GraphDiff {
  return {
    nodes: differences(from.nodes, to.nodes, ({ id, type, config }) => ({ id, type, config })),
    edges: differences(from.edges, to.edges, (edge) => edge),
    moves: moves(from.nodes, to.nodes),
  }
}

function differences<T extends { readonly id: string }>(
  from: readonly T[],
  to: readonly T[],
  meaning: (item: T) => object,
): Differences<T> {
  const before = byId(from)
  const after = byId(to)
  return {
    added: to.filter(({ id }) => !before.has(id)),
    removed: from.filter(({ id }) => !after.has(id)),
    changed: to.flatMap((item) => {
      const old = before.get(item.id)
      const changes = old ? jsonChanges(meaning(old), meaning(item)) : []
      return changes.length > 0 ? [{ id: item.id, changes }] : []
    }),
  }
}

function moves(from: readonly PipelineNode[], to: readonly PipelineNode[]): GraphDiff['moves'] {
  const before = byId(from)
  return to.flatMap(({ id, position }) => {
    const old = before.get(id)?.position
    if (!old || (old.x === position.x && old.y === position.y)) return []
    return [{ id, from: old, to: position }]
  })
}

function byId<T extends { readonly id: string }>(items: readonly T[]): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [item.id, item]))
}

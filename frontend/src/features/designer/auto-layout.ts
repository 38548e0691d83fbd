import type { Position } from '../../../../src/domain/graph.ts'
import type { Graph } from './graph.ts'
import { moveNodes } from './graph-edits.ts'

/** Size of a node on the canvas, and the room between nodes, pixels. */
export const NODE_SIZE = { width: 176, height: 68 } as const
const GAP = { x: 56, y: 32 } as const

/** The smallest rectangle around nodes, of which there is at least one. */
export function boundsOf(nodes: Graph['nodes']): Position & { readonly width: number; readonly height: number } {
  const xs = nodes.map(({ position }) => position.x)
  const ys = nodes.map(({ position }) => position.y)
  const x = Math.min(...xs)
  const y = Math.min(...ys)
  return { x, y, width: Math.max(...xs) - x + NODE_SIZE.width, height: Math.max(...ys) - y + NODE_SIZE.height }
}

/** Whether nodes have no places of their own: several of them, and two at the same one. */
export function lacksPlaces({ nodes }: Graph): boolean {
  const places = new Set(nodes.map(({ position: { x, y } }) => `${x},${y}`))
  return places.size < nodes.length
}

/**
 * A graph with each node right of all that flow into it, and nodes of a column in the order of what flows into them, so
 * that few edges cross.
 */
export function arrange(graph: Graph): Graph {
  const columns = columnsOf(graph)
  for (let sweep = 0; sweep < 2; sweep++) {
    sortColumns(columns, sourcesOf(graph))
    sortColumns(columns.toReversed(), targetsOf(graph))
  }
  const tallest = Math.max(0, ...columns.map((column) => column.length))
  const places = new Map<string, Position>()
  for (const [x, column] of columns.entries()) {
    const top = ((tallest - column.length) * (NODE_SIZE.height + GAP.y)) / 2
    for (const [y, id] of column.entries()) {
      places.set(id, { x: x * (NODE_SIZE.width + GAP.x), y: top + y * (NODE_SIZE.height + GAP.y) })
    }
  }
  return moveNodes(graph, places)
}

type Neighbours = ReadonlyMap<string, readonly string[]>

function sourcesOf({ edges }: Graph): Neighbours {
  const groups = Map.groupBy(edges, ({ target }) => target)
  return new Map([...groups].map(([id, list]) => [id, list.map(({ source }) => source)]))
}

function targetsOf({ edges }: Graph): Neighbours {
  const groups = Map.groupBy(edges, ({ source }) => source)
  return new Map([...groups].map(([id, list]) => [id, list.map(({ target }) => target)]))
}

/** Ids by the longest way to them. */
function columnsOf(graph: Graph): string[][] {
  const depth = new Map(graph.nodes.map(({ id }) => [id, 0]))
  const targets = targetsOf(graph)
  const waiting = new Map(graph.nodes.map(({ id }) => [id, 0]))
  for (const { target } of graph.edges) waiting.set(target, (waiting.get(target) ?? 0) + 1)
  const ready = graph.nodes.map(({ id }) => id).filter((id) => waiting.get(id) === 0)
  for (let id = ready.shift(); id !== undefined; id = ready.shift()) {
    for (const target of targets.get(id) ?? []) {
      depth.set(target, Math.max(depth.get(target) ?? 0, (depth.get(id) ?? 0) + 1))
      const left = (waiting.get(target) ?? 0) - 1
      waiting.set(target, left)
      if (left === 0) ready.push(target)
    }
  }
  const columns: string[][] = []
  for (const { id } of graph.nodes) {
    const at = depth.get(id) ?? 0
    while (columns.length <= at) columns.push([])
    columns[at]?.push(id)
  }
  return columns
}

/** Sorts each column by the middle of its neighbours in the columns before it. */
function sortColumns(columns: readonly string[][], neighbours: Neighbours): void {
  const rows = new Map<string, number>()
  for (const column of columns) {
    const middles = new Map(column.map((id, row) => [id, middleOf(neighbours.get(id) ?? [], rows) ?? row]))
    column.sort((a, b) => (middles.get(a) ?? 0) - (middles.get(b) ?? 0))
    for (const [row, id] of column.entries()) rows.set(id, row - (column.length - 1) / 2)
  }
}

function middleOf(ids: readonly string[], rows: ReadonlyMap<string, number>): number | undefined {
  const known = ids.flatMap((id) => rows.get(id) ?? [])
  return known.length === 0 ? undefined : known.reduce((sum, row) => sum + row, 0) / known.length
}

/** A node of a drawing; `y` is where it stands on the canvas, which orders nodes of the same column. */
export interface DrawnNode {
  readonly id: string
  readonly y: number
}

export interface DrawnEdge {
  readonly source: string
  readonly target: string
}

export interface Box {
  readonly x: number
  readonly y: number
}

export interface GraphLayout {
  /** Left upper corners by node id, in pixels. */
  readonly boxes: ReadonlyMap<string, Box>
  /** For each edge in the order given, where it passes columns between its ends: points on its way, in pixels. */
  readonly bends: readonly (readonly Box[])[]
  readonly width: number
  readonly height: number
}

/** Sizes of the drawing in pixels; `lane` is the height of an edge that passes a column. */
export const DRAWING = { boxWidth: 144, boxHeight: 44, gapX: 36, gapY: 16, margin: 8, lane: 8 } as const

/** A node in a column, or an edge that passes it. */
interface Slot {
  readonly id: string
  readonly y: number
  readonly edge?: number
}

/**
 * Places a graph in columns, each node right of all that flow into it, in the order of the canvas within a column; edges
 * that pass columns have room of their own there. Edges to nodes that are not there, and edges that close a circle, do
 * not matter.
 */
export function layOutGraph(nodes: readonly DrawnNode[], edges: readonly DrawnEdge[]): GraphLayout {
  const columns = columnsOf(nodes, edges)
  const { boxWidth, boxHeight, gapX, margin } = DRAWING
  const tallest = Math.max(boxHeight, ...columns.map(heightOf))
  const boxes = new Map<string, Box>()
  const bends: Box[][] = edges.map(() => [])
  for (const [index, column] of columns.entries()) {
    const x = margin + index * (boxWidth + gapX)
    let y = margin + (tallest - heightOf(column)) / 2
    for (const slot of column) {
      if (slot.edge === undefined) boxes.set(slot.id, { x, y })
      else bends[slot.edge]?.push({ x, y: y + DRAWING.lane / 2 })
      y += slotHeight(slot) + DRAWING.gapY
    }
  }
  const wide = Math.max(1, columns.length)
  return { boxes, bends, width: 2 * margin + wide * boxWidth + (wide - 1) * gapX, height: 2 * margin + tallest }
}

function slotHeight({ edge }: Slot): number {
  return edge === undefined ? DRAWING.boxHeight : DRAWING.lane
}

function heightOf(column: readonly Slot[]): number {
  return column.reduce((sum, slot) => sum + slotHeight(slot), 0) + Math.max(0, column.length - 1) * DRAWING.gapY
}

function columnsOf(nodes: readonly DrawnNode[], edges: readonly DrawnEdge[]): Slot[][] {
  const depths = depthsOf(nodes, edges)
  const heights = new Map(nodes.map(({ id, y }) => [id, y]))
  const columns: Slot[][] = []
  for (const node of nodes) (columns[depths.get(node.id) ?? 0] ??= []).push(node)
  for (const [index, { source, target }] of edges.entries()) {
    const [from, to] = [depths.get(source), depths.get(target)]
    if (from === undefined || to === undefined) continue
    for (let column = from + 1; column < to; column += 1) {
      columns[column]?.push({ id: '', y: heights.get(source) ?? 0, edge: index })
    }
  }
  return columns.map((column) => column.toSorted((a, b) => a.y - b.y || (a.id < b.id ? 1 : -1)))
}

/** The longest way to each node, in edges (Kahn's order; what is on a circle starts anew). */
function depthsOf(nodes: readonly DrawnNode[], edges: readonly DrawnEdge[]): ReadonlyMap<string, number> {
  const depths = new Map(nodes.map(({ id }) => [id, 0]))
  const waitsFor = new Map<string, number>()
  const targets = new Map<string, string[]>()
  for (const { source, target } of edges) {
    if (!depths.has(source) || !depths.has(target) || source === target) continue
    waitsFor.set(target, (waitsFor.get(target) ?? 0) + 1)
    targets.set(source, [...(targets.get(source) ?? []), target])
  }
  const ready = nodes.map(({ id }) => id).filter((id) => !waitsFor.has(id))
  for (let id = ready.shift(); id !== undefined; id = ready.shift()) {
    for (const target of targets.get(id) ?? []) {
      depths.set(target, Math.max(depths.get(target) ?? 0, (depths.get(id) ?? 0) + 1))
      const left = (waitsFor.get(target) ?? 1) - 1
      waitsFor.set(target, left)
      if (left === 0) ready.push(target)
    }
  }
  return depths
}

/** An edge as an SVG path, from the right side of a box, by its bends, to the left side of another. */
export function edgePath(from: Box, bends: readonly Box[], to: Box): string {
  const half = DRAWING.boxHeight / 2
  let at = { x: from.x + DRAWING.boxWidth, y: from.y + half }
  let path = `M${at.x},${at.y}`
  for (const bend of bends) {
    path += `${curve(at, bend)} H${bend.x + DRAWING.boxWidth}`
    at = { x: bend.x + DRAWING.boxWidth, y: bend.y }
  }
  return path + curve(at, { x: to.x, y: to.y + half })
}

function curve(from: Box, to: Box): string {
  const pull = Math.max(16, (to.x - from.x) / 2)
  return ` C${from.x + pull},${from.y} ${to.x - pull},${to.y} ${to.x},${to.y}`
}

import { type Edge as FlowEdge, type NodeHandle, Position } from '@xyflow/react'
import { designerStrings } from '../../strings/designer.ts'
import { NODE_SIZE } from './auto-layout.ts'
import type { Mark } from './diff-drawing.ts'
import type { Graph, NodeTypes } from './graph.ts'
import type { CanvasNode } from './graph-node.tsx'
import { summaryOf } from './node-summary.ts'

/** What validation says of one node. */
export interface NodeProblems {
  readonly messages: readonly string[]
  readonly severity: 'error' | 'warning'
}

/** What is drawn over a graph. */
export interface Drawing {
  readonly types: NodeTypes
  readonly problems: ReadonlyMap<string, NodeProblems>
  readonly nodeMarks: ReadonlyMap<string, Mark>
  readonly edgeMarks: ReadonlyMap<string, Mark>
  readonly selectedId: string | undefined
}

/** Diameter of a handle, px, as in `canvas.module.css`. */
const HANDLE_SIZE = 10

/** Where edges end at a node: the middle of its left side, and of its right side. */
const INPUT = handleAt('target', Position.Left, 0)
const OUTPUT = handleAt('source', Position.Right, NODE_SIZE.width)

function handleAt(type: NodeHandle['type'], position: Position, x: number): NodeHandle {
  const half = HANDLE_SIZE / 2
  return { type, position, x: x - half, y: NODE_SIZE.height / 2 - half, width: HANDLE_SIZE, height: HANDLE_SIZE }
}

/**
 * The nodes of a graph as the canvas takes them. All have the same size, so that the canvas does not have to draw them
 * once to measure them and again with their edges.
 */
export function flowNodes(graph: Graph, drawing: Drawing): CanvasNode[] {
  return graph.nodes.map((node): CanvasNode => {
    const info = drawing.types.get(node.type)
    const problems = drawing.problems.get(node.id)
    const title = info ? titleOf(node.type, info.title) : node.type
    const summary = summaryOf(node)
    const hasInput = info?.inputs.max !== 0
    const hasOutput = info?.has_output !== false
    return {
      id: node.id,
      type: 'step',
      position: node.position,
      measured: NODE_SIZE,
      handles: [...(hasInput ? [INPUT] : []), ...(hasOutput ? [OUTPUT] : [])],
      selected: node.id === drawing.selectedId,
      ariaLabel: designerStrings.canvas.nodeLabel(node.id, title, summary),
      data: {
        title,
        summary,
        hasInput,
        hasOutput,
        isKnown: info !== undefined,
        mark: drawing.nodeMarks.get(node.id) ?? 'same',
        problems: problems?.messages ?? [],
        severity: problems?.severity,
      },
    }
  })
}

/** Sources and sinks are both called after what they read and write: the palette and the canvas tell them apart. */
export function titleOf(type: string, title: string): string {
  if (type === 'iceberg-source') return designerStrings.palette.source
  return type === 'iceberg-sink' ? designerStrings.palette.sink : title
}

/** The edges of a graph as the canvas takes them. */
export function flowEdges(graph: Graph, { edgeMarks }: Drawing, before: readonly FlowEdge[]): FlowEdge[] {
  const selected = new Set(before.filter((edge) => edge.selected).map(({ id }) => id))
  return graph.edges.map(({ id, source, target }) => ({
    id,
    source,
    target,
    selected: selected.has(id),
    className: `edge-${edgeMarks.get(id) ?? 'same'}`,
    ariaLabel: designerStrings.canvas.edgeLabel(source, target),
  }))
}

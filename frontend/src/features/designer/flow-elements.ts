import type { Edge as FlowEdge } from '@xyflow/react'
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

/** The nodes of a graph as the canvas takes them; what it measured before stays. */
export function flowNodes(graph: Graph, drawing: Drawing, before: readonly CanvasNode[]): CanvasNode[] {
  const known = new Map(before.map((node) => [node.id, node]))
  return graph.nodes.map((node): CanvasNode => {
    const info = drawing.types.get(node.type)
    const problems = drawing.problems.get(node.id)
    const title = info ? titleOf(node.type, info.title) : node.type
    const summary = summaryOf(node)
    const measured = known.get(node.id)?.measured
    return {
      id: node.id,
      type: 'step',
      position: node.position,
      initialWidth: NODE_SIZE.width,
      initialHeight: NODE_SIZE.height,
      ...(measured ? { measured } : {}),
      selected: node.id === drawing.selectedId,
      ariaLabel: designerStrings.canvas.nodeLabel(node.id, title, summary),
      data: {
        title,
        summary,
        hasInput: info?.inputs.max !== 0,
        hasOutput: info?.has_output !== false,
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

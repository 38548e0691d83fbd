import { type Edge as FlowEdge, type NodeHandle, Position } from '@xyflow/react'
import { graphStrings as words } from '../../strings/everywhere/graph.ts'
import type { Mark } from './diff-drawing.ts'
import { type Graph, NODE_SIZE, type NodeTypes } from './graph.ts'
import type { FlowNode } from './node.tsx'
import { modeOf, summaryOf } from './node-summary.ts'

/** The validation problems of one node. */
export interface NodeProblems {
  readonly messages: readonly string[]
  readonly severity: 'error' | 'warning'
}

/** What a drawing shows in addition to the graph. */
export interface Drawing {
  readonly types: NodeTypes
  readonly problems: ReadonlyMap<string, NodeProblems>
  readonly nodeMarks: ReadonlyMap<string, Mark>
  readonly edgeMarks: ReadonlyMap<string, Mark>
  readonly selectedId: string | undefined
}

/** Diameter of a handle, pixels, as in `view.module.css`. */
const HANDLE_SIZE = 10

/** Edges end in the middle of a node's left side and begin in the middle of its right side. */
const INPUT = handleAt('target', Position.Left, 0)
const OUTPUT = handleAt('source', Position.Right, NODE_SIZE.width)

function handleAt(type: NodeHandle['type'], position: Position, x: number): NodeHandle {
  const half = HANDLE_SIZE / 2
  return { type, position, x: x - half, y: NODE_SIZE.height / 2 - half, width: HANDLE_SIZE, height: HANDLE_SIZE }
}

/** The nodes of a graph for React Flow, with their size, so that it does not have to draw them once to measure them. */
export function flowNodes(graph: Graph, drawing: Drawing): FlowNode[] {
  return graph.nodes.map((node): FlowNode => {
    const info = drawing.types.get(node.type)
    const problems = drawing.problems.get(node.id)
    const title = info ? words.withMode(titleOf(node.type, info.title), modeOf(node)) : node.type
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
      ariaLabel: words.nodeLabel(node.id, title, summary),
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

/** The short title of a node type. */
export function titleOf(type: string, title: string): string {
  if (type === 'iceberg-source') return words.source
  return type === 'iceberg-sink' ? words.sink : title
}

/** The edges of a graph for React Flow; edges that were selected stay selected. */
export function flowEdges(graph: Graph, { edgeMarks }: Drawing, before: readonly FlowEdge[]): FlowEdge[] {
  const selected = new Set(before.filter((edge) => edge.selected).map(({ id }) => id))
  return graph.edges.map(({ id, source, target }) => ({
    id,
    source,
    target,
    selected: selected.has(id),
    className: `edge-${edgeMarks.get(id) ?? 'same'}`,
    ariaLabel: words.edgeLabel(source, target),
  }))
}

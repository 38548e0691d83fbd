import '@xyflow/react/dist/base.css'
import { VisuallyHidden } from '@mantine/core'
import {
  Background,
  type Edge,
  type NodeChange,
  type NodeHandle,
  Position,
  ReactFlow,
  ReactFlowProvider,
} from '@xyflow/react'
import { useMemo } from 'react'
import type { Position as Point } from '../../../../src/domain/graph.ts'
import type { LineageEdge } from '../../api/types.ts'
import { NODE_SIZE } from '../../components/graph/graph.ts'
import { FIT, ZoomPanel } from '../../components/graph/zoom-panel.tsx'
import { lineage as words } from '../../strings/lineage.ts'
import type { LineageGraph, VisibleGraph } from './graph-model.ts'
import { bandText, FlowNodeView, type LineageFlowNode, stateText, TableNodeView } from './graph-nodes.tsx'
import classes from './lineage.module.css'

interface DrawingProps {
  readonly graph: LineageGraph
  readonly visible: VisibleGraph
  readonly positions: ReadonlyMap<string, Point>
  readonly focusId: string | undefined
  readonly selectedId: string | undefined
  readonly onSelect: (id: string | undefined) => void
  readonly onToggle: (id: string) => void
}

const NODE_TYPES = { table: TableNodeView, flow: FlowNodeView }

/** From this many nodes on, only those in sight are drawn. */
const MANY = 150

const HANDLES: NodeHandle[] = [
  { type: 'target', position: Position.Left, x: 0, y: NODE_SIZE.height / 2, width: 1, height: 1 },
  { type: 'source', position: Position.Right, x: NODE_SIZE.width, y: NODE_SIZE.height / 2, width: 1, height: 1 },
]

/** The graph, drawn; nothing in it can be moved or changed. */
export function GraphDrawing(props: DrawingProps) {
  const { visible, onSelect } = props
  const nodes = useNodes(props)
  const edges = useMemo(() => visible.edges.map(drawnEdge), [visible])
  const select = (changes: NodeChange<LineageFlowNode>[]): void => {
    const chosen = changes.findLast((change) => change.type === 'select' && change.selected)
    if (chosen?.type === 'select') onSelect(chosen.id)
  }
  return (
    <ReactFlowProvider>
      <ReactFlow<LineageFlowNode>
        className={classes.view ?? ''}
        aria-label={words.page.graph}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        onNodesChange={select}
        onPaneClick={() => onSelect(undefined)}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        fitView
        fitViewOptions={FIT}
        minZoom={0.1}
        maxZoom={2}
        onlyRenderVisibleElements={nodes.length > MANY}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={20} size={1} color="var(--lh-border)" />
        <ZoomPanel />
        <VisuallyHidden>{words.page.help}</VisuallyHidden>
      </ReactFlow>
    </ReactFlowProvider>
  )
}

function useNodes({ graph, visible, positions, focusId, selectedId, onToggle }: DrawingProps): LineageFlowNode[] {
  return [...visible.ids].flatMap((id): LineageFlowNode[] => {
    const position = positions.get(id)
    if (position === undefined) return [] // it comes with the next layout
    const common = { id, position, measured: NODE_SIZE, handles: HANDLES, selected: id === selectedId }
    const node = graph.tables.get(id)
    if (node !== undefined) {
      const hidden = visible.hidden.get(id) ?? 0
      const canToggle = hidden > 0 || visible.collapsible.has(id)
      const data = { node, isFocus: id === focusId, hidden, onToggle: canToggle ? () => onToggle(id) : undefined }
      return [{ ...common, type: 'table', ariaLabel: words.nodeLabel(node.table, bandText(node)), data }]
    }
    const flow = graph.flows.get(id)
    if (flow === undefined) return []
    return [{ ...common, type: 'flow', ariaLabel: words.nodeLabel(flow.name, stateText(flow)), data: { flow } }]
  })
}

function drawnEdge({ id, from, to, state }: LineageEdge): Edge {
  const className = `edge-${EDGE_CLASSES[state ?? 'stopped']}`
  return { id, source: from, target: to, focusable: false, selectable: false, className }
}

const EDGE_CLASSES: Readonly<Record<NonNullable<LineageEdge['state']>, string>> = {
  starting: 'live',
  running: 'live',
  stopping: 'live',
  degraded: 'degraded',
  failed: 'failed',
  stopped: 'idle',
}

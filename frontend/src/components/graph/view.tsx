import {
  applyEdgeChanges,
  applyNodeChanges,
  Background,
  type Connection,
  type Edge as FlowEdge,
  type EdgeChange,
  getViewportForBounds,
  type NodeChange,
  Panel,
  ReactFlow,
  type ReactFlowProps,
  ReactFlowProvider,
  useReactFlow,
  useStoreApi,
} from '@xyflow/react'
import '@xyflow/react/dist/base.css'
import { VisuallyHidden } from '@mantine/core'
import { type RefObject, useCallback, useEffect, useImperativeHandle, useMemo, useState } from 'react'
import type { Position } from '../../../../src/domain/graph.ts'
import { graphStrings as words } from '../../strings/everywhere/graph.ts'
import { DRAGGED_TYPE } from './dragged-type.ts'
import { type Drawing, flowEdges, flowNodes } from './flow-elements.ts'
import { boundsOf, type Graph, NODE_SIZE } from './graph.ts'
import { type FlowNode, GraphNode } from './node.tsx'
import { useGrowingCount } from './use-growing-count.ts'
import { FIT, ZoomPanel } from './zoom-panel.tsx'
import classes from './view.module.css'

/** The edits that the view offers. */
export interface GraphEdits {
  readonly add: (type: string, at: { readonly position: Position }) => string
  readonly remove: (nodeIds: readonly string[], edgeIds: readonly string[]) => void
  readonly connect: (source: string, target: string) => void
  readonly canConnect: (source: string, target: string) => boolean
  readonly move: (positions: ReadonlyMap<string, Position>) => void
}

export interface GraphViewProps {
  readonly graph: Graph
  readonly drawing: Drawing
  /** Undefined for a view that cannot be edited. */
  readonly edits: GraphEdits | undefined
  readonly onSelect: (id: string | undefined) => void
  /** Set to the controls of the visible part of the graph. */
  readonly viewport?: RefObject<GraphViewport | null>
  /** The view is a part of a page that scrolls: the mouse wheel scrolls the page and does not zoom. */
  readonly embedded?: boolean
}

/** The visible part of the graph. */
export interface GraphViewport {
  /** The position of a node in the middle of the view. */
  readonly center: () => Position
  /** Shows all nodes of a graph, which may be drawn later. */
  readonly fit: (graph: Graph) => void
  /** Scrolls just enough to show a node, after it is drawn; keeps the zoom. */
  readonly reveal: (id: string) => void
}

const NODE_COMPONENTS = { step: GraphNode }
const MIN_ZOOM = 0.1

/**
 * A graph, drawn, with marks and problems on its nodes. Editable ones can be changed by mouse or keyboard: move, connect
 * and delete nodes.
 */
export function GraphView(props: GraphViewProps) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  )
}

function Flow({ graph, drawing, edits, onSelect, viewport, embedded = false }: GraphViewProps) {
  const [nodes, setNodes] = useState<FlowNode[]>(() => flowNodes(graph, drawing))
  const [edges, setEdges] = useState<FlowEdge[]>(() => flowEdges(graph, drawing, []))
  useEffect(() => {
    setNodes(flowNodes(graph, drawing))
    setEdges((before) => flowEdges(graph, drawing, before))
  }, [graph, drawing])
  useFixedNodeSizes()
  useGraphViewport(viewport)
  const fitAll = useFitAll()
  const dropTarget = useDropTarget(edits, onSelect)

  const changeNodes = (changes: NodeChange<FlowNode>[]): void => {
    setNodes((before) => applyNodeChanges(withoutRemovals(changes), before))
    const positions = finalPositions(changes)
    if (positions.size > 0) edits?.move(positions)
    const selected = changes.findLast((change) => change.type === 'select' && change.selected)
    if (selected?.type === 'select') onSelect(selected.id)
  }
  const isPossible = ({ source, target }: Connection | FlowEdge): boolean => edits?.canConnect(source, target) ?? false
  return (
    <GrowingFlow
      className={classes.view ?? ''}
      aria-label={words.label}
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_COMPONENTS}
      onNodesChange={changeNodes}
      onEdgesChange={(changes: EdgeChange[]) =>
        setEdges((before) => applyEdgeChanges(withoutRemovals(changes), before))
      }
      onConnect={({ source, target }) => edits?.connect(source, target)}
      isValidConnection={isPossible}
      onDelete={({ nodes: gone, edges: cut }) => {
        edits?.remove(
          gone.map(({ id }) => id),
          cut.map(({ id }) => id),
        )
        if (gone.length > 0) onSelect(undefined)
      }}
      onPaneClick={() => onSelect(undefined)}
      {...dropTarget}
      nodesDraggable={edits !== undefined}
      nodesConnectable={edits !== undefined}
      deleteKeyCode={edits ? DELETE_KEYS : null}
      onInit={() => fitAll(graph)}
      zoomOnScroll={!embedded}
      preventScrolling={!embedded}
      minZoom={MIN_ZOOM}
      maxZoom={2}
      proOptions={{ hideAttribution: true }}
    >
      <Background gap={20} size={1} color="var(--lh-border)" />
      <ZoomPanel />
      {graph.nodes.length === 0 && <EmptyGraph help={edits ? words.emptyHelp : words.emptyReadOnly} />}
      {edits && <VisuallyHidden>{words.help}</VisuallyHidden>}
    </GrowingFlow>
  )
}

/**
 * Keeps React Flow from measuring each node after it is drawn, and from drawing it again then: `flowNodes` states the
 * size and the handles of all nodes. Runs once, before `ReactFlow` renders and reads this function.
 */
function useFixedNodeSizes(): void {
  const store = useStoreApi<FlowNode>()
  useState(() => store.setState({ updateNodeInternals: () => undefined }))
}

type DropTarget = Pick<ReactFlowProps<FlowNode>, 'onDragOver' | 'onDrop'>

/** Adds the node type that is dragged from the palette where it is dropped, and selects the new node. */
function useDropTarget(edits: GraphEdits | undefined, onSelect: GraphViewProps['onSelect']): DropTarget {
  const flow = useReactFlow<FlowNode>()
  return {
    onDragOver: (event) => {
      if (edits) event.preventDefault()
    },
    onDrop: (event) => {
      const type = event.dataTransfer.getData(DRAGGED_TYPE)
      if (type === '' || !edits) return
      event.preventDefault()
      onSelect(edits.add(type, { position: flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }) }))
    },
  }
}

type GrowingFlowProps = ReactFlowProps<FlowNode> & { readonly nodes: FlowNode[]; readonly edges: FlowEdge[] }

/**
 * Draws large graphs a few nodes per frame. It is a separate component so that each frame changes only `nodes` and
 * `edges`: a change of any other property makes all nodes render again.
 */
function GrowingFlow({ nodes, edges, ...rest }: GrowingFlowProps) {
  const count = useGrowingCount(nodes.length)
  const drawn = useMemo(() => {
    if (count >= nodes.length) return { nodes, edges }
    const part = nodes.slice(0, count)
    const ids = new Set(part.map(({ id }) => id))
    return { nodes: part, edges: edges.filter(({ source, target }) => ids.has(source) && ids.has(target)) }
  }, [nodes, edges, count])
  return <ReactFlow<FlowNode> {...rest} nodes={drawn.nodes} edges={drawn.edges} />
}

/** Shows the whole graph, including nodes that are not drawn yet. */
function useFitAll(): (graph: Graph) => void {
  const { setViewport } = useReactFlow<FlowNode>()
  const store = useStoreApi()
  return useCallback(
    ({ nodes }) => {
      if (nodes.length === 0) return
      const { width, height } = store.getState()
      const { maxZoom, padding } = FIT
      void setViewport(getViewportForBounds(boundsOf(nodes), width, height, MIN_ZOOM, maxZoom, padding))
    },
    [setViewport, store],
  )
}

function EmptyGraph({ help }: { readonly help: string }) {
  return (
    <Panel position="top-center" className={classes.empty ?? ''}>
      <strong>{words.empty}</strong>
      <span>{help}</span>
    </Panel>
  )
}

const DELETE_KEYS = ['Delete', 'Backspace']

/** Sets `ref`. The viewport never moves by itself, so that users of a large graph stay where they work. */
function useGraphViewport(ref: RefObject<GraphViewport | null> | undefined): void {
  const flow = useReactFlow<FlowNode>()
  const store = useStoreApi()
  const fitAll = useFitAll()
  useImperativeHandle(ref, () => {
    const whenDrawn = (then: () => void): void => void requestAnimationFrame(() => requestAnimationFrame(then))
    return {
      center() {
        const { width, height, transform } = store.getState()
        const [x, y, zoom] = transform
        return {
          x: (width / 2 - x) / zoom - NODE_SIZE.width / 2,
          y: (height / 2 - y) / zoom - NODE_SIZE.height / 2,
        }
      },
      fit: fitAll,
      reveal: (id) =>
        whenDrawn(() => {
          const node = flow.getNode(id)
          if (node === undefined) return
          const { width, height } = store.getState()
          const { x, y, zoom } = flow.getViewport()
          const moved = {
            x: x + shiftInto(node.position.x * zoom + x, NODE_SIZE.width * zoom, width),
            y: y + shiftInto(node.position.y * zoom + y, NODE_SIZE.height * zoom, height),
            zoom,
          }
          if (moved.x !== x || moved.y !== y) void flow.setViewport(moved)
        }),
    }
  }, [flow, store, fitAll])
}

/** Space between a node that was moved into the view and the edge of the view, pixels. */
const VIEW_MARGIN = 16

/** How far to move a span so that it is inside a view that begins at 0; 0 if it is inside already. */
function shiftInto(start: number, size: number, view: number): number {
  if (start < VIEW_MARGIN) return VIEW_MARGIN - start
  return Math.min(0, view - VIEW_MARGIN - (start + size))
}

/** Removals change the graph itself, and the view follows it. */
function withoutRemovals<T extends { readonly type: string }>(changes: T[]): T[] {
  return changes.filter(({ type }) => type !== 'remove')
}

/** Positions of nodes whose move has ended, by mouse or by key. */
function finalPositions(changes: readonly NodeChange<FlowNode>[]): ReadonlyMap<string, Position> {
  return new Map(
    changes.flatMap((change) =>
      change.type === 'position' && change.dragging !== true && change.position ? [[change.id, change.position]] : [],
    ),
  )
}

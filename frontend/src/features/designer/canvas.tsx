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
import { ActionIcon, Tooltip, VisuallyHidden } from '@mantine/core'
import {
  type DragEvent,
  memo,
  type ReactNode,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useMemo,
  useState,
} from 'react'
import type { Position } from '../../../../src/domain/graph.ts'
import { FitIcon, MinusIcon, PlusIcon } from '../../components/icons.tsx'
import { designerStrings } from '../../strings/designer.ts'
import { boundsOf, NODE_SIZE } from './auto-layout.ts'
import { DRAGGED_TYPE } from './dragged-type.ts'
import { type Drawing, flowEdges, flowNodes } from './flow-elements.ts'
import type { Graph } from './graph.ts'
import { whyNotConnect } from './graph-edits.ts'
import { type CanvasNode, GraphNode } from './graph-node.tsx'
import { useGrowingCount } from './use-growing-count.ts'
import classes from './canvas.module.css'

const words = designerStrings.canvas

/** What is done on a canvas that can be edited. */
export interface CanvasEdits {
  readonly add: (type: string, at: { readonly position: Position }) => string
  readonly remove: (nodeIds: readonly string[], edgeIds: readonly string[]) => void
  readonly connect: (source: string, target: string) => void
  readonly move: (places: ReadonlyMap<string, Position>) => void
}

export interface CanvasProps {
  readonly graph: Graph
  readonly drawing: Drawing
  /** Undefined: it is only looked at. */
  readonly edits: CanvasEdits | undefined
  readonly onSelect: (id: string | undefined) => void
  /** Filled with what the surroundings can do with the view. */
  readonly view?: RefObject<CanvasView | null>
}

/** The part of the graph that is seen. */
export interface CanvasView {
  /** The position at which a node stands in the middle of the view. */
  readonly center: () => Position
  /** Shows all nodes, once what has just changed is drawn. */
  readonly fit: () => void
  /** Moves the view so far that a node is in it, once it is drawn; the zoom stays. */
  readonly reveal: (id: string) => void
}

const NODE_COMPONENTS = { step: GraphNode }
const FIT = { padding: 0.06, maxZoom: 1 } as const
const MIN_ZOOM = 0.1

/** A graph on a canvas: drag, connect, delete, zoom; everything by keyboard too. */
export function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  )
}

function Flow({ graph, drawing, edits, onSelect, view }: CanvasProps) {
  const [nodes, setNodes] = useState<CanvasNode[]>(() => flowNodes(graph, drawing))
  const [edges, setEdges] = useState<FlowEdge[]>(() => flowEdges(graph, drawing, []))
  const flow = useReactFlow<CanvasNode>()
  useEffect(() => {
    setNodes(flowNodes(graph, drawing))
    setEdges((before) => flowEdges(graph, drawing, before))
  }, [graph, drawing])
  useCanvasView(view)
  const fitAll = useFitAll()

  const changeNodes = (changes: NodeChange<CanvasNode>[]): void => {
    setNodes((before) => applyNodeChanges(withoutRemovals(changes), before))
    const places = settledPlaces(changes)
    if (places.size > 0) edits?.move(places)
    const selected = changes.findLast((change) => change.type === 'select' && change.selected)
    if (selected?.type === 'select') onSelect(selected.id)
  }
  const drop = (event: DragEvent): void => {
    const type = event.dataTransfer.getData(DRAGGED_TYPE)
    if (type === '' || !edits) return
    event.preventDefault()
    onSelect(edits.add(type, { position: flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }) }))
  }
  const isPossible = ({ source, target }: Connection | FlowEdge): boolean =>
    whyNotConnect(graph, drawing.types, { source, target }) === undefined
  return (
    <GrowingFlow
      className={classes.canvas ?? ''}
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
      onDragOver={(event) => {
        if (edits) event.preventDefault()
      }}
      onDrop={drop}
      nodesDraggable={edits !== undefined}
      nodesConnectable={edits !== undefined}
      deleteKeyCode={edits ? DELETE_KEYS : null}
      onInit={() => fitAll(graph)}
      minZoom={MIN_ZOOM}
      maxZoom={2}
      proOptions={{ hideAttribution: true }}
    >
      <Background gap={20} size={1} color="var(--lh-border)" />
      <ZoomPanel />
      {graph.nodes.length === 0 && (
        <Panel position="top-center" className={classes.empty ?? ''}>
          <strong>{words.empty}</strong>
          <span>{edits ? words.emptyHelp : words.emptyReadOnly}</span>
        </Panel>
      )}
      {edits && <VisuallyHidden>{words.help}</VisuallyHidden>}
    </GrowingFlow>
  )
}

type GrowingFlowProps = ReactFlowProps<CanvasNode> & { readonly nodes: CanvasNode[]; readonly edges: FlowEdge[] }

/**
 * Large graphs are drawn a slice at a time. A component of its own, so that a slice renews nothing but nodes and edges:
 * each other property of the canvas that changes has all nodes look at its store again.
 */
function GrowingFlow({ nodes, edges, ...rest }: GrowingFlowProps) {
  const count = useGrowingCount(nodes.length)
  const drawn = useMemo(() => {
    if (count >= nodes.length) return { nodes, edges }
    const part = nodes.slice(0, count)
    const ids = new Set(part.map(({ id }) => id))
    return { nodes: part, edges: edges.filter(({ source, target }) => ids.has(source) && ids.has(target)) }
  }, [nodes, edges, count])
  return <ReactFlow<CanvasNode> {...rest} nodes={drawn.nodes} edges={drawn.edges} />
}

/** Shows all of a graph, also the nodes that are not drawn yet. */
function useFitAll(): (graph: Graph) => void {
  const { setViewport } = useReactFlow<CanvasNode>()
  const store = useStoreApi()
  return ({ nodes }) => {
    if (nodes.length === 0) return
    const { width, height } = store.getState()
    const { maxZoom, padding } = FIT
    void setViewport(getViewportForBounds(boundsOf(nodes), width, height, MIN_ZOOM, maxZoom, padding))
  }
}

const DELETE_KEYS = ['Delete', 'Backspace']

/** Does not depend on the graph, so that it is not drawn again with each of its changes. */
const ZoomPanel = memo(function ZoomPanel() {
  const flow = useReactFlow<CanvasNode>()
  return (
    <Panel position="bottom-left" className={classes.zoom ?? ''}>
      <ZoomButton label={words.zoomIn} onClick={() => void flow.zoomIn()} icon={<PlusIcon size={14} />} />
      <ZoomButton label={words.zoomOut} onClick={() => void flow.zoomOut()} icon={<MinusIcon size={14} />} />
      <ZoomButton label={words.fit} onClick={() => void flow.fitView(FIT)} icon={<FitIcon size={14} />} />
    </Panel>
  )
})

interface ZoomButtonProps {
  readonly label: string
  readonly icon: ReactNode
  readonly onClick: () => void
}

function ZoomButton({ label, icon, onClick }: ZoomButtonProps) {
  return (
    <Tooltip label={label} position="right">
      <ActionIcon variant="default" aria-label={label} onClick={onClick}>
        {icon}
      </ActionIcon>
    </Tooltip>
  )
}

/** Fills `view`. The view is never changed by itself: who is at work in a large graph keeps the place. */
function useCanvasView(view: RefObject<CanvasView | null> | undefined): void {
  const flow = useReactFlow<CanvasNode>()
  const store = useStoreApi()
  useImperativeHandle(view, () => {
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
      fit: () => whenDrawn(() => void flow.fitView(FIT)),
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
  }, [flow, store])
}

/** Room between a node that is moved into the view and its edge, px. */
const VIEW_MARGIN = 16

/** How far a span has to be moved to lie within a view that begins at 0; 0 when it does already. */
function shiftInto(start: number, size: number, view: number): number {
  if (start < VIEW_MARGIN) return VIEW_MARGIN - start
  return Math.min(0, view - VIEW_MARGIN - (start + size))
}

/** What is removed is removed from the graph, from which the canvas is drawn anew. */
function withoutRemovals<T extends { readonly type: string }>(changes: T[]): T[] {
  return changes.filter(({ type }) => type !== 'remove')
}

/** Places of nodes that were put down, by mouse or by key. */
function settledPlaces(changes: readonly NodeChange<CanvasNode>[]): ReadonlyMap<string, Position> {
  return new Map(
    changes.flatMap((change) =>
      change.type === 'position' && change.dragging !== true && change.position ? [[change.id, change.position]] : [],
    ),
  )
}

import { useMemo, useState } from 'react'
import type { Position } from '../../../../../src/domain/graph.ts'
import { arrange } from '../../../components/graph/arrange.ts'
import { beginHistory, edit, redo, undo } from './edit-history.ts'
import { type Graph, isSameGraph, moveNodes, type Node, type NodeTypes } from '../../../components/graph/graph.ts'
import { addNode, configure, connect, freePlace, removeElements, renameNode, whyNotConnect } from '../graph-edits.ts'

/** A graph that is edited, and its edits. */
export interface GraphEditor {
  readonly graph: Graph
  readonly isDirty: boolean
  readonly canUndo: boolean
  readonly canRedo: boolean
  /** Adds a node, connected to another one if possible, else at a free place near a position, and returns its ID. */
  readonly add: (type: string, at?: NewPlace) => string
  readonly remove: (nodeIds: readonly string[], edgeIds: readonly string[]) => void
  readonly connect: (source: string, target: string) => void
  readonly canConnect: (source: string, target: string) => boolean
  readonly move: (positions: ReadonlyMap<string, Position>) => void
  readonly configure: (id: string, config: Node['config'], field: string) => void
  readonly rename: (from: string, to: string) => void
  /** Moves all nodes to computed positions, and returns the arranged graph. */
  readonly arrange: () => Promise<Graph>
  readonly undo: () => void
  readonly redo: () => void
  /** Undoes all edits since the graph was saved, and forgets them. */
  readonly discard: () => void
  /** Continues with a saved graph, without the edits before. */
  readonly reset: (saved: Graph) => void
}

interface NewPlace {
  /** The node that it comes after. */
  readonly after?: string | undefined
  /** The position near which to place the node if `after` is not given. */
  readonly near?: Position | undefined
  /** Exactly there. */
  readonly position?: Position
}

/** Edits a graph, beginning with one that counts as saved. */
export function useGraphEditor(initial: Graph, types: NodeTypes): GraphEditor {
  const [saved, setSaved] = useState(initial)
  const [history, setHistory] = useState(() => beginHistory(initial))
  const graph = history.present
  return useMemo(() => {
    const change = (how: (graph: Graph) => Graph, about?: string): void =>
      setHistory((before) => edit(before, how(before.present), about))
    return {
      graph,
      isDirty: !isSameGraph(graph, saved),
      canUndo: history.past.length > 0,
      canRedo: history.future.length > 0,
      add(type, { after, near, position } = {}) {
        const added = addNode(graph, type, position ?? freePlace(graph, after, near))
        const joins =
          after !== undefined && whyNotConnect(added.graph, types, { source: after, target: added.id }) === undefined
        change(() => (joins ? connect(added.graph, after, added.id) : added.graph))
        return added.id
      },
      remove: (nodeIds, edgeIds) => change((now) => removeElements(now, new Set(nodeIds), new Set(edgeIds))),
      canConnect: (source, target) => whyNotConnect(graph, types, { source, target }) === undefined,
      connect: (source, target) =>
        change((now) => (whyNotConnect(now, types, { source, target }) ? now : connect(now, source, target))),
      move: (positions) => change((now) => moveNodes(now, positions), `move ${[...positions.keys()].join()}`),
      configure: (id, config, field) => change((now) => configure(now, id, config), `config ${id} ${field}`),
      rename: (from, to) => change((now) => renameNode(now, from, to)),
      async arrange() {
        const positions = await arrange(graph)
        change((now) => moveNodes(now, positions))
        return moveNodes(graph, positions)
      },
      undo: () => setHistory(undo),
      redo: () => setHistory(redo),
      discard: () => setHistory(beginHistory(saved)),
      reset(next) {
        setSaved(next)
        setHistory(beginHistory(next))
      },
    }
  }, [graph, history, saved, types])
}

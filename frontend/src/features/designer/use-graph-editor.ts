import { useMemo, useState } from 'react'
import type { Position } from '../../../../src/domain/graph.ts'
import { arrange } from './auto-layout.ts'
import { beginHistory, edit, redo, undo } from './edit-history.ts'
import { type Graph, isSameGraph, type Node, type NodeTypes } from './graph.ts'
import {
  addNode,
  configure,
  connect,
  freePlace,
  moveNodes,
  removeElements,
  renameNode,
  whyNotConnect,
} from './graph-edits.ts'

/** A graph under the hands of somebody: what it is, and all that can be done to it. */
export interface GraphEditor {
  readonly graph: Graph
  readonly isDirty: boolean
  readonly canUndo: boolean
  readonly canRedo: boolean
  /** Adds a node, after another one if that can be, else at a free place near a position, and answers its id. */
  readonly add: (type: string, at?: NewPlace) => string
  readonly remove: (nodeIds: readonly string[], edgeIds: readonly string[]) => void
  readonly connect: (source: string, target: string) => void
  readonly move: (places: ReadonlyMap<string, Position>) => void
  readonly configure: (id: string, config: Node['config'], field: string) => void
  readonly rename: (from: string, to: string) => void
  readonly arrange: () => void
  readonly undo: () => void
  readonly redo: () => void
  /** Begins anew from a graph that counts as saved. */
  readonly reset: (saved: Graph) => void
}

interface NewPlace {
  /** The node that it comes after. */
  readonly after?: string | undefined
  /** Where there is no such node: a position beside which it finds room. */
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
      connect: (source, target) =>
        change((now) => (whyNotConnect(now, types, { source, target }) ? now : connect(now, source, target))),
      move: (places) => change((now) => moveNodes(now, places), `move ${[...places.keys()].join()}`),
      configure: (id, config, field) => change((now) => configure(now, id, config), `config ${id} ${field}`),
      rename: (from, to) => change((now) => renameNode(now, from, to)),
      arrange: () => change(arrange),
      undo: () => setHistory(undo),
      redo: () => setHistory(redo),
      reset(next) {
        setSaved(next)
        setHistory(beginHistory(next))
      },
    }
  }, [graph, history, saved, types])
}

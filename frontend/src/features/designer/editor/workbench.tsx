import { type RefObject, useMemo, useRef } from 'react'
import type { Drawing } from '../../../components/graph/flow-elements.ts'
import type { NodeTypes } from '../../../components/graph/graph.ts'
import { GraphView } from '../../../components/graph/lazy-view.tsx'
import type { GraphViewport } from '../../../components/graph/view.tsx'
import { Inspector } from './inspector.tsx'
import { Outline } from './outline.tsx'
import { Palette } from './palette.tsx'
import type { GraphEditor } from './use-graph-editor.ts'
import { problemsByNode, type Validated } from './validation.ts'
import classes from '../designer.module.css'

export interface WorkbenchProps {
  readonly editor: GraphEditor
  readonly types: NodeTypes
  readonly validated: Validated | undefined
  readonly readOnly: boolean
  readonly selectedId: string | undefined
  readonly onSelect: (id: string | undefined) => void
  /** Set to the controls of the visible part of the graph. */
  readonly viewport: RefObject<GraphViewport | null>
}

const NO_MARKS = new Map<string, never>()

/** The graph, with the palette and the outline on its left and the selected node on its right. */
export function Workbench({ editor, types, validated, readOnly, selectedId, onSelect, viewport }: WorkbenchProps) {
  const problems = useMemo(() => problemsByNode(validated?.answer.problems ?? []), [validated])
  const drawing = useMemo<Drawing>(
    () => ({ types, problems, nodeMarks: NO_MARKS, edgeMarks: NO_MARKS, selectedId }),
    [types, problems, selectedId],
  )
  const stage = useRef<HTMLDivElement>(null)
  const add = (type: string): void => {
    const id = editor.add(type, { after: selectedId, near: viewport.current?.center() })
    onSelect(id)
    viewport.current?.reveal(id)
  }
  const edits: GraphEditor = {
    ...editor,
    remove(nodeIds, edgeIds) {
      editor.remove(nodeIds, edgeIds)
      stage.current?.focus() // the focused element was removed
    },
  }
  return (
    <div className={classes.workbench}>
      <div className={classes.left}>
        {!readOnly && <Palette types={types} onAdd={add} />}
        <Outline graph={editor.graph} selectedId={selectedId} problems={problems} onSelect={onSelect} />
      </div>
      <div className={classes.middle} ref={stage} tabIndex={-1}>
        <GraphView
          graph={editor.graph}
          drawing={drawing}
          edits={readOnly ? undefined : edits}
          onSelect={onSelect}
          viewport={viewport}
        />
      </div>
      <div className={classes.right}>
        <Inspector
          editor={edits}
          types={types}
          selectedId={selectedId}
          problems={problems}
          readOnly={readOnly}
          onSelect={onSelect}
        />
      </div>
    </div>
  )
}

import { useHotkeys } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Note } from '../../components/note.tsx'
import type { Version } from '../../api/types.ts'
import { designerStrings } from '../../strings/designer.ts'
import { useSearchParams } from '../../use-search-params.ts'
import { validate } from './api.ts'
import { arrange, lacksPlaces } from './auto-layout.ts'
import type { CanvasView } from './canvas.tsx'
import { EditorToolbar } from './editor-toolbar.tsx'
import type { Drawing } from './flow-elements.ts'
import type { Graph, NodeTypes } from './graph.ts'
import { Inspector } from './inspector.tsx'
import { Canvas } from './lazy-canvas.tsx'
import { LeaveGuard } from './leave-guard.tsx'
import { Outline } from './outline.tsx'
import { Palette } from './palette.tsx'
import { ProblemsPanel } from './problems-panel.tsx'
import { SinkTableOffer } from './sink-table-offer.tsx'
import { type GraphEditor, useGraphEditor } from './use-graph-editor.ts'
import { problemsByNode, type Validated } from './validation.ts'
import classes from './designer.module.css'

interface GraphEditorProps {
  readonly version: Version
  readonly types: NodeTypes
  readonly readOnly: boolean
  /** Number of the newest version of the definition. */
  readonly newest: number
  /** Stands before the tools. */
  readonly pickers: ReactNode
}

const NO_MARKS = new Map<string, never>()

/** A version on the canvas, and everything that makes the next one of it. */
export function VersionEditor({ version, types, readOnly, newest, pickers }: GraphEditorProps) {
  const initial = useMemo(() => drawable(version), [version])
  const editor = useGraphEditor(initial, types)
  const [{ node: selectedId }, changeSearch] = useSearchParams()
  const select = (id: string | undefined): void => changeSearch({ node: id })
  const check = useValidation(editor.graph, version, editor.isDirty || !readOnly)
  const problems = useMemo(() => problemsByNode(check.validated?.answer.problems ?? []), [check.validated])
  const drawing = useMemo<Drawing>(
    () => ({ types, problems, nodeMarks: NO_MARKS, edgeMarks: NO_MARKS, selectedId }),
    [types, problems, selectedId],
  )
  useHotkeys(
    readOnly
      ? []
      : [
          ['mod+Z', editor.undo],
          ['mod+Y', editor.redo],
          ['mod+shift+Z', editor.redo],
        ],
  )
  const stage = useRef<HTMLDivElement>(null)
  const view = useRef<CanvasView>(null)
  const add = (type: string): void => {
    const id = editor.add(type, { after: selectedId, near: view.current?.center() })
    select(id)
    view.current?.reveal(id)
  }
  const arranging: GraphEditor = {
    ...editor,
    arrange() {
      editor.arrange()
      view.current?.fit()
    },
  }
  const edits: GraphEditor = {
    ...editor,
    remove(nodeIds, edgeIds) {
      editor.remove(nodeIds, edgeIds)
      stage.current?.focus() // what had the focus is gone
    },
  }
  return (
    <div className={classes.editor}>
      <EditorToolbar version={version} editor={arranging} check={check} readOnly={readOnly}>
        {pickers}
      </EditorToolbar>
      <ProblemsPanel
        graph={editor.graph}
        validated={check.validated}
        error={check.error}
        onSelect={select}
        onClose={check.clear}
        offer={
          !readOnly &&
          check.validated && (
            <SinkTableOffer
              version={version}
              answer={check.validated.answer}
              isDirty={editor.isDirty}
              onMade={check.run}
            />
          )
        }
      />
      {!readOnly && version.version < newest && <Note tone="info">{designerStrings.notNewest(newest)}</Note>}
      <div className={classes.workbench}>
        <div className={classes.left}>
          {!readOnly && <Palette types={types} onAdd={add} />}
          <Outline graph={editor.graph} selectedId={selectedId} problems={problems} onSelect={select} />
        </div>
        <div className={classes.middle} ref={stage} tabIndex={-1}>
          <Canvas
            graph={editor.graph}
            drawing={drawing}
            edits={readOnly ? undefined : edits}
            onSelect={select}
            view={view}
          />
        </div>
        <div className={classes.right}>
          <Inspector
            editor={edits}
            types={types}
            selectedId={selectedId}
            problems={problems}
            readOnly={readOnly}
            onSelect={select}
          />
        </div>
      </div>
      <LeaveGuard isDirty={editor.isDirty} />
    </div>
  )
}

/** Graphs that were made by programs have no places: they are arranged, which counts as no change. */
function drawable({ nodes, edges }: Version): Graph {
  const graph = { nodes, edges }
  return lacksPlaces(graph) ? arrange(graph) : graph
}

export interface Validation {
  readonly validated: Validated | undefined
  readonly error: unknown
  readonly isPending: boolean
  readonly run: () => void
  /** Forgets the answer. */
  readonly clear: () => void
}

function useValidation(graph: Graph, version: Version, asDrawn: boolean): Validation {
  const [validated, setValidated] = useState<Validated>()
  const { mutate, error, isPending, reset } = useMutation({
    mutationFn: async (what: Graph): Promise<Validated> => ({
      graph: what,
      answer: await validate(what, asDrawn ? undefined : version),
    }),
    onSuccess: setValidated,
  })
  const clear = useCallback(() => {
    setValidated(undefined)
    reset()
  }, [reset])
  useEffect(clear, [version.id, clear])
  return { validated, error, isPending, run: () => mutate(graph), clear }
}

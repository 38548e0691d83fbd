import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useDeferredValue, useRef } from 'react'
import { queryClient } from '../../../api/query-client.ts'
import { Note } from '../../../components/status/note.tsx'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { CreateSink } from '../../../components/sink-table/create-sink.tsx'
import type { Version } from '../../../api/types.ts'
import { useShortcuts } from '../../../components/shortcuts/use-shortcuts.ts'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import { shortcuts } from '../../../strings/everywhere/shortcuts.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { arrangedQuery } from '../../../components/graph/arrange.ts'
import type { GraphViewport } from '../../../components/graph/view.tsx'
import { EditorToolbar } from './toolbar.tsx'
import type { Graph, NodeTypes } from '../../../components/graph/graph.ts'
import { LeaveGuard } from './leave-guard.tsx'
import { ProblemsPanel } from './problems-panel.tsx'
import { type GraphEditor, useGraphEditor } from './use-graph-editor.ts'
import { useValidation } from './use-validation.ts'
import { Workbench } from './workbench.tsx'
import classes from '../designer.module.css'

interface GraphEditorProps {
  readonly version: Version
  readonly types: NodeTypes
  readonly readOnly: boolean
  /** Number of the newest version of the definition. */
  readonly newest: number
  /** Shown before the tools. */
  readonly pickers: ReactNode
  /** Called with the version that the graph was saved as, which this editor shows next. */
  readonly onSaved: (version: Version) => void
}

/** A version as a graph that can be edited and saved as the next version. */
export function VersionEditor(props: GraphEditorProps) {
  const { id, nodes, edges } = props.version
  const { data: graph, error, refetch } = useQuery(arrangedQuery(id, { nodes, edges }))
  const isReady = useDeferredValue(graph !== undefined, false) // renders large graphs in small steps
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />
  return isReady && graph ? <ArrangedEditor {...props} initial={graph} /> : <Loading />
}

interface ArrangedEditorProps extends GraphEditorProps {
  readonly initial: Graph
}

function ArrangedEditor({ initial, version, types, readOnly, newest, pickers, onSaved }: ArrangedEditorProps) {
  const editor = useGraphEditor(initial, types)
  const [{ node: selectedId }, changeSearch] = useSearchParams()
  const select = (id: string | undefined): void => changeSearch({ node: id })
  const check = useValidation(editor.graph, version, editor.isDirty || !readOnly)
  useUndoKeys(editor, readOnly)
  const viewport = useRef<GraphViewport>(null)
  const continueAs = (made: Version, graph: Graph): void => {
    queryClient.setQueryData(arrangedQuery(made.id, graph).queryKey, graph) // or this editor would wait for it
    onSaved(made)
  }
  const arranging: GraphEditor = {
    ...editor,
    async arrange() {
      const arranged = await editor.arrange()
      viewport.current?.fit(arranged)
      return arranged
    },
  }
  return (
    <div className={classes.editor}>
      <EditorToolbar version={version} editor={arranging} check={check} readOnly={readOnly} onSaved={continueAs}>
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
            <CreateSink
              place={{
                definitionId: version.definition_id,
                versionId: version.id,
                environment: check.validated.environment,
              }}
              answer={check.validated.answer}
              isDirty={editor.isDirty}
              onMade={check.run}
            />
          )
        }
      />
      {!readOnly && version.version < newest && <Note tone="info">{designerStrings.notNewest(newest)}</Note>}
      <Workbench
        editor={editor}
        types={types}
        validated={check.validated}
        readOnly={readOnly}
        selectedId={selectedId}
        onSelect={select}
        viewport={viewport}
      />
      <LeaveGuard isDirty={editor.isDirty} />
    </div>
  )
}

function useUndoKeys({ undo, redo }: GraphEditor, readOnly: boolean): void {
  const { place, undo: undoLabel, redo: redoLabel } = shortcuts.designer
  const all = [
    { keys: ['mod+Z'], label: undoLabel, run: undo },
    { keys: ['mod+Y', 'mod+shift+Z'], label: redoLabel, run: redo },
  ]
  useShortcuts(place, readOnly ? [] : all)
}

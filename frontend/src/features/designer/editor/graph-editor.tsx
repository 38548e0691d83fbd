import { useHotkeys } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback, useDeferredValue, useEffect, useRef, useState } from 'react'
import { Note } from '../../../components/status/note.tsx'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import type { RunEnvironment } from '../../../../../src/domain/environments.ts'
import type { Version } from '../../../api/types.ts'
import { designerStrings } from '../../../strings/designer.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { validate } from '../api.ts'
import { arrangedQuery } from '../../../components/graph/arrange.ts'
import type { GraphViewport } from '../../../components/graph/view.tsx'
import { EditorToolbar } from './toolbar.tsx'
import type { Graph, NodeTypes } from '../../../components/graph/graph.ts'
import { LeaveGuard } from './leave-guard.tsx'
import { ProblemsPanel } from './problems-panel.tsx'
import { SinkTableOffer } from './sink-table-offer.tsx'
import { type GraphEditor, useGraphEditor } from './use-graph-editor.ts'
import type { Validated } from './validation.ts'
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

function ArrangedEditor({ initial, version, types, readOnly, newest, pickers }: ArrangedEditorProps) {
  const editor = useGraphEditor(initial, types)
  const [{ node: selectedId }, changeSearch] = useSearchParams()
  const select = (id: string | undefined): void => changeSearch({ node: id })
  const check = useValidation(editor.graph, version, editor.isDirty || !readOnly)
  useUndoKeys(editor, readOnly)
  const viewport = useRef<GraphViewport>(null)
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
            <SinkTableOffer version={version} validated={check.validated} isDirty={editor.isDirty} onMade={check.run} />
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
  useHotkeys(
    readOnly
      ? []
      : [
          ['mod+Z', undo],
          ['mod+Y', redo],
          ['mod+shift+Z', redo],
        ],
  )
}

export interface Validation {
  readonly validated: Validated | undefined
  readonly error: unknown
  readonly isPending: boolean
  /** Whose parameters the next validation uses. */
  readonly environment: RunEnvironment
  readonly setEnvironment: (environment: RunEnvironment) => void
  readonly run: () => void
  /** Forgets the answer. */
  readonly clear: () => void
}

interface Choice {
  readonly versionId: string
  readonly environment: RunEnvironment
}

/** Validates for the environment of the version (production for a retired one) until another is chosen. */
function useValidation(graph: Graph, version: Version, asDrawn: boolean): Validation {
  const [validated, setValidated] = useState<Validated>()
  const own = version.environment === 'retired' ? 'production' : version.environment
  const [chosen, setChosen] = useState<Choice>()
  const environment = chosen?.versionId === version.id ? chosen.environment : own
  const { mutate, error, isPending, reset } = useMutation({
    mutationFn: async (what: Graph): Promise<Validated> => ({
      graph: what,
      environment,
      answer: await validate({ graph: what, saved: asDrawn ? undefined : version, environment }),
    }),
    onSuccess: setValidated,
  })
  const clear = useCallback(() => {
    setValidated(undefined)
    reset()
  }, [reset])
  useEffect(clear, [version.id, clear])
  const setEnvironment = (next: RunEnvironment): void => setChosen({ versionId: version.id, environment: next })
  return { validated, error, isPending, environment, setEnvironment, run: () => mutate(graph), clear }
}

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { VersionDiff } from '../../api/types.ts'
import { nodeTypesQuery } from '../../api/node-types.ts'
import { ErrorState, Loading } from '../status/states.tsx'
import { arrangedQuery } from './arrange.ts'
import { drawDiff } from './diff-drawing.ts'
import type { Drawing } from './flow-elements.ts'
import type { Graph } from './graph.ts'
import { GraphView } from './lazy-view.tsx'

const NO_PROBLEMS = new Map<string, never>()

interface DiffViewProps {
  readonly diff: VersionDiff
  /** The newer version of the comparison. */
  readonly newer: Graph
  readonly selectedId: string | undefined
  readonly onSelect: (id: string | undefined) => void
  readonly embedded?: boolean
}

/** Two versions in one drawing, with a mark on everything that differs. */
export function DiffView({ diff, newer, selectedId, onSelect, embedded = false }: DiffViewProps) {
  const { graph: combined, nodeMarks, edgeMarks } = useMemo(() => drawDiff(diff, newer), [diff, newer])
  const types = useQuery(nodeTypesQuery)
  const arranged = useQuery(arrangedQuery(`${diff.from?.id} ${diff.to.id}`, combined))
  const drawing = useMemo<Drawing | undefined>(
    () => types.data && { types: types.data, problems: NO_PROBLEMS, nodeMarks, edgeMarks, selectedId },
    [types.data, nodeMarks, edgeMarks, selectedId],
  )
  const error = types.error ?? arranged.error
  if (error) return <ErrorState error={error} onRetry={() => void Promise.all([types.refetch(), arranged.refetch()])} />
  if (!drawing || !arranged.data) return <Loading />
  return <GraphView graph={arranged.data} drawing={drawing} edits={undefined} onSelect={onSelect} embedded={embedded} />
}

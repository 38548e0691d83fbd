import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { lineage as words } from '../../strings/lineage.ts'
import { Details } from './details.tsx'
import { type LineageGraph, visibleGraph } from './graph-model.ts'
import { GraphDrawing } from './graph-drawing.tsx'
import { layoutQuery } from './layout-query.ts'
import classes from './lineage.module.css'

interface ExplorerProps {
  readonly graph: LineageGraph
  /** The name of the table in the middle; undefined: the whole lake. */
  readonly focus: string | undefined
  /** Loads what is around a table. */
  readonly onExpand: (table: string) => void
}

/** The graph with the details of its selected node. */
export function LineageExplorer({ graph, focus, onExpand }: ExplorerProps) {
  const focusId = focus === undefined ? undefined : `table:${focus}`
  const [selectedId, setSelectedId] = useState<string | undefined>(focusId)
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set())
  const visible = useMemo(() => visibleGraph(graph, focusId, collapsed), [graph, focusId, collapsed])
  const layout = useQuery(layoutQuery(visible))
  const toggle = (id: string): void => {
    const node = graph.tables.get(id)
    const next = new Set(collapsed)
    if (visible.hidden.has(id)) {
      next.delete(id)
      if (node !== undefined && !collapsed.has(id)) onExpand(node.table)
    } else next.add(id)
    setCollapsed(next)
  }
  if (layout.isError) return <ErrorState error={layout.error} onRetry={() => void layout.refetch()} />
  return (
    <>
      <Legend />
      <div className={classes.split}>
        <div className={classes.canvas}>
          {layout.data === undefined ? (
            <Loading lines={6} />
          ) : (
            <GraphDrawing
              graph={graph}
              visible={visible}
              positions={layout.data}
              focusId={focusId}
              selectedId={selectedId}
              onSelect={setSelectedId}
              onToggle={toggle}
            />
          )}
        </div>
        <Details graph={graph} visible={visible} focusId={focusId} selectedId={selectedId} onToggle={toggle} />
      </div>
    </>
  )
}

const BANDS = ['good', 'fair', 'poor', 'unknown'] as const

function Legend() {
  return (
    <ul className={classes.legend} aria-label={words.page.legend}>
      {BANDS.map((band) => (
        <li key={band}>
          <span className={`${classes.swatch} ${classes[band]}`} aria-hidden="true" />
          {words.page.bands[band]}
        </li>
      ))}
    </ul>
  )
}

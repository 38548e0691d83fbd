import { lazy, Suspense } from 'react'
import { Loading } from '../status/states.tsx'
import type { GraphViewProps } from './view.tsx'

const LoadedView = lazy(async () => ({ default: (await import('./view.tsx')).GraphView }))

/** A graph, drawn. The code that draws it is large, so it loads after the rest of the page. */
export function GraphView(props: GraphViewProps) {
  return (
    <Suspense fallback={<Loading lines={3} />}>
      <LoadedView {...props} />
    </Suspense>
  )
}

import { lazy, Suspense } from 'react'
import { Loading } from '../../components/states.tsx'
import type { CanvasProps } from './canvas.tsx'

const Drawn = lazy(async () => ({ default: (await import('./canvas.tsx')).Canvas }))

/** The canvas, which is large: it is loaded and drawn after the rest of the page, so that it does not hold it up. */
export function Canvas(props: CanvasProps) {
  return (
    <Suspense fallback={<Loading lines={3} />}>
      <Drawn {...props} />
    </Suspense>
  )
}

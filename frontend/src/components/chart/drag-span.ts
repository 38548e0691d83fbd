import classes from './chart.module.css'

/** A shorter movement is a click or a tap. */
const MIN_PX = 8

/** Receives both ends of a dragged span, as fractions of the width of the area, the left one first. */
export type OnSpan = (from: number, to: number) => void

/**
 * Lets a pointer (mouse, pen or finger) drag a span across an area, which shows it. A finger that moves up or down scrolls the
 * page. Escape cancels. Returns a function that ends this.
 */
export function watchDrag(area: HTMLElement, onSpan: OnSpan): () => void {
  const box = document.createElement('div')
  box.className = classes.selection ?? ''
  box.hidden = true
  area.classList.add(classes.selectable ?? '')
  area.append(box)
  let start: number | undefined

  const placeOf = ({ clientX }: PointerEvent): number => {
    const { left, width } = area.getBoundingClientRect()
    return Math.min(Math.max(clientX - left, 0), width)
  }
  const cancel = (): void => {
    start = undefined
    box.hidden = true
  }
  const begin = (event: PointerEvent): void => {
    if (!event.isPrimary || event.button !== 0) return
    start = placeOf(event)
    area.setPointerCapture(event.pointerId)
  }
  const move = (event: PointerEvent): void => {
    if (start === undefined) return
    const at = placeOf(event)
    box.hidden = Math.abs(at - start) < MIN_PX
    box.style.left = `${Math.min(start, at)}px`
    box.style.width = `${Math.abs(at - start)}px`
  }
  const end = (event: PointerEvent): void => {
    if (start === undefined) return
    const [from, to] = [start, placeOf(event)].toSorted((a, b) => a - b)
    const { width } = area.getBoundingClientRect()
    cancel()
    if (from === undefined || to === undefined || to - from < MIN_PX) return
    onSpan(from / width, to / width)
  }
  const stop = new AbortController()
  const { signal } = stop
  area.addEventListener('pointerdown', begin, { signal })
  area.addEventListener('pointermove', move, { signal })
  area.addEventListener('pointerup', end, { signal })
  area.addEventListener('pointercancel', cancel, { signal })
  document.addEventListener('keydown', ({ key }) => key === 'Escape' && cancel(), { signal })
  return () => {
    stop.abort()
    box.remove()
    area.classList.remove(classes.selectable ?? '')
  }
}

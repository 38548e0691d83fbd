import { useEffect, useState } from 'react'

/** How many items to draw per frame: a slow computer needs less than 50 ms for them. */
const SLICE = 4

/**
 * A count that grows from 0 to `total` over several frames, so that drawing many items does not block the page. It grows
 * in tasks of their own, after a frame is painted: within a frame, the work of the scripts would add to that of painting.
 */
export function useGrowingCount(total: number): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    if (count >= total) return undefined
    let task: ReturnType<typeof setTimeout> | undefined
    const frame = requestAnimationFrame(() => {
      task = setTimeout(() => setCount(count + SLICE))
    })
    return () => {
      cancelAnimationFrame(frame)
      clearTimeout(task)
    }
  }, [count, total])
  return count
}

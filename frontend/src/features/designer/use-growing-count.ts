import { useEffect, useState } from 'react'

/** How many are drawn between two frames: a slow computer draws so many in less than 50 ms. */
const SLICE = 8

/** A count that grows to `total` a slice per frame, so that drawing many things does not hold up the page. */
export function useGrowingCount(total: number): number {
  const [count, setCount] = useState(SLICE)
  useEffect(() => {
    if (count >= total) return undefined
    const frame = requestAnimationFrame(() => setCount(count + SLICE))
    return () => cancelAnimationFrame(frame)
  }, [count, total])
  return count
}

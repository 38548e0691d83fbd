import { useSyncExternalStore } from 'react'
import { common } from '../strings/common.ts'
import { formatRelative, formatTime } from './units.ts'

const TICK_MS = 15_000
const listeners = new Set<() => void>()
let now = new Date()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = new Date()
    for (const each of listeners) each()
  }, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The current time, renewed every 15 s for all who show it. */
export function useNow(): Date {
  return useSyncExternalStore(subscribe, currentTime)
}

function currentTime(): Date {
  if (timer === undefined && Date.now() - now.getTime() > TICK_MS) now = new Date()
  return now
}

/** How long ago a time is; the time itself stands in its title. A dash when there is none. */
export function RelativeTime({ at }: { readonly at: string | null | undefined }) {
  const current = useNow()
  if (at === null || at === undefined) return <>{common.unknown}</>
  return (
    <time dateTime={at} title={formatTime(at)}>
      {formatRelative(at, current)}
    </time>
  )
}

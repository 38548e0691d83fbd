import { useSyncExternalStore } from 'react'
import { common } from '../strings/everywhere/common.ts'
import { formatRelative } from '../strings/everywhere/units.ts'
import { useTimeSettings, useZone } from './time-settings.ts'
import { formatShortTime, formatTime, type Zone } from './zone.ts'

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

/** The current time, updated every 15 s and shared by all components. */
export function useNow(): Date {
  return useSyncExternalStore(subscribe, currentTime)
}

function currentTime(): Date {
  if (timer === undefined && Date.now() - now.getTime() > TICK_MS) now = new Date()
  return now
}

/** A time as the settings of the page say: how long ago, or the time itself. Its title has both, and UTC. A dash for none. */
export function RelativeTime({ at }: { readonly at: string | null | undefined }) {
  const current = useNow()
  const { style } = useTimeSettings()
  const zone = useZone()
  if (at === null || at === undefined) return <>{common.unknown}</>
  return (
    <time dateTime={at} title={titleOf(at, zone, current)}>
      {style === 'relative' ? formatRelative(at, current) : formatShortTime(at, zone, current)}
    </time>
  )
}

function titleOf(at: string, zone: Zone, now: Date): string {
  const utc = zone === 'UTC' ? '' : `, ${formatTime(at, 'UTC')}`
  return `${formatTime(at, zone)}${utc}, ${formatRelative(at, now)}`
}

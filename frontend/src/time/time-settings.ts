import { useSyncExternalStore } from 'react'
import { isZone, localZone, type Zone } from './zone.ts'

/** How times are shown on all pages. */
export interface TimeSettings {
  /** The name of a zone, or `local` for the zone of this machine. */
  readonly zone: string
  /** `relative`: `5 min ago`; `absolute`: `14:07:20`. The other form is in the tooltip. */
  readonly style: 'relative' | 'absolute'
}

const KEY = 'lockhouse.times'
const DEFAULTS: TimeSettings = { zone: 'local', style: 'relative' }
const listeners = new Set<() => void>()
let settings = read()

/** Reads the settings from browser storage, with defaults for missing and unknown ones. */
function read(): TimeSettings {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}')
    if (typeof stored !== 'object' || stored === null) return DEFAULTS
    const { zone, style } = stored as Readonly<Record<string, unknown>>
    return {
      zone: typeof zone === 'string' && (zone === 'local' || isZone(zone)) ? zone : DEFAULTS.zone,
      style: style === 'absolute' ? 'absolute' : DEFAULTS.style,
    }
  } catch {
    return DEFAULTS // storage is switched off, or holds something else
  }
}

/** Changes how times are shown, at once and for later visits with this browser. */
export function changeTimeSettings(change: Partial<TimeSettings>): void {
  settings = { ...settings, ...change }
  try {
    localStorage.setItem(KEY, JSON.stringify(settings))
  } catch {
    // storage is switched off: the choice holds until the page is closed
  }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** How times are shown; the component is drawn again when that changes. */
export function useTimeSettings(): TimeSettings {
  return useSyncExternalStore(subscribe, () => settings)
}

/** The zone in which times are shown. */
export function useZone(): Zone {
  const { zone } = useTimeSettings()
  return zone === 'local' ? LOCAL : zone
}

const LOCAL = localZone()

/** A time zone by its IANA name, such as `UTC` or `Europe/Berlin`. */
export type Zone = string

/** Wall-clock parts of a time in a zone. */
interface Wall {
  /** `2026-11-20` */
  readonly date: string
  /** `14:07:20` */
  readonly time: string
  /** Minutes that the zone is ahead of UTC at that time. */
  readonly offsetMinutes: number
}

const formatters = new Map<Zone, Intl.DateTimeFormat>()

/** Cached, because creating a formatter is expensive and every time on a page needs one. */
function formatterOf(zone: Zone): Intl.DateTimeFormat {
  let known = formatters.get(zone)
  if (known === undefined) {
    known = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
    formatters.set(zone, known)
  }
  return known
}

function wallOf(at: Date, zone: Zone): Wall {
  const parts: Record<string, string> = {}
  if (zone === 'UTC') {
    const text = at.toISOString()
    return { date: text.slice(0, -14), time: text.slice(-13, -5), offsetMinutes: 0 }
  }
  for (const { type, value } of formatterOf(zone).formatToParts(at)) parts[type] = value
  const date = `${parts['year']?.padStart(4, '0')}-${parts['month']}-${parts['day']}`
  const time = `${parts['hour']}:${parts['minute']}:${parts['second']}`
  const asUtc = Date.parse(`${date}T${time}Z`)
  return { date, time, offsetMinutes: Math.round((asUtc - at.getTime()) / 60_000) }
}

/** A full time with its zone: `2026-11-20 14:07:20 UTC`, `2026-11-20 15:07:20 +01:00`. */
export function formatTime(at: Date | string, zone: Zone): string {
  const { date, time, offsetMinutes } = wallOf(new Date(at), zone)
  return `${date} ${time} ${zone === 'UTC' ? 'UTC' : formatOffset(offsetMinutes)}`
}

/** A time for a narrow column: `14:07:20` on the same day as `now`, else `2026-11-19 14:07`. */
export function formatShortTime(at: Date | string, zone: Zone, now: Date): string {
  const { date, time } = wallOf(new Date(at), zone)
  return date === wallOf(now, zone).date ? time : `${date} ${time.slice(0, 5)}`
}

/** A tick label of a time axis: a date when ticks are a day or more apart, else a time of day. */
export function formatAxisTime(seconds: number, zone: Zone, stepSeconds: number): string {
  const { date, time } = wallOf(new Date(seconds * 1000), zone)
  if (stepSeconds >= 86_400) return date
  return stepSeconds < 60 ? time : time.slice(0, 5)
}

/** A time as the value of a `datetime-local` field, to the second; empty for none. */
export function toTimeInput(at: string | undefined, zone: Zone): string {
  if (at === undefined || at === '') return ''
  const { date, time } = wallOf(new Date(at), zone)
  return `${date}T${time}`
}

/**
 * Converts the value of a `datetime-local` field in a zone to RFC 3339 in UTC; undefined when it is empty or not a time.
 * A wall-clock time skipped by a clock change is moved forward; for a repeated one, the first occurrence is used.
 */
export function fromTimeInput(value: string, zone: Zone): string | undefined {
  const wall = value === '' ? Number.NaN : Date.parse(`${value}Z`)
  if (Number.isNaN(wall)) return undefined
  const offsets = [wall - DAY_MS, wall + DAY_MS].map((at) => wallOf(new Date(at), zone).offsetMinutes)
  const candidates = offsets.map((minutes) => wall - minutes * 60_000)
  const exact = candidates.filter((at) => at + wallOf(new Date(at), zone).offsetMinutes * 60_000 === wall)
  return new Date(exact.length > 0 ? Math.min(...exact) : (candidates[0] ?? wall)).toISOString()
}

const DAY_MS = 86_400_000

function formatOffset(minutes: number): string {
  const size = Math.abs(minutes)
  const pad = (value: number): string => String(value).padStart(2, '0')
  return `${minutes < 0 ? '−' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`
}

/** The zone of this machine. */
export function localZone(): Zone {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Whether the browser knows a time zone. */
export function isZone(text: string): boolean {
  try {
    formatterOf(text)
    return true
  } catch {
    return false
  }
}

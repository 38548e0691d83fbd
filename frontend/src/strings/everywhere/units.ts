import { common } from './common.ts'

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
const grouped = new Intl.NumberFormat('en')

/** A readable size, in units of 1024: `17 B`, `2.5 MiB`, `384 MiB`. */
export function formatBytes(bytes: number): string {
  let value = Math.abs(bytes)
  let unit = 0
  while (value >= 1023.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  const sign = bytes < 0 ? '−' : ''
  const digits = unit === 0 || value >= 99.95 ? 0 : 1
  return `${sign}${value.toFixed(digits).replace(/\.0$/, '')} ${BYTE_UNITS[unit] ?? ''}`
}

/** A count with thousands separators: `1,234,567`. */
export function formatCount(value: number): string {
  return grouped.format(value)
}

/** A count with its noun: `1 file`, `12 files`; `many` is the plural if it is not formed with an s. */
export function formatPlural(value: number, one: string, many: string = `${one}s`): string {
  return `${formatCount(value)} ${value === 1 ? one : many}`
}

/** A change with its sign: `+12`, `−3`, `0`. */
export function formatDelta(value: number, format: (value: number) => string = formatCount): string {
  if (value === 0) return format(0)
  return `${value > 0 ? '+' : '−'}${format(Math.abs(value))}`
}

/** A share as percent: `12 %`, `0.4 %`. */
export function formatPercent(ratio: number): string {
  const value = ratio * 100
  return `${value === 0 || value >= 9.95 ? Math.round(value) : value.toFixed(1)} %`
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A span of time (ms) in at most two units: `840 ms`, `3.2 s`, `2 min 5 s`, `1 h 4 min`, `3 d 2 h`. */
export function formatDuration(ms: number): string {
  const span = Math.abs(ms)
  if (span < 999.5) return `${Math.round(span)} ms`
  if (span < 9.95 * SECOND) return `${(span / SECOND).toFixed(1).replace(/\.0$/, '')} s`
  const seconds = Math.round(span / SECOND)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return inTwoUnits([Math.floor(seconds / 60), 'min'], [seconds % 60, 's'])
  const minutes = Math.round(span / MINUTE)
  if (minutes < 24 * 60) return inTwoUnits([Math.floor(minutes / 60), 'h'], [minutes % 60, 'min'])
  const hours = Math.round(span / HOUR)
  return inTwoUnits([Math.floor(hours / 24), 'd'], [hours % 24, 'h'])
}

/** A short span of time (ms) to a tenth: `1.3 ms`, `840 ms`, `3.2 s`. */
export function formatMilliseconds(ms: number): string {
  const format = (span: number): string => `${grouped.format(Math.round(span * 10) / 10)} ms`
  return signed(ms, Math.abs(ms) < 9.95 ? format : formatDuration)
}

function signed(value: number, format: (value: number) => string): string {
  return value < 0 ? `−${format(-value)}` : format(value)
}

/** An amount of money, small ones with two significant digits: `€1,234.50`, `$0.0034`. */
export function formatMoney(amount: number, currency: string): string {
  const digits = Math.abs(amount) >= 1 || amount === 0 ? {} : { maximumSignificantDigits: 2 }
  const format = new Intl.NumberFormat('en', { style: 'currency', currency, ...digits })
  return signed(amount, (value) => format.format(value))
}

/** The longest age that table metadata can state, 2^63-1 ms: never. */
const FOREVER_MS = '9223372036854775807'

/** A retention age, which the interface states as text in ms: `5 d`, `Never`. */
export function formatAge(ms: string): string {
  return ms === FOREVER_MS ? common.never : formatDuration(Number(ms))
}

type Amount = readonly [value: number, unit: string]

function inTwoUnits(large: Amount, small: Amount): string {
  return small[0] === 0 ? large.join(' ') : [...large, ...small].join(' ')
}

/** How long ago or ahead a time is, in one unit: `just now`, `5 min ago`, `in 3 h`, `2 d ago`. */
export function formatRelative(at: Date | string, now: Date): string {
  const span = now.getTime() - new Date(at).getTime()
  const size = Math.abs(span)
  if (size < 45 * SECOND) return common.justNow
  const text = oneUnit(size)
  return span > 0 ? common.ago(text) : common.ahead(text)
}

function oneUnit(size: number): string {
  if (size < 59.5 * MINUTE) return `${Math.max(1, Math.round(size / MINUTE))} min`
  if (size < 23.5 * HOUR) return `${Math.round(size / HOUR)} h`
  if (size < 59.5 * DAY) return `${Math.round(size / DAY)} d`
  if (size < 700 * DAY) return `${Math.round(size / (30.44 * DAY))} mo`
  return `${Math.round(size / (365.25 * DAY))} y`
}

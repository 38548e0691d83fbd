import { civilFromDays, formatTime, formatTimestamp } from '../values/temporal.ts'
import type { Transform } from './transforms.ts'
import type { PrimitiveType, Value } from '../schema/types.ts'
import { formatValue } from '../values/values.ts'

/** A partition value for people: years as `2024`, months as `2024-05`, hours as `2024-05-01-13`. */
export function humanValue(transform: Transform, type: PrimitiveType, value: Value | null): string {
  if (value === null || transform.kind === 'void') return 'null'
  if (typeof value === 'number') {
    switch (transform.kind) {
      case 'year':
        return humanYear(1970 + value)
      case 'month':
        return `${humanYear(1970 + Math.floor(value / 12))}-${pad(value - Math.floor(value / 12) * 12 + 1)}`
      case 'day':
        return humanDate(value)
      case 'hour':
        return `${humanDate(Math.floor(value / 24))}-${pad(value - Math.floor(value / 24) * 24)}`
    }
  }
  if (typeof value === 'number' && type.kind === 'date') return humanDate(value)
  if (typeof value === 'bigint') return humanLong(type, value)
  return value instanceof Uint8Array ? base64(value) : formatValue(type, value)
}

function humanLong(type: PrimitiveType, value: bigint): string {
  switch (type.kind) {
    case 'time':
      return humanTime(value)
    case 'timestamp':
      return trimFraction(formatTimestamp(value, 6))
    case 'timestamptz':
      return `${trimFraction(formatTimestamp(value, 6))}+00:00`
    case 'timestamp_ns':
      return trimFraction(formatTimestamp(value, 9))
    case 'timestamptz_ns':
      return `${trimFraction(formatTimestamp(value, 9))}+00:00`
    default:
      return formatValue(type, value)
  }
}

function humanDate(days: number): string {
  const { year, month, day } = civilFromDays(days)
  return `${humanYear(year)}-${pad(month)}-${pad(day)}`
}

/** At least four characters, the sign among them, and no plus. */
function humanYear(year: number): string {
  return year < 0 ? `-${String(-year).padStart(3, '0')}` : String(year).padStart(4, '0')
}

/** `10:15`, `10:15:30`, `10:15:30.250` or `10:15:30.250001`: trailing zero parts are omitted. */
function humanTime(micros: bigint): string {
  return formatTime(micros, 6)
    .replace(/000$/, '')
    .replace(/\.000$/, '')
    .replace(/^(\d\d:\d\d):00$/, '$1')
}

function trimFraction(text: string): string {
  return text.replace(/\.?0+$/, '')
}

function base64(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}

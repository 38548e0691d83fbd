import { formatDate, formatTime, formatTimestamp, formatYear } from './temporal.ts'
import type { Transform } from './transforms.ts'
import type { PrimitiveType, Value } from './types.ts'
import { formatValue } from './values.ts'

/** A partition value for people: years as `2024`, months as `2024-05`, hours as `2024-05-01-13`. */
export function humanValue(transform: Transform, type: PrimitiveType, value: Value | null): string {
  if (value === null || transform.kind === 'void') return 'null'
  if (typeof value === 'number') {
    switch (transform.kind) {
      case 'year':
        return formatYear(1970 + value)
      case 'month':
        return `${formatYear(1970 + Math.floor(value / 12))}-${pad(value - Math.floor(value / 12) * 12 + 1)}`
      case 'day':
        return formatDate(value)
      case 'hour':
        return `${formatDate(Math.floor(value / 24))}-${pad(value - Math.floor(value / 24) * 24)}`
    }
  }
  if (typeof value === 'bigint') return humanLong(type, value)
  return value instanceof Uint8Array ? base64(value) : formatValue(type, value)
}

function humanLong(type: PrimitiveType, value: bigint): string {
  switch (type.kind) {
    case 'time':
      return trimFraction(formatTime(value, 6))
    case 'timestamp':
      return trimFraction(formatTimestamp(value, 6))
    case 'timestamptz':
      return `${trimFraction(formatTimestamp(value, 6))}Z`
    case 'timestamp_ns':
      return trimFraction(formatTimestamp(value, 9))
    case 'timestamptz_ns':
      return `${trimFraction(formatTimestamp(value, 9))}Z`
    default:
      return formatValue(type, value)
  }
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

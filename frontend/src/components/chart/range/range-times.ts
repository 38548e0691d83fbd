import { formatTime, fromTimeInput, toTimeInput, type Zone } from '../../../time/zone.ts'
import { formatRangeTime, type RangeSpec } from './chart-range.ts'

/** An end of a range as text: a time in the zone of the page, or a day in UTC. */
export function formatEnd(ms: number, spec: RangeSpec, zone: Zone): string {
  return spec.unit === 'day' ? (formatRangeTime(ms, spec) ?? '') : formatTime(new Date(ms), zone)
}

/** An end of a range as the value of its field. */
export function endInput(ms: number, spec: RangeSpec, zone: Zone): string {
  return spec.unit === 'day' ? (formatRangeTime(ms, spec) ?? '') : toTimeInput(new Date(ms).toISOString(), zone)
}

/** The value of a field as an end of a range, ms since 1970; undefined when it is no time. */
export function parseEnd(value: string, spec: RangeSpec, zone: Zone): number | undefined {
  const text = spec.unit === 'day' ? value : fromTimeInput(value, zone)
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) || ms < 0 ? undefined : ms
}

import type { Type } from '../../../iceberg/schema/types.ts'
import type { SparkValue } from './values.ts'

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,6})?)?)?$/
/** DuckDB reads a zone only behind seconds. */
const IN_UTC = /^(.*:\d{2}:\d{2}(?:\.\d{1,6})?)(?:Z|\+00(?::?00)?)$/

/**
 * A date or time from text that both engines read alike: years 1 to 9999 of the proleptic Gregorian calendar, at most
 * microseconds, and for `timestamptz` UTC as its zone. Undefined for other texts and types.
 */
export function temporalConstant(text: string, type: Type): SparkValue | undefined {
  const value = (name: string, literal: string): SparkValue => ({ sql: `${name}'${literal}'`, type, isNullable: false })
  if (type.kind === 'date') return isDate(text) ? value('DATE', text) : undefined
  if (type.kind === 'timestamp') {
    const time = timeOf(text)
    return time === undefined ? undefined : value('TIMESTAMP_NTZ', time)
  }
  const [, local] = (type.kind === 'timestamptz' && IN_UTC.exec(text)) || []
  const time = local === undefined ? undefined : timeOf(local)
  return time === undefined ? undefined : value('TIMESTAMP_LTZ', `${time}+00:00`)
}

function timeOf(text: string): string | undefined {
  const [, date, hour = '00', minute = '00', second = '00', fraction = ''] = TIMESTAMP.exec(text) ?? []
  const isTime = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60
  return date !== undefined && isDate(date) && isTime ? `${date} ${hour}:${minute}:${second}${fraction}` : undefined
}

function isDate(text: string): boolean {
  const [, year = '', month = '', day = ''] = DATE.exec(text) ?? []
  if (Number(year) < 1) return false
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  return date.toISOString().startsWith(`${year}-${month}-${day}T`)
}

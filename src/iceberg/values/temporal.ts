/** Days since 1970-01-01 of a date of the proleptic Gregorian calendar; `month` is 1 to 12. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

/** Year, month (1 to 12) and day of a number of days since 1970-01-01. */
export function civilFromDays(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthIndex = Math.floor((5 * dayOfYear + 2) / 153)
  const month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthIndex + 2) / 5) + 1,
  }
}

/** Division of integers that rounds down, as the time transforms need before 1970. */
export function floorDiv(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  return value < 0n && quotient * divisor !== value ? quotient - 1n : quotient
}

/** `2017-11-16`; years with more than four digits have a sign, as ISO 8601 requires. */
export function formatDate(days: number): string {
  const { year, month, day } = civilFromDays(days)
  return `${formatYear(year)}-${pad(month, 2)}-${pad(day, 2)}`
}

/** A year of at least four digits: `0045`, `-0001`, `+12345`. */
export function formatYear(year: number): string {
  if (year < 0) return `-${pad(-year, 4)}`
  return year > 9999 ? `+${year}` : pad(year, 4)
}

/** `22:31:08.123456`: time of day from a count of units; `digits` of the fraction (6 for micros, 9 for nanos). */
export function formatTime(units: bigint, digits: 6 | 9): string {
  const perSecond = 10n ** BigInt(digits)
  const seconds = Number(units / perSecond)
  const fraction = (units % perSecond).toString().padStart(digits, '0')
  return `${pad(Math.floor(seconds / 3600), 2)}:${pad(Math.floor(seconds / 60) % 60, 2)}:${pad(seconds % 60, 2)}.${fraction}`
}

/** `2017-11-16T22:31:08.123456` from units since the epoch, without zone. */
export function formatTimestamp(units: bigint, digits: 6 | 9): string {
  const perDay = unitsPerDay(digits)
  const days = floorDiv(units, perDay)
  return `${formatDate(Number(days))}T${formatTime(units - days * perDay, digits)}`
}

/** Days since the epoch from `2017-11-16`, or undefined when the text is not a date. */
export function parseDate(text: string): number | undefined {
  const match = /^([+-]?\d{4,9})-(\d\d)-(\d\d)$/.exec(text)
  if (!match) return undefined
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  if (month < 1 || month > 12 || day < 1) return undefined
  const days = daysFromCivil(year, month, day)
  return civilFromDays(days).day === day && (days | 0) === days ? days : undefined
}

/** Units since midnight from `22:31:08.123456` (seconds and fraction optional), or undefined. */
export function parseTime(text: string, digits: 6 | 9): bigint | undefined {
  const match = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?$/.exec(text)
  if (!match) return undefined
  const [hours, minutes, seconds] = [Number(match[1]), Number(match[2]), Number(match[3] ?? '0')]
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined
  const fraction = (match[4] ?? '').padEnd(9, '0')
  if (digits === 6 && !fraction.endsWith('000')) return undefined
  return BigInt(hours * 3600 + minutes * 60 + seconds) * 10n ** BigInt(digits) + BigInt(fraction.slice(0, digits))
}

/** Units since the epoch from `2017-11-16T22:31:08.123456`, with `+00:00`, `Z` or another offset when `zoned`. */
export function parseTimestamp(text: string, digits: 6 | 9, zoned: boolean): bigint | undefined {
  const match = /^([^T]+)T([\d:.]+)(Z|[+-]\d\d:\d\d)?$/.exec(text)
  if (!match || (match[3] !== undefined) !== zoned) return undefined
  const days = parseDate(match[1] ?? '')
  const time = parseTime(match[2] ?? '', digits)
  const offset = offsetSeconds(match[3] ?? 'Z')
  if (days === undefined || time === undefined || offset === undefined) return undefined
  return BigInt(days) * unitsPerDay(digits) + time - offset * 10n ** BigInt(digits)
}

function offsetSeconds(text: string): bigint | undefined {
  if (text === 'Z') return 0n
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(4, 6))]
  if (hours > 18 || minutes > 59) return undefined
  return BigInt((text.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60))
}

function unitsPerDay(digits: 6 | 9): bigint {
  return 86_400n * 10n ** BigInt(digits)
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0')
}

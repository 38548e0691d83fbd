import { count } from '../../lib/text.ts'
import type { JsonView } from './json-view.ts'

/** Quotes a name or other text from the lakehouse, so that it cannot look like part of our own sentence. */
export function quoted(text: string): string {
  const clean = text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .replaceAll('`', "'")
    .trim()
  const short = clean.length > 120 ? `${clean.slice(0, 120).toWellFormed()}…` : clean
  return `\`${short === '' ? '?' : short}\``
}

/** A readable duration from milliseconds: `45 s`, `12 min`, `3 h`, `5 days`. */
export function duration(ms: number): string {
  const seconds = ms / 1000
  if (seconds < 1) return `${Math.round(ms)} ms`
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${count(Math.round(seconds / 86_400))} days`
}

/** A readable time: `2026-11-20 10:00 UTC`. */
export function moment(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(time)
    ? `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`
    : 'at an unknown time'
}

/** A bulleted list of the first `max` lines, and the number of the others. */
export function bullets(lines: readonly string[], max = 20): string {
  const shown = lines.slice(0, max).map((line) => `- ${line}`)
  return [...shown, ...(lines.length > max ? [`- … and ${count(lines.length - max)} more`] : [])].join('\n')
}

/** The message of a service error, on one line. */
export function problem(error: JsonView): string {
  return oneLine(error.at('message').text())
}

/** Text of the service or of a table on one line, at most 400 characters. */
export function oneLine(text: string): string {
  const words = text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replaceAll('`', "'")
    .trim()
  return words.length > 400 ? `${words.slice(0, 400).toWellFormed()}…` : words
}

/** The shortest and the longest time between two triggers of a pipeline, ms (docs/api.md#streaming-pipelines). */
export const MIN_TRIGGER_MS = 100
export const MAX_TRIGGER_MS = 24 * 60 * 60 * 1000

/** What is wrong with a trigger interval, for people. */
export const TRIGGER_RULE =
  'must be "<number> <unit>" with the unit ms, s, sec, second(s), m, min, minute(s), h or hour(s), from 100 ms to 24 h'

const FORM = /^(\d{1,12}(?:\.\d{1,6})?) *([a-z]{1,12})$/i

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  sec: 1000,
  second: 1000,
  seconds: 1000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
}

/** A trigger interval such as `5 seconds` or `250ms` in ms; undefined when it is none that {@link TRIGGER_RULE} allows. */
export function parseTriggerInterval(text: string): number | undefined {
  const [, amount = '', unit = ''] = FORM.exec(text.trim()) ?? []
  const factor = Object.hasOwn(UNIT_MS, unit.toLowerCase()) ? UNIT_MS[unit.toLowerCase()] : undefined
  if (factor === undefined) return undefined
  const ms = Math.round(Number(amount) * factor)
  return ms >= MIN_TRIGGER_MS && ms <= MAX_TRIGGER_MS ? ms : undefined
}

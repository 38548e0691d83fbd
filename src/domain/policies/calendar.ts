import { Cron } from 'croner'

/** Days of a window, in the order of the week. */
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** When work may start: from `from` to `to` (`HH:MM`, wall clock of the time zone) on the days on which it begins. */
export interface PolicyWindow {
  readonly timezone: string
  readonly days: readonly (typeof WEEKDAYS)[number][]
  readonly from: string
  /** Not later than `from`: on the next day. */
  readonly to: string
}

/** A cron expression of five fields, in a time zone. */
export interface PolicySchedule {
  readonly cron: string
  readonly timezone: string
}

/** Whether the platform knows the IANA time zone. */
export function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** Whether the text is a cron expression of five fields that has a next time. */
export function isCronExpression(text: string): boolean {
  if (text.trim().split(/\s+/).length !== 5) return false
  try {
    return new Cron(text, { paused: true, timezone: 'UTC' }).nextRun() !== null
  } catch {
    return false
  }
}

/**
 * The first time of the schedule after `afterMs`, ms since the epoch; undefined when there is none. A time that the clock
 * skips in spring is moved forward, and one that it repeats in autumn counts once.
 */
export function nextTime({ cron, timezone }: PolicySchedule, afterMs: number): number | undefined {
  const times = new Cron(cron, { paused: true, timezone })
  let next = times.nextRun(new Date(afterMs))
  while (next !== null && isRepeated(timezone, next.getTime())) next = times.nextRun(next)
  return next?.getTime()
}

const MINUTE_MS = 60_000
const HALF_HOUR_MS = 30 * MINUTE_MS
/** Clocks are set back by 30 minutes (Lord Howe), an hour, or two hours (Troll). */
const LONGEST_SET_BACK_MS = 4 * HALF_HOUR_MS

/** Whether the wall clock has shown this time before: it was set back in between. */
function isRepeated(timezone: string, ms: number): boolean {
  const { day, minute } = wallClock(timezone, ms)
  for (let back = HALF_HOUR_MS; back <= LONGEST_SET_BACK_MS; back += HALF_HOUR_MS) {
    const earlier = wallClock(timezone, ms - back)
    if (earlier.day === day && earlier.minute === minute) return true
  }
  return false
}

const MINUTES_PER_DAY = 1440

/** Whether the window is open. Where the wall clock repeats an hour, both count; a skipped one never comes. */
export function isOpen(window: PolicyWindow, nowMs: number): boolean {
  const { day, minute } = wallClock(window.timezone, nowMs)
  const from = minuteOf(window.from)
  const to = minuteOf(window.to)
  const isDay = (index: number): boolean => window.days.includes(weekday(index))
  if (from < to) return isDay(day) && minute >= from && minute < to
  return (isDay(day) && minute >= from) || (isDay(day - 1) && minute < to)
}

/** When the window opens next, ms since the epoch; `nowMs` when it is open. */
export function nextOpening(window: PolicyWindow, nowMs: number): number | undefined {
  if (isOpen(window, nowMs)) return nowMs
  const from = minuteOf(window.from)
  const { day, minute } = wallClock(window.timezone, nowMs)
  const isLater = (days: number): boolean => days > 0 || minute < from
  const days = Array.from({ length: WEEKDAYS.length + 1 }, (_, index) => index)
  const away = days.find((index) => isLater(index) && window.days.includes(weekday((day + index) % WEEKDAYS.length)))
  if (away === undefined) return undefined
  const opening = startOfMinute(nowMs) + (away * MINUTES_PER_DAY + from - minute) * MINUTE_MS
  const isUnchanged = wallClock(window.timezone, opening).minute === from
  return isUnchanged ? opening : openingByWalking(window, nowMs)
}

const QUARTER_MS = 15 * MINUTE_MS
/** A window of one day in the week may be skipped once. */
const LONGEST_WALK_MS = 15 * MINUTES_PER_DAY * MINUTE_MS

/** Around a clock change: clocks change at quarters of an hour, so a window opens at one, or at its own minute in one. */
function openingByWalking(window: PolicyWindow, nowMs: number): number | undefined {
  const within = (minuteOf(window.from) % 15) * MINUTE_MS
  const first = Math.floor(nowMs / QUARTER_MS) * QUARTER_MS
  for (let quarter = first; quarter < nowMs + LONGEST_WALK_MS; quarter += QUARTER_MS) {
    const opening = [quarter, quarter + within].find((time) => time > nowMs && isOpen(window, time))
    if (opening !== undefined) return opening
  }
  return undefined
}

function startOfMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS
}

function minuteOf(time: string): number {
  const [hour = '0', minute = '0'] = time.split(':')
  return (Number(hour) * 60 + Number(minute)) % MINUTES_PER_DAY
}

function weekday(index: number): (typeof WEEKDAYS)[number] {
  return WEEKDAYS[(index + WEEKDAYS.length) % WEEKDAYS.length] ?? 'mon'
}

/** By time zone. Users choose the names, whose case counts here: more than some are not kept. */
const formats = new Map<string, Intl.DateTimeFormat>()
const MAX_FORMATS = 100

/** The day of the week (0 is Monday) and the minute of the day in a time zone. */
function wallClock(timezone: string, ms: number): { readonly day: number; readonly minute: number } {
  let format = formats.get(timezone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
    if (formats.size >= MAX_FORMATS) formats.clear()
    formats.set(timezone, format)
  }
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const day = WEEKDAYS.findIndex((name) => name === parts.get('weekday')?.toLowerCase())
  return { day, minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')) }
}

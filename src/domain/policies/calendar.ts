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
  /** Dates (`2026-12-24`) and ranges of dates (`2026-12-24/2027-01-02`) of the days; null or absent: every date. */
  readonly dates?: readonly string[] | null | undefined
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

/** True for a cron expression of five fields with a next time. */
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
const DAY_MS = MINUTES_PER_DAY * MINUTE_MS

/** Whether the window is open. Where the wall clock repeats an hour, both count; a skipped one never comes. */
export function isOpen(window: PolicyWindow, nowMs: number): boolean {
  const now = wallClock(window.timezone, nowMs)
  const { minute } = now
  const from = minuteOf(window.from)
  const to = minuteOf(window.to)
  if (from < to) return isDay(window, now, 0) && minute >= from && minute < to
  return (isDay(window, now, 0) && minute >= from) || (isDay(window, now, -1) && minute < to)
}

const DAYS_PER_WEEK = WEEKDAYS.length
/** The days in which a window with dates looks for the next. */
const LONGEST_SEARCH_DAYS = 400

/** When the window opens next, ms since the epoch; `nowMs` when it is open; undefined: not within 400 days. */
export function nextOpening(window: PolicyWindow, nowMs: number): number | undefined {
  if (isOpen(window, nowMs)) return nowMs
  const from = minuteOf(window.from)
  const now = wallClock(window.timezone, nowMs)
  const isLater = (days: number): boolean => days > 0 || now.minute < from
  const searched = (window.dates ?? null) === null ? DAYS_PER_WEEK : LONGEST_SEARCH_DAYS
  const days = Array.from({ length: searched + 1 }, (_, index) => index)
  const away = days.find((index) => isLater(index) && isDay(window, now, index))
  if (away === undefined) return undefined
  const opening = startOfMinute(nowMs) + (away * MINUTES_PER_DAY + from - now.minute) * MINUTE_MS
  const then = wallClock(window.timezone, opening)
  if (then.minute === from && then.date === now.date + away) return opening
  return openingByWalking(window, away > DAYS_PER_WEEK ? opening - DAY_MS : nowMs)
}

/** When an open window closes, ms since the epoch; `nowMs` when it is closed. */
export function nextClosing(window: PolicyWindow, nowMs: number): number {
  if (!isOpen(window, nowMs)) return nowMs
  const from = minuteOf(window.from)
  const to = minuteOf(window.to)
  const { minute } = wallClock(window.timezone, nowMs)
  const endsTomorrow = from >= to && minute >= from
  const closing = startOfMinute(nowMs) + ((endsTomorrow ? MINUTES_PER_DAY : 0) + to - minute) * MINUTE_MS
  if (closing > nowMs && wallClock(window.timezone, closing).minute === to) return closing
  return firstAround(nowMs, to, (time) => !isOpen(window, time)) ?? nowMs + DAY_MS
}

const QUARTER_MS = 15 * MINUTE_MS
/** A window of one day in the week may be skipped once. */
const LONGEST_WALK_MS = 15 * MINUTES_PER_DAY * MINUTE_MS

/** Around a clock change: clocks change at quarters of an hour, so a window opens at one, or at its own minute in one. */
function openingByWalking(window: PolicyWindow, nowMs: number): number | undefined {
  return firstAround(nowMs, minuteOf(window.from), (time) => isOpen(window, time))
}

/** The first quarter of an hour after now, or this minute in one, for which a condition holds. */
function firstAround(nowMs: number, minute: number, holds: (ms: number) => boolean): number | undefined {
  const within = (minute % 15) * MINUTE_MS
  const first = Math.floor(nowMs / QUARTER_MS) * QUARTER_MS
  for (let quarter = first; quarter < nowMs + LONGEST_WALK_MS; quarter += QUARTER_MS) {
    const found = [quarter, quarter + within].find((time) => time > nowMs && holds(time))
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether the day on which a window begins is one of its days; `offset` counts from the day of the clock. */
function isDay({ days, dates = null }: PolicyWindow, { day, date }: WallClock, offset: number): boolean {
  if (!days.includes(weekday(day + offset))) return false
  if (dates === null) return true
  const text = new Date((date + offset) * DAY_MS).toISOString().slice(0, DATE_LENGTH)
  return dates.some((entry) => {
    const [first = '', last = first] = entry.split('/')
    return first <= text && text <= last
  })
}

const DATE_LENGTH = 'YYYY-MM-DD'.length

function startOfMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS
}

function minuteOf(time: string): number {
  const [hour = '0', minute = '0'] = time.split(':')
  return (Number(hour) * 60 + Number(minute)) % MINUTES_PER_DAY
}

function weekday(index: number): (typeof WEEKDAYS)[number] {
  return WEEKDAYS[(index + DAYS_PER_WEEK) % DAYS_PER_WEEK] ?? 'mon'
}

/** By time zone. Users choose the names, whose case counts here: more than some are not kept. */
const formats = new Map<string, Intl.DateTimeFormat>()
const MAX_FORMATS = 100

/** What the clock on a wall shows. */
interface WallClock {
  /** Of the week; 0 is Monday. */
  readonly day: number
  /** Of the day. */
  readonly minute: number
  /** Days since 1970-01-01. */
  readonly date: number
}

/** The wall clock of a time zone. */
function wallClock(timezone: string, ms: number): WallClock {
  let format = formats.get(timezone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
    if (formats.size >= MAX_FORMATS) formats.clear()
    formats.set(timezone, format)
  }
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const number = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type))
  const day = WEEKDAYS.findIndex((name) => name === parts.get('weekday')?.toLowerCase())
  const date = Date.UTC(number('year'), number('month') - 1, number('day')) / DAY_MS
  return { day, minute: number('hour') * 60 + number('minute'), date }
}

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
  return new Cron(cron, { paused: true, timezone }).nextRun(new Date(afterMs))?.getTime()
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
  const [hour = '0', minute = '0'] = window.from.split(':')
  const cron = `${Number(minute)} ${Number(hour)} * * ${window.days.join(',')}`
  return nextTime({ cron, timezone: window.timezone }, nowMs)
}

function minuteOf(time: string): number {
  const [hour = '0', minute = '0'] = time.split(':')
  return (Number(hour) * 60 + Number(minute)) % MINUTES_PER_DAY
}

function weekday(index: number): (typeof WEEKDAYS)[number] {
  return WEEKDAYS[(index + WEEKDAYS.length) % WEEKDAYS.length] ?? 'mon'
}

const formats = new Map<string, Intl.DateTimeFormat>()

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
    formats.set(timezone, format)
  }
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const day = WEEKDAYS.findIndex((name) => name === parts.get('weekday')?.toLowerCase())
  return { day, minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')) }
}

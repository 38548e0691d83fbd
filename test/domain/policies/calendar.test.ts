import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { runs } from '../../support/effort.ts'
import { isCronExpression, isOpen, isTimezone, nextOpening, nextTime } from '../../../src/domain/policies/calendar.ts'

const at = (text: string): number => Date.parse(text)
const text = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : new Date(ms).toISOString())
const ALL_DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

describe('windows', () => {
  const nights = {
    timezone: 'Europe/Berlin',
    days: ['mon', 'tue', 'wed', 'thu', 'fri'],
    from: '22:00',
    to: '06:00',
  } as const

  it.each([
    ['2026-06-15T19:59:00Z', false], // Monday, 21:59 in Berlin
    ['2026-06-15T20:00:00Z', true],
    ['2026-06-16T03:59:00Z', true], // Tuesday, 05:59
    ['2026-06-16T04:00:00Z', false],
    ['2026-06-20T03:00:00Z', true], // Saturday, 05:00: belongs to Friday
    ['2026-06-20T21:00:00Z', false], // Saturday, 23:00
    ['2026-06-15T02:00:00Z', false], // Monday, 04:00: belongs to Sunday
  ])('that cross midnight belong to the day on which they begin: %s is %s', (time, isIn) => {
    expect(isOpen(nights, at(time))).toBe(isIn)
  })

  it('open next on the next day that they name', () => {
    expect(text(nextOpening(nights, at('2026-06-20T05:00:00Z')))).toBe('2026-06-22T20:00:00.000Z')
    expect(text(nextOpening(nights, at('2026-06-15T20:30:00Z')))).toBe('2026-06-15T20:30:00.000Z')
  })

  it('of a whole day are always open', () => {
    const always = { timezone: 'UTC', days: ALL_DAYS, from: '00:00', to: '00:00' }
    for (let hour = 0; hour < 48; hour += 1) {
      expect(isOpen(always, at('2026-03-28T00:00:00Z') + hour * 3_600_000)).toBe(true)
    }
  })

  it('are open for the hour that autumn repeats, both times', () => {
    const hour = { timezone: 'Europe/Berlin', days: ALL_DAYS, from: '02:00', to: '03:00' }
    // 25 October 2026: 02:00 to 03:00 comes at 00:00 and at 01:00 UTC
    expect(
      ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2026-10-25T02:30:00Z'].map((t) => isOpen(hour, at(t))),
    ).toEqual([true, true, false])
  })

  it('in the hour that spring skips do not open that day', () => {
    const hour = { timezone: 'Europe/Berlin', days: ALL_DAYS, from: '02:00', to: '03:00' }
    const day = at('2026-03-29T00:00:00Z')
    const open = Array.from({ length: 96 }, (_, quarter) => isOpen(hour, day + quarter * 900_000))
    expect(open).not.toContain(true)
  })

  it.each([
    ['between the two passes of a repeated hour', '2026-10-25T00:50:00Z', '02:15', '02:45', '2026-10-25T01:15:00.000Z'],
    ['after both passes', '2026-10-25T01:50:00Z', '02:15', '02:45', '2026-10-26T01:15:00.000Z'],
    ['on a day that skips the window', '2026-03-29T00:00:00Z', '02:15', '02:45', '2026-03-30T00:15:00.000Z'],
    ['on a day that skips the start', '2026-03-29T00:00:00Z', '02:15', '03:30', '2026-03-29T01:00:00.000Z'],
  ])('open next when they are open %s', (_when, now, from, to, expected) => {
    const window = { timezone: 'Europe/Berlin', days: ALL_DAYS, from, to }
    expect(text(nextOpening(window, at(now)))).toBe(expected)
  })

  it('open next at the first open minute, in every zone and on every day', () => {
    const minute = 60_000
    const clock = fc.integer({ min: 0, max: 95 }).map((quarter) => {
      const two = (n: number): string => String(n).padStart(2, '0')
      return `${two(Math.floor(quarter / 4))}:${two((quarter % 4) * 15 + 7)}`
    })
    const zones = [
      'Europe/Berlin',
      'Australia/Lord_Howe',
      'America/St_Johns',
      'Asia/Kathmandu',
      'Antarctica/Troll',
      'UTC',
    ]
    const days = ['2026-03-28', '2026-10-24', '2026-04-04', '2026-10-03', '2026-03-07', '2026-10-31', '2026-06-01']
    const property = fc.property(
      fc.constantFrom(...zones),
      fc.subarray([...ALL_DAYS], { minLength: 1 }),
      clock,
      clock,
      fc.constantFrom(...days),
      fc.integer({ min: 0, max: 2 * 1440 }),
      (timezone, named, from, to, day, minutes) => {
        const window = { timezone, days: named, from, to }
        const now = at(`${day}T00:00:00Z`) + minutes * minute
        const found = nextOpening(window, now)
        if (found === undefined) throw new Error('no opening')
        expect(isOpen(window, found), text(found)).toBe(true)
        // every minute before the opening is closed; only the last two days of them are walked
        for (let time = Math.max(now, found - 2 * 1440 * minute); time < found; time += minute) {
          expect(isOpen(window, time), `${text(time)} before ${text(found)}`).toBe(false)
        }
      },
    )
    fc.assert(property, { numRuns: runs(300) })
  })

  it('keep the wall clock in time zones with half hours', () => {
    const window = { timezone: 'Asia/Kolkata', days: ALL_DAYS, from: '09:00', to: '10:00' }
    expect(isOpen(window, at('2026-06-15T03:30:00Z'))).toBe(true)
    expect(isOpen(window, at('2026-06-15T04:30:00Z'))).toBe(false)
  })
})

describe('schedules', () => {
  it.each([
    ['0 3 * * *', 'Europe/Berlin', '2026-06-15T12:00:00Z', '2026-06-16T01:00:00.000Z'],
    ['0 3 * * *', 'UTC', '2026-06-15T03:00:00Z', '2026-06-16T03:00:00.000Z'],
    ['0 0 29 2 *', 'UTC', '2026-06-15T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['0 12 * * mon', 'UTC', '2026-06-15T12:00:00Z', '2026-06-22T12:00:00.000Z'],
    ['*/15 * * * *', 'UTC', '2026-06-15T12:14:59.999Z', '2026-06-15T12:15:00.000Z'],
    ['0 0 L * *', 'UTC', '2026-02-01T00:00:00Z', '2026-02-28T00:00:00.000Z'],
  ])('%s in %s after %s is %s', (cron, timezone, after, expected) => {
    expect(text(nextTime({ cron, timezone }, at(after)))).toBe(expected)
  })

  it('run once a day through the days of the clock changes', () => {
    const daily = { cron: '30 2 * * *', timezone: 'Europe/Berlin' }
    for (const [from, days] of [
      ['2026-03-27T12:00:00Z', 4],
      ['2026-10-23T12:00:00Z', 4],
    ] as const) {
      const times: number[] = []
      for (let last = at(from); times.length < days;) {
        const next = nextTime(daily, last)
        if (next === undefined) throw new Error('no next time')
        times.push(next)
        last = next
      }
      const local = times.map((ms) => new Date(ms).toLocaleDateString('en-CA', { timeZone: 'Europe/Berlin' }))
      expect(new Set(local).size, local.join(' ')).toBe(days)
    }
  })

  it.each(['*/30 * * * *', '0,30 * * * *', '30 * * * *', '30 2 * * *'])(
    'count a time once when autumn repeats the time: %s',
    (cron) => {
      const seen: string[] = []
      const end = at('2026-10-25T06:00:00Z')
      for (let time = nextTime({ cron, timezone: 'Europe/Berlin' }, at('2026-10-24T20:00:00Z')); ;) {
        if (time === undefined || time > end) break
        seen.push(new Date(time).toLocaleString('en-CA', { timeZone: 'Europe/Berlin' }))
        time = nextTime({ cron, timezone: 'Europe/Berlin' }, time)
      }
      expect(seen.length).toBeGreaterThan(0)
      expect(seen).toHaveLength(new Set(seen).size)
    },
  )

  it('count no time in the second pass when they are asked between the two passes', () => {
    const schedule = { cron: '45 2 * * *', timezone: 'Europe/Berlin' }
    expect(text(nextTime(schedule, at('2026-10-25T00:50:00Z')))).toBe('2026-10-26T01:45:00.000Z')
    const lordHowe = { cron: '*/10 * * * *', timezone: 'Australia/Lord_Howe' }
    // 5 April 2026: the clock goes back from 02:00 to 01:30 at 15:00 UTC of the day before
    expect(text(nextTime(lordHowe, at('2026-04-04T14:50:00Z')))).toBe('2026-04-04T15:30:00.000Z')
  })

  it('come after a clock that was set back or forward', () => {
    const hourly = { cron: '0 * * * *', timezone: 'UTC' }
    expect(text(nextTime(hourly, at('2026-06-15T10:00:00Z')))).toBe('2026-06-15T11:00:00.000Z')
    expect(text(nextTime(hourly, at('2020-01-01T00:00:00Z')))).toBe('2020-01-01T01:00:00.000Z')
  })

  it.each(['', '* * * *', '* * * * * *', '61 * * * *', '0 0 31 2 *', 'hello', '* * * * * * *', '@daily'])(
    'refuse %j',
    (cron) => {
      expect(isCronExpression(cron)).toBe(false)
    },
  )
})

it('time zones are those of the platform', () => {
  expect(isTimezone('Europe/Berlin')).toBe(true)
  expect(isTimezone('Mars/Olympus')).toBe(false)
})

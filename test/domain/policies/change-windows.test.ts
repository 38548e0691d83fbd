import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextClosing, WEEKDAYS } from '../../../src/domain/policies/calendar.ts'
import { type ChangeWindow, isChangeOpen, nextChangeOpening } from '../../../src/domain/policies/change-windows.ts'
import { runs } from '../../support/effort.ts'

const at = (text: string): number => Date.parse(text)
const text = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : new Date(ms).toISOString())
const MINUTE = 60_000

const office: ChangeWindow = {
  kind: 'allow',
  timezone: 'Europe/Berlin',
  days: ['mon', 'tue', 'wed', 'thu'],
  from: '09:00',
  to: '16:00',
}
const freeze: ChangeWindow = {
  kind: 'deny',
  timezone: 'Europe/Berlin',
  days: WEEKDAYS,
  from: '00:00',
  to: '00:00',
  dates: ['2026-12-20/2027-01-03'],
}

describe('windows of an environment', () => {
  it('are always open without any', () => {
    expect(isChangeOpen([], 0)).toBe(true)
    expect(nextChangeOpening([], 5)).toBe(5)
  })

  it('that deny win over windows that allow', () => {
    const monday = at('2026-12-21T10:00:00Z')
    expect(isChangeOpen([office], monday)).toBe(true)
    expect(isChangeOpen([office, freeze], monday)).toBe(false)
    expect(text(nextChangeOpening([office, freeze], monday))).toBe('2027-01-04T08:00:00.000Z')
    expect(text(nextChangeOpening([freeze], monday))).toBe('2027-01-03T23:00:00.000Z')
  })

  it('that only deny are open at all other times', () => {
    expect(isChangeOpen([freeze], at('2026-12-19T22:59:00Z'))).toBe(true)
    expect(isChangeOpen([freeze], at('2026-12-19T23:00:00Z'))).toBe(false)
  })

  it('with dates open on these dates only', () => {
    const once: ChangeWindow = { ...office, days: WEEKDAYS, dates: ['2027-03-01'] }
    expect(text(nextChangeOpening([once], at('2026-06-01T00:00:00Z')))).toBe('2027-03-01T08:00:00.000Z')
    expect(nextChangeOpening([once], at('2027-03-02T00:00:00Z'))).toBeUndefined()
  })

  it('that forbid every minute never open', () => {
    const never: ChangeWindow = { ...freeze, dates: null }
    expect(nextChangeOpening([never], at('2026-06-01T00:00:00Z'))).toBeUndefined()
    const half = { ...never, to: '12:00' }
    expect(nextChangeOpening([half, { ...half, from: '12:00', to: '00:00' }], 0)).toBeUndefined()
  })

  it.each([
    ['after the hour that spring skips', '2026-03-29T00:00:00Z', '02:00', '03:00', '2026-03-30T00:00:00.000Z'],
    [
      'between both passes of the hour that autumn repeats',
      '2026-10-25T00:31:00Z',
      '02:00',
      '02:30',
      '2026-10-25T01:00:00.000Z',
    ],
  ])('open %s', (_, now, from, to, opening) => {
    const night: ChangeWindow = { ...office, days: WEEKDAYS, from, to }
    expect(text(nextChangeOpening([night], at(now)))).toBe(opening)
  })

  it.each([
    ['in the hour that spring skips', '2026-03-29T00:30:00Z', '01:00', '02:30', '2026-03-29T01:00:00.000Z'],
    ['on an ordinary day', '2026-06-10T10:00:00Z', '09:00', '16:00', '2026-06-10T14:00:00.000Z'],
    ['on the next day', '2026-06-10T21:00:00Z', '22:00', '06:00', '2026-06-11T04:00:00.000Z'],
  ])('close %s', (_, now, from, to, closing) => {
    expect(text(nextClosing({ ...office, days: WEEKDAYS, from, to }, at(now)))).toBe(closing)
  })

  const clock = fc
    .tuple(fc.nat(23), fc.constantFrom('00', '15', '30', '59'))
    .map(([hour, minute]) => `${String(hour).padStart(2, '0')}:${minute}`)
  const window = fc.record({
    kind: fc.constantFrom('allow' as const, 'deny' as const),
    timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'),
    days: fc.subarray([...WEEKDAYS], { minLength: 1 }),
    from: clock,
    to: clock,
    dates: fc.option(fc.constant(['2026-03-28/2026-03-30', '2026-10-25'])),
  })
  const starts = ['2026-03-27T20:00:00Z', '2026-10-24T20:00:00Z', '2026-11-01T03:00:00Z', '2026-04-04T12:00:00Z']

  it('open next at the first open minute of the following days', () => {
    const property = fc.property(fc.array(window, { maxLength: 4 }), fc.constantFrom(...starts), (windows, start) => {
      const now = at(start)
      const minutes = Array.from({ length: 2 * 1440 }, (__, index) => now + index * MINUTE)
      const first = minutes.find((time) => isChangeOpen(windows, time))
      const found = nextChangeOpening(windows, now)
      if (first !== undefined) expect(text(found)).toBe(text(first))
      else expect(found ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(minutes.at(-1) ?? 0)
    })
    fc.assert(property, { numRuns: runs(400, 25) })
  })
})

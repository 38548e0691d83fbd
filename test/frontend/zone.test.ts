import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  formatAxisTime,
  formatShortTime,
  formatTime,
  fromTimeInput,
  isZone,
  toTimeInput,
} from '../../frontend/src/time/zone.ts'
import { runs } from '../support/effort.ts'

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Kiritimati', 'Australia/Lord_Howe']

test.each([
  ['UTC', '2026-11-20 14:07:20 UTC'],
  ['Europe/Berlin', '2026-11-20 15:07:20 +01:00'],
  ['America/New_York', '2026-11-20 09:07:20 −05:00'],
  ['Asia/Kolkata', '2026-11-20 19:37:20 +05:30'],
  ['Pacific/Kiritimati', '2026-11-21 04:07:20 +14:00'],
])('a full time in %s is %s', (zone, text) => {
  expect(formatTime('2026-11-20T14:07:20.123Z', zone)).toBe(text)
})

test('midnight is 00:00, not 24:00', () => {
  expect(formatTime('2026-11-19T23:00:00.000Z', 'Europe/Berlin')).toBe('2026-11-20 00:00:00 +01:00')
})

test('a short time has no date if it is on the same day of the zone', () => {
  const now = new Date('2026-11-20T23:30:00.000Z')
  expect(formatShortTime('2026-11-20T22:10:05.000Z', 'UTC', now)).toBe('22:10:05')
  expect(formatShortTime('2026-11-20T22:10:05.000Z', 'Europe/Berlin', now)).toBe('2026-11-20 23:10')
  expect(formatShortTime('2026-11-20T23:10:05.000Z', 'Europe/Berlin', now)).toBe('00:10:05')
})

test('marks of an axis are in the zone, with a precision that fits their distance', () => {
  const at = Date.parse('2026-11-20T23:10:05.000Z') / 1000
  expect([5, 60, 86_400].map((step) => formatAxisTime(at, 'Europe/Berlin', step))).toEqual([
    '00:10:05',
    '00:10',
    '2026-11-21',
  ])
})

describe('date and time fields', () => {
  test('accept any time of any zone to the second, except the hour that a clock change repeats', () => {
    const from = Date.parse('2000-01-01T00:00:00Z') / 1000
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), fc.integer({ min: from, max: from + 2_000_000_000 }), (zone, seconds) => {
        const iso = new Date(seconds * 1000).toISOString()
        const field = toTimeInput(iso, zone)
        const back = fromTimeInput(field, zone) ?? ''
        expect(toTimeInput(back, zone)).toBe(field)
        expect(Date.parse(iso) - Date.parse(back)).toBeOneOf([0, 1_800_000, 3_600_000])
      }),
      { numRuns: runs(300) },
    )
  })

  test('move a time skipped by a clock change forward, and use the first of a repeated one', () => {
    expect(fromTimeInput('2026-03-29T02:30', 'Europe/Berlin')).toBe('2026-03-29T01:30:00.000Z')
    expect(fromTimeInput('2026-10-25T02:30', 'Europe/Berlin')).toBe('2026-10-25T00:30:00.000Z')
  })

  test('have no value if they are empty or invalid', () => {
    expect([toTimeInput(undefined, 'UTC'), fromTimeInput('', 'UTC'), fromTimeInput('soon', 'UTC')]).toEqual([
      '',
      undefined,
      undefined,
    ])
  })
})

test('zones are identified by their names', () => {
  expect([isZone('Europe/Berlin'), isZone('UTC'), isZone('Moon/Base')]).toEqual([true, true, false])
})

import { describe, expect, test } from 'vitest'
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDelta,
  formatDuration,
  formatPercent,
  formatPlural,
  formatRelative,
} from '../../frontend/src/strings/everywhere/units.ts'

test.each([
  ['432000000', '5 d'],
  ['9223372036854775806', '106751991167 d 7 h'],
  ['9223372036854775807', 'Never'],
])('%s ms of retention are %s', (ms, text) => {
  expect(formatAge(ms)).toBe(text)
})

test.each([
  [0, '0 B'],
  [17, '17 B'],
  [1023, '1023 B'],
  [1024, '1 KiB'],
  [2_621_440, '2.5 MiB'],
  [402_653_184, '384 MiB'],
  [1_073_741_823, '1 GiB'],
  [1.5 * 1024 ** 4, '1.5 TiB'],
  [9 * 1024 ** 6, '9216 PiB'],
  [-2048, '−2 KiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

test('counts have a thousands separator, and the right form of the noun', () => {
  expect(formatCount(1_234_567)).toBe('1,234,567')
  expect(formatPlural(1, 'file')).toBe('1 file')
  expect(formatPlural(0, 'file')).toBe('0 files')
  expect(formatPlural(2000, 'entry', 'entries')).toBe('2,000 entries')
})

test('changes have a sign', () => {
  expect(formatDelta(12)).toBe('+12')
  expect(formatDelta(-3000)).toBe('−3,000')
  expect(formatDelta(0)).toBe('0')
  expect(formatDelta(-2048, formatBytes)).toBe('−2 KiB')
})

test.each([
  [0, '0 %'],
  [0.004, '0.4 %'],
  [0.0995, '10 %'],
  [0.12, '12 %'],
  [1, '100 %'],
])('a share of %d is %s', (ratio, text) => {
  expect(formatPercent(ratio)).toBe(text)
})

test.each([
  [0, '0 ms'],
  [840, '840 ms'],
  [999.6, '1 s'],
  [3200, '3.2 s'],
  [9_960, '10 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [125_000, '2 min 5 s'],
  [3_600_000, '1 h'],
  [3_840_000, '1 h 4 min'],
  [86_399_000, '1 d'],
  [180_000_000, '2 d 2 h'],
])('a span of %d ms is %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

describe('elapsed time', () => {
  const now = new Date('2026-11-20T12:00:00.000Z')
  test.each([
    ['2026-11-20T11:59:30.000Z', 'just now'],
    ['2026-11-20T12:00:20.000Z', 'just now'],
    ['2026-11-20T11:58:50.000Z', '1 min ago'],
    ['2026-11-20T11:01:00.000Z', '59 min ago'],
    ['2026-11-20T11:00:00.000Z', '1 h ago'],
    ['2026-11-20T15:00:00.000Z', 'in 3 h'],
    ['2026-11-18T12:00:00.000Z', '2 d ago'],
    ['2026-07-20T12:00:00.000Z', '4 mo ago'],
    ['2023-11-20T12:00:00.000Z', '3 y ago'],
  ])('%s is %s', (at, text) => {
    expect(formatRelative(at, now)).toBe(text)
  })
})

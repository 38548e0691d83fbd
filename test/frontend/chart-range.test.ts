import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  boundsOf,
  type ChartRange,
  cutSteps,
  formatRange,
  isOpenEnded,
  parseRange,
  partOf,
  rangeQuery,
  type RangeSpec,
} from '../../frontend/src/components/chart/range/chart-range.ts'
import { endInput, formatEnd, parseEnd } from '../../frontend/src/components/chart/range/range-times.ts'
import { daysBetween, daysOf, partOfDays, SAVINGS_RANGE } from '../../frontend/src/features/operations/savings/days.ts'
import { runs } from '../support/effort.ts'

const SPEC: RangeSpec = { presets: ['1h', '24h', 'all'], fallback: '24h', unit: 'time' }
const NOW = Date.parse('2026-11-20T10:00:00Z')
const HOUR = 3_600_000
const preset = (name: '1h' | '24h' | 'all' | '7d'): ChartRange => ({ kind: 'preset', preset: name })

describe('the range of charts in the address', () => {
  it('is the fallback when nothing else is there, or when nothing of it can be read', () => {
    for (const search of [{}, { range: '7d' }, { range: 'toString' }, { from: 'x', to: '' }, { from: '2026-13-45' }]) {
      expect(parseRange(search, SPEC)).toEqual(preset('24h'))
    }
    expect(formatRange(preset('24h'), SPEC)).toEqual({ range: undefined, from: undefined, to: undefined })
  })

  it('is a preset, or a part, which goes before a preset', () => {
    expect(parseRange({ range: '1h' }, SPEC)).toEqual(preset('1h'))
    expect(parseRange({ range: '1h', from: '2026-11-20T10:00:00Z' }, SPEC)).toEqual({
      kind: 'part',
      fromMs: NOW,
      toMs: undefined,
    })
    expect(parseRange({ from: '2026-11-20T11:00:00+01:00' }, SPEC)).toMatchObject({ fromMs: NOW })
  })

  it('is read as it was written', () => {
    const end = fc.option(fc.integer({ min: 0, max: 4_000_000_000_000 }), { nil: undefined })
    const part = fc.record({ kind: fc.constant('part' as const), fromMs: end, toMs: end })
    const some = part.filter(({ fromMs, toMs }) => fromMs !== undefined || toMs !== undefined)
    fc.assert(
      fc.property(fc.oneof(some, fc.constantFrom(preset('1h'), preset('24h'), preset('all'))), (range) => {
        expect(parseRange(formatRange(range, SPEC), SPEC)).toEqual(range)
      }),
      { numRuns: runs(30, 500) },
    )
  })
})

describe('the ends of a range', () => {
  it('move on with time for a preset, and stay for a part', () => {
    expect(boundsOf(preset('1h'), { nowMs: NOW, unit: 'time' })).toEqual({ fromMs: NOW - HOUR, toMs: NOW })
    expect(boundsOf(preset('all'), { nowMs: NOW, oldestMs: 5000, unit: 'time' })).toEqual({ fromMs: 5000, toMs: NOW })
    const part: ChartRange = { kind: 'part', fromMs: 1, toMs: 2 }
    expect(boundsOf(part, { nowMs: NOW, unit: 'time' })).toEqual({ fromMs: 1, toMs: 2 })
    expect([isOpenEnded(part), isOpenEnded({ ...part, toMs: undefined }), isOpenEnded(preset('1h'))]).toEqual([
      false,
      true,
      true,
    ])
  })

  it('are never the same for all values when there is none, or one from now', () => {
    for (const oldestMs of [undefined, NOW, NOW + 5]) {
      const { fromMs, toMs } = boundsOf(preset('all'), { nowMs: NOW, oldestMs, unit: 'time' })
      expect(fromMs).toBeLessThan(toMs)
    }
  })

  it('leave out the time before the oldest value of a preset, but not of a part', () => {
    const known = { nowMs: NOW, oldestMs: NOW - 60_000, unit: 'time' } as const
    expect(boundsOf(preset('1h'), known)).toEqual({ fromMs: NOW - 60_000, toMs: NOW })
    expect(boundsOf(preset('1h'), { ...known, oldestMs: NOW })).toEqual({ fromMs: NOW - 10_000, toMs: NOW })
    expect(boundsOf(preset('1h'), { ...known, oldestMs: 0 })).toEqual({ fromMs: NOW - HOUR, toMs: NOW })
    expect(boundsOf({ kind: 'part', fromMs: 5, toMs: NOW }, known)).toEqual({ fromMs: 5, toMs: NOW })
  })

  it('of a dragged part are whole seconds that contain it', () => {
    const bounds = { fromMs: NOW, toMs: NOW + 100_000 }
    expect(partOf(bounds, 0.101, 0.499)).toEqual({ kind: 'part', fromMs: NOW + 10_000, toMs: NOW + 50_000 })
    expect(partOf(bounds, 0.5, 0.2)).toEqual({ kind: 'part', fromMs: NOW + 20_000, toMs: NOW + 50_000 })
    expect(partOf({ fromMs: NOW, toMs: NOW + 10 }, 0, 0.1)).toEqual({ kind: 'part', fromMs: NOW, toMs: NOW + 1000 })
  })

  it('go to the API as times in UTC', () => {
    expect(rangeQuery({ kind: 'part', fromMs: NOW, toMs: NOW + 1 })).toEqual({
      from: '2026-11-20T10:00:00Z',
      to: '2026-11-20T10:00:00.001Z',
      points: 1000,
    })
    expect(rangeQuery(preset('all'))).toEqual({ from: undefined, to: undefined, points: 1000 })
    expect(rangeQuery(preset('1h')).to).toBeUndefined()
  })
})

describe('the fields of a range', () => {
  it('show and read times in the zone of the page', () => {
    expect(endInput(NOW, SPEC, 'Europe/Berlin')).toBe('2026-11-20T11:00:00')
    expect(parseEnd('2026-11-20T11:00:00', SPEC, 'Europe/Berlin')).toBe(NOW)
    expect(formatEnd(NOW, SPEC, 'UTC')).toBe('2026-11-20 10:00:00 UTC')
  })

  it('show days in UTC, in every zone', () => {
    expect(endInput(NOW, SAVINGS_RANGE, 'Pacific/Auckland')).toBe('2026-11-20')
    expect(parseEnd('2026-11-20', SAVINGS_RANGE, 'Pacific/Auckland')).toBe(Date.parse('2026-11-20'))
  })

  it.each(['', 'soon', '0002-01-01T00:00:00', '2026-02-31T99:00'])('refuse %j', (value) => {
    expect(parseEnd(value, SPEC, 'UTC')).toBeUndefined()
  })
})

describe('a step line in a range', () => {
  const line = { x: [10, 20, 30], values: ['a', 'b', 'c'] }
  const cut = (from: number, to: number) => cutSteps(line, { fromMs: from * 1000, toMs: to * 1000 })

  it.each([
    [0, 5, [], []],
    [0, 15, [10, 15], ['a', 'a']],
    [15, 25, [15, 20, 25], ['a', 'b', 'b']],
    [12, 18, [12, 18], ['a', 'a']],
    [20, 30, [20, 30], ['b', 'c']],
    [40, 50, [40, 50], ['c', 'c']],
    [50, 40, [], []],
  ])('from %d to %d has the values that hold there', (from, to, x, values) => {
    expect(cut(from, to)).toEqual({ x, values })
  })
})

describe('the days of savings', () => {
  const days = daysBetween('2026-11-01', '2026-11-10')

  it('leave out the time before the oldest value of a preset, but not of a part', () => {
    const known = { nowMs: NOW, oldestMs: NOW - 60_000, unit: 'time' } as const
    expect(boundsOf(preset('1h'), known)).toEqual({ fromMs: NOW - 60_000, toMs: NOW })
    expect(boundsOf(preset('1h'), { ...known, oldestMs: NOW })).toEqual({ fromMs: NOW - 10_000, toMs: NOW })
    expect(boundsOf(preset('1h'), { ...known, oldestMs: 0 })).toEqual({ fromMs: NOW - HOUR, toMs: NOW })
    expect(boundsOf({ kind: 'part', fromMs: 5, toMs: NOW }, known)).toEqual({ fromMs: 5, toMs: NOW })
  })

  it('of a dragged part are those that it touches', () => {
    expect(daysOf(partOfDays(days, 0.15, 0.32), new Date(NOW))).toEqual({ from: '2026-11-02', to: '2026-11-04' })
    expect(daysOf(partOfDays(days, 0, 1), new Date(NOW))).toEqual({ from: '2026-11-01', to: '2026-11-10' })
    expect(daysOf(partOfDays(days, 0.95, 0.99), new Date(NOW))).toEqual({ from: '2026-11-10', to: '2026-11-10' })
    expect(partOfDays([], 0, 1)).toEqual({ kind: 'part', fromMs: undefined, toMs: undefined })
  })

  it('of a preset end today', () => {
    expect(daysOf(preset('7d'), new Date(NOW))).toEqual({ from: '2026-11-14' })
    expect(daysOf({ kind: 'preset', preset: '30d' }, new Date(NOW))).toEqual({})
  })
})

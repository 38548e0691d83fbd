import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { extremePoints, thinPoints } from '../../src/lib/thin-points.ts'
import { runs } from '../support/effort.ts'

interface Point {
  readonly atMs: number
  readonly a: number | null
  readonly b: number | null
}

const reader = { atMs: ({ atMs }: Point) => atMs, values: [({ a }: Point) => a, ({ b }: Point) => b] }
const value = fc.option(fc.integer({ min: -1000, max: 1000 }))
const line = fc
  .array(fc.record({ atMs: fc.integer({ min: 0, max: 1_000_000 }), a: value, b: value }), { maxLength: 400 })
  .map((points) => points.toSorted((one, other) => one.atMs - other.atMs))

const extremes = (points: readonly Point[], pick: (point: Point) => number | null) => {
  const values = points.map(pick).filter((one) => one !== null)
  return values.length === 0 ? [] : [Math.min(...values), Math.max(...values)]
}

describe('thinned points', () => {
  it('are points of the line, in order, at most as many as the limit, with its ends and extremes', () => {
    fc.assert(
      fc.property(line, fc.integer({ min: 6, max: 100 }), (points, limit) => {
        const kept = thinPoints(points, limit, reader)
        expect(kept.length).toBeLessThanOrEqual(limit)
        expect(kept.length).toBe(new Set(kept).size)
        const places = kept.map((point) => points.indexOf(point))
        expect(places).toEqual(places.toSorted((one, other) => one - other))
        expect(places.includes(-1)).toBe(false)
        expect([kept[0], kept.at(-1)]).toEqual([points[0], points.at(-1)])
        expect(extremes(kept, ({ a }) => a)).toEqual(extremes(points, ({ a }) => a))
        expect(extremes(kept, ({ b }) => b)).toEqual(extremes(points, ({ b }) => b))
      }),
      { numRuns: runs(20, 500) },
    )
  })

  it('keep a peak and a trough in each part of a long line', () => {
    const points = Array.from({ length: 10_000 }, (_, at) => ({
      atMs: at * 1000,
      a: at % 100 === 50 ? 900 : 5,
      b: null,
    }))
    points[777] = { atMs: 777_000, a: -3, b: null }
    const kept = thinPoints(points, 1000, reader)
    expect(kept.length).toBeLessThanOrEqual(1000)
    expect(kept.length).toBeGreaterThan(250)
    expect(kept.some(({ a }) => a === -3)).toBe(true)
    for (let part = 0; part < 10; part++) {
      const inPart = kept.filter(({ atMs }) => Math.floor(atMs / 1_000_000) === part)
      expect(inPart.some(({ a }) => a === 900)).toBe(true)
    }
  })

  it('are all points when the limit has room for them, and none of none', () => {
    const points = [{ atMs: 5, a: 1, b: 1 }]
    expect(thinPoints(points, 6, reader)).toBe(points)
    expect(thinPoints([], 6, reader)).toEqual([])
    expect(extremePoints([], reader)).toEqual([])
  })

  it('respect the limit when all points have one time', () => {
    const points = Array.from({ length: 500 }, (_, at) => ({ atMs: 7, a: at, b: -at }))
    expect(thinPoints(points, 6, reader)).toEqual([points[0], points[499]])
  })
})

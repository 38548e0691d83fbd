import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FileBounds } from '../../../frontend/src/api/types.ts'
import { boundsNotes, boundsSummary } from '../../../frontend/src/features/tables/tabs/statistics/bounds-words.ts'
import { lanesOf } from '../../../frontend/src/features/tables/tabs/statistics/lanes.ts'

const BOUNDS: FileBounds = {
  success: true,
  table: 's.t',
  snapshot_id: '1',
  layout: null,
  column: { id: 1, path: 'id', type: 'long' },
  data_file_count: 240,
  bounded_file_count: 240,
  scale: 'linear',
  lower: '0',
  upper: '9',
  overlap: { file_count: 240, other_count: 239, overlap_count: 2.24 },
  bars: [],
  left_out_count: 0,
}

describe('the lanes of bars', () => {
  it('are one for files that follow each other, and one each for files that overlap', () => {
    const apart = [0, 0.3, 0.6].map((start) => ({ start, end: start + 0.2 }))
    expect(lanesOf(apart, false)).toEqual({ count: 1, laneOf: [0, 0, 0] })
    const together = [0, 0.1, 0.2].map((start) => ({ start, end: 1 }))
    expect(lanesOf(together, false)).toEqual({ count: 3, laneOf: [0, 1, 2] })
  })

  it('are shared by files that touch in a sorted table only', () => {
    const touching = [
      { start: 0, end: 0.5 },
      { start: 0.5, end: 1 },
    ]
    expect([lanesOf(touching, false).count, lanesOf(touching, true).count]).toEqual([2, 1])
  })

  it('are as many as bars lie on each other at most, and none has two bars at one place', () => {
    const spans = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.nat(10)), { maxLength: 60 })
    fc.assert(
      fc.property(spans, (given) => {
        const bars = given
          .map(([start, length]) => ({ start, end: start + length }))
          .toSorted((a, b) => a.start - b.start)
        const { count, laneOf } = lanesOf(bars, false)
        const depth = Math.max(
          0,
          ...bars.map(({ start: at }) => bars.filter(({ start, end }) => start <= at && at <= end).length),
        )
        expect(count).toBe(depth)
        bars.forEach((one, at) =>
          bars.slice(0, at).forEach((other, before) => {
            if (laneOf[before] === laneOf[at]) expect(other.end).toBeLessThan(one.start)
          }),
        )
      }),
    )
  })
})

describe('the bounds of files in words', () => {
  it('say how many files overlap, and in how many a value can be', () => {
    expect(boundsSummary(BOUNDS)).toBe(
      'On average, the bounds of a data file in id overlap with those of 2.2 of 239 others. So a value is found in at most about 3.2 of 240 files.',
    )
    const parts = { ...BOUNDS, overlap: { file_count: 240, other_count: 11, overlap_count: 0 } }
    expect(boundsSummary(parts)).toContain(
      '0 of 11 others of its partition. So a value is found in at most about 1 of 12 files of a partition.',
    )
  })

  it('say why there is no figure', () => {
    expect(boundsSummary({ ...BOUNDS, bounded_file_count: 0 })).toBe('No data file has bounds of id.')
    expect(boundsSummary({ ...BOUNDS, overlap: { file_count: 0, other_count: 0, overlap_count: 0 } })).toMatch(
      /^No partition has two/,
    )
  })

  it('say what the picture leaves out', () => {
    expect(boundsNotes(BOUNDS)).toHaveLength(1)
    const parts = { ...BOUNDS, overlap: { file_count: 240, other_count: 11, overlap_count: 0 } }
    expect(boundsNotes(parts)[1]).toBe('The picture has the files of all partitions.')
    const many = { ...BOUNDS, scale: 'rank', bounded_file_count: 239, left_out_count: 239 } as const
    expect(boundsNotes(many).slice(1)).toEqual([
      expect.stringContaining('by their order'),
      'The picture has 0 of 239 files, at equal distances. All files count in the figures.',
      '1 file has no bounds of this column and no bar.',
    ])
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { decodeDeletionVector, encodeDeletionVector } from '../../../src/iceberg/puffin/deletion-vector.ts'
import { PositionBitmap } from '../../../src/iceberg/puffin/position-bitmap.ts'
import { decodeRoaring64, encodeRoaring64 } from '../../../src/iceberg/puffin/roaring.ts'
import { fixtureBytes, haveFixtures } from '../../support/iceberg-fixtures.ts'
import { runs } from '../../support/effort.ts'

const deletes = (name: string): Uint8Array => fixtureBytes(`apache-iceberg/deletes/${name}`)

/** Positions of every density: alone, in runs, dense enough for bitmap containers, beyond 32 bits. */
const positionSets = fc
  .array(
    fc.record({
      start: fc.oneof(fc.nat(200_000), fc.integer({ min: 0, max: 2 ** 40 })),
      count: fc.oneof(fc.constant(1), fc.nat(9000)),
      step: fc.integer({ min: 1, max: 40 }),
    }),
    { maxLength: 6 },
  )
  .map((groups) => groups.flatMap((g) => Array.from({ length: g.count }, (_, i) => g.start + i * g.step)))

function expectRefused(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    expect(error).toMatchObject({ code: 'CORRUPT_FILE' })
    return error instanceof Error ? error.message : ''
  }
  throw new Error('expected CORRUPT_FILE')
}

describe('PositionBitmap', () => {
  it('contains exactly the positions from which it was built', () => {
    fc.assert(
      fc.property(positionSets, fc.nat(300_000), (positions, probe) => {
        const expected = [...new Set(positions)].sort((a, b) => a - b)
        const bitmap = PositionBitmap.of(positions)
        expect([...bitmap.toArray()]).toEqual(expected)
        expect(bitmap.cardinality).toBe(expected.length)
        expect(bitmap.has(probe)).toBe(expected.includes(probe))
        for (const position of expected.slice(0, 50)) expect(bitmap.has(position)).toBe(true)
      }),
      { numRuns: runs(60) },
    )
  })

  it('computes unions', () => {
    fc.assert(
      fc.property(positionSets, positionSets, (a, b) => {
        const union = PositionBitmap.union([PositionBitmap.of(a), PositionBitmap.of(b)])
        expect([...union.toArray()]).toEqual([...PositionBitmap.of([...a, ...b]).toArray()])
      }),
      { numRuns: runs(30) },
    )
  })

  it.each([-1, 0.5, Number.NaN, 2 ** 53])('refuses %d', (position) => {
    expect(() => PositionBitmap.of([position])).toThrow('not a row position')
  })
})

describe('portable 64-bit roaring format', () => {
  it('survives a round trip', () => {
    fc.assert(
      fc.property(positionSets, (positions) => {
        const bitmap = PositionBitmap.of(positions)
        expect([...decodeRoaring64(encodeRoaring64(bitmap)).toArray()]).toEqual([...bitmap.toArray()])
      }),
      { numRuns: runs(60) },
    )
  })

  it('reads truncated or altered input as CORRUPT_FILE or another set, never as another error', () => {
    const bytes = encodeRoaring64(PositionBitmap.of([1, 5, 6, 7, 8, 9, 10, 70_000, 2 ** 33, 2 ** 33 + 2]))
    for (let length = 0; length < bytes.length; length++) {
      expectRefused(() => decodeRoaring64(bytes.subarray(0, length)))
    }
    for (let at = 0; at < bytes.length; at++) {
      for (const value of [0, 1, 0x3b, 0x7f, 0xff]) {
        const altered = bytes.slice()
        altered[at] = value
        try {
          decodeRoaring64(altered)
        } catch (error) {
          expect(isIcebergError(error, 'CORRUPT_FILE')).toBe(true)
        }
      }
    }
  })

  it.skipIf(!haveFixtures)('reads the maps that Java wrote and refuses the one with keys out of range', () => {
    expect([...decodeRoaring64(deletes('64map32bitvals.bin')).toArray()]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(decodeRoaring64(deletes('64mapempty.bin')).cardinality).toBe(0)
    const spread = decodeRoaring64(deletes('64mapspreadvals.bin'))
    expect(spread.cardinality).toBe(100)
    expect([...spread.toArray()].slice(10, 12)).toEqual([2 ** 32, 2 ** 32 + 1])
    expect(expectRefused(() => decodeRoaring64(deletes('64maphighvals.bin')))).toContain('out of range')
  })
})

describe('deletion-vector-v1 blobs', () => {
  it.skipIf(!haveFixtures)('equal those of Java byte by byte, both ways', () => {
    const files = {
      'empty-position-index.bin': 0,
      'small-alternating-values-position-index.bin': 5,
      'small-and-large-values-position-index.bin': 4,
      'all-container-types-position-index.bin': 132_561,
    }
    for (const [name, count] of Object.entries(files)) {
      const blob = deletes(name)
      const positions = decodeDeletionVector(blob)
      expect(positions.cardinality).toBe(count)
      expect(encodeDeletionVector(PositionBitmap.of(positions.toArray()))).toEqual(blob)
    }
    const small = decodeDeletionVector(deletes('small-alternating-values-position-index.bin'))
    expect([...small.toArray()]).toEqual([1, 3, 5, 7, 9])
    const large = decodeDeletionVector(deletes('small-and-large-values-position-index.bin'))
    expect([...large.toArray()]).toEqual([100, 101, 2 ** 31 + 99, 2 ** 31 + 100])
  })

  it('are refused when any byte of them is changed', () => {
    const blob = encodeDeletionVector(PositionBitmap.of([1, 3, 5, 100_000]))
    for (let at = 0; at < blob.length; at++) {
      const altered = blob.slice()
      altered[at] = (altered[at] ?? 0) ^ 0x40
      expectRefused(() => decodeDeletionVector(altered))
    }
    for (let length = 0; length < blob.length; length++) {
      expectRefused(() => decodeDeletionVector(blob.subarray(0, length)))
    }
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hilbertPlace, zOrderPart } from '../../../src/engines/duckdb/write/curves.ts'
import { runs } from '../../support/effort.ts'

/** All cells of a cube of so many dimensions with so many bits each. */
function cellsOf(dimensions: number, bits: number): number[][] {
  return Array.from({ length: 2 ** (dimensions * bits) }, (_, cell) =>
    Array.from({ length: dimensions }, (__, at) => Math.floor(cell / 2 ** (bits * at)) % 2 ** bits),
  )
}

const CUBES = [
  [1, 8],
  [2, 1],
  [2, 5],
  [3, 3],
  [4, 2],
  [5, 2],
  [8, 1],
] as const

describe('the Hilbert curve', () => {
  it.each(CUBES)(
    'passes each cell of %i dimensions of %i bits once, from neighbour to neighbour',
    (dimensions, bits) => {
      const path: number[][] = []
      for (const cell of cellsOf(dimensions, bits)) path[hilbertPlace(cell, bits)] = cell
      expect(path).toHaveLength(2 ** (dimensions * bits))
      expect(path[0]).toEqual(Array.from({ length: dimensions }, () => 0))
      for (const [place, cell] of path.entries()) {
        if (place === 0) continue
        const steps = cell.map((coordinate, at) => Math.abs(coordinate - (path[place - 1]?.[at] ?? Number.NaN)))
        expect(steps.toSorted()).toEqual([...Array.from({ length: dimensions - 1 }, () => 0), 1])
      }
    },
  )
})

describe('the Z-order curve', () => {
  const coordinates = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 8 })

  it('puts the bits of each coordinate at their own places', () => {
    fc.assert(
      fc.property(coordinates, (cell) => {
        const dimensions = cell.length
        const place = cell.reduce((sum, value, at) => sum + zOrderPart(value, { at, dimensions }), 0n)
        const bits = Array.from({ length: 8 * dimensions }, (_, n) => Number((place >> BigInt(n)) & 1n))
        const back = cell.map((_, at) =>
          bits.reduce(
            (sum, bit, n) =>
              n % dimensions === dimensions - 1 - at ? sum + bit * 2 ** Math.floor(n / dimensions) : sum,
            0,
          ),
        )
        expect(back).toEqual(cell)
        expect(place).toBeLessThan(2n ** BigInt(8 * dimensions))
      }),
      { numRuns: runs(1000, 100) },
    )
  })
})

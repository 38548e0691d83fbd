import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import { chooseSample, sampleRule } from '../../../src/services/query/profile/choose-sample.ts'
import { estimateDistinct } from '../../../src/services/query/profile/column-profile.ts'

const file = (recordCount: number, fileSizeInBytes = 1000) =>
  ({ dataFile: { recordCount, fileSizeInBytes }, deletes: [] }) as unknown as FileScanTask

const files = (count: number, rows: number, bytes?: number) => Array.from({ length: count }, () => file(rows, bytes))

describe('the sample of a table', () => {
  it('has all rows of a small table', () => {
    const sample = chooseSample(files(3, 100), 10)
    expect(sample).toMatchObject({ files: { length: 3 }, share: 1 })
    expect(sampleRule(sample, 3)).toBe('all rows of 3 data files')
  })

  it('spreads its files over the table', () => {
    const all = files(500, 100)
    const sample = chooseSample(all, 10)
    expect(sample.files.map((one) => all.indexOf(one)).slice(0, 3)).toEqual([5, 15, 25])
    expect(sampleRule(sample, 500)).toBe('all rows of 50 of 500 data files, at equal distances')
  })

  it('says that only the first files of a table with very many were planned', () => {
    expect(sampleRule(chooseSample(files(312, 100), 10), 6000)).toBe(
      'all rows of 50 of the first 312 of 6,000 data files, at equal distances',
    )
  })

  it('has fewer rows of a table with more columns', () => {
    expect(chooseSample(files(1, 100_000), 5).share).toBe(1)
    expect(chooseSample(files(1, 10_000), 100).share).toBe(0.5)
    expect(chooseSample(files(1, 1_000_000), 1000)).toMatchObject({ share: 0.0025 })
    expect(chooseSample(files(1, 1_000_000), 0)).toMatchObject({ share: 0.1 })
  })

  it('has a share of one file of a table with large files', () => {
    const sample = chooseSample(files(7, 100_000_000, 2 ** 30), 10)
    expect(sampleRule(sample, 7)).toBe('0.1 % of the rows of 1 of 7 data files, at equal distances, chosen at random')
  })

  it('never exceeds its limits by more than one file', () => {
    const sizes = fc.array(fc.tuple(fc.nat(10_000_000), fc.nat(2 ** 30)), { maxLength: 200 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 2000 }), (given, columns) => {
        const all = given.map(([rows, bytes]) => file(rows, bytes))
        const { files: chosen, share } = chooseSample(all, columns)
        expect(new Set(chosen).size).toBe(chosen.length)
        expect(chosen.length).toBe(Math.min(all.length, Math.max(1, Math.min(chosen.length, 50))))
        const rows = chosen.reduce((sum, { dataFile }) => sum + dataFile.recordCount, 0)
        expect(rows * share * Math.min(columns, 200)).toBeLessThanOrEqual(500_001)
        expect(share).toBeGreaterThan(0)
        expect(share).toBeLessThanOrEqual(1)
      }),
    )
  })
})

describe('the guess at distinct values', () => {
  const guess = (rows: number, distinct: number, singles: number, totalRows: number) =>
    estimateDistinct({ rows, values: rows, distinct, singles, totalRows })

  it.each([
    ['all different', guess(100, 100, 100, 10_000), 10_000],
    ['every value several times', guess(100, 7, 0, 10_000), 7],
    ['the whole table', guess(100, 60, 30, 100), 60],
    ['no values', estimateDistinct({ rows: 100, values: 0, distinct: 0, singles: 0, totalRows: 10_000 }), 0],
    [
      'NULL in half of the rows',
      estimateDistinct({ rows: 100, values: 50, distinct: 50, singles: 50, totalRows: 10_000 }),
      5000,
    ],
  ])('is exact for %s', (_what, found, expected) => expect(found).toBe(expected))

  it('lies between the sample and the table', () => {
    const counts = fc.tuple(
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.nat(1e9),
    )
    fc.assert(
      fc.property(counts, fc.double({ min: 0, max: 1, noNaN: true }), ([rows, share, more], single) => {
        const distinct = Math.max(1, Math.floor(rows * share))
        const singles = Math.floor(distinct * single)
        const found = guess(rows, distinct, singles, rows + more)
        expect(found).toBeGreaterThanOrEqual(distinct)
        expect(found).toBeLessThanOrEqual(Math.max(distinct, rows + more))
      }),
    )
  })
})

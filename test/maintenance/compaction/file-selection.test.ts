import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  expectedOutputFiles,
  packInOrder,
  selectFileGroups,
  targetSplitBytes,
} from '../../../src/maintenance/compaction/file-selection.ts'
import type { FileMeasures, SelectionThresholds } from '../../../src/maintenance/compaction/file-selection.ts'

interface File {
  readonly size: number
  readonly records: number
  readonly deletes: number
  readonly deletedRecords: number
}

const MEASURES: FileMeasures<File> = {
  sizeBytes: (file) => file.size,
  recordCount: (file) => file.records,
  deleteFileCount: (file) => file.deletes,
  fileScopedDeleteRecords: (file) => file.deletedRecords,
}

const DEFAULTS: SelectionThresholds = {
  targetFileSizeBytes: 1000,
  minFileSizeBytes: 750,
  maxFileSizeBytes: 1800,
  minInputFiles: 5,
  rewriteAll: false,
  deleteFileThreshold: 2_147_483_647,
  deleteRatioThreshold: 0.3,
  maxFileGroupSizeBytes: 100_000,
  maxFileGroupInputFiles: Number.MAX_SAFE_INTEGER,
}

const file = (size: number, more: Partial<File> = {}): File => ({
  size,
  records: 10,
  deletes: 0,
  deletedRecords: 0,
  ...more,
})
const sizes = (...values: number[]): File[] => values.map((size) => file(size))
const select = (files: readonly File[], thresholds: Partial<SelectionThresholds> = {}) =>
  selectFileGroups(files, MEASURES, { ...DEFAULTS, ...thresholds })

describe('file selection', () => {
  it('skips files inside the size range, bounds included', () => {
    expect(select(sizes(750, 1800, 1000, 1000, 1000, 1000))).toEqual([])
  })

  it('selects small files once there are enough of them', () => {
    expect(select(sizes(10, 10, 10, 10))).toEqual([])
    expect(select(sizes(10, 10, 10, 10, 10))).toMatchObject([{ bytes: 50, reasons: ['enough-input-files'] }])
  })

  it('selects two small files with more than one target of content, but not exactly one target', () => {
    expect(select(sizes(500, 500))).toEqual([])
    expect(select(sizes(501, 500))).toMatchObject([{ bytes: 1001, reasons: ['enough-content'] }])
  })

  it('selects one file that is too large', () => {
    expect(select(sizes(1801))).toMatchObject([{ bytes: 1801, reasons: ['too-much-content'] }])
  })

  it('skips a single small file even with min_input_files 1', () => {
    expect(select(sizes(10), { minInputFiles: 1 })).toEqual([])
  })

  it('selects a file of a good size with too many delete files', () => {
    const files = [file(1000, { deletes: 2 }), file(1000, { deletes: 1 })]
    expect(select(files, { deleteFileThreshold: 2 })).toMatchObject([
      { files: [files[0]], reasons: ['too-many-delete-files'] },
    ])
  })

  it('selects a file of a good size when the share of rows in file-scoped deletes reaches the threshold', () => {
    expect(select([file(1000, { deletes: 1, deletedRecords: 3 })])).toMatchObject([
      { reasons: ['too-many-deleted-records'] },
    ])
    expect(select([file(1000, { deletes: 1, deletedRecords: 2 })])).toEqual([])
    expect(select([file(1000, { deletes: 1, deletedRecords: 99 })], { deleteRatioThreshold: 1 })).toHaveLength(1)
    expect(select([file(1000, { deletes: 1, deletedRecords: 99, records: 0 })])).toEqual([])
  })

  it('rewrites everything on request', () => {
    expect(select(sizes(1000), { rewriteAll: true })).toMatchObject([{ reasons: ['rewrite-all'] }])
  })

  it('never selects a file twice, keeps the order, and selects only groups with a reason', () => {
    const anyFile = fc.record({
      size: fc.integer({ min: 0, max: 3000 }),
      records: fc.integer({ min: 0, max: 50 }),
      deletes: fc.integer({ min: 0, max: 4 }),
      deletedRecords: fc.integer({ min: 0, max: 60 }),
    })
    fc.assert(
      fc.property(fc.array(anyFile, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (files, minInputFiles) => {
        const thresholds = { ...DEFAULTS, minInputFiles, deleteFileThreshold: 3, maxFileGroupSizeBytes: 5000 }
        const groups = selectFileGroups(files, MEASURES, thresholds)
        const chosen = groups.flatMap((group) => group.files)
        expect(new Set(chosen).size).toBe(chosen.length)
        expect(chosen).toEqual(files.filter((candidate) => chosen.includes(candidate)))
        for (const group of groups) {
          expect(group.bytes).toBe(group.files.reduce((total, { size }) => total + size, 0))
          expect(group.files.length === 1 || group.bytes <= 5000).toBe(true)
          expect(group.reasons.length).toBeGreaterThan(0)
          for (const { size, records, deletes, deletedRecords } of group.files) {
            const heavy =
              deletes >= 3 || (deletes > 0 && records > 0 && Math.min(deletedRecords, records) / records >= 0.3)
            expect(size < 750 || size > 1800 || heavy).toBe(true)
          }
        }
      }),
    )
  })
})

describe('packing', () => {
  it('packs in order and gives an oversized item a bin of its own', () => {
    const limits = { maxWeight: 10, maxItems: 3 }
    const pack = (...items: number[]) => packInOrder(items, (item) => item, limits)
    expect(pack(4, 4, 4, 12, 1, 1, 1, 1)).toEqual([[4, 4], [4], [12], [1, 1, 1], [1]])
    expect(pack()).toEqual([])
    expect(pack(10, 0)).toEqual([[10, 0]])
  })
})

describe('expected output files', () => {
  const range = { targetFileSizeBytes: 1000, minFileSizeBytes: 750, maxFileSizeBytes: 1800 }

  it.each([
    [0, 1],
    [999, 1],
    [1000, 1],
    [1099, 1], // the remainder is spread: 1099 < 1.1 × target
    [1100, 2],
    [1750, 2], // a remainder of 750 is below the minimum, and 1750 on average is too much
    [1751, 2],
    [2000, 2],
    [2100, 2], // 1050 each
    [2199, 2],
    [2200, 3],
    [10_000, 10],
    [10_999, 11], // a remainder of 999 is a good file
    [10_700, 10], // 1070 each
  ])('%i bytes become %i files', (bytes, files) => {
    expect(expectedOutputFiles(bytes, range)).toBe(files)
  })

  it('limits sizes to the range from the target to half way to the maximum', () => {
    const mib = 1024 * 1024
    const real = { targetFileSizeBytes: 512 * mib, minFileSizeBytes: 384 * mib, maxFileSizeBytes: 966_367_641 }
    expect(targetSplitBytes(100 * mib, real)).toBe(512 * mib)
    expect(targetSplitBytes(530 * mib, real)).toBe(530 * mib + 5120)
    expect(targetSplitBytes(2000, range)).toBe(1400)
  })
})

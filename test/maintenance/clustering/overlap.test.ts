import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { valueToBytes } from '../../../src/iceberg/values/binary.ts'
import type { PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { compareValues } from '../../../src/iceberg/values/values.ts'
import { chooseOverlapping, measureOverlap, overlapAfter } from '../../../src/maintenance/clustering/overlap.ts'
import type { FileRange } from '../../../src/maintenance/clustering/overlap.ts'
import type { Layout } from '../../../src/maintenance/clustering/layout.ts'
import { parseCompactionOptions } from '../../../src/maintenance/compaction/options.ts'
import { planCompaction } from '../../../src/maintenance/compaction/planner.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import { runs } from '../../support/effort.ts'
import { MIB, partitionField, sampleMetadata, scanTask } from '../metadata-samples.ts'

const layoutOf = (kind: Layout['kind'], ...types: readonly PrimitiveType['kind'][]): Layout => ({
  kind,
  columns: types.map((type, at) => ({ id: at + 1, name: `c${at}`, type: { kind: type } as PrimitiveType })),
})

const LONG_TYPE = { kind: 'long' } as const

/** Files of `side` by `side` cells, each as wide as one cell. */
function grid(side: number): FileRange[][] {
  const cells = Array.from({ length: side * side }, (_, n) => [n % side, Math.floor(n / side)] as const)
  return [0, 1].map((axis) =>
    cells.map((cell) => ({ lower: BigInt((cell[axis] ?? 0) * 10), upper: BigInt((cell[axis] ?? 0) * 10 + 9) })),
  )
}

const wide = (count: number): FileRange[] =>
  Array.from({ length: count }, (_, n) => ({ lower: BigInt(n), upper: 999n }))

/** Predicates treat both zeros as equal. */
const zeroless = (value: Value): Value => (value === 0 ? 0 : value)

describe('the overlap of files', () => {
  it('is none where sorting cannot help: at shared bounds, and of texts that begin alike', () => {
    const sorted = [0n, 4n, 4n, 9n].map((lower, at) => ({ lower, upper: [4n, 4n, 9n, 12n][at] ?? 0n }))
    expect([...measureOverlap(layoutOf('sort', 'long'), [sorted]).overlaps]).toEqual([0, 0, 0, 0])
    const alike = Array.from({ length: 9 }, () => ({ lower: 'https://example.', upper: 'https://example/' }))
    expect([...measureOverlap(layoutOf('sort', 'string'), [alike]).overlaps]).toEqual(alike.map(() => 0))
    expect([...measureOverlap(layoutOf('hilbert', 'string'), [alike]).overlaps]).toEqual(alike.map(() => 0))
  })

  it.each<[PrimitiveType, fc.Arbitrary<Value>]>([
    [LONG_TYPE, fc.bigInt({ min: 0n, max: 9n })],
    [{ kind: 'double' }, fc.constantFrom<number>(-Infinity, -0, 0, 1, Infinity)],
    [{ kind: 'string' }, fc.constantFrom('', 'a', 'b', '\uffff', '\u{10ffff}')],
    [{ kind: 'boolean' }, fc.boolean()],
  ])('of %o is the number of others whose bounds intersect', (type, values) => {
    const range = fc.option(fc.tuple(values, values), { nil: undefined, freq: 5 }).map((pair): FileRange => {
      if (pair === undefined) return undefined
      const [lower, upper] = pair.toSorted((a, b) => compareValues(type, a, b))
      return lower === undefined || upper === undefined ? undefined : { lower, upper }
    })
    const intersect = (a: FileRange, b: FileRange): boolean =>
      a !== undefined &&
      b !== undefined &&
      compareValues(type, zeroless(a.lower), zeroless(b.upper)) <= 0 &&
      compareValues(type, zeroless(b.lower), zeroless(a.upper)) <= 0
    fc.assert(
      fc.property(fc.array(range, { maxLength: 12 }), (ranges) => {
        const { overlaps, byColumn } = measureOverlap(layoutOf('zorder', type.kind), [ranges])
        const expected = ranges.map((one, at) => ranges.filter((other, n) => n !== at && intersect(one, other)).length)
        const isConstant = (one: FileRange): boolean =>
          one === undefined || compareValues(type, one.lower, one.upper) === 0
        expect([...overlaps]).toEqual(expected.map((count, at) => (isConstant(ranges[at]) ? 0 : count)))
        expect(byColumn[0]).toBeCloseTo(expected.reduce((sum, count) => sum + count, 0) / Math.max(1, ranges.length))
      }),
      { numRuns: runs(1000, 100) },
    )
  })

  it('is what a curve is expected to reach for files in a grid', () => {
    const layout = layoutOf('hilbert', 'long', 'long')
    const { overlaps } = measureOverlap(layout, grid(10))
    expect(Math.max(...overlaps)).toBe(9)
    expect(overlapAfter(layout, 100)).toBe(20)
    expect(overlapAfter(layoutOf('sort', 'long'), 100)).toBe(2)
    expect(overlapAfter(layout, 1)).toBe(0)
  })

  it('counts later sort columns only among files that overlap in earlier ones', () => {
    const layout = layoutOf('sort', 'long', 'long')
    const [first = [], second = []] = grid(10)
    expect(Math.max(...measureOverlap(layout, [first, second]).overlaps)).toBeLessThan(1)
    expect(measureOverlap(layout, [wide(100), wide(100)]).overlaps[0]).toBe(99)
  })

  it('measures 100,000 files without comparing each with each', () => {
    const random = { state: 1 }
    const next = (): bigint => BigInt((random.state = (random.state * 48_271) % 2_147_483_647))
    const ranges = Array.from({ length: 100_000 }, (): FileRange => {
      const lower = next()
      return { lower, upper: lower + next() }
    })
    const { overlaps } = measureOverlap(layoutOf('zorder', 'long'), [ranges])
    const [first] = ranges
    if (first === undefined) throw new Error('no range')
    const others = ranges
      .slice(1)
      .filter((one) => one !== undefined && one.lower <= first.upper && first.lower <= one.upper)
    expect(overlaps[0]).toBe(others.length)
  })
})

describe('the choice of overlapping files', () => {
  const layout = layoutOf('zorder', 'long', 'long')
  const choose = (
    ranges: readonly (readonly FileRange[])[],
    outputFiles = (files: readonly number[]) => files.length,
  ) => chooseOverlapping({ layout, overlaps: measureOverlap(layout, ranges).overlaps, outputFiles })

  it('has all files that overlap with all, and none of a grid', () => {
    expect(choose([wide(50), wide(50)])).toHaveLength(50)
    expect(choose(grid(10))).toEqual([])
    expect(choose([wide(2), wide(2)])).toEqual([])
  })

  it('has only the new files of a clustered table, and not those that would stay as wide', () => {
    const [x = [], y = []] = grid(10)
    const added = Array.from({ length: 5 }, (): FileRange => ({ lower: 0n, upper: 99n }))
    expect(
      choose([
        [...x, ...added],
        [...y, ...added],
      ]),
    ).toEqual([100, 101, 102, 103, 104])
    expect(
      choose(
        [
          [...x, ...added],
          [...y, ...added],
        ],
        () => 1,
      ),
    ).toEqual([])
    // the five files once they are laid out again, each with half of each column
    const halves = [0n, 0n, 50n, 50n, 20n].map((lower): FileRange => ({ lower, upper: lower + 45n }))
    expect(
      choose([
        [...x, ...halves],
        [...y, ...halves.toReversed()],
      ]),
    ).toEqual([])
  })

  it('has no files without bounds', () => {
    const none = wide(50).map(() => undefined)
    expect(choose([none, none])).toEqual([])
  })
})

describe('a compaction plan for a layout', () => {
  const metadata = sampleMetadata({
    'partition-specs': [{ 'spec-id': 0, fields: [partitionField(1000, 2, 'identity')] }],
  })
  const bounds = (lower: bigint, upper: bigint): Pick<FileScanTask['dataFile'], 'lowerBounds' | 'upperBounds'> => ({
    lowerBounds: new Map([[1, valueToBytes(LONG_TYPE, lower)]]),
    upperBounds: new Map([[1, valueToBytes(LONG_TYPE, upper)]]),
  })
  const file = (region: string, lower: number, upper: number): FileScanTask =>
    scanTask({ partition: [region], fileSizeInBytes: 512 * MIB, ...bounds(BigInt(lower), BigInt(upper)) })
  /** 20 sorted files in one partition, and 10 in another that overlap. */
  const tasks = [
    ...Array.from({ length: 20 }, (_, n) => file('eu', n * 10, n * 10 + 9)),
    ...Array.from({ length: 10 }, (_, n) => file('us', n, 100)),
  ]
  const plan = (request: Record<string, unknown>, engine?: 'spark') =>
    planCompaction({ metadata, tasks, options: parseCompactionOptions(request, {}), engine })

  it.each([{ sort_order: 'id' }, { strategy: 'zorder', columns: ['id'] }, { strategy: 'hilbert', columns: ['id'] }])(
    'chooses well-sized files that overlap, with %o',
    (request) => {
      const { groups, beyondBudget } = plan(request)
      expect(groups).toMatchObject([{ partition: ['us'], reasons: expect.arrayContaining(['overlapping-bounds']) }])
      expect(groups[0]?.inputs).toHaveLength(10)
      expect(groups[0]?.overlaps).toEqual(Array.from({ length: 10 }, () => 9))
      expect(beyondBudget).toEqual({ files: 0, bytes: 0 })
    },
  )

  it('chooses none for binpack, and leaves the choice to Spark', () => {
    expect(plan({}).groups).toEqual([])
    expect(plan({ sort_order: 'id' }, 'spark').groups).toEqual([])
  })

  it('chooses those that overlap most within a byte budget', () => {
    const some = [...tasks, file('us', 200, 300), ...Array.from({ length: 6 }, () => file('eu', 0, 199))]
    const options = parseCompactionOptions({ sort_order: 'id', max_bytes_to_rewrite: 8 * 512 * MIB + 1 }, {})
    const { groups, beyondBudget } = planCompaction({ metadata, tasks: some, options })
    expect(groups.map(({ partition, inputs }) => [partition, inputs.length])).toEqual([
      [['eu'], 6],
      [['us'], 2],
    ])
    expect(beyondBudget).toEqual({ files: 8, bytes: 8 * 512 * MIB })
    const all = planCompaction({
      metadata,
      tasks: some,
      options: parseCompactionOptions({ rewrite_all: true, max_bytes_to_rewrite: 3 * 512 * MIB }, {}),
    })
    expect(all).toMatchObject({ totals: { files: 3 }, beyondBudget: { files: 34 } })
  })

  it.each([
    [{ strategy: 'zorder', columns: ['id', 'nope'] }, 'NO_SUCH_COLUMN'],
    [{ strategy: 'zorder', columns: ['tags'] }, 'INVALID_ARGUMENT'],
    [{ strategy: 'zorder', columns: ['tags.element'] }, 'INVALID_ARGUMENT'],
    [{ strategy: 'hilbert', columns: ['id', 'id'] }, 'INVALID_ARGUMENT'],
    [{ strategy: 'hilbert', columns: Array.from({ length: 9 }, () => 'id') }, 'INVALID_ARGUMENT'],
  ])('refuses %o', (request, code) => {
    expect(() => plan(request)).toThrow(expect.objectContaining({ code, message: expect.stringContaining('columns') }))
  })
})

import { describe, expect, it } from 'vitest'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { valueToBytes } from '../../../src/iceberg/values/binary.ts'
import { boundScale } from '../../../src/maintenance/inspection/bound-scale.ts'
import { readFileBounds } from '../../../src/maintenance/inspection/file-bounds.ts'
import { createTableInspector } from '../../../src/maintenance/inspection/table-inspector.ts'
import { createTotalsSource } from '../../../src/maintenance/inspection/totals/totals-source.ts'
import { BY_REGION, MemoryTable } from '../memory-table.ts'

function withIds(from: bigint, to: bigint, region: string): Partial<DataFile> {
  const bounds = (id: bigint) =>
    new Map([
      [1, valueToBytes({ kind: 'long' }, id)],
      [2, valueToBytes({ kind: 'string' }, region)],
    ])
  return { partition: [region], lowerBounds: bounds(from), upperBounds: bounds(to) }
}

async function tableOf(
  ranges: readonly (readonly [from: bigint, to: bigint, region: string])[],
  properties: Readonly<Record<string, string>> = {},
) {
  const table = await MemoryTable.create({ partitionSpec: BY_REGION, properties })
  const files: DataFile[] = []
  for (const range of ranges) files.push(await table.file(withIds(...range)))
  await table.append(files)
  return table
}

const read = async (table: MemoryTable, column?: string, maxBars = 500) =>
  readFileBounds(await table.load(), createTotalsSource(), { column, maxBars })

describe('the bounds of data files', () => {
  it('lie between the least and the greatest bound, in the order of the lower ones', async () => {
    const { shown, dataFiles } = await read(
      await tableOf([
        [50n, 100n, 'eu'],
        [0n, 25n, 'eu'],
        [-100n, 0n, 'us'],
      ]),
      'id',
    )
    expect(dataFiles).toBe(3)
    expect(shown).toMatchObject({ scale: 'linear', boundedFiles: 3, range: { lower: '-100', upper: '100' } })
    expect(shown?.bars.map(({ lower, upper, start, end }) => [lower, upper, start, end])).toEqual([
      ['-100', '0', 0, 0.5],
      ['0', '25', 0.5, 0.625],
      ['50', '100', 0.75, 1],
    ])
  })

  it('overlap as the health report says', async () => {
    const ranges = Array.from({ length: 60 }, (_, n) => {
      const at = BigInt(n)
      return n % 2 === 0 ? ([at, 1000n, 'eu'] as const) : ([at * 10n, at * 10n + 9n, 'us'] as const)
    })
    const table = await tableOf(ranges, { 'lockhouse.cluster-by': 'zorder(id)' })
    const { layout, shown } = await read(table)
    const { facts } = await createTableInspector().health(await table.load(), 0)
    expect(layout).toEqual({ kind: 'zorder', columns: ['id'] })
    expect(shown?.column.name).toBe('id')
    expect(shown?.overlap).toEqual(facts.overlap)
    expect(shown?.overlap).toMatchObject({ files: 60, others: 29, overlaps: 14.5 })
  })

  it('are every n-th of many files, and all count', async () => {
    const table = await tableOf(Array.from({ length: 1001 }, (_, n) => [BigInt(n), BigInt(n + 1), 'eu'] as const))
    const { shown } = await read(table, 'id')
    expect([shown?.bars.length, shown?.boundedFiles]).toEqual([500, 1001])
    expect(shown?.bars.map(({ lower }) => lower).slice(0, 3)).toEqual(['0', '2', '4'])
    expect(shown?.overlap.overlaps).toBeCloseTo(2, 1)
    expect((await read(table, 'id', 3)).shown?.bars.map(({ lower }) => lower)).toEqual(['0', '333', '667'])
  })

  it('are placed by rank for texts', async () => {
    const { shown } = await read(
      await tableOf([
        [0n, 1n, 'a'],
        [0n, 1n, 'b'],
        [0n, 1n, 'zz'],
      ]),
      'region',
    )
    expect(shown).toMatchObject({ scale: 'rank', range: { lower: 'a', upper: 'zz' } })
    expect(shown?.bars.map(({ start, end }) => [start, end])).toEqual([
      [0, 0],
      [0.5, 0.5],
      [1, 1],
    ])
  })

  it('are missing for a file without them, for an empty table, and without a column', async () => {
    const table = await tableOf([[0n, 1n, 'eu']])
    await table.append([await table.file({ partition: ['eu'] })])
    expect((await read(table, 'id')).shown).toMatchObject({ boundedFiles: 1, bars: { length: 1 } })
    expect(await read(table)).toEqual({ layout: undefined, dataFiles: 2, shown: undefined })
    const empty = (await read(await MemoryTable.create(), 'id')).shown
    expect(empty).toMatchObject({ boundedFiles: 0, range: undefined, bars: [], overlap: { files: 0, overlaps: 0 } })
  })

  it('refuse unknown columns', async () => {
    const table = await tableOf([[0n, 1n, 'eu']])
    await expect(read(table, 'nope')).rejects.toMatchObject({ code: 'NO_SUCH_COLUMN' })
  })
})

describe('the scale of bounds', () => {
  const placesOf = (type: PrimitiveType, ...values: Value[]) => {
    const scale = boundScale(
      type,
      values.map((value) => ({ lower: value, upper: value })),
    )
    return [scale.kind, ...values.map((value) => scale.place(value))]
  }

  it.each([
    ['64-bit integers', placesOf({ kind: 'long' }, -(2n ** 63n), 0n, 2n ** 63n - 1n), ['linear', 0, 0.5, 1]],
    ['equal values', placesOf({ kind: 'long' }, 5n, 5n), ['linear', 0, 0]],
    [
      'the largest doubles',
      placesOf({ kind: 'double' }, -Number.MAX_VALUE, 0, Number.MAX_VALUE),
      ['linear', 0, 0.5, 1],
    ],
    ['infinite doubles', placesOf({ kind: 'double' }, -Infinity, 1, 2, Infinity), ['rank', 0, 1 / 3, 2 / 3, 1]],
    ['days', placesOf({ kind: 'date' }, 10, 15, 20), ['linear', 0, 0.5, 1]],
    ['booleans', placesOf({ kind: 'boolean' }, false, true), ['rank', 0, 1]],
    ['one text', placesOf({ kind: 'string' }, 'a'), ['rank', 0]],
  ])('places %s', (_what, places, expected) => {
    expect(places[0]).toBe(expected[0])
    for (const [at, place] of expected.entries()) if (at > 0) expect(places[at]).toBeCloseTo(Number(place), 5)
  })
})

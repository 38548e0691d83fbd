import { describe, expect, it } from 'vitest'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { valueToBytes } from '../../../src/iceberg/values/binary.ts'
import { planTableCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { createTableInspector } from '../../../src/maintenance/inspection/table-inspector.ts'
import type { TableHealthReport } from '../../../src/maintenance/inspection/table-inspector.ts'
import { BY_REGION, MemoryTable } from '../memory-table.ts'

const MIB = 1024 * 1024

/** A well-sized file with ids of a range. */
function withIds(from: number, to: number, region: string): Partial<DataFile> {
  const [id, text] = [{ kind: 'long' }, { kind: 'string' }] as const
  return {
    partition: [region],
    fileSizeInBytes: 512 * MIB,
    lowerBounds: new Map([
      [1, valueToBytes(id, BigInt(from))],
      [2, valueToBytes(text, region)],
    ]),
    upperBounds: new Map([
      [1, valueToBytes(id, BigInt(to))],
      [2, valueToBytes(text, region)],
    ]),
  }
}

/** 30 files of one partition that overlap, and 30 of another that do not. */
async function createTable(properties: Readonly<Record<string, string>>): Promise<MemoryTable> {
  const table = await MemoryTable.create({ partitionSpec: BY_REGION, properties })
  for (let commit = 0; commit < 3; commit += 1) {
    const files: DataFile[] = []
    for (let n = commit * 10; n < commit * 10 + 10; n += 1) {
      files.push(await table.file(withIds(n, 1000, 'eu')), await table.file(withIds(n * 10, n * 10 + 9, 'us')))
    }
    await table.append(files)
  }
  return table
}

const overlapOf = ({ factors }: TableHealthReport) => factors.find(({ name }) => name === 'overlap')

describe('the overlap of a table', () => {
  it('lowers the score a little, and is what the recommended compaction reduces', async () => {
    const loaded = await (await createTable({ 'lockhouse.cluster-by': 'zorder(id)' })).load()
    const report = await createTableInspector().health(loaded, Date.now())
    expect(report.facts.overlap).toMatchObject({
      kind: 'zorder',
      columns: ['id'],
      files: 60,
      others: 29,
      overlaps: 14.5,
    })
    expect(report.facts.overlap?.overlapsAfter).toBeCloseTo(1)
    expect(overlapOf(report)).toMatchObject({ max_penalty: 10, detail: expect.stringContaining('Z-order of id') })
    expect(report.score).toBeGreaterThanOrEqual(90)
    expect(report.score).toBeLessThan(100)
    const plan = await planTableCompaction(loaded, { strategy: 'zorder', columns: ['id'] })
    expect(plan.groups).toMatchObject([{ partition: ['eu'], inputs: { length: 30 } }])
    expect(report.actions).toMatchObject([
      {
        operation: 'compact',
        options: { strategy: 'zorder', columns: ['id'] },
        reason: expect.stringContaining('overlaps with about 1 others instead of 15'),
        projected: { rewritten_data_files_count: 30, overlapping_files_mean: 1 },
      },
    ])
    expect(report.actions[0]?.projected['score']).toBeGreaterThan(report.score)
  })

  it.each([
    {},
    { 'lockhouse.cluster-by': 'zorder' },
    { 'lockhouse.cluster-by': 'zorder(dropped)' },
    { 'lockhouse.cluster-by': 'hilbert(region, region)' },
  ])('is no factor of a table with the properties %o', async (properties) => {
    const report = await createTableInspector().health(await (await createTable(properties)).load(), Date.now())
    expect(overlapOf(report)).toBeUndefined()
    expect(report).toMatchObject({ score: 100, actions: [] })
  })

  it('costs nothing where each file has one value', async () => {
    const table = await createTable({ 'lockhouse.cluster-by': 'hilbert(region)' })
    const report = await createTableInspector().health(await table.load(), Date.now())
    expect(overlapOf(report)).toMatchObject({ penalty: 0 })
    expect(report).toMatchObject({ score: 100, actions: [] })
  })

  it('takes new files, and another property, into account', async () => {
    const table = await createTable({ 'lockhouse.cluster-by': 'zorder(id)' })
    const inspector = createTableInspector()
    const before = await inspector.health(await table.load(), Date.now())
    await table.append(await Promise.all([1, 2].map((n) => table.file(withIds(n, 1000, 'eu')))))
    const after = await inspector.health(await table.load(), Date.now())
    expect(after.facts.overlap?.overlaps).toBeGreaterThan(before.facts.overlap?.overlaps ?? Number.NaN)
    expect(after).toEqual(await createTableInspector().health(await table.load(), Date.now()))
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { planTableCompaction, runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { describeCompactionPlan } from '../../../src/maintenance/compaction/result.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'
import { TABLE } from '../memory-table.ts'
import { RealLake, Workshop } from '../real-lake.ts'
import type { RealLakeOptions } from '../real-lake.ts'

let shop: Workshop

beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

let operations = 0
/** Row groups of the tests are small. */
const ANY_SIZE = { min_row_group_size_bytes: 0 }
const SNAPPY = { 'write.parquet.compression-codec': 'snappy' }

function compaction(lake: RealLake, request: Record<string, unknown>, engine: Engine = shop.engine) {
  operations += 1
  return { catalog: lake.catalog, engine, identifier: TABLE, request, operationId: `copy-${operations}` }
}

async function filledLake(options: RealLakeOptions = {}): Promise<RealLake> {
  const lake = await RealLake.create(shop, { properties: SNAPPY, ...options })
  for (let round = 0; round < 6; round += 1) await lake.append(10, 'eu')
  return lake
}

async function setCodec(lake: RealLake, codec: string): Promise<void> {
  const updates = [{ action: 'set-properties', updates: { 'write.parquet.compression-codec': codec } }] as const
  await commitTable(lake.catalog, TABLE, async () => ({ requirements: [], updates, writtenFiles: [] }))
}

async function expectNoLeftovers(lake: RealLake, operationId: string): Promise<void> {
  const ours = (await lake.list()).filter((file) => file.includes(`/${operationId}-`))
  expect(await findUnreachable(await lake.load(), ours)).toEqual([])
}

describe('compacting by copying row groups', () => {
  it('joins files and changes no row', async () => {
    const lake = await filledLake()
    const input = compaction(lake, ANY_SIZE)
    const details = await runCompaction(input)
    expect(details).toMatchObject({
      rewritten_data_files_count: 6,
      copied_data_files_count: 6,
      copied_bytes_count: details.rewritten_bytes_count,
      added_data_files_count: 1,
      rows_written: 60,
      verified: 'values',
      verified_columns: ['id', 'region'],
    })
    expect(await lake.read()).toEqual(lake.expected())
    const [task] = await planFiles(await lake.load(), { metrics: true })
    expect(task?.dataFile.splitOffsets).toHaveLength(6)
    expect(task?.dataFile.valueCounts?.get(1)).toBe(60)
    await expectNoLeftovers(lake, input.operationId)
  })

  it('previews what is copied', async () => {
    const lake = await filledLake()
    const plan = await planTableCompaction(await lake.load(), ANY_SIZE)
    const preview = describeCompactionPlan(plan)
    expect(preview).toMatchObject({ copied_data_files_count: 6, groups: [{ method: 'copy' }] })
    expect(preview.copied_bytes_count).toBe(preview.rewritten_bytes_count)
  })

  it.each([
    ['the method is "rewrite"', {}, { ...ANY_SIZE, method: 'rewrite' }],
    ['a row group has', {}, {}],
    ['rewrite_all asks', {}, { ...ANY_SIZE, rewrite_all: true }],
    ['strategy "sort"', {}, { ...ANY_SIZE, strategy: 'sort', sort_order: 'id' }],
    ['the property lockhouse.cluster-by', { 'lockhouse.cluster-by': 'zorder(id)' }, ANY_SIZE],
  ])('rewrites when %s', async (reason, properties, request) => {
    const lake = await filledLake({ properties: { ...SNAPPY, ...properties } })
    const plan = await planTableCompaction(await lake.load(), request)
    expect(plan.groups[0]?.noCopyReason).toContain(reason)
    const details = await runCompaction(compaction(lake, request))
    expect(details).toMatchObject({ rewritten_data_files_count: 6, copied_data_files_count: 0 })
    expect(await lake.read()).toEqual(lake.expected())
  })

  it('rewrites when deletes apply to the files', async () => {
    const lake = await filledLake()
    await lake.deletePositions(1, 3)
    const details = await runCompaction(compaction(lake, ANY_SIZE))
    expect(details).toMatchObject({ copied_data_files_count: 0, added_data_files_count: 1 })
    expect(await lake.read()).toEqual(lake.expected())
  })

  it('rewrites when the files have another codec than the table', async () => {
    const lake = await filledLake()
    await setCodec(lake, 'zstd')
    const details = await runCompaction(compaction(lake, ANY_SIZE))
    expect(details).toMatchObject({ copied_data_files_count: 0, added_data_files_count: 1 })
    expect(await lake.read()).toEqual(lake.expected())
  })

  it('leaves files as they are, and says why, when only copies are asked for', async () => {
    const lake = await filledLake()
    await setCodec(lake, 'zstd')
    const before = await lake.load()
    const input = compaction(lake, { ...ANY_SIZE, method: 'copy' })
    const details = await runCompaction(input)
    expect(details).toMatchObject({ rewritten_data_files_count: 0, failed_data_files_count: 6, snapshot_id: null })
    expect(details.failures[0]?.reason).toContain('another codec than the table asks for')
    expect((await lake.load()).metadata.currentSnapshotId).toBe(before.metadata.currentSnapshotId)
    await expectNoLeftovers(lake, input.operationId)
  })

  it('keeps row ids that files store, and those that rows have by their places in files', async () => {
    const lake = await filledLake({ formatVersion: 3 })
    const atFirst = await lake.rowIds()
    const first = await runCompaction(compaction(lake, ANY_SIZE))
    expect(await lake.rowIds()).toEqual(atFirst)
    for (let round = 0; round < 5; round += 1) await lake.append(10, 'eu')
    const second = await runCompaction(compaction(lake, { ...ANY_SIZE, where: 'id > 60' }))
    const before = await lake.rowIds()
    const third = await runCompaction(compaction(lake, { ...ANY_SIZE, min_input_files: 2 }))
    expect([first, second, third].map((details) => details.copied_data_files_count)).toEqual([6, 5, 2])
    expect(await lake.rowIds()).toEqual(before)
    expect(await lake.read()).toEqual(lake.expected())
  })

  it.each([2, 3] as const)('v%i: carries over deletes that arrive meanwhile', async (formatVersion) => {
    const lake = await filledLake({ formatVersion })
    let copies = 0
    const engine = overriddenEngine(shop.engine, {
      async copyRowGroups(task, options) {
        const copy = await shop.engine.copyRowGroups(task, options)
        if (copies === 0) await lake.deletePositions(2, 3)
        copies += 1
        return copy
      },
    })
    const details = await runCompaction(compaction(lake, ANY_SIZE, engine))
    expect(copies).toBe(1)
    expect(details).toMatchObject({ added_data_files_count: 1, copied_data_files_count: 6 })
    expect(details.carried_over_deletes_count).toBe(4)
    expect(await lake.read()).toEqual(lake.expected())
  })

  it('leaves nothing behind when a copy fails', async () => {
    const lake = await filledLake()
    const engine = overriddenEngine(shop.engine, {
      async copyRowGroups(task, options) {
        const fail = async (): Promise<never> => {
          throw new IcebergError('NO_SPACE', 'disk full')
        }
        const failing = new Proxy(task.io, {
          get(io, name) {
            const member: unknown = Reflect.get(io, name, io)
            return name === 'moveIn' ? fail : typeof member === 'function' ? member.bind(io) : member
          },
        })
        return shop.engine.copyRowGroups({ ...task, io: failing }, options)
      },
    })
    const input = compaction(lake, ANY_SIZE, engine)
    await expect(runCompaction(input)).rejects.toMatchObject({ code: 'NO_SPACE' })
    await expectNoLeftovers(lake, input.operationId)
    expect(await lake.read()).toEqual(lake.expected())
  })
})

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { planTableCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { planDeleteRewrite } from '../../../src/maintenance/position-deletes/plan.ts'
import { createTableInspector } from '../../../src/maintenance/inspection/table-inspector.ts'
import {
  describeSnapshots,
  listFiles,
  listHistory,
  listRefs,
  listSnapshots,
} from '../../../src/maintenance/inspection/table-listings.ts'
import { memoryInUse } from '../../support/memory-in-use.ts'
import { BY_REGION, MemoryTable } from '../memory-table.ts'

const MIB = 1024 * 1024
const DAY_MS = 86_400_000

describe('health', () => {
  it('counts what the manifests contain, and proposes what the planner would do', async () => {
    const table = await MemoryTable.create({ partitionSpec: BY_REGION })
    await table.append(await table.files(6, { partition: ['eu'], fileSizeInBytes: MIB }))
    await table.append([
      ...(await table.files(6, { partition: ['eu'], fileSizeInBytes: MIB })),
      ...(await table.files(2, { partition: [null], fileSizeInBytes: 500 * MIB })),
    ])
    const loaded = await table.load()
    const report = await createTableInspector().health(loaded, Date.now())
    expect(report.facts).toMatchObject({
      snapshotCount: 2,
      oldestSnapshotAtMs: loaded.metadata.snapshots[0]?.timestampMs,
      dataFiles: { count: 14, bytes: 1012 * MIB, records: 140 },
      smallFileCount: 12,
      manifestCount: 2,
      partitionCount: 2,
      smallFileThresholdBytes: 384 * MIB,
      partitions: { excessFiles: 11, worst: { label: 'region=eu', files: 12, excessFiles: 11 } },
    })
    const plan = await planTableCompaction(loaded, {})
    expect(report.actions).toEqual([
      {
        operation: 'compact',
        reason: expect.stringContaining('12 data files (12 MiB) become 1'),
        options: {},
        projected: {
          rewritten_data_files_count: plan.totals.files,
          added_data_files_count: plan.totals.expectedOutputFiles,
          rewritten_bytes_count: plan.totals.bytes,
          removed_delete_files_count: 0,
          data_file_count: 3,
          score: 100,
        },
      },
    ])
    expect(report.recommendation).toContain('Compact: 12 data files')
  })

  it.each(['64MB', '0', '1', '-1'])('reports a table with the size %s for delete files', async (size) => {
    const properties = { 'write.delete.target-file-size-bytes': size }
    const table = await MemoryTable.create({ properties })
    const [file] = await table.files(1, { fileSizeInBytes: 500 * MIB, recordCount: 100 })
    if (file === undefined) throw new Error('no file')
    await table.append([file])
    for (let n = 0; n < 6; n += 1) {
      await table.rowDelta([await table.file({ content: 'position-deletes', referencedDataFile: file.filePath })])
    }
    const report = await createTableInspector().health(await table.load(), Date.now())
    expect(report.actions.map(({ operation }) => operation)).not.toContain('rewrite_position_deletes')
    await expect(planDeleteRewrite(await table.load(), {})).rejects.toMatchObject({
      code: 'INVALID_METADATA',
      message: expect.stringContaining('write.delete.target-file-size-bytes'),
    })
  })

  it('proposes to rewrite files with deletes, even when the defaults would skip them', async () => {
    const table = await MemoryTable.create()
    const files = await table.files(12, { fileSizeInBytes: 500 * MIB, recordCount: 100 })
    await table.append(files)
    await table.rowDelta([
      await table.file({ content: 'position-deletes', recordCount: 240 }),
      await table.file({ content: 'equality-deletes', recordCount: 7, equalityIds: [1] }),
    ])
    const report = await createTableInspector().health(await table.load(), Date.now())
    expect(report.facts).toMatchObject({
      positionDeletes: { count: 1, records: 240 },
      equalityDeletes: { count: 1, records: 7 },
      deletionVectors: { count: 0 },
    })
    expect(report.score).toBe(70)
    expect(report.actions).toMatchObject([
      {
        operation: 'compact',
        options: { delete_file_threshold: 1 },
        projected: { rewritten_data_files_count: 12, removed_delete_files_count: 2, score: 100 },
      },
    ])
  })

  it('reports why a table cannot be compacted', async () => {
    const table = await MemoryTable.create()
    await table.append(await table.files(8, { fileFormat: 'orc' }))
    const report = await createTableInspector().health(await table.load(), Date.now())
    expect(report.actions).toEqual([])
    expect(report.recommendation).toMatch(/Compaction is not possible: .*ORC/)
  })

  it('proposes to expire snapshots past their retention', async () => {
    const table = await MemoryTable.create()
    for (let round = 0; round < 12; round += 1) await table.append(await table.files(1, { fileSizeInBytes: 500 * MIB }))
    const loaded = await table.load()
    const inspector = createTableInspector()
    expect((await inspector.health(loaded, Date.now())).actions.map(({ operation }) => operation)).not.toContain(
      'expire',
    )
    const later = await inspector.health(loaded, Date.now() + 6 * DAY_MS)
    expect(later.actions.find(({ operation }) => operation === 'expire')?.projected).toMatchObject({
      expired_snapshots_count: 11,
      snapshot_count: 1,
    })
  })

  it('equals an independent count on random tables, and its projection equals the real plan', async () => {
    const anyFile = fc.record({
      region: fc.constantFrom('a', 'b', 'c', null),
      size: fc.constantFrom(0, 1, MIB, 383 * MIB, 384 * MIB, 500 * MIB, 900 * MIB, 922 * MIB, 2000 * MIB),
      records: fc.nat(1000),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyFile, { minLength: 1, maxLength: 12 }), { maxLength: 5 }),
        async (commits) => {
          const table = await MemoryTable.create({ partitionSpec: BY_REGION })
          for (const commit of commits) {
            const files = commit.map(({ region, size, records }) =>
              table.file({ partition: [region], fileSizeInBytes: size, recordCount: records }),
            )
            await table.append(await Promise.all(files))
          }
          const loaded = await table.load()
          const { facts, actions } = await createTableInspector().health(loaded, Date.now())
          const all = commits.flat()
          expect(facts.dataFiles).toEqual({
            count: all.length,
            bytes: all.reduce((total, { size }) => total + size, 0),
            records: all.reduce((total, { records }) => total + records, 0),
          })
          expect(facts.smallFileCount).toBe(all.filter(({ size }) => size < 384 * MIB).length)
          expect(facts.partitionCount).toBe(new Set(all.map(({ region }) => region)).size)
          expect(facts.manifestCount).toBe(commits.length)
          expect(facts.histogram.reduce((total, { files }) => total + files, 0)).toBe(all.length)
          const { totals } = await planTableCompaction(loaded, {})
          const compact = actions.find(({ operation }) => operation === 'compact')
          const isWorthIt = totals.expectedOutputFiles < totals.files
          expect(compact?.projected['rewritten_data_files_count'] ?? 0).toBe(isWorthIt ? totals.files : 0)
          expect(compact?.projected['added_data_files_count'] ?? 0).toBe(isWorthIt ? totals.expectedOutputFiles : 0)
          expect(compact?.projected['rewritten_bytes_count'] ?? 0).toBe(isWorthIt ? totals.bytes : 0)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('reads every manifest once, however often it is queried', async () => {
    const io = new CountingIO()
    const table = await MemoryTable.create({ io })
    await table.append(await table.files(3))
    await table.append(await table.files(3))
    const inspector = createTableInspector()
    const first = await inspector.health(await table.load(), 0)
    const reads = io.manifestReads
    expect(reads).toBe(2)
    expect(await inspector.health(await table.load(), 0)).toEqual(first)
    await table.append(await table.files(1))
    const before = io.manifestReads
    await inspector.health(await table.load(), 0)
    expect(io.manifestReads - before).toBe(1)
  })

  it('the inspector keeps the last state of a table when the table is rewritten many times', async () => {
    const table = await MemoryTable.create({ partitionSpec: BY_REGION })
    const files = Array.from({ length: 50 }, (_, at) => table.file({ partition: [`region ${at}`] }))
    await table.append(await Promise.all(files))
    const inspector = createTableInspector()
    const loaded = await table.load()
    await inspector.partitions(loaded)
    const before = await memoryInUse()
    for (let at = 1; at <= 1000; at++) {
      const state = { ...loaded, metadataLocation: `${loaded.metadataLocation} of state ${at}` }
      expect(await inspector.partitions(state)).toHaveLength(50)
    }
    expect((await memoryInUse()) - before).toBeLessThan(4 * MIB)
  })

  it('is a clear error when a manifest is damaged', async () => {
    const table = await MemoryTable.create()
    await table.append(await table.files(3))
    const manifest = (await table.list()).find((file) => file.includes('-m0.avro')) ?? ''
    await table.io.write(manifest, new Uint8Array(20))
    await expect(createTableInspector().health(await table.load(), 0)).rejects.toMatchObject({ code: 'CORRUPT_FILE' })
  })
})

describe('listings', () => {
  it('page through files without a gap or a duplicate', async () => {
    const table = await MemoryTable.create({ partitionSpec: BY_REGION })
    for (let round = 0; round < 4; round += 1) await table.append(await table.files(3, { partition: [`r${round}`] }))
    const loaded = await table.load()
    const all = await listFiles(loaded, { offset: 0, limit: 100 })
    expect(all.items.map((file) => file.file_path)).toEqual(
      (await planFiles(loaded)).map(({ dataFile }) => dataFile.filePath),
    )
    expect(all.nextOffset).toBeUndefined()
    for (const limit of [1, 2, 5, 11, 12]) {
      const paged = []
      let offset: number | undefined = 0
      while (offset !== undefined) {
        const page: Awaited<ReturnType<typeof listFiles>> = await listFiles(loaded, { offset, limit })
        expect(page.items.length).toBeLessThanOrEqual(limit)
        paged.push(...page.items)
        offset = page.nextOffset
      }
      expect(paged).toEqual(all.items)
    }
    expect(all.items[0]).toMatchObject({
      content: 'data',
      partition: { region: 'r3' },
      record_count: 10,
      sequence_number: 4,
    })
  })

  it('show partitions, snapshots, history and refs', async () => {
    const table = await MemoryTable.create({ partitionSpec: BY_REGION })
    await table.append(await table.files(2, { partition: ['eu'] }))
    await table.append(await table.files(1, { partition: [null] }))
    const loaded = await table.load()
    const partitions = await createTableInspector().partitions(loaded)
    expect(partitions.map(({ values, files, records, smallFiles }) => [values, files, records, smallFiles])).toEqual(
      expect.arrayContaining([
        [{ region: 'eu' }, 2, 20, 2],
        [{ region: null }, 1, 10, 1],
      ]),
    )
    const [newest, oldest] = describeSnapshots(loaded.metadata, listSnapshots(loaded.metadata))
    expect(newest).toMatchObject({
      sequence_number: 2,
      parent_id: oldest?.snapshot_id,
      operation: 'append',
      refs: ['main'],
    })
    expect(oldest).toMatchObject({ sequence_number: 1, parent_id: null, refs: [] })
    expect(listHistory(loaded.metadata)).toMatchObject([
      { snapshot_id: newest?.snapshot_id, is_current_ancestor: true },
      { snapshot_id: oldest?.snapshot_id, is_current_ancestor: true },
    ])
    expect(listRefs(loaded.metadata)).toMatchObject([
      { name: 'main', type: 'branch', snapshot_id: newest?.snapshot_id },
    ])
  })
})

class CountingIO extends MemoryFileIO {
  manifestReads = 0

  override async read(location: string): Promise<Uint8Array> {
    if (/-m\d+\.avro$/.test(location)) this.manifestReads += 1
    return super.read(location)
  }
}

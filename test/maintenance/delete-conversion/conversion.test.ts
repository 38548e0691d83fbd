import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import { loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import { newDataLocation } from '../../../src/iceberg/metadata/locations.ts'
import { writeDeletionVectors } from '../../../src/iceberg/puffin/deletion-vector-file.ts'
import { PositionBitmap } from '../../../src/iceberg/puffin/position-bitmap.ts'
import { isDeletionVector } from '../../../src/iceberg/puffin/deletion-vector.ts'
import type { DeleteFileRef } from '../../../src/iceberg/scan/delete-index.ts'
import { loadDeletes, planFiles } from '../../../src/iceberg/scan/scan.ts'
import { removeFromManifest } from '../../../src/iceberg/update/stage/manifest-filter.ts'
import { produceSnapshot } from '../../../src/iceberg/update/stage/snapshot-producer.ts'
import { writeAddedFiles } from '../../../src/iceberg/update/stage/stage-append.ts'
import type { StagedCommit } from '../../../src/iceberg/update/staged-commit.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import {
  type ConversionHooks,
  previewConversion,
  runConversion,
} from '../../../src/maintenance/delete-conversion/convert-deletes.ts'
import type { GroupLimits } from '../../../src/maintenance/delete-conversion/plan.ts'
import type { OperationCleanup } from '../../../src/maintenance/operation-hooks.ts'
import { runDeleteRewrite } from '../../../src/maintenance/position-deletes/rewrite-position-deletes.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { keepsRows } from '../../../src/iceberg/metadata/snapshots.ts'
import { readingOf } from '../../../src/streaming/source/history.ts'
import { runRollback } from '../../../src/maintenance/rollback.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'
import { TABLE } from '../memory-table.ts'
import { RealLake, Workshop } from '../real-lake.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** Live delete files of the current snapshot. */
async function deletesOf(lake: RealLake): Promise<readonly DeleteFileRef[]> {
  const table = await lake.load()
  const snapshot = currentSnapshot(table.metadata)
  return snapshot === undefined ? [] : loadDeletes(table, await loadManifests(table, snapshot))
}

async function equalityDeletesOf(lake: RealLake): Promise<readonly DataFile[]> {
  return (await deletesOf(lake)).map(({ file }) => file).filter(({ content }) => content === 'equality-deletes')
}

interface RunOptions {
  readonly request?: Readonly<Record<string, unknown>>
  readonly engine?: Engine
  readonly hooks?: ConversionHooks
  readonly limits?: GroupLimits
  readonly operationId?: string
}

/** Converts, and checks that readers see the same rows and that no new file is left over. */
async function convert(lake: RealLake, options: RunOptions = {}) {
  const { request = {}, engine = shop.engine, operationId = 'op-1', hooks, limits } = options
  const details = await runConversion({
    catalog: lake.catalog,
    identifier: TABLE,
    request,
    engine,
    operationId,
    ...(hooks === undefined ? {} : { hooks }),
    ...(limits === undefined ? {} : { limits }),
  })
  await expectSound(lake, operationId)
  return details
}

async function expectSound(lake: RealLake, operationId = 'op-1'): Promise<void> {
  expect(await lake.read()).toEqual(lake.expected())
  const ours = (await lake.list()).filter((file) => file.includes(`/${operationId}-`))
  expect(await findUnreachable(await lake.load(), ours)).toEqual([])
  const vectors = (await deletesOf(lake)).filter(({ file }) => isDeletionVector(file))
  expect(new Set(vectors.map(({ file }) => file.referencedDataFile)).size).toBe(vectors.length)
}

/** The number of the oldest data file in a plan. */
async function oldest(lake: RealLake): Promise<number> {
  const numbers = (await planFiles(await lake.load())).map(({ sequenceNumber }) => sequenceNumber)
  return numbers.indexOf(Math.min(...numbers))
}

/** Removes a delete file from the table, as a writer that takes its deletes back. */
async function withdraw(lake: RealLake, filePath: string): Promise<void> {
  await commitTable(lake.catalog, TABLE, (table) =>
    produceSnapshot(table, { operationId: 'writer' }, async (producer) => {
      const manifests = []
      for (const manifest of await producer.parentManifests()) {
        const filtered =
          manifest.content === 'deletes'
            ? await removeFromManifest(producer, manifest, (file) => file.filePath === filePath)
            : { manifest }
        manifests.push(filtered.manifest)
      }
      return { operation: 'overwrite', manifests, summary: {}, removedDeleteFiles: 1 }
    }),
  )
}

/** A deletion vector of the first row of a data file. */
async function vectorOf(lake: RealLake, path: string): Promise<DataFile> {
  const { metadata, io } = await lake.load()
  const file = { filePath: path, specId: 0, partition: [] }
  const [vector] = await writeDeletionVectors(io, newDataLocation(metadata, '', 'first-row.puffin'), [
    { file, positions: PositionBitmap.of([0]) },
  ])
  if (vector === undefined) throw new Error('no vector')
  return vector
}

/** Ids from `from` on. */
const ids = (from: number, count: number, step = 1): readonly number[] =>
  Array.from({ length: count }, (_, at) => from + at * step)

/** Two data files, and equality deletes that hit both, only the older one, or no row. */
async function upserted(options: Parameters<typeof RealLake.create>[1] = {}): Promise<RealLake> {
  const lake = await RealLake.create(shop, options)
  await lake.append(100, 'eu')
  await lake.upsert(ids(1, 10))
  await lake.append(100, 'eu')
  await lake.upsert(ids(51, 20, 5))
  await lake.upsert(ids(2, 3, 2))
  expect(await lake.read()).toEqual(lake.expected())
  return lake
}

describe.each([2, 3] as const)('a conversion of equality deletes in version %i', (formatVersion) => {
  it('replaces them all by one commit that keeps history and sequence numbers', async () => {
    const lake = await upserted({ formatVersion })
    await lake.deletePositions(await oldest(lake), 7)
    const before = await deletesOf(lake)
    const start = (await lake.load()).metadata.currentSnapshotId
    const rowIds = (await planFiles(await lake.load())).map(({ dataFile }) => dataFile.firstRowId)
    const preview = await previewConversion({ catalog: lake.catalog, identifier: TABLE, request: {} })
    expect(preview).toMatchObject({ converted_delete_files_count: 3, dangling_delete_files_count: 0, groups_count: 1 })
    expect((await lake.load()).metadata.currentSnapshotId).toBe(start)
    const details = await convert(lake)
    expect(details).toMatchObject({ converted_delete_files_count: 3, base_snapshot_id: String(start), failures: [] })
    expect(details.added_delete_files_count).toBeLessThanOrEqual(preview.added_delete_files_count)
    const { metadata } = await lake.load()
    const snapshot = currentSnapshot(metadata)
    expect(snapshot?.summary).toMatchObject({
      operation: 'overwrite',
      'lockhouse.same-rows': 'true',
      'removed-equality-delete-files': '3',
      'total-equality-deletes': '0',
      'lockhouse.operation-id': 'op-1',
    })
    expect(snapshot && readingOf(snapshot, 'fail')).toBe('nothing') // a pipeline goes on
    const forged = { summary: { ...snapshot?.summary, operation: 'delete' } }
    expect([snapshot && keepsRows(snapshot), keepsRows(forged)]).toEqual([true, false])
    const newest = Math.max(...before.map(({ sequenceNumber }) => sequenceNumber))
    for (const { file, sequenceNumber } of await deletesOf(lake)) {
      expect(file.content).toBe('position-deletes')
      expect(isDeletionVector(file)).toBe(formatVersion === 3)
      expect(sequenceNumber).toBeLessThanOrEqual(newest)
    }
    expect((await planFiles(await lake.load())).map(({ dataFile }) => dataFile.firstRowId)).toEqual(rowIds)
    expect(await lake.read(start)).toEqual(lake.expected())
    expect(await convert(lake, { operationId: 'op-2' })).toMatchObject({ converted_delete_files_count: 0 })
    expect((await lake.load()).metadata.currentSnapshotId).toBe(snapshot?.snapshotId)
    await runRollback({ catalog: lake.catalog, identifier: TABLE, snapshotId: start ?? 0n, hooks: {} })
    expect(await convert(lake, { operationId: 'op-3' })).toMatchObject({ converted_delete_files_count: 3 })
  })

  it('keeps partitions apart, and converts those that the condition selects', async () => {
    const lake = await RealLake.create(shop, { formatVersion, partitioned: true })
    for (const region of ['eu', 'us', null]) await lake.append(30, region)
    await lake.upsert([...ids(1, 5), ...ids(31, 5), ...ids(61, 5)])
    expect(await equalityDeletesOf(lake)).toHaveLength(3)
    expect(await convert(lake, { request: { where: "region = 'us'" } })).toMatchObject({
      converted_delete_files_count: 1,
      searched_data_files_count: 1,
      converted_rows_count: 5,
    })
    expect(await equalityDeletesOf(lake)).toHaveLength(2)
    const limits = { bytes: 1, rows: 1, pairs: 1 }
    expect(await convert(lake, { limits, operationId: 'op-2' })).toMatchObject({
      groups_count: 2,
      converted_rows_count: 10,
    })
    const added = (await deletesOf(lake)).map(({ file }) => file)
    expect(new Set(added.map(({ partition }) => String(partition[0])))).toEqual(new Set(['eu', 'us', 'null']))
  })

  it('drops deletes that apply to no data file, and searches nothing', async () => {
    const lake = await RealLake.create(shop, { formatVersion })
    await lake.append(10, 'eu')
    await lake.upsert([1, 3])
    const [file] = await equalityDeletesOf(lake)
    if (file === undefined) throw new Error('no deletes')
    await convert(lake)
    // as old as the oldest data file
    await lake.commitRaw({ deletes: [{ file, sequenceNumber: 1 }] })
    expect(await convert(lake, { operationId: 'op-2' })).toMatchObject({
      converted_delete_files_count: 1,
      dangling_delete_files_count: 1,
      added_delete_files_count: 0,
      groups_count: 0,
    })
    expect(await equalityDeletesOf(lake)).toEqual([])
  })

  it('converts a file that the table lists several times', async () => {
    const lake = await upserted({ formatVersion })
    const [ref] = (await deletesOf(lake)).filter(({ file }) => file.content === 'equality-deletes')
    if (ref === undefined) throw new Error('no deletes')
    await lake.commitRaw({ deletes: [ref, { file: ref.file, sequenceNumber: ref.sequenceNumber + 1 }] })
    // the later entry also deletes what the first upsert inserted again
    const left = new Set((await lake.read()).map(({ id }) => id))
    for (const id of lake.rows.keys()) if (!left.has(id)) lake.rows.delete(id)
    expect(await convert(lake)).toMatchObject({ converted_delete_files_count: 5 })
    expect(await equalityDeletesOf(lake)).toEqual([])
  })

  it('keeps deletes of data files that are listed twice, encrypted or unreadable', async () => {
    const lake = await upserted({ formatVersion })
    const orc = {
      content: 'data',
      fileFormat: 'orc',
      specId: 0,
      partition: [],
      recordCount: 1,
      fileSizeInBytes: 9,
    } as const
    const [task] = await planFiles(await lake.load())
    if (task === undefined) throw new Error('no file')
    const preview = () => previewConversion({ catalog: lake.catalog, identifier: TABLE, request: {} })
    await lake.commitRaw({ data: [{ file: { ...orc, filePath: `${task.dataFile.filePath}.orc` }, sequenceNumber: 3 }] })
    expect((await preview()).failures).toEqual([
      { files: 2, bytes: expect.any(Number), reason: 'data files in format ORC cannot be read here' },
    ])
    await lake.commitRaw({ data: [{ file: task.dataFile, sequenceNumber: 1 }] })
    expect((await preview()).failures).toEqual([
      { files: 2, bytes: expect.any(Number), reason: 'data files in format ORC cannot be read here' },
      { files: 1, bytes: expect.any(Number), reason: 'the table lists one of their data files twice' },
    ])
    expect(await preview()).toMatchObject({ converted_delete_files_count: 0, groups_count: 0 })
  })

  it('keeps equality deletes and appends that arrive meanwhile', async () => {
    const lake = await upserted({ formatVersion })
    let writes = 2
    const details = await convert(lake, {
      hooks: {
        async onStaged() {
          if (writes-- <= 0) return
          await lake.append(10, 'eu')
          await lake.upsert(ids(20 + writes * 5, 3))
        },
      },
    })
    expect(details).toMatchObject({ converted_delete_files_count: 3 })
    expect(await equalityDeletesOf(lake)).toHaveLength(2)
    expect(await convert(lake, { operationId: 'op-2' })).toMatchObject({ converted_delete_files_count: 2 })
  })

  it.each(['compaction', 'position delete', 'merge', 'conversion'] as const)(
    'plans again when its files change by a %s before the commit',
    async (change) => {
      const lake = await upserted({ formatVersion })
      await lake.deletePositions(await oldest(lake), 9)
      await lake.deletePositions(await oldest(lake), 10)
      const { catalog } = lake
      const other = { catalog, identifier: TABLE, engine: shop.engine, operationId: 'other' }
      const changes = {
        compaction: () => runCompaction({ ...other, request: { rewrite_all: true } }),
        'position delete': async () => lake.deletePositions(await oldest(lake), 11),
        merge: () => runDeleteRewrite({ ...other, request: { rewrite_all: true } }),
        conversion: () => runConversion({ ...other, request: {} }),
      }
      let staged = 0
      await convert(lake, {
        hooks: {
          async onStaged() {
            staged += 1
            if (staged === 1) await changes[change]()
          },
        },
      })
      expect(await equalityDeletesOf(lake)).toEqual([])
    },
  )

  it('does not bring rows back when data files return with an old sequence number', async () => {
    const lake = await upserted({ formatVersion })
    const task = (await planFiles(await lake.load()))[await oldest(lake)]
    const path = task?.dataFile.filePath ?? ''
    let staged = 0
    await convert(lake, {
      hooks: {
        async onStaged() {
          staged += 1
          if (staged > 1) return
          // a rewrite that began before the deletes: the same rows in another file, as old as before
          const copy = `${path}.copy.parquet`
          const { io } = await lake.load()
          await io.create(copy, await io.read(path))
          await commitTable(lake.catalog, TABLE, (table) =>
            produceSnapshot(table, { operationId: 'writer' }, async (producer) => {
              const manifests = []
              for (const manifest of await producer.parentManifests()) {
                const isIt = (file: DataFile): boolean => file.filePath === path
                const filtered =
                  manifest.content === 'data' ? (await removeFromManifest(producer, manifest, isIt)).manifest : manifest
                manifests.push(filtered)
              }
              const file = { ...(task?.dataFile as DataFile), filePath: copy }
              const added = await writeAddedFiles(producer, {
                content: 'data',
                files: [file],
                sequenceNumber: task?.sequenceNumber,
              })
              return { operation: 'replace', manifests: [...manifests, ...added], summary: {}, removedDeleteFiles: 0 }
            }),
          )
        },
      },
    })
    expect(staged).toBe(2)
    expect(await equalityDeletesOf(lake)).toEqual([])
  })

  it('does not bring rows back when position deletes of the same rows are withdrawn', async () => {
    const lake = await RealLake.create(shop, { formatVersion })
    await lake.append(10, 'eu')
    const [task] = await planFiles(await lake.load())
    const path = task?.dataFile.filePath ?? ''
    const doomed = [[path, 0] as const]
    const pending = formatVersion === 2 ? await lake.positionDeletes(doomed) : await vectorOf(lake, path)
    await lake.commitRaw({ deletes: [{ file: pending }] })
    // the row with id 1 is deleted by its key too
    await lake.upsert([1, 3])
    let staged = 0
    await convert(lake, {
      hooks: {
        async onStaged() {
          staged += 1
          if (staged === 1) await withdraw(lake, pending.filePath)
        },
      },
    })
    expect(staged).toBe(2)
    expect(await equalityDeletesOf(lake)).toEqual([])
  })

  it('is abandoned without a trace when it is cancelled or the engine counts other rows', async () => {
    const lake = await upserted({ formatVersion })
    const stop = new AbortController()
    const input = { catalog: lake.catalog, identifier: TABLE, request: {}, operationId: 'op-1' }
    const limits = { bytes: 1, rows: 1, pairs: 1 }
    const stopping = overriddenEngine(shop.engine, {
      async convertEqualityDeletes(task, options) {
        const result = await shop.engine.convertEqualityDeletes(task, options)
        stop.abort()
        return result
      },
    })
    const cancelled = runConversion({ ...input, engine: stopping, limits, signal: stop.signal })
    await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' })
    const lying = overriddenEngine(shop.engine, {
      async convertEqualityDeletes(task, options) {
        const result = await shop.engine.convertEqualityDeletes(task, options)
        return { ...result, rowsLeft: result.rowsLeft + result.rowsDeleted + 1 }
      },
    })
    await expect(runConversion({ ...input, engine: lying })).rejects.toMatchObject({ code: 'ROWS_NOT_CONSERVED' })
    expect((await lake.list()).filter((file) => file.includes('/op-1-'))).toEqual([])
    await expectSound(lake)
  })

  it.each(['converted', 'staged', 'committed'] as const)(
    'is recovered when its process dies at "%s"; the rows are the same and no file is left over',
    async (moment) => {
      const lake = await upserted({ formatVersion })
      const ledger: { cleanup?: OperationCleanup; staged?: StagedCommit } = {}
      const { promise: dead, resolve: die } = Promise.withResolvers<void>()
      const stopHere = (): Promise<never> => {
        die()
        return new Promise(() => {})
      }
      const work = runConversion({
        catalog: lake.catalog,
        identifier: TABLE,
        request: {},
        operationId: 'op-dead',
        engine: overriddenEngine(shop.engine, {
          async convertEqualityDeletes(task, options) {
            const result = await shop.engine.convertEqualityDeletes(task, options)
            return moment === 'converted' ? stopHere() : result
          },
        }),
        hooks: {
          onCleanup: async (cleanup) => void (ledger.cleanup = cleanup),
          async onStaged(staged) {
            ledger.staged = staged
            if (moment === 'staged') await stopHere()
          },
        },
      })
      await (moment === 'committed' ? work : Promise.race([dead, work]))
      await lake.append(2, 'eu')
      const record = { operationId: 'op-dead', ...ledger }
      const result = await reconcileOperation({ catalog: lake.catalog, identifier: TABLE, ...record })
      expect(result).toMatchObject({
        outcome: moment === 'committed' ? 'committed' : 'not-committed',
        failedDeletions: [],
      })
      const ours = (await lake.list()).filter((file) => file.includes('/op-dead-'))
      expect(ours.length > 0).toBe(moment === 'committed')
      await expectSound(lake, 'op-dead')
    },
  )
})

describe('a conversion of equality deletes', () => {
  it('writes one file for each data file when the table asks for it', async () => {
    const lake = await upserted({ properties: { 'write.delete.granularity': 'file' } })
    const { added_delete_files_count: added } = await convert(lake)
    const deletes = (await deletesOf(lake)).map(({ file }) => file)
    expect(deletes).toHaveLength(added)
    expect(added).toBeGreaterThan(1)
    expect(new Set(deletes.map(({ referencedDataFile }) => referencedDataFile)).size).toBe(added)
  })

  it('includes the old position deletes of an upgraded table in its vectors', async () => {
    const lake = await upserted()
    for (const step of [4, 7]) await lake.deletePositions(await oldest(lake), step)
    await commitTable(lake.catalog, TABLE, async () => ({
      requirements: [],
      updates: [{ action: 'upgrade-format-version', 'format-version': 3 }],
      writtenFiles: [],
    }))
    await convert(lake)
    const task = (await planFiles(await lake.load()))[await oldest(lake)]
    expect(task?.deletes.map(({ file }) => isDeletionVector(file))).toEqual([true])
  })

  it('plans again when the table is upgraded before the commit', async () => {
    const lake = await upserted()
    let staged = 0
    await convert(lake, {
      hooks: {
        async onStaged() {
          staged += 1
          if (staged > 1) return
          await commitTable(lake.catalog, TABLE, async () => ({
            requirements: [],
            updates: [{ action: 'upgrade-format-version', 'format-version': 3 }],
            writtenFiles: [],
          }))
        },
      },
    })
    expect((await deletesOf(lake)).every(({ file }) => isDeletionVector(file))).toBe(true)
  })

  it('ends with a conflict when its files change at every attempt', async () => {
    const lake = await upserted({ formatVersion: 3 })
    let step = 40
    const hooks: ConversionHooks = {
      async onStaged() {
        step -= 3
        await lake.deletePositions(await oldest(lake), step)
      },
    }
    await expect(convert(lake, { hooks })).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    await expectSound(lake)
  })

  it('refuses options that it does not have', async () => {
    const lake = await RealLake.create(shop)
    await expect(convert(lake, { request: { rewrite_all: true } })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

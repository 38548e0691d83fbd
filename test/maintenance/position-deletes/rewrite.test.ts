import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import { loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import { currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import type { DeleteFileRef } from '../../../src/iceberg/scan/delete-index.ts'
import { loadDeletes, planFiles } from '../../../src/iceberg/scan/scan.ts'
import { parseCompactionOptions } from '../../../src/maintenance/compaction/options.ts'
import { planCompaction } from '../../../src/maintenance/compaction/planner.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import type { OperationCleanup } from '../../../src/maintenance/operation-hooks.ts'
import {
  type DeleteRewriteHooks,
  previewDeleteRewrite,
  runDeleteRewrite,
} from '../../../src/maintenance/position-deletes/rewrite-position-deletes.ts'
import { planDeleteRewrite } from '../../../src/maintenance/position-deletes/plan.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { runRollback } from '../../../src/maintenance/rollback.ts'
import { stageRowDelta } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import type { StagedCommit } from '../../../src/iceberg/update/staged-commit.ts'
import { TABLE } from '../memory-table.ts'
import { RealLake, Workshop } from '../real-lake.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

let shop: Workshop

beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

const TWICE = 'the table lists one of their data files twice'

/** The plan of a table whose delete files may be about any of its data files; the files are not there. */
async function planManyDeletes({ dataFiles, deletes }: { readonly dataFiles: number; readonly deletes: number }) {
  const lake = await RealLake.create(shop)
  await lake.append(1, 'eu')
  const [task] = await planFiles(await lake.load())
  if (task === undefined) throw new Error('no file')
  const file = await lake.positionDeletes([
    [task.dataFile.filePath, 0],
    ['/other', 0],
  ])
  const many = <T extends { readonly filePath: string }>(one: T, count: number) =>
    Array.from({ length: count }, (_, at) => ({ ...one, filePath: `${one.filePath}-${at}` }))
  const change = { dataFiles: many(task.dataFile, dataFiles), deleteFiles: many(file, deletes), operationId: 'writer' }
  await commitTable(lake.catalog, TABLE, (table) => stageRowDelta(table, change))
  return planDeleteRewrite(await lake.load(), {})
}

/** Live delete files of the current snapshot. */
async function deletesOf(lake: RealLake): Promise<readonly DeleteFileRef[]> {
  const table = await lake.load()
  const snapshot = currentSnapshot(table.metadata)
  return snapshot === undefined ? [] : loadDeletes(table, await loadManifests(table, snapshot))
}

async function pathsOf(lake: RealLake): Promise<readonly string[]> {
  return (await planFiles(await lake.load())).map(({ dataFile }) => dataFile.filePath)
}

/** The engine, with something done around each merge. */
function engineWith(merge: (run: Engine['rewritePositionDeletes']) => Engine['rewritePositionDeletes']): Engine {
  const { engine } = shop
  const rewritePositionDeletes = merge((task, options) => engine.rewritePositionDeletes(task, options))
  return overriddenEngine(engine, { rewritePositionDeletes })
}

interface RunOptions {
  readonly request?: Readonly<Record<string, unknown>>
  readonly engine?: Engine
  readonly hooks?: DeleteRewriteHooks
  readonly operationId?: string
}

/** Rewrites, and checks that readers see the same rows and that no new file is left over. */
async function rewrite(
  lake: RealLake,
  { request = {}, engine = shop.engine, hooks, operationId = 'op-1' }: RunOptions = {},
) {
  const target = { catalog: lake.catalog, identifier: TABLE, request }
  const details = await runDeleteRewrite({ ...target, engine, operationId, ...(hooks === undefined ? {} : { hooks }) })
  expect(await lake.read()).toEqual(lake.expected())
  await expectNoLeftovers(lake, operationId)
  return details
}

async function expectNoLeftovers(lake: RealLake, operationId = 'op-1'): Promise<void> {
  const ours = (await lake.list()).filter((file) => file.includes(`/${operationId}-`))
  expect(await findUnreachable(await lake.load(), ours)).toEqual([])
}

/** A table with two data files of a partition and many small position delete files. */
async function manyDeletes(options: Parameters<typeof RealLake.create>[1] = {}, files = 6): Promise<RealLake> {
  const lake = await RealLake.create(shop, options)
  await lake.append(200, 'eu')
  await lake.append(200, 'eu')
  const [first = '', second = ''] = await pathsOf(lake)
  const ids = new Map<string, number>()
  for (const task of await planFiles(await lake.load()))
    for (const { id, pos } of await lake.positions(task)) ids.set(`${task.dataFile.filePath} ${pos}`, id)
  for (let n = 0; n < files; n += 1) {
    const rows = [
      [first, n],
      [second, 10 + n],
      [first, 50 + 2 * n],
    ] as const
    const partition = options.partitioned === true ? ['eu'] : []
    await lake.commitRaw({ deletes: [{ file: await lake.positionDeletes(rows, { partition }) }] })
    for (const [path, pos] of rows) lake.rows.delete(ids.get(`${path} ${pos}`) ?? 0)
  }
  expect(await lake.read()).toEqual(lake.expected())
  return lake
}

describe('a rewrite of position deletes', () => {
  it.each([true, false])('merges small delete files into one (partitioned: %s)', async (partitioned) => {
    const lake = await manyDeletes({ partitioned })
    const before = await deletesOf(lake)
    const start = (await lake.load()).metadata.currentSnapshotId
    const preview = await previewDeleteRewrite({ catalog: lake.catalog, identifier: TABLE, request: {} })
    expect(preview).toMatchObject({ rewritten_delete_files_count: 6, added_delete_files_count: 1, groups_count: 1 })
    expect((await lake.load()).metadata.currentSnapshotId).toBe(start)
    const details = await rewrite(lake)
    expect(details).toMatchObject({
      rewritten_delete_files_count: 6,
      added_delete_files_count: 1,
      dangling_delete_files_count: 0,
      rewritten_deletes_count: 18,
      added_deletes_count: 18,
      base_snapshot_id: String(start),
      failures: [],
    })
    const after = await deletesOf(lake)
    expect(after).toHaveLength(1)
    expect(after[0]?.sequenceNumber).toBe(Math.max(...before.map(({ sequenceNumber }) => sequenceNumber)))
    expect(after[0]?.file).toMatchObject({ content: 'position-deletes', partition: partitioned ? ['eu'] : [] })
    const snapshot = currentSnapshot((await lake.load()).metadata)
    expect(snapshot?.summary).toMatchObject({
      operation: 'replace',
      'added-position-delete-files': '1',
      'removed-position-delete-files': '6',
      'lockhouse.operation-id': 'op-1',
    })
    expect(await lake.read(start)).toEqual(lake.expected())
    expect(await rewrite(lake, { operationId: 'op-2' })).toMatchObject({ rewritten_delete_files_count: 0 })
    expect((await lake.load()).metadata.currentSnapshotId).toBe(snapshot?.snapshotId)
  })

  it('merges each partition for itself, and only partitions that the condition selects', async () => {
    const properties = { 'write.delete.granularity': 'partition' }
    const lake = await RealLake.create(shop, { partitioned: true, properties })
    for (const region of ['eu', 'us', null]) await lake.append(40, region)
    for (const pick of [0, 1, 2]) for (let n = 0; n < 5; n += 1) await lake.deletePositions(pick, 9 - n)
    const count = (await deletesOf(lake)).length
    expect(await rewrite(lake, { request: { where: "region = 'us'", min_input_files: 2 } })).toMatchObject({
      groups_count: 1,
      added_delete_files_count: 1,
    })
    const details = await rewrite(lake, { request: { min_input_files: 2 }, operationId: 'op-2' })
    expect(details).toMatchObject({ groups_count: 2, added_delete_files_count: 2 })
    expect(count).toBeGreaterThan(6)
    expect(await deletesOf(lake)).toHaveLength(3)
  })

  it('leaves fewer files than the least number alone, unless all are to be rewritten', async () => {
    const lake = await manyDeletes({}, 3)
    expect(await rewrite(lake)).toMatchObject({ rewritten_delete_files_count: 0, snapshot_id: expect.any(String) })
    expect(await rewrite(lake, { request: { rewrite_all: true } })).toMatchObject({ rewritten_delete_files_count: 3 })
  })

  it('keeps deletes of one data file apart, so that a compaction still chooses a file with many', async () => {
    const lake = await RealLake.create(shop)
    await lake.append(40, 'eu')
    await lake.append(40, 'eu')
    const scoped = async (path: string, pos: number) => ({
      file: await lake.positionDeletes(
        [4 * pos, 4 * pos + 1, 4 * pos + 2].map((at) => [path, at] as const),
        {
          referencedDataFile: path,
        },
      ),
    })
    for (const task of await planFiles(await lake.load())) {
      const ids = await lake.positions(task)
      for (let pos = 0; pos < 5; pos += 1) {
        await lake.commitRaw({ deletes: [await scoped(task.dataFile.filePath, pos)] })
        for (const { id, pos: at } of ids) if (at >= 4 * pos && at < 4 * pos + 3) lake.rows.delete(id)
      }
    }
    const chosen = async (): Promise<number> => {
      const table = await lake.load()
      const tasks = await planFiles(table)
      const options = parseCompactionOptions({ target_file_size_bytes: tasks[0]?.dataFile.fileSizeInBytes ?? 1 }, {})
      const { groups } = planCompaction({ metadata: table.metadata, tasks, options })
      return groups.flatMap(({ inputs }) => inputs).length
    }
    expect(await chosen()).toBe(2)
    expect(await rewrite(lake)).toMatchObject({ groups_count: 2, added_delete_files_count: 2 })
    const after = await deletesOf(lake)
    expect(after.map(({ file }) => file.referencedDataFile).toSorted()).toEqual((await pathsOf(lake)).toSorted())
    expect(await chosen()).toBe(2)
  })

  it('leaves no manifest without live files behind', async () => {
    const lake = await manyDeletes()
    for (let n = 0; n < 3; n += 1) {
      await rewrite(lake, { request: { rewrite_all: true }, operationId: `op-${n}` })
      const table = await lake.load()
      const snapshot = currentSnapshot(table.metadata)
      const manifests = snapshot === undefined ? [] : await loadManifests(table, snapshot)
      expect(manifests.filter(({ content }) => content === 'deletes').length).toBeLessThanOrEqual(n === 0 ? 7 : 2)
    }
  })

  it('bounds the pairs of delete files and data files of a group', async () => {
    const { groups } = await planManyDeletes({ dataFiles: 1500, deletes: 1000 })
    expect(groups.length).toBeGreaterThan(1)
    expect(Math.max(...groups.map((group) => group.deletes.length * group.dataFiles.length))).toBeLessThanOrEqual(1e6)
    expect(groups.reduce((sum, group) => sum + group.deletes.length, 0)).toBeGreaterThan(990)
  })

  it('refuses options that it does not have', async () => {
    const lake = await RealLake.create(shop)
    await expect(rewrite(lake, { request: { strategy: 'sort' } })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

describe('dangling deletes', () => {
  it('are dropped: files of data files that are gone, and rows among others', async () => {
    const lake = await manyDeletes({}, 5)
    const [first = ''] = await pathsOf(lake)
    const gone = '/elsewhere/gone.parquet'
    await lake.commitRaw({
      deletes: [
        { file: await lake.positionDeletes([[gone, 1]], { referencedDataFile: gone }) },
        {
          file: await lake.positionDeletes([
            [gone, 1],
            [first, 0],
            [gone, 2],
          ]),
        },
      ],
    })
    expect(await rewrite(lake)).toMatchObject({
      rewritten_delete_files_count: 7,
      dangling_delete_files_count: 1,
      rewritten_deletes_count: 19,
      added_deletes_count: 15,
    })
  })

  it('are dropped without a new file when nothing remains', async () => {
    const lake = await RealLake.create(shop)
    await lake.append(10, 'eu')
    for (let n = 0; n < 5; n += 1) {
      await lake.commitRaw({
        deletes: [
          {
            file: await lake.positionDeletes([
              ['/gone.parquet', n],
              ['/b', 1],
            ]),
          },
        ],
      })
    }
    expect(await rewrite(lake)).toMatchObject({ rewritten_delete_files_count: 5, added_delete_files_count: 0 })
    expect(await deletesOf(lake)).toEqual([])
  })

  it('count as work even when there is only one file', async () => {
    const lake = await RealLake.create(shop)
    await lake.append(10, 'eu')
    const gone = '/gone.parquet'
    await lake.commitRaw({ deletes: [{ file: await lake.positionDeletes([[gone, 1]], { referencedDataFile: gone }) }] })
    expect(await rewrite(lake)).toMatchObject({ rewritten_delete_files_count: 1, dangling_delete_files_count: 1 })
    expect(await deletesOf(lake)).toEqual([])
  })

  it('do not come to apply to a data file that is newer than they are', async () => {
    const lake = await manyDeletes({}, 5)
    const newer = (await planFiles(await lake.load())).find(({ sequenceNumber }) => sequenceNumber === 2)
    const path = newer?.dataFile.filePath ?? ''
    // deletes of a file of the same name, from before this one was added
    const old = await lake.positionDeletes(Array.from({ length: 100 }, (_, pos) => [path, 100 + pos] as const))
    await lake.commitRaw({ deletes: [{ file: old, sequenceNumber: 1 }] })
    expect(await lake.read()).toEqual(lake.expected())
    expect(await rewrite(lake)).toMatchObject({ rewritten_delete_files_count: 6, added_deletes_count: 15 })
  })
})

describe('crafted delete files', () => {
  it('keep their deletes when they spell paths in other ways, repeat positions or exceed files', async () => {
    const lake = await RealLake.create(shop)
    await lake.append(20, 'eu')
    const [path = ''] = await pathsOf(lake)
    const files = [
      [
        [`file://${path}`, 1],
        [`file:${path}`, 2],
        [path, 2],
      ],
      [
        [path, 3],
        [path, 3],
        [path, -1],
        [path, 20],
        [path, 5_000_000_000],
      ],
      [
        [`hdfs://nn:8020${path}`, 4],
        [`${path}x`, 5],
        [path.slice(0, -1), 6],
        [path.toUpperCase(), 7],
      ],
      [[path, 19]],
      [
        [path, 3],
        [`file:///${path}`, 0],
      ],
    ] as const
    for (const rows of files) await lake.commitRaw({ deletes: [{ file: await lake.positionDeletes(rows) }] })
    for (const pos of [0, 1, 2, 3, 4, 19]) lake.rows.delete(pos + 1)
    expect(await lake.read()).toEqual(lake.expected())
    expect(await rewrite(lake)).toMatchObject({ rewritten_delete_files_count: 5, added_deletes_count: 7 })
  })

  it('are refused, with every file kept, when it is unclear which file they are about', async () => {
    const lake = await RealLake.create(shop)
    await lake.append(20, 'eu')
    const [path = ''] = await pathsOf(lake)
    for (let n = 0; n < 5; n += 1)
      await lake.commitRaw({ deletes: [{ file: await lake.positionDeletes([[`file://host${path}`, n]]) }] })
    const [task] = await planFiles(await lake.load())
    expect(task?.dataFile.filePath.startsWith('/')).toBe(true)
    // a path without host is the same file, so the table needs a second data file of that location elsewhere
    const twin = { ...task?.dataFile, filePath: `file:${path}` } as const
    await lake.commitRaw({ data: [{ file: twin as never }] })
    const before = await deletesOf(lake)
    const input = { catalog: lake.catalog, identifier: TABLE, engine: shop.engine, request: {}, operationId: 'op-1' }
    expect((await runDeleteRewrite(input)).failures).toMatchObject([{ files: 5, reason: TWICE }])
    expect(await deletesOf(lake)).toEqual(before)
    await expectNoLeftovers(lake)
  })

  it('are left alone when a file of their partition is also in another partition', async () => {
    const lake = await RealLake.create(shop, { partitioned: true })
    await lake.append(20, 'eu')
    const [task] = await planFiles(await lake.load())
    if (task === undefined) throw new Error('no file')
    await lake.commitRaw({ data: [{ file: { ...task.dataFile, partition: ['us'] } }] })
    for (let n = 0; n < 5; n += 1) {
      const rows = [
        [task.dataFile.filePath, n],
        ['/gone', 1],
      ] as const
      await lake.commitRaw({ deletes: [{ file: await lake.positionDeletes(rows, { partition: ['eu'] }) }] })
    }
    const input = { catalog: lake.catalog, identifier: TABLE, engine: shop.engine, request: {}, operationId: 'op-1' }
    expect(await runDeleteRewrite(input)).toMatchObject({
      rewritten_delete_files_count: 0,
      failures: [{ files: 5, reason: TWICE }],
    })
  })

  it('that the table lists twice are left alone', async () => {
    const lake = await RealLake.create(shop)
    await lake.append(20, 'eu')
    const [path = ''] = await pathsOf(lake)
    const file = await lake.positionDeletes([[path, 1]])
    for (let n = 0; n < 5; n += 1) await lake.commitRaw({ deletes: [{ file }] })
    const input = { catalog: lake.catalog, identifier: TABLE, engine: shop.engine, request: {}, operationId: 'op-1' }
    expect((await runDeleteRewrite(input)).failures).toMatchObject([{ files: 5, reason: 'the table lists them twice' }])
  })

  it('of other partitions do not come to apply when their partition is merged', async () => {
    const lake = await RealLake.create(shop, { partitioned: true })
    await lake.append(20, 'eu')
    await lake.append(20, 'us')
    const tasks = await planFiles(await lake.load())
    const path = tasks.find(({ dataFile }) => dataFile.partition[0] === 'us')?.dataFile.filePath ?? ''
    for (let n = 0; n < 5; n += 1)
      await lake.commitRaw({
        deletes: [
          {
            file: await lake.positionDeletes(
              [
                [path, n],
                ['/gone', 1],
              ],
              { partition: ['eu'] },
            ),
          },
        ],
      })
    expect(await lake.read()).toEqual(lake.expected())
    expect(await rewrite(lake)).toMatchObject({ rewritten_delete_files_count: 5, added_delete_files_count: 0 })
  })

  it('that name a data file of another partition are left alone, with a reason', async () => {
    const lake = await RealLake.create(shop, { partitioned: true })
    await lake.append(20, 'eu')
    await lake.append(20, 'us')
    const tasks = await planFiles(await lake.load())
    const path = tasks.find(({ dataFile }) => dataFile.partition[0] === 'us')?.dataFile.filePath ?? ''
    const ids = await lake.positions(tasks.find(({ dataFile }) => dataFile.filePath === path) ?? (tasks[0] as never))
    for (let n = 0; n < 5; n += 1) {
      const file = await lake.positionDeletes([[path, n]], { partition: ['eu'], referencedDataFile: path })
      await lake.commitRaw({ deletes: [{ file }] })
      lake.rows.delete(ids.find(({ pos }) => pos === n)?.id ?? 0)
    }
    const details = await rewrite(lake)
    expect(details).toMatchObject({ rewritten_delete_files_count: 0 })
    expect(details.failures).toMatchObject([{ files: 5, reason: expect.stringContaining('another partition') }])
  })

  it.each([
    ['a delete file has other rows than its manifest says', 'delete'],
    ['deletes are behind the end that the manifest of a data file says', 'data'],
  ])('are refused when %s', async (_, which) => {
    const lake = await RealLake.create(shop)
    await lake.append(20, 'eu')
    const [task] = await planFiles(await lake.load())
    if (task === undefined) throw new Error('no file')
    const path = `${task.dataFile.filePath}-copy.parquet`
    if (which === 'data') {
      await (await lake.load()).io.create(path, await (await lake.load()).io.read(task.dataFile.filePath))
      await lake.commitRaw({ data: [{ file: { ...task.dataFile, filePath: path, recordCount: 10 } }] })
    }
    const about = which === 'data' ? path : task.dataFile.filePath
    for (let n = 0; n < 5; n += 1) {
      const file = await lake.positionDeletes([[about, 9 + n]], which === 'delete' ? { recordCount: 2 } : {})
      await lake.commitRaw({ deletes: [{ file }] })
    }
    const before = await deletesOf(lake)
    const run = runDeleteRewrite({
      catalog: lake.catalog,
      identifier: TABLE,
      engine: shop.engine,
      request: {},
      operationId: 'op-1',
    })
    await expect(run).rejects.toMatchObject({ code: 'CORRUPT_FILE' })
    expect(await deletesOf(lake)).toEqual(before)
    await expectNoLeftovers(lake)
  })
})

describe('other format versions', () => {
  it('keep deletion vectors and old delete files of an upgraded table, and say what removes these', async () => {
    const lake = await manyDeletes()
    await commitTable(lake.catalog, TABLE, async () => ({
      requirements: [],
      updates: [{ action: 'upgrade-format-version', 'format-version': 3 }],
      writtenFiles: [],
    }))
    const before = await deletesOf(lake)
    const details = await rewrite(lake, { request: { rewrite_all: true } })
    expect(details).toMatchObject({ rewritten_delete_files_count: 0, failures: [{ files: 6 }] })
    expect(details.failures[0]?.reason).toContain('compaction')
    expect(await deletesOf(lake)).toEqual(before)
    const vectors = await RealLake.create(shop, { formatVersion: 3 })
    await vectors.append(20, 'eu')
    await vectors.deletePositions(0, 2)
    expect(await rewrite(vectors)).toMatchObject({ rewritten_delete_files_count: 0, failures: [] })
  })
})

/** Something that happens once, before or after the merge or while the commit waits. */
type Moment = 'before merge' | 'after merge' | 'staged'
const MOMENTS: readonly Moment[] = ['before merge', 'after merge', 'staged']

async function disturbed(lake: RealLake, moment: Moment, work: () => Promise<void>) {
  let pending: (() => Promise<void>) | undefined = work
  const now = async (when: Moment): Promise<void> => {
    if (when !== moment) return
    const todo = pending
    pending = undefined
    await todo?.()
  }
  const engine = engineWith((run) => async (task, options) => {
    await now('before merge')
    const result = await run(task, options)
    await now('after merge')
    return result
  })
  return rewrite(lake, { engine, hooks: { onStaged: () => now('staged') } })
}

describe('a concurrent change', () => {
  it.each(MOMENTS)('of other deletes is kept, and so are its own (%s)', async (moment) => {
    const lake = await manyDeletes()
    expect(await disturbed(lake, moment, () => lake.deletePositions(0, 3))).toMatchObject({
      added_delete_files_count: 1,
    })
    expect(await deletesOf(lake)).toHaveLength(2)
  })

  it.each(MOMENTS)('that compacts the table makes the rewrite plan again (%s)', async (moment) => {
    const lake = await manyDeletes()
    const compact = async (): Promise<void> => {
      await runCompaction({
        catalog: lake.catalog,
        identifier: TABLE,
        engine: shop.engine,
        request: { rewrite_all: true },
        operationId: 'compaction',
      })
    }
    expect(await disturbed(lake, moment, compact)).toMatchObject({ rewritten_delete_files_count: 0 })
    expect(await deletesOf(lake)).toEqual([])
  })

  it.each(MOMENTS)('that rolls back makes the rewrite plan again (%s)', async (moment) => {
    const lake = await manyDeletes()
    const { metadata } = await lake.load()
    const target = metadata.snapshots.at(-2)?.snapshotId ?? 0n
    const before = await lake.read(target)
    const rollback = async (): Promise<void> => {
      await runRollback({ catalog: lake.catalog, identifier: TABLE, snapshotId: target })
      lake.rows.clear()
      for (const row of before) lake.rows.set(row.id, row)
    }
    expect(await disturbed(lake, moment, rollback)).toMatchObject({ rewritten_delete_files_count: 5 })
  })

  it('that brings back a data file of dropped deletes makes the rewrite plan again', async () => {
    const lake = await manyDeletes({}, 5)
    const [task] = await planFiles(await lake.load())
    if (task === undefined) throw new Error('no file')
    const { io } = await lake.load()
    const path = `${task.dataFile.filePath}-back.parquet`
    await io.create(path, await io.read(task.dataFile.filePath))
    const deletes = await lake.positionDeletes([
      [path, 0],
      [task.dataFile.filePath, 0],
    ])
    await lake.commitRaw({ deletes: [{ file: deletes }] })
    let seen: unknown[] = []
    const details = await runDeleteRewrite({
      catalog: lake.catalog,
      identifier: TABLE,
      operationId: 'op-1',
      request: {},
      engine: engineWith((run) => async (task_, options) => {
        const result = await run(task_, options)
        if (seen.length === 0)
          await lake.commitRaw({ data: [{ file: { ...task.dataFile, filePath: path }, sequenceNumber: 1 }] })
        seen = [...seen, result.droppedPaths]
        return result
      }),
    })
    expect(seen).toEqual([[path], []])
    expect(details).toMatchObject({ added_deletes_count: 16 })
    await expectNoLeftovers(lake)
    // the file came back with one row deleted: 200 rows, one of them gone
    expect(await lake.read()).toHaveLength(lake.rows.size + 199)
  })

  it('that never ends fails with a conflict after some rounds, and leaves nothing', async () => {
    const lake = await manyDeletes({}, 6)
    let rounds = 0
    const engine = engineWith((run) => async (task, options) => {
      const result = await run(task, options)
      rounds += 1
      const head = (await lake.load()).metadata.snapshots.at(-2)?.snapshotId ?? 0n
      const { metadata } = await lake.load()
      const current = currentSnapshot(metadata)
      await runRollback({ catalog: lake.catalog, identifier: TABLE, snapshotId: current?.parentSnapshotId ?? head })
      const path = (await pathsOf(lake))[0] ?? ''
      await lake.commitRaw({
        deletes: [
          {
            file: await lake.positionDeletes([
              [path, 0],
              ['/x', 1],
            ]),
          },
        ],
      })
      return result
    })
    const run = runDeleteRewrite({ catalog: lake.catalog, identifier: TABLE, engine, request: {}, operationId: 'op-1' })
    await expect(run).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    expect(rounds).toBe(5)
    await expectNoLeftovers(lake)
  })
})

describe('a rewrite of position deletes that fails', () => {
  it('is abandoned when the engine counts other rows', async () => {
    const lake = await manyDeletes()
    const before = await deletesOf(lake)
    const engine = engineWith((run) => async (task, options) => {
      const result = await run(task, options)
      return { ...result, rowsDeleted: result.rowsWritten + 1 }
    })
    await expect(rewrite(lake, { engine })).rejects.toMatchObject({ code: 'ROWS_NOT_CONSERVED' })
    expect(await deletesOf(lake)).toEqual(before)
    await expectNoLeftovers(lake)
  })

  it('leaves no file when it is cancelled', async () => {
    const lake = await manyDeletes()
    const cancel = new AbortController()
    const run = runDeleteRewrite({
      catalog: lake.catalog,
      identifier: TABLE,
      request: {},
      operationId: 'op-1',
      signal: cancel.signal,
      engine: engineWith((merge) => async (task, options) => {
        const result = await merge(task, options)
        cancel.abort()
        return result
      }),
    })
    await expect(run).rejects.toMatchObject({ code: 'CANCELLED' })
    expect((await lake.list()).filter((file) => file.includes('/op-1-'))).toEqual([])
    expect(await lake.read()).toEqual(lake.expected())
  })

  it.each(['merged', 'staged', 'committed'] as const)(
    'is recovered when its process dies at "%s"; the rows are the same and no file is left over',
    async (moment) => {
      const lake = await manyDeletes()
      const ledger: { cleanup?: OperationCleanup; staged?: StagedCommit } = {}
      const { promise: dead, resolve: die } = Promise.withResolvers<void>()
      const stopHere = (): Promise<never> => {
        die()
        return new Promise(() => {})
      }
      const work = runDeleteRewrite({
        catalog: lake.catalog,
        identifier: TABLE,
        request: {},
        operationId: 'op-dead',
        engine: engineWith((run) => async (task, options) => {
          const result = await run(task, options)
          return moment === 'merged' ? stopHere() : result
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
      expect(await lake.read()).toEqual(lake.expected())
      expect(await deletesOf(lake)).toHaveLength(moment === 'committed' ? 1 : 6)
      await lake.append(2, 'eu')
      const record = { operationId: 'op-dead', ...ledger }
      const result = await reconcileOperation({ catalog: lake.catalog, identifier: TABLE, ...record })
      expect(result).toMatchObject({
        outcome: moment === 'committed' ? 'committed' : 'not-committed',
        failedDeletions: [],
      })
      const ours = (await lake.list()).filter((file) => file.includes('/op-dead-'))
      expect(ours.length > 0).toBe(moment === 'committed')
      expect(await lake.read()).toEqual(lake.expected())
    },
  )
})

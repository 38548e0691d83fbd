import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import type { RewriteResult } from '../../../src/engines/rewrite-result.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import type { CompactionProgress } from '../../../src/maintenance/compaction/progress.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { TABLE } from '../memory-table.ts'
import { RealLake, Workshop } from '../real-lake.ts'
import { LONG, shares } from '../../support/effort.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

let shop: Workshop

beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

let operations = 0

function compaction(lake: RealLake, request: Record<string, unknown> = {}, engine: Engine = shop.engine) {
  operations += 1
  return { catalog: lake.catalog, engine, identifier: TABLE, request, operationId: `op-${operations}` }
}

/** An engine whose rewrites can be observed, delayed and altered. */
function bendEngine(bend: (result: RewriteResult, call: number) => Promise<RewriteResult> | RewriteResult): Engine {
  let calls = 0
  return overriddenEngine(shop.engine, {
    async rewrite(task, options) {
      const call = calls
      calls += 1
      return bend(await shop.engine.rewrite(task, options), call)
    },
  })
}

function bindCatalog(catalog: Catalog): Catalog {
  return {
    name: catalog.name,
    warehouse: catalog.warehouse,
    ping: () => catalog.ping(),
    createNamespace: (namespace) => catalog.createNamespace(namespace),
    listNamespaces: () => catalog.listNamespaces(),
    listTables: (namespace) => catalog.listTables(namespace),
    loadTable: (identifier) => catalog.loadTable(identifier),
    createTable: (identifier, options) => catalog.createTable(identifier, options),
    registerTable: (identifier, location) => catalog.registerTable(identifier, location),
    dropTable: (identifier) => catalog.dropTable(identifier),
    commit: (identifier, request) => catalog.commit(identifier, request),
    close: async () => {},
  }
}

async function lakeWithDeletes(options: Parameters<typeof RealLake.create>[1] = {}) {
  const lake = await RealLake.create(shop, options)
  for (let round = 0; round < 6; round += 1) await lake.append(10, round % 2 === 0 ? 'eu' : 'us')
  await lake.deletePositions(1, 3)
  await lake.upsert([1, 2, 25])
  return lake
}

async function expectRows(lake: RealLake): Promise<void> {
  expect(await lake.read()).toEqual(lake.expected())
}

/** Every file of the table is reachable, and every file that a scan needs exists. */
async function expectNoLeftovers(lake: RealLake, operationId: string): Promise<void> {
  const table = await lake.load()
  const ours = (await lake.list()).filter((file) => file.includes(`/${operationId}-`))
  expect(await findUnreachable(table, ours)).toEqual([])
}

describe('compacting a table', () => {
  it.each([2, 3] as const)('v%i: merges files, applies deletes and changes no row', async (formatVersion) => {
    const lake = await lakeWithDeletes({ formatVersion })
    await expectRows(lake)
    const before = await lake.load()
    const input = compaction(lake)
    const details = await runCompaction(input)
    expect(details).toMatchObject({
      added_data_files_count: 1,
      failed_data_files_count: 0,
      commits_count: 1,
      groups_count: 1,
      base_snapshot_id: String(before.metadata.currentSnapshotId),
      rows_written: lake.rows.size,
    })
    expect(details.rewritten_data_files_count).toBeGreaterThanOrEqual(6)
    expect(details.rows_read - details.rows_deleted).toBe(details.rows_written)
    const after = await lake.load()
    expect(String(after.metadata.currentSnapshotId)).toBe(details.snapshot_id)
    expect(after.metadata.snapshots.at(-1)?.summary).toMatchObject({
      operation: 'replace',
      'lockhouse.operation-id': input.operationId,
    })
    const tasks = await planFiles(after)
    expect(tasks).toHaveLength(1)
    expect(tasks[0]?.deletes).toEqual([])
    expect(tasks[0]?.sequenceNumber).toBe(before.metadata.lastSequenceNumber)
    expect(details.removed_delete_files_count).toBeGreaterThan(0)
    await expectRows(lake)
    await expectNoLeftovers(lake, input.operationId)
    // time travel still works: nothing was deleted
    expect((await lake.read(before.metadata.currentSnapshotId)).length).toBe(lake.rows.size)
  })

  it('keeps partitions apart', async () => {
    const lake = await lakeWithDeletes({ partitioned: true })
    const details = await runCompaction(compaction(lake, { min_input_files: 2 }))
    expect(details).toMatchObject({ groups_count: 2, added_data_files_count: 2, commits_count: 1 })
    expect((await planFiles(await lake.load())).map(({ dataFile }) => dataFile.partition).toSorted()).toEqual([
      ['eu'],
      ['us'],
    ])
    await expectRows(lake)
  })

  it('has nothing to do and commits nothing the second time', LONG, async () => {
    const lake = await lakeWithDeletes()
    await runCompaction(compaction(lake))
    const before = await lake.list()
    expect(await runCompaction(compaction(lake))).toMatchObject({ rewritten_data_files_count: 0, snapshot_id: null })
    expect(await lake.list()).toEqual(before)
  })

  it('compacts only files that match the predicate', async () => {
    const lake = await lakeWithDeletes({ partitioned: true })
    const details = await runCompaction(compaction(lake, { min_input_files: 2, where: "region = 'us'" }))
    expect(details).toMatchObject({ groups_count: 1, added_data_files_count: 1 })
    await expectRows(lake)
  })

  it('sorts on request', async () => {
    const lake = await RealLake.create(shop)
    for (let round = 0; round < 5; round += 1) await lake.append(10, 'eu')
    await runCompaction(compaction(lake, { sort_order: 'id DESC' }))
    const { metadata, io } = await lake.load()
    const inputs = await planFiles(await lake.load())
    const schema = metadata.schemas[0]
    if (schema === undefined) throw new Error('no schema')
    const ids: number[] = []
    for await (const row of shop.engine.readRows({ io, metadata, schema, inputs })) ids.push(Number(row['id']))
    expect(ids).toEqual(Array.from({ length: 50 }, (_, at) => 50 - at))
  })

  it('leaves a table empty when all of its rows are deleted', async () => {
    const lake = await RealLake.create(shop)
    for (let round = 0; round < 5; round += 1) await lake.append(4, 'eu')
    for (let pick = 0; pick < 5; pick += 1) await lake.deletePositions(pick, 1)
    expect(lake.rows.size).toBe(0)
    const details = await runCompaction(compaction(lake))
    expect(details).toMatchObject({ rewritten_data_files_count: 5, added_data_files_count: 0, rows_deleted: 20 })
    expect(await planFiles(await lake.load())).toEqual([])
  })

  it('reports progress up to the total', async () => {
    const lake = await lakeWithDeletes({ partitioned: true })
    const seen: CompactionProgress[] = []
    await runCompaction({
      ...compaction(lake, { min_input_files: 2 }),
      hooks: { onProgress: (progress) => seen.push(progress) },
    })
    const last = seen.at(-1)
    expect(last).toMatchObject({ phase: 'committing', groupsDone: 2, groupsTotal: 2 })
    expect(last?.bytesDone).toBe(last?.bytesTotal)
    expect(last?.filesDone).toBe(last?.filesTotal)
    for (const [at, { bytesDone }] of seen.entries())
      expect(bytesDone).toBeGreaterThanOrEqual(seen[at - 1]?.bytesDone ?? 0)
  })
})

describe('a compaction that must not commit', () => {
  async function expectUnchanged(lake: RealLake, run: () => Promise<unknown>, code: string): Promise<void> {
    const before = await lake.list()
    const { metadataLocation } = await lake.load()
    await expect(run()).rejects.toMatchObject({ code })
    expect((await lake.load()).metadataLocation).toBe(metadataLocation)
    expect(await lake.list()).toEqual(before)
    await expectRows(lake)
  }

  const lies: readonly [string, (result: RewriteResult) => RewriteResult][] = [
    ['loses a row and reports it', (result) => ({ ...result, rowsWritten: result.rowsWritten - 1 })],
    [
      'deletes one row too many',
      (result) => ({ ...result, rowsDeleted: result.rowsDeleted + 1, rowsWritten: result.rowsWritten - 1 }),
    ],
    [
      'reads one row too few',
      (result) => ({ ...result, rowsRead: result.rowsRead - 1, rowsWritten: result.rowsWritten - 1 }),
    ],
    [
      'writes other numbers into the file entry',
      (result) => ({
        ...result,
        files: result.files.map((file) => ({ ...file, recordCount: file.recordCount + 1 })),
      }),
    ],
    ['counts nonsense', (result) => ({ ...result, rowsRead: Number.NaN })],
  ]
  for (const [some, options] of shares(lies, 2)) {
    it.each(some)('discards everything when the engine %s', options, async (_, lie) => {
      const lake = await lakeWithDeletes()
      const bent = bendEngine((result) => lie(result))
      await expectUnchanged(lake, () => runCompaction(compaction(lake, {}, bent)), 'ROWS_NOT_CONSERVED')
    })
  }

  it('discards a rewrite whose engine lost track of its files; recovery finds them by name later', async () => {
    const lake = await lakeWithDeletes()
    const before = await lake.list()
    const input = compaction(
      lake,
      {},
      bendEngine((result) => ({ ...result, files: [] })),
    )
    await expect(runCompaction(input)).rejects.toMatchObject({ code: 'ROWS_NOT_CONSERVED' })
    await expectRows(lake)
    await reconcileOperation({ ...input, cleanup: { prefixes: [input.operationId] } })
    expect(await lake.list()).toEqual(before)
  })

  it('discards results that lose rows without a delete file, or with files of a wrong partition or size', async () => {
    const lake = await RealLake.create(shop, { partitioned: true })
    for (let round = 0; round < 5; round += 1) await lake.append(4, 'eu')
    const run = (bend: (result: RewriteResult) => RewriteResult) => () =>
      runCompaction(compaction(lake, {}, bendEngine(bend)))
    const withFiles = (change: object) => (result: RewriteResult) => ({
      ...result,
      files: result.files.map((file) => ({ ...file, ...change })),
    })
    await expectUnchanged(
      lake,
      run((result) => ({
        ...withFiles({ recordCount: 19 })(result),
        rowsDeleted: 1,
        rowsWritten: 19,
      })),
      'ROWS_NOT_CONSERVED',
    )
    await expectUnchanged(lake, run(withFiles({ partition: ['us'] })), 'ENGINE_FAILED')
    await expectUnchanged(lake, run(withFiles({ fileSizeInBytes: 5 })), 'ENGINE_FAILED')
  })

  it('leaves nothing behind when one of several groups fails', LONG, async () => {
    const lake = await lakeWithDeletes({ partitioned: true })
    const engine = bendEngine((result, call) => {
      if (call === 1) throw new IcebergError('NO_SPACE', 'the disk is full')
      return result
    })
    // the second call wrote its files before it failed; a real engine would have removed them
    const before = await lake.list()
    await expect(
      runCompaction(compaction(lake, { min_input_files: 2, max_concurrent_file_group_rewrites: 1 }, engine)),
    ).rejects.toMatchObject({ code: 'NO_SPACE' })
    expect((await lake.list()).filter((file) => !file.includes('-g1-'))).toEqual(before)
    await expectRows(lake)
  })

  it('leaves nothing behind when it is cancelled, at any time', async () => {
    const lake = await lakeWithDeletes({ partitioned: true })
    for (const moment of ['before', 'rewriting', 'rewritten'] as const) {
      const abort = new AbortController()
      const engine = bendEngine((result) => {
        if (moment === 'rewritten') abort.abort()
        return result
      })
      if (moment === 'before') abort.abort()
      const onProgress = () => {
        if (moment === 'rewriting') abort.abort()
      }
      const input = { ...compaction(lake, { min_input_files: 2 }, engine), signal: abort.signal, hooks: { onProgress } }
      await expectUnchanged(lake, () => runCompaction(input), 'CANCELLED')
    }
  })

  it.each([
    ['did not happen', 'not-committed'],
    ['did happen', 'committed'],
  ] as const)('keeps every file when the outcome of the commit is unknown, and it %s', async (_, outcome) => {
    const lake = await lakeWithDeletes()
    const unsure: Catalog = {
      ...bindCatalog(lake.catalog),
      async commit(identifier, request) {
        if (outcome === 'committed') await lake.catalog.commit(identifier, request)
        throw new IcebergError('COMMIT_STATE_UNKNOWN', 'the connection is gone')
      },
    }
    const input = { ...compaction(lake), catalog: unsure }
    const isOurs = (file: string): boolean => file.includes(`/${input.operationId}-`)
    await expect(runCompaction(input)).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    const kept = (await lake.list()).filter(isOurs)
    expect(kept.length).toBeGreaterThan(2)
    await expectRows(lake)
    const result = await reconcileOperation({ ...input, cleanup: { prefixes: [input.operationId] } })
    expect(result.outcome).toBe(outcome)
    expect((await lake.list()).filter(isOurs)).toEqual(outcome === 'committed' ? kept : [])
    await expectRows(lake)
  })

  it('refuses a stale plan and unsupported files before it writes', async () => {
    const lake = await lakeWithDeletes()
    const stale = { ...compaction(lake), expectedMetadataLocation: '/old.json' }
    await expectUnchanged(lake, () => runCompaction(stale), 'PLAN_STALE')
    await expectUnchanged(
      lake,
      () => runCompaction(compaction(lake, { strategy: 'zorder', columns: ['id', 'nowhere'] })),
      'NO_SUCH_COLUMN',
    )
  })
})

describe('partial progress', () => {
  it('commits in batches and continues when a group fails', LONG, async () => {
    const lake = await RealLake.create(shop, { partitioned: true })
    for (const region of ['a', 'b', 'c', 'd']) for (let round = 0; round < 3; round += 1) await lake.append(3, region)
    const engine = bendEngine((result, call) => (call === 1 ? { ...result, rowsWritten: 0 } : result))
    const request = {
      min_input_files: 2,
      partial_progress: true,
      partial_progress_max_commits: 2,
      max_concurrent_file_group_rewrites: 1,
    }
    const input = compaction(lake, request, engine)
    const details = await runCompaction(input)
    expect(details).toMatchObject({
      rewritten_data_files_count: 9,
      added_data_files_count: 3,
      failed_data_files_count: 3,
      commits_count: 2,
      failures: [{ files: 3, reason: expect.stringContaining('nothing was changed') }],
    })
    await expectRows(lake)
    await expectNoLeftovers(lake, input.operationId)
  })
})

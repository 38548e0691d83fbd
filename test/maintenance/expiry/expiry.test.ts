import { describe, expect, it } from 'vitest'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { parseExpiryOptions } from '../../../src/maintenance/expiry/options.ts'
import { previewExpiry, runExpiry } from '../../../src/maintenance/expiry/expire.ts'
import { MemoryTable, TABLE } from '../memory-table.ts'

const DAY_MS = 86_400_000

async function threeSnapshots(options: Parameters<typeof MemoryTable.create>[0] = {}) {
  const table = await MemoryTable.create(options)
  const old = await table.files(3)
  await table.append(old)
  const kept = await table.files(2)
  await table.append(kept)
  await table.replace(old)
  const nowMs = (await table.load()).metadata.lastUpdatedMs + 10 * DAY_MS
  const run = { catalog: table.catalog, identifier: TABLE, request: {}, nowMs }
  return { table, old, kept, run }
}

describe('expiring snapshots', () => {
  it('deletes only files that expired snapshots alone reach', async () => {
    const { table, old, run } = await threeSnapshots()
    const before = await table.list()
    const preview = await previewExpiry(run)
    expect(await table.list()).toEqual(before)
    const details = await runExpiry(run)
    expect(details).toEqual(preview)
    expect(details).toMatchObject({
      deleted_data_files_count: 3,
      deleted_manifest_lists_count: 2,
      expired_snapshots_count: 2,
      kept_foreign_files_count: 0,
      failed_deletions_count: 0,
    })
    expect(details.freed_bytes).toBeGreaterThan(3000)
    const after = await table.list()
    for (const { filePath } of old) expect(after).not.toContain(filePath)
    const live = await planFiles(await table.load())
    expect(live.map(({ dataFile }) => dataFile.filePath).filter((path) => !after.includes(path))).toEqual([])
    expect(live).toHaveLength(3)
    expect((await table.load()).metadata.snapshots).toHaveLength(1)
  })

  it('does nothing and commits nothing when all snapshots are young', async () => {
    const { table, run } = await threeSnapshots()
    const before = await table.load()
    const details = await runExpiry({ ...run, nowMs: before.metadata.lastUpdatedMs })
    expect(details).toMatchObject({ expired_snapshots_count: 0, deleted_data_files_count: 0 })
    expect((await table.load()).metadataLocation).toBe(before.metadataLocation)
  })

  it('reports a file that cannot be deleted and continues', async () => {
    const io = new StubbornIO()
    const { table, old, run } = await threeSnapshots({ io })
    io.stubborn = old[0]?.filePath
    const details = await runExpiry(run)
    expect(details).toMatchObject({
      deleted_data_files_count: 2,
      failed_deletions_count: 1,
      failed_deletions: [{ location: old[0]?.filePath, reason: 'the disk says no' }],
    })
    expect((await table.load()).metadata.snapshots).toHaveLength(1)
  })

  it('deletes nothing when the lock of the table is lost after the commit', async () => {
    const { table, run } = await threeSnapshots()
    const before = await table.list()
    const confirmations: number[] = []
    const confirm = async (): Promise<void> => {
      confirmations.push((await table.load()).metadata.snapshots.length)
      if (confirmations.length > 1) throw new IcebergError('CANCELLED', 'another process may have taken table ns.t')
    }
    const details = await runExpiry({ ...run, hooks: { confirm } })
    expect(confirmations).toEqual([3, 1]) // before and after the commit
    expect(details).toMatchObject({ expired_snapshots_count: 2, deleted_data_files_count: 0 })
    expect(details.failed_deletions_count).toBeGreaterThan(0)
    expect(await table.list()).toEqual(expect.arrayContaining(before))
  })

  it('keeps files outside the folders of the table, and reports their number', async () => {
    const table = await MemoryTable.create()
    const foreign = await table.file({ filePath: '/elsewhere/imported.parquet' })
    const own = await table.files(2)
    await table.append([foreign, ...own])
    await table.replace([foreign, ...own])
    const nowMs = Date.now() + 10 * DAY_MS
    const details = await runExpiry({ catalog: table.catalog, identifier: TABLE, request: {}, nowMs })
    expect(details).toMatchObject({ deleted_data_files_count: 2, kept_foreign_files_count: 1 })
    expect(await table.list('/elsewhere')).toEqual([foreign.filePath])
  })

  it('records the files to delete before it commits, and deletes only afterwards', async () => {
    const { table, old, run } = await threeSnapshots()
    const before = (await table.load()).metadataLocation
    let recorded: readonly string[] = []
    const onCleanup = async ({ files = [] }: { readonly files?: readonly string[] }): Promise<void> => {
      recorded = files
      expect((await table.load()).metadataLocation).toBe(before)
      expect(await table.list()).toEqual(expect.arrayContaining([...files]))
    }
    const onStaged = async (): Promise<void> => {
      expect(await table.list()).toEqual(expect.arrayContaining([...recorded]))
    }
    await runExpiry({ ...run, hooks: { onCleanup, onStaged } })
    expect(recorded).toEqual(expect.arrayContaining(old.map(({ filePath }) => filePath)))
    const left = await table.list()
    expect(recorded.filter((file) => left.includes(file))).toEqual([])
  })

  it('changes nothing when a hook refuses, when it is cancelled, or when the store fails', async () => {
    const io = new StubbornIO()
    const { table, run } = await threeSnapshots({ io })
    const before = await table.list()
    const pinned = new IcebergError('INVALID_ARGUMENT', 'pinned')
    await expect(runExpiry({ ...run, hooks: { checkExpired: () => Promise.reject(pinned) } })).rejects.toBe(pinned)
    await expect(runExpiry({ ...run, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(await table.list()).toEqual(before)
    io.unreadable = before.find((file) => file.includes('-m0.avro'))
    await expect(runExpiry(run)).rejects.toMatchObject({ code: 'IO_FAILED' })
    expect(await table.list()).toEqual(before)
  })

  it('refuses gc.enabled=false, a stale plan, and invalid options', async () => {
    const { run } = await threeSnapshots({ properties: { 'gc.enabled': 'false' } })
    await expect(runExpiry(run)).rejects.toMatchObject({ code: 'GC_DISABLED' })
    const other = await threeSnapshots()
    await expect(runExpiry({ ...other.run, expectedMetadataLocation: '/old.json' })).rejects.toMatchObject({
      code: 'PLAN_STALE',
    })
    await expect(runExpiry({ ...other.run, request: { retain_last: 0 } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })

  it('keeps a file that an intermediate commit made reachable again', async () => {
    const { table, old, run } = await threeSnapshots()
    const [first] = old
    if (first === undefined) throw new Error('no file')
    let once = true
    const checkExpired = async (): Promise<void> => {
      if (once) await table.append(await table.files(1))
      once = false
    }
    await runExpiry({ ...run, hooks: { checkExpired } })
    const files = await table.list()
    for (const { dataFile } of await planFiles(await table.load())) expect(files).toContain(dataFile.filePath)
    expect(files).not.toContain(first.filePath)
  })
})

describe('options of an expiry', () => {
  it('parse times, counts and ids exactly', () => {
    expect(
      parseExpiryOptions({
        older_than: '2024-05-01T02:00:00+02:00',
        retain_last: 3,
        snapshot_ids: ['9223372036854775807', '1'],
        clean_expired_metadata: true,
        delete_foreign_files: true,
      }),
    ).toEqual({
      olderThanMs: Date.UTC(2024, 4, 1),
      retainLast: 3,
      snapshotIds: [9223372036854775807n, 1n],
      cleanExpiredMetadata: true,
      deleteForeignFiles: true,
    })
    expect(parseExpiryOptions({})).toEqual({ cleanExpiredMetadata: false, deleteForeignFiles: false })
  })

  it.each([
    ['older_than', { older_than: '2024-05-01' }],
    ['older_than', { older_than: 'yesterday' }],
    ['older_than', { older_than: 5 }],
    ['retain_last', { retain_last: 1.5 }],
    ['snapshot_ids', { snapshot_ids: [] }],
    ['snapshot_ids[1]', { snapshot_ids: ['1', 2] }],
    ['snapshot_ids[0]', { snapshot_ids: ['9223372036854775808'] }],
    ['clean_expired_metadata', { clean_expired_metadata: 1 }],
    ['delete_foreign_files', { delete_foreign_files: 'yes' }],
    ['older_then', { older_then: '2024-05-01T00:00:00Z' }],
  ])('refuse an invalid %s by name', (field, request) => {
    expect(() => parseExpiryOptions(request)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(field) }),
    )
  })
})

/** Memory with one file that cannot be deleted, as with file permissions on a disk. */
class StubbornIO extends MemoryFileIO {
  stubborn: string | undefined
  unreadable: string | undefined

  override async read(location: string): Promise<Uint8Array> {
    if (location === this.unreadable) throw new IcebergError('IO_FAILED', 'the store does not answer')
    return super.read(location)
  }

  override async delete(location: string): Promise<void> {
    if (location === this.stubborn) throw new IcebergError('IO_FAILED', 'the disk says no')
    return super.delete(location)
  }
}

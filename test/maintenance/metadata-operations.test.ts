import { describe, expect, it } from 'vitest'
import { IcebergError } from '../../src/iceberg/errors.ts'
import { currentSchema } from '../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import type { ColumnChange } from '../../src/maintenance/evolve.ts'
import { previewEvolve, runEvolve } from '../../src/maintenance/evolve.ts'
import { previewRemoveOrphans, runRemoveOrphans } from '../../src/maintenance/orphans/orphan-files.ts'
import { previewRewriteManifests, runRewriteManifests } from '../../src/maintenance/manifests/rewrite-manifests.ts'
import { previewRollback, runRollback } from '../../src/maintenance/rollback.ts'
import { BY_REGION, MemoryTable, SCHEMA, TABLE } from './memory-table.ts'
import { commitOnce } from '../catalog/support-files.ts'

const DAY_MS = 86_400_000

describe('evolving columns', () => {
  const add: ColumnChange = { kind: 'add_column', name: 'price', type: 'DECIMAL(10, 2)', after: 'id', comment: 'net' }

  it('previews a change, then applies exactly that change', async () => {
    const table = await MemoryTable.create()
    const input = { catalog: table.catalog, identifier: TABLE, change: add }
    const before = await table.list()
    const preview = await previewEvolve(input)
    expect(await table.list()).toEqual(before)
    expect(preview.columns).toEqual([
      { id: 1, name: 'id', path: 'id', type: 'long', nullable: true, comment: null },
      { id: 3, name: 'price', path: 'price', type: 'decimal(10,2)', nullable: true, comment: 'net' },
      { id: 2, name: 'region', path: 'region', type: 'string', nullable: true, comment: null },
    ])
    expect(preview.columns_before).toHaveLength(2)
    const { metadataLocation } = await table.load()
    expect(await runEvolve({ ...input, expectedMetadataLocation: metadataLocation })).toEqual(preview)
    expect(currentSchema((await table.load()).metadata).fields.map(({ name }) => name)).toEqual([
      'id',
      'price',
      'region',
    ])
  })

  it('gives a new id to a column that is dropped and added again', async () => {
    const table = await MemoryTable.create()
    const run = (change: ColumnChange) => runEvolve({ catalog: table.catalog, identifier: TABLE, change })
    await run(add)
    expect(await run({ kind: 'drop_column', name: 'price' })).toMatchObject({ field_id: 3 })
    expect(await run(add)).toMatchObject({ field_id: 4 })
    expect(await run({ kind: 'rename_column', name: 'price', newName: 'cost' })).toMatchObject({ field_id: 4 })
    expect(currentSchema((await table.load()).metadata).fields.map(({ id, name }) => [id, name])).toEqual([
      [1, 'id'],
      [4, 'cost'],
      [2, 'region'],
    ])
  })

  it.each<[ColumnChange, string]>([
    [{ kind: 'drop_column', name: 'region' }, 'SCHEMA_CHANGE_REFUSED'],
    [{ kind: 'drop_column', name: 'nope' }, 'NO_SUCH_COLUMN'],
    [{ kind: 'rename_column', name: 'id', newName: 'region' }, 'SCHEMA_CHANGE_REFUSED'],
    [{ kind: 'add_column', name: 'x', type: 'varchar2(7)' }, 'INVALID_ARGUMENT'],
  ])('refuses %o and changes nothing', async (change, code) => {
    const table = await MemoryTable.create({ partitionSpec: BY_REGION })
    const before = await table.list()
    await expect(runEvolve({ catalog: table.catalog, identifier: TABLE, change })).rejects.toMatchObject({ code })
    await expect(previewEvolve({ catalog: table.catalog, identifier: TABLE, change })).rejects.toMatchObject({ code })
    expect(await table.list()).toEqual(before)
  })

  it('queries the users of the column before it commits, and refuses a stale plan', async () => {
    const table = await MemoryTable.create()
    const before = await table.load()
    const asked: unknown[] = []
    const checkUsers = async (column: unknown): Promise<void> => {
      asked.push(column)
      throw new Error('used by a pipeline')
    }
    const input = { catalog: table.catalog, identifier: TABLE, change: { kind: 'drop_column', name: 'id' } as const }
    await expect(runEvolve({ ...input, hooks: { checkUsers } })).rejects.toThrow('used by a pipeline')
    expect(asked).toMatchObject([{ kind: 'drop_column', name: 'id', fieldId: 1 }])
    expect((await table.load()).metadataLocation).toBe(before.metadataLocation)
    await table.append(await table.files(1))
    await expect(runEvolve({ ...input, expectedMetadataLocation: before.metadataLocation })).rejects.toMatchObject({
      code: 'PLAN_STALE',
    })
  })
})

describe('rolling back', () => {
  it('makes an ancestor current again and keeps the later snapshots', async () => {
    const table = await MemoryTable.create()
    const first = await table.append(await table.files(1))
    await table.append(await table.files(1))
    const last = await table.append(await table.files(1))
    const snapshotId = first.metadata.currentSnapshotId ?? 0n
    const input = { catalog: table.catalog, identifier: TABLE, snapshotId }
    const preview = await previewRollback(input)
    expect(preview).toMatchObject({
      previous_snapshot_id: String(last.metadata.currentSnapshotId),
      current_snapshot_id: String(snapshotId),
      undone_snapshots_count: 2,
    })
    expect(await runRollback(input)).toEqual(preview)
    const after = await table.load()
    expect(after.metadata.currentSnapshotId).toBe(snapshotId)
    expect(after.metadata.snapshots).toHaveLength(3)
    expect(await planFiles(after)).toHaveLength(1)
    const undone = last.metadata.currentSnapshotId ?? 0n
    await expect(runRollback({ ...input, snapshotId: undone })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(runRollback({ ...input, snapshotId: 5n })).rejects.toMatchObject({ code: 'NO_SUCH_SNAPSHOT' })
  })
})

describe('rewriting manifests', () => {
  it('merges small manifests without changing a file, its sequence number or its deletes', async () => {
    const table = await MemoryTable.create({ partitionSpec: BY_REGION })
    for (let round = 0; round < 5; round += 1) {
      await table.append([
        ...(await table.files(2, { partition: ['eu'] })),
        ...(await table.files(1, { partition: ['us'] })),
      ])
    }
    await table.rowDelta([await table.file({ content: 'position-deletes', partition: ['eu'], recordCount: 1 })])
    const input = { catalog: table.catalog, identifier: TABLE, request: {} }
    const before = await planFiles(await table.load())
    const preview = await previewRewriteManifests(input)
    expect(preview).toMatchObject({ rewritten_manifests_count: 5, added_manifests_count: 1 })
    const details = await runRewriteManifests({ ...input, operationId: 'op-1' })
    expect(details).toMatchObject({ rewritten_manifests_count: 5, added_manifests_count: 1 })
    const after = await table.load()
    const sorted = (tasks: typeof before) =>
      tasks.toSorted((a, b) => (a.dataFile.filePath < b.dataFile.filePath ? -1 : 1))
    expect(sorted(await planFiles(after))).toEqual(sorted(before))
    const snapshot = after.metadata.snapshots.at(-1)
    expect(snapshot?.summary).toMatchObject({
      operation: 'replace',
      'manifests-created': '1',
      'manifests-kept': '1',
      'manifests-replaced': '5',
      'entries-processed': '15',
      'total-data-files': '15',
      'total-records': '150',
      'total-delete-files': '1',
    })
    expect(details.snapshot_id).toBe(String(snapshot?.snapshotId))
    const { metadataLocation } = after
    expect(await runRewriteManifests({ ...input, operationId: 'op-2' })).toMatchObject({ rewritten_manifests_count: 0 })
    expect((await table.load()).metadataLocation).toBe(metadataLocation)
  })

  it('keeps first row ids in format version 3', async () => {
    const table = await MemoryTable.create({ formatVersion: 3 })
    for (let round = 0; round < 3; round += 1) await table.append(await table.files(2))
    const rowIds = async () =>
      (await planFiles(await table.load()))
        .map(({ dataFile }) => [dataFile.filePath, dataFile.firstRowId] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
    const before = await rowIds()
    expect(before.every(([, firstRowId]) => firstRowId !== undefined)).toBe(true)
    await runRewriteManifests({ catalog: table.catalog, identifier: TABLE, request: {}, operationId: 'op-1' })
    expect(await rowIds()).toEqual(before)
  })

  it('has nothing to do for an empty table, and refuses unknown options', async () => {
    const table = await MemoryTable.create()
    const input = { catalog: table.catalog, identifier: TABLE, operationId: 'op-1' }
    expect(await runRewriteManifests({ ...input, request: {} })).toMatchObject({ snapshot_id: null })
    await expect(runRewriteManifests({ ...input, request: { sort_by: ['x'] } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })
})

describe('removing orphan files', () => {
  async function withOrphans() {
    const table = await MemoryTable.create()
    await table.append(await table.files(2))
    await table.append(await table.files(2))
    const strays = [
      '/wh/ns/t/data/stray.parquet',
      '/wh/ns/t/metadata/stray-m0.avro',
      '/wh/ns/t/data/region=x/s.parquet',
    ]
    for (const stray of strays) await table.io.write(stray, new Uint8Array(7))
    const run = { catalog: table.catalog, identifier: TABLE, request: {}, nowMs: Date.now() + 4 * DAY_MS }
    return { table, strays, run }
  }

  it('finds and deletes exactly the unreachable files', async () => {
    const { table, strays, run } = await withOrphans()
    const before = await table.list()
    const preview = await previewRemoveOrphans(run)
    expect(preview).toMatchObject({ orphan_files_count: 3, freed_bytes: 21 })
    expect([...preview.orphan_file_locations].sort()).toEqual([...strays].sort())
    expect(await table.list()).toEqual(before)
    expect(await runRemoveOrphans(run)).toMatchObject({ deleted_files_count: 3, failed_deletions_count: 0 })
    expect(await table.list()).toEqual(before.filter((file) => !strays.includes(file)))
  })

  it('deletes nothing when the lock of the table is lost during the listing', async () => {
    const { table, run } = await withOrphans()
    const before = await table.list()
    const lost = new IcebergError('CANCELLED', 'another process may have taken table ns.t')
    await expect(runRemoveOrphans({ ...run, confirm: async () => Promise.reject(lost) })).rejects.toBe(lost)
    expect(await table.list()).toEqual(before)
  })

  it('never deletes files younger than the cutoff, hidden files, the version hint or nested tables', async () => {
    const { table, run } = await withOrphans()
    expect(await runRemoveOrphans({ ...run, nowMs: Date.now() })).toMatchObject({ orphan_files_count: 0 })
    await runRemoveOrphans(run)
    const spared = [
      '/wh/ns/t/_hidden/a.parquet',
      '/wh/ns/t/data/.crc',
      '/wh/ns/t/metadata/version-hint.text',
      '/wh/ns/t/nested/metadata/v1.metadata.json',
      '/wh/ns/t/nested/data/a.parquet',
    ]
    for (const file of spared) await table.io.write(file, new Uint8Array(1))
    await table.io.write('/wh/ns/t/data/_p=1/a.parquet', new Uint8Array(1))
    expect((await previewRemoveOrphans(run)).orphan_file_locations).toEqual(['/wh/ns/t/data/_p=1/a.parquet'])
  })

  it('refuses an age of less than 24 hours, gc.enabled=false and shared folders', async () => {
    const { table, run } = await withOrphans()
    const young = new Date(run.nowMs - DAY_MS + 1).toISOString()
    await expect(runRemoveOrphans({ ...run, request: { older_than: young } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('24 hours'),
    })
    const inner = { namespace: ['ns'], name: 'inner' }
    const shared = { 'write.data.path': '/wh/ns/t/data' }
    const overlap = { code: 'TABLES_OVERLAP', message: expect.stringContaining('ns.t') }
    const created = table.catalog.createTable(inner, { schema: SCHEMA, properties: shared })
    await expect(created).rejects.toMatchObject(overlap)
    await table.catalog.createTable(inner, { schema: SCHEMA })
    const updates = [{ action: 'set-properties', updates: shared }] as const
    await commitOnce(table.catalog, inner, { requirements: [], updates })
    await expect(runRemoveOrphans(run)).rejects.toMatchObject({
      ...overlap,
      message: expect.stringContaining('ns.inner'),
    })
    const pinned = await MemoryTable.create({ properties: { 'gc.enabled': 'false' } })
    await expect(runRemoveOrphans({ ...run, catalog: pinned.catalog })).rejects.toMatchObject({ code: 'GC_DISABLED' })
  })

  it('keeps files of every snapshot, and deletes nothing when a manifest cannot be read', async () => {
    const { table, run } = await withOrphans()
    const files = await table.files(2)
    await table.append(files)
    await table.replace(files) // only an older snapshot reaches them now
    await runRemoveOrphans(run)
    const left = await table.list()
    for (const { filePath } of files) expect(left).toContain(filePath)
    await table.io.write('/wh/ns/t/data/stray2.parquet', new Uint8Array(1))
    await table.io.write(left.find((file) => file.includes('-m0.avro')) ?? '', new Uint8Array(9))
    await expect(runRemoveOrphans(run)).rejects.toMatchObject({ code: 'CORRUPT_FILE' })
    expect(await table.list()).toContain('/wh/ns/t/data/stray2.parquet')
  })
})

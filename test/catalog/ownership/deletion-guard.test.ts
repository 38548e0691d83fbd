import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import { previewExpiry, runExpiry } from '../../../src/maintenance/expiry/expire.ts'
import { previewRemoveOrphans, runRemoveOrphans } from '../../../src/maintenance/orphans/orphan-files.ts'
import { reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { SharedLake } from './shared-lake.ts'
import { commitOnce } from '../support-files.ts'
import type { StagedCommit } from '../../../src/iceberg/update/staged-commit.ts'

let lake: SharedLake
beforeEach(async () => {
  lake = await SharedLake.open()
})
afterEach(() => lake.close())

/** A table with a file, and everything that the table needs. */
async function neighbour(name: string): Promise<{ files: ReadonlySet<string>; data: string }> {
  await lake.create(name)
  const file = await lake.file(name)
  await lake.append(name, [file])
  return { files: await lake.reachable(name), data: file.filePath }
}

/** `db.t` with a snapshot that names the files, and a later one that no longer does. */
async function expiring(locations: readonly string[]): Promise<void> {
  await lake.append('t', [await lake.file('t'), ...locations.map((location) => lake.describe(location))])
  await lake.replace('t')
}

describe('files of other tables', () => {
  it.each(['data', 'location', 'inner', 'outer'])(
    "stay when the table's folders point to them (%s), and the answer reports it",
    async (how) => {
      await lake.create('t')
      const other = await neighbour('other')
      await expiring([other.data])
      const folder = `${lake.warehouse}/db/other`
      if (how === 'data') await lake.setProperties('t', { 'write.data.path': `${folder}/data` })
      if (how === 'inner') await lake.setProperties('t', { 'write.object-storage.path': `${folder}/data/../data/x` })
      if (how === 'outer') await lake.setProperties('t', { 'write.data.path': lake.warehouse })
      if (how === 'location') await lake.setLocation('t', `file:${folder}`)
      const preview = await previewExpiry(lake.run('t', { delete_foreign_files: true }))
      const details = await runExpiry(lake.run('t', { delete_foreign_files: true }))
      expect(details).toEqual(preview)
      expect(details.kept_files).toContainEqual({ location: other.data, reason: 'in_other_table', table: 'db.other' })
      expect(details.kept_shared_files_count).toBeGreaterThan(0)
      expect(details.expired_snapshots_count).toBe(1)
      expect(await lake.missing(other.files)).toEqual([])
    },
  )

  it("stay when they are inside this table's folder, as after an import from it", async () => {
    await lake.create('t')
    await lake.create('importer')
    const shared = await lake.file('t')
    const own = await lake.file('t')
    await lake.append('t', [shared, own])
    await lake.append('importer', [lake.describe(shared.filePath)])
    await lake.replace('t')
    const details = await runExpiry(lake.run('t'))
    expect(details).toMatchObject({ deleted_data_files_count: 1, kept_shared_files_count: 1 })
    expect(details.kept_files).toEqual([
      { location: shared.filePath, reason: 'used_by_other_table', table: 'db.importer' },
    ])
    expect(await lake.missing(await lake.reachable('importer'))).toEqual([])
    // now only the importer reaches it: it is not an orphan either
    const orphans = await runRemoveOrphans(lake.run('t'))
    expect(orphans).toMatchObject({ kept_shared_files_count: 1, kept_files: details.kept_files })
    expect(await lake.missing([shared.filePath])).toEqual([])
    await lake.catalog.dropTable(lake.id('importer'))
    expect(await runRemoveOrphans(lake.run('t'))).toMatchObject({ orphan_file_locations: [shared.filePath] })
  })

  it('stay when another name of the folder leads to them', async () => {
    await lake.create('t')
    const other = await neighbour('other')
    const link = `${lake.warehouse}/db/t/data/linked`
    await mkdir(join(link, '..'), { recursive: true })
    await symlink(`${lake.warehouse}/db/other/data`, link)
    await expiring([other.data.replace(`${lake.warehouse}/db/other/data`, link)])
    const details = await runExpiry(lake.run('t'))
    expect(details.kept_files).toMatchObject([{ reason: 'in_other_table', table: 'db.other' }])
    expect(await lake.missing(other.files)).toEqual([])
  })

  it('stay when a crash left them in the list of an expiry', async () => {
    await lake.create('t')
    const other = await neighbour('other')
    await expiring([])
    await lake.setProperties('t', { 'write.data.path': lake.warehouse })
    let staged: StagedCommit | undefined
    const onStaged = async (commit: StagedCommit): Promise<void> => {
      staged = commit
    }
    const { identifier, catalog } = lake.run('t')
    const updates = [{ action: 'set-properties', updates: { a: 'b' } }] as const
    await commitTable(catalog, identifier, async () => ({ updates, requirements: [], writtenFiles: [] }), { onStaged })
    const result = await reconcileOperation({
      catalog,
      identifier,
      operationId: 'op-1',
      ...(staged && { staged }),
      cleanup: { files: [other.data] },
    })
    expect(result).toMatchObject({ outcome: 'committed', deletedFiles: [] })
    expect(await lake.missing(other.files)).toEqual([])
  })

  it('stay when a table gets a second name during its expiry', async () => {
    await lake.create('t')
    await expiring([])
    const before = await lake.reachable('t')
    const { metadataLocation } = await lake.load('t')
    const onStaged = (): Promise<void> => lake.plant('twin', metadataLocation)
    const details = await runExpiry({ ...lake.run('t'), hooks: { onStaged } })
    expect(details).toMatchObject({ deleted_data_files_count: 0, expired_snapshots_count: 1 })
    expect(details.kept_files[0]).toMatchObject({ reason: 'same_table', table: 'db.twin' })
    expect(await lake.missing(before)).toEqual([])
    expect(await lake.missing(await lake.reachable('twin'))).toEqual([])
  })

  it('are not trimmed with the metadata of a table that has a second name', async () => {
    await lake.create('t', {
      'write.metadata.delete-after-commit.enabled': 'true',
      'write.metadata.previous-versions-max': '1',
    })
    const { metadataLocation } = await lake.load('t')
    await lake.plant('twin', `file:${metadataLocation.replace('/db/', '//db/')}`)
    for (let i = 0; i < 3; i++) await lake.setProperties('t', { a: `${i}` })
    expect((await lake.load('twin')).metadata.properties).not.toHaveProperty('a')
    expect(await lake.missing([metadataLocation])).toEqual([])
  })
})

describe('imported files', () => {
  it('stay and are reported; on request they are deleted, if inside allowed locations and unused by others', async () => {
    await lake.create('t')
    const imported = `${lake.warehouse}/imports/a.parquet`
    const used = `${lake.warehouse}/imports/b.parquet`
    const outside = `${lake.folder}/outside.parquet`
    for (const file of [imported, used]) await lake.file('t', file)
    await writeFile(outside, 'x')
    await writeFile(`${lake.folder}/behind.parquet`, 'x')
    await mkdir(`${lake.warehouse}/way`)
    await symlink(lake.folder, `${lake.warehouse}/way/out`)
    const linked = `${lake.warehouse}/way/out/behind.parquet`
    await lake.create('importer')
    await lake.append('importer', [lake.describe(used)])
    const foreign = [imported, used, outside, linked]
    await expiring(foreign)
    const kept = await previewExpiry(lake.run('t'))
    expect(kept).toMatchObject({ kept_foreign_files_count: 4, deleted_foreign_files_count: 0 })
    expect(kept.kept_files).toContainEqual({ location: imported, reason: 'outside_table', table: null })
    const details = await runExpiry(lake.run('t', { delete_foreign_files: true }))
    expect(details).toMatchObject({ deleted_foreign_files_count: 1, kept_foreign_files_count: 2, failed_deletions: [] })
    expect(details.kept_files).toEqual(
      expect.arrayContaining([
        { location: used, reason: 'used_by_other_table', table: 'db.importer' },
        { location: outside, reason: 'outside_allowed_locations', table: null },
        { location: linked, reason: 'outside_allowed_locations', table: null },
      ]),
    )
    expect(await lake.missing([imported, used])).toEqual([imported])
  })
})

describe('unreadable tables', () => {
  const ruins = {
    'has lost its metadata': (file: string) => rm(file),
    'has damaged metadata': (file: string) => writeFile(file, '{'),
    'has an unsupported format version': (file: string) => writeFile(file, '{"format-version": 9}'),
  }

  it.each(Object.keys(ruins) as (keyof typeof ruins)[])(
    'a table that %s is reported, and blocks only tables that share its folders',
    async (how) => {
      await lake.create('t')
      await expiring([])
      const { metadataLocation } = await lake.create('ruin')
      await ruins[how](metadataLocation)
      const stray = `${lake.warehouse}/db/t/data/stray.parquet`
      await lake.file('t', stray)
      const unread = [{ table: 'db.ruin', reason: expect.not.stringContaining(lake.folder) }]
      const removed = await runRemoveOrphans(lake.run('t'))
      expect(removed).toMatchObject({ orphan_file_locations: [stray], unread_tables: unread })
      const expired = await runExpiry(lake.run('t'))
      expect(expired).toMatchObject({ deleted_data_files_count: 1, unread_tables: unread })
      await lake.setLocation('t', `${lake.warehouse}/db`)
      await expect(previewRemoveOrphans(lake.run('t'))).rejects.toMatchObject({
        code: 'TABLES_OVERLAP',
        message: expect.stringContaining('db.ruin'),
      })
    },
  )

  it('a table without read permission is reported, as is one in an unsupported store', async () => {
    await lake.create('t')
    await expiring([])
    await lake.plant('far', 's3://bucket/wh/far/metadata/00000-a.metadata.json')
    const { metadataLocation } = await lake.create('locked')
    await chmod(metadataLocation, 0o000)
    const { unread_tables: unread } = await runExpiry(lake.run('t'))
    const isRoot = process.getuid?.() === 0
    expect(unread.map(({ table }) => table).toSorted()).toEqual(isRoot ? ['db.far'] : ['db.far', 'db.locked'])
  })

  it('a neighbour without some manifests is reported, and its known files stay', async () => {
    await lake.create('t')
    await lake.create('importer')
    const shared = await lake.file('t')
    await lake.append('t', [shared])
    await lake.append('importer', [lake.describe(shared.filePath)])
    const torn = await lake.append('importer', [await lake.file('importer')])
    const list = torn.metadata.snapshots.at(-1)?.manifestList ?? ''
    await rename(list, `${list}.gone`)
    await lake.replace('t')
    const details = await runExpiry(lake.run('t'))
    expect(details.unread_tables).toMatchObject([{ table: 'db.importer' }])
    expect(await lake.missing([shared.filePath])).toEqual([])
  })

  it.each(['list', 'manifest'] as const)('a missing %s of an old snapshot does not block expiry', async (what) => {
    await lake.create('t')
    const first = await lake.file('t')
    await lake.append('t', [first])
    await lake.replace('t')
    await lake.replace('t')
    const table = await lake.load('t')
    const [, middle] = table.metadata.snapshots
    const manifests = middle === undefined ? [] : await loadManifests(table, middle)
    const own = manifests.find(
      ({ addedSnapshotId, content }) => addedSnapshotId === middle?.snapshotId && content === 'data',
    )
    await rm((what === 'list' ? middle?.manifestList : own?.manifestPath) ?? '')
    const live = await lake.file('t')
    await lake.append('t', [live])
    const details = await runExpiry(lake.run('t'))
    expect(details).toMatchObject({ expired_snapshots_count: 3, kept_unknown_files_count: 0 })
    expect(details.unread_snapshots).toContainEqual({
      snapshot_id: middle?.snapshotId.toString(),
      is_kept: false,
      reason: expect.not.stringContaining(lake.folder),
    })
    expect(details.deleted_manifest_lists_count).toBeGreaterThan(0)
    expect(await lake.missing([first.filePath])).toEqual([first.filePath])
    expect(await lake.missing(await lake.reachable('t'))).toEqual([])
    const again = await runExpiry(lake.run('t'))
    expect(again).toMatchObject({ expired_snapshots_count: 0, unread_snapshots: [] })
  })

  it('a missing manifest list of a remaining snapshot keeps every file that the snapshot may need', async () => {
    await lake.create('t')
    const first = await lake.file('t')
    await lake.append('t', [first])
    await lake.replace('t')
    const { metadata } = await lake.append('t', [await lake.file('t')])
    const [oldest, tagged] = metadata.snapshots
    const ref = { 'ref-name': 'keep', type: 'tag', 'snapshot-id': tagged?.snapshotId ?? 0n }
    await commitOnce(lake.catalog, lake.id('t'), {
      requirements: [],
      updates: [{ action: 'set-snapshot-ref', ...ref }],
    })
    const files = await lake.reachable('t')
    await rm(tagged?.manifestList ?? '')
    const details = await runExpiry(lake.run('t'))
    expect(details).toMatchObject({
      expired_snapshots_count: 1,
      deleted_data_files_count: 0,
      deleted_manifest_files_count: 0,
      deleted_manifest_lists_count: 1,
      unread_snapshots: [{ snapshot_id: tagged?.snapshotId.toString(), is_kept: true }],
    })
    expect(details.kept_unknown_files_count).toBeGreaterThan(0)
    expect(details.kept_files).toContainEqual({ location: expect.any(String), reason: 'may_be_needed', table: null })
    const lists = [oldest?.manifestList, tagged?.manifestList]
    expect((await lake.missing(files)).toSorted()).toEqual(lists.toSorted())
  })
})

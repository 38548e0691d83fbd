import { describe, expect, it } from 'vitest'
import { loadEntries, loadManifests } from '../../../../src/iceberg/manifest/cache.ts'
import { currentSnapshot } from '../../../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../../../src/iceberg/update/stage/stage-append.ts'
import { byPart, TableFixture } from '../../../support/table-fixture.ts'

describe('stageAppend', () => {
  it('makes the first snapshot', async () => {
    const t = await TableFixture.create({ partitionSpec: byPart })
    const files = [await t.dataFile([1]), await t.dataFile([2], { recordCount: 7 })]
    const staged = await t.commit((table) =>
      stageAppend(table, { files, operationId: 'op-1', summary: { batch: '7' } }),
    )
    const snapshot = currentSnapshot(t.table.metadata)
    expect(snapshot).toMatchObject({ snapshotId: staged.snapshotId, sequenceNumber: 1, schemaId: 0 })
    expect(snapshot?.parentSnapshotId).toBeUndefined()
    expect(snapshot?.summary).toEqual({
      operation: 'append',
      'added-data-files': '2',
      'added-records': '107',
      'added-files-size': '2000',
      'changed-partition-count': '2',
      'total-data-files': '2',
      'total-delete-files': '0',
      'total-records': '107',
      'total-files-size': '2000',
      'total-position-deletes': '0',
      'total-equality-deletes': '0',
      batch: '7',
      'lockhouse.operation-id': 'op-1',
    })
    expect(staged.requirements).toContainEqual({ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null })
    const tasks = await planFiles(t.table)
    expect(tasks.map((task) => task.dataFile.filePath)).toEqual(files.map((file) => file.filePath))
    expect(tasks.every((task) => task.sequenceNumber === 1 && task.fileSequenceNumber === 1)).toBe(true)
    for (const location of staged.writtenFiles) expect(location.split('/').at(-1)).toMatch(/^op-1-/)
  })

  it('keeps all manifests of the parent unchanged', async () => {
    const t = await TableFixture.create()
    for (let i = 0; i < 3; i++) {
      const files = [await t.dataFile()]
      const before = t.table
      const kept = currentSnapshot(before.metadata)
      const manifests = kept === undefined ? [] : await loadManifests(before, kept)
      await t.commit((table) => stageAppend(table, { files, operationId: `op-${i}` }))
      const snapshot = currentSnapshot(t.table.metadata)
      if (snapshot === undefined) throw new Error('no snapshot')
      const [added, ...rest] = await loadManifests(t.table, snapshot)
      expect(rest).toEqual(manifests)
      expect(added).toMatchObject({ addedFilesCount: 1, sequenceNumber: i + 1, minSequenceNumber: i + 1 })
    }
    expect((await planFiles(t.table)).map((task) => task.sequenceNumber)).toEqual([3, 2, 1])
    expect(currentSnapshot(t.table.metadata)?.summary).toMatchObject({
      'total-data-files': '3',
      'total-records': '300',
    })
  })

  it('splits manifests at the target size', async () => {
    const t = await TableFixture.create({ properties: { 'commit.manifest.target-size-bytes': '20000' } })
    const template = await t.dataFile()
    const files = Array.from({ length: 3000 }, (_, i) => ({
      ...template,
      filePath: `${template.filePath}-${i * 7919}`,
    }))
    await t.commit((table) => stageAppend(table, { files, operationId: 'op' }))
    const snapshot = currentSnapshot(t.table.metadata)
    if (snapshot === undefined) throw new Error('no snapshot')
    const manifests = await loadManifests(t.table, snapshot)
    expect(manifests.length).toBeGreaterThan(1)
    for (const manifest of manifests) expect(manifest.manifestLength).toBeLessThan(40_000)
    expect((await planFiles(t.table)).map((task) => task.dataFile.filePath)).toEqual(files.map((file) => file.filePath))
  })

  it('assigns v3 row ids without gaps', async () => {
    const t = await TableFixture.create({ formatVersion: 3 })
    const counts = [5, 3, 2]
    for (const recordCount of counts) {
      const files = [await t.dataFile([], { recordCount }), await t.dataFile([], { recordCount: 10 })]
      await t.commit((table) => stageAppend(table, { files, operationId: 'op' }))
    }
    expect(t.table.metadata.nextRowId).toBe(40)
    expect(t.table.metadata.snapshots.map(({ firstRowId, addedRows }) => [firstRowId, addedRows])).toEqual([
      [0, 15],
      [15, 13],
      [28, 12],
    ])
    const firstIds = (await planFiles(t.table)).map((task) => task.dataFile.firstRowId)
    expect(firstIds).toEqual([28, 30, 15, 18, 0, 5])
  })

  it('refuses files that do not belong and leaves nothing behind', async () => {
    const t = await TableFixture.create({ partitionSpec: byPart })
    const file = await t.dataFile([1])
    const bad = [
      [file, file],
      [{ ...file, specId: 4 }],
      [{ ...file, partition: [] }],
      [{ ...file, content: 'equality-deletes' as const }],
      [{ ...file, recordCount: Number.NaN }],
    ]
    for (const files of bad) {
      const attempt = stageAppend(t.table, { files, operationId: 'op' })
      await expect(attempt).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
    const attempt = stageAppend(t.table, { files: [file], operationId: '../escape' })
    await expect(attempt).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    const left = []
    for await (const { location } of t.io.list(`${t.table.metadata.location}/metadata`)) left.push(location)
    expect(left).toEqual([t.table.metadataLocation])
  })

  it('carries explicit statuses and sequence numbers in entries', async () => {
    const t = await TableFixture.create()
    const files = [await t.dataFile()]
    const staged = await t.commit((table) => stageAppend(table, { files, operationId: 'op' }))
    const snapshot = currentSnapshot(t.table.metadata)
    if (snapshot === undefined) throw new Error('no snapshot')
    const [manifest] = await loadManifests(t.table, snapshot)
    if (manifest === undefined) throw new Error('no manifest')
    expect(await loadEntries(t.table, manifest)).toMatchObject([
      { status: 'added', snapshotId: staged.snapshotId, sequenceNumber: 1, fileSequenceNumber: 1 },
    ])
  })
})

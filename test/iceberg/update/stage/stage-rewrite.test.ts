import { beforeEach, describe, expect, it } from 'vitest'
import { loadEntries, loadManifests } from '../../../../src/iceberg/manifest/cache.ts'
import type { DataFile, ManifestEntry, ManifestFile } from '../../../../src/iceberg/manifest/manifest.ts'
import { currentSnapshot } from '../../../../src/iceberg/metadata/metadata.ts'
import { partitionSpecToJson } from '../../../../src/iceberg/partitioning/partitioning.ts'
import { schemaToJson } from '../../../../src/iceberg/schema/schema.ts'
import { loadDeletes, planFiles } from '../../../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../../../src/iceberg/update/stage/stage-rewrite.ts'
import type { RewriteOptions } from '../../../../src/iceberg/update/stage/stage-rewrite.ts'
import { stageRowDelta } from '../../../../src/iceberg/update/stage/stage-row-delta.ts'
import { byPart, fixtureSchema, TableFixture } from '../../../support/table-fixture.ts'

type Rewrite = Omit<RewriteOptions, 'operationId'>

/** A rewrite that starts at the table as it is. */
function rewriteFromHere(t: TableFixture, replaced: readonly DataFile[], added: readonly DataFile[]): Rewrite {
  const start = currentSnapshot(t.table.metadata)
  if (start === undefined) throw new Error('no snapshot')
  const { snapshotId: startingSnapshotId, sequenceNumber: startingSequenceNumber } = start
  return { startingSnapshotId, startingSequenceNumber, replaced, added }
}

const commitRewrite = (t: TableFixture, rewrite: Rewrite) =>
  t.commit((table) => stageRewrite(table, { ...rewrite, operationId: 'rewrite' }))

const append = (t: TableFixture, ...files: DataFile[]) =>
  t.commit((table) => stageAppend(table, { files, operationId: 'append' }))

const deleteRows = (t: TableFixture, ...deleteFiles: DataFile[]) =>
  t.commit((table) => stageRowDelta(table, { dataFiles: [], deleteFiles, operationId: 'delete' }))

async function manifestsOf(t: TableFixture): Promise<readonly ManifestFile[]> {
  const snapshot = currentSnapshot(t.table.metadata)
  return snapshot === undefined ? [] : loadManifests(t.table, snapshot)
}

async function entriesOf(t: TableFixture): Promise<readonly ManifestEntry[]> {
  const manifests = await manifestsOf(t)
  return (await Promise.all(manifests.map((manifest) => loadEntries(t.table, manifest)))).flat()
}

const livePaths = async (t: TableFixture): Promise<string[]> =>
  (await planFiles(t.table)).map((task) => task.dataFile.filePath).toSorted()

const liveDeletes = async (t: TableFixture): Promise<string[]> =>
  (await loadDeletes(t.table, await manifestsOf(t))).map((ref) => ref.file.filePath).toSorted()

async function listMetadata(t: TableFixture): Promise<string[]> {
  const found: string[] = []
  for await (const { location } of t.io.list(`${t.table.metadata.location}/metadata`)) found.push(location)
  return found.toSorted()
}

/** Expects a refusal, and that it left the metadata folder as it was. */
async function expectRefused(t: TableFixture, rewrite: Rewrite, code: string, message = ''): Promise<void> {
  const before = await listMetadata(t)
  const attempt = stageRewrite(t.table, { ...rewrite, operationId: 'rewrite' })
  await expect(attempt).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  expect(await listMetadata(t)).toEqual(before)
}

describe('stageRewrite', () => {
  let t: TableFixture
  let a: DataFile
  let b: DataFile
  let c: DataFile
  let merged: DataFile

  beforeEach(async () => {
    t = await TableFixture.create({ partitionSpec: byPart })
    a = await t.dataFile([1])
    b = await t.dataFile([1])
    c = await t.dataFile([2])
    merged = await t.dataFile([1], { recordCount: 200 })
    await append(t, a, c)
    await append(t, b)
  })

  it('replaces files and records it in entries, sequence numbers and summary', async () => {
    const start = t.table.metadata
    const staged = await commitRewrite(t, rewriteFromHere(t, [a, b], [merged]))
    expect(await livePaths(t)).toEqual([c.filePath, merged.filePath].toSorted())
    expect(currentSnapshot(t.table.metadata)).toMatchObject({
      sequenceNumber: 3,
      parentSnapshotId: start.currentSnapshotId,
    })
    expect(staged.summary).toMatchObject({
      operation: 'replace',
      'added-data-files': '1',
      'deleted-data-files': '2',
      'added-records': '200',
      'deleted-records': '200',
      'total-data-files': '2',
      'total-records': '300',
      'total-files-size': '2000',
      'changed-partition-count': '1',
      'lockhouse.operation-id': 'rewrite',
    })
    const byPath = new Map((await entriesOf(t)).map((entry) => [entry.dataFile.filePath, entry]))
    const id = staged.snapshotId
    expect(byPath.get(merged.filePath)).toMatchObject({
      status: 'added',
      snapshotId: id,
      sequenceNumber: 2,
      fileSequenceNumber: 3,
    })
    expect(byPath.get(a.filePath)).toMatchObject({
      status: 'deleted',
      snapshotId: id,
      sequenceNumber: 1,
      fileSequenceNumber: 1,
    })
    expect(byPath.get(b.filePath)).toMatchObject({
      status: 'deleted',
      snapshotId: id,
      sequenceNumber: 2,
      fileSequenceNumber: 2,
    })
    expect(byPath.get(c.filePath)).toMatchObject({ status: 'existing', sequenceNumber: 1, fileSequenceNumber: 1 })
    expect(byPath.get(c.filePath)?.snapshotId).toBe(start.snapshots[0]?.snapshotId)
  })

  it('shows the starting sequence number as minimum of the new manifest, and assigns the new one to it', async () => {
    const rewrite = rewriteFromHere(t, [a, b], [merged])
    await append(t, await t.dataFile([2]))
    await commitRewrite(t, rewrite)
    const [added] = await manifestsOf(t)
    expect(added).toMatchObject({ sequenceNumber: 4, minSequenceNumber: 2, addedFilesCount: 1, addedRowsCount: 200 })
  })

  it('reuses manifests without changes, and drops those without live files later', async () => {
    const before = await manifestsOf(t)
    await commitRewrite(t, rewriteFromHere(t, [b], [await t.dataFile([1])]))
    const after = await manifestsOf(t)
    expect(after).toHaveLength(3)
    expect(after.map((m) => m.manifestPath)).toContain(before[1]?.manifestPath)
    const emptied = after.find((m) => m.deletedFilesCount === 1)
    expect(emptied).toMatchObject({ addedFilesCount: 0, existingFilesCount: 0 })
    await commitRewrite(t, rewriteFromHere(t, [c], [await t.dataFile([2])]))
    expect((await manifestsOf(t)).map((m) => m.manifestPath)).not.toContain(emptied?.manifestPath)
  })

  it('may leave no rows', async () => {
    await commitRewrite(t, rewriteFromHere(t, [a, b], []))
    expect(await livePaths(t)).toEqual([c.filePath])
  })

  it('accepts concurrent appends', async () => {
    const rewrite = rewriteFromHere(t, [a, b], [merged])
    const late = await t.dataFile([1])
    await append(t, late)
    await commitRewrite(t, rewrite)
    expect(await livePaths(t)).toEqual([c.filePath, late.filePath, merged.filePath].toSorted())
  })

  it('accepts a concurrent rewrite of other files', async () => {
    const first = rewriteFromHere(t, [a, b], [merged])
    const second = rewriteFromHere(t, [c], [await t.dataFile([2])])
    await commitRewrite(t, first)
    await commitRewrite(t, second)
    expect(await livePaths(t)).toEqual([merged.filePath, second.added[0]?.filePath].toSorted())
  })

  describe('refuses with a conflict', () => {
    it('when a replaced file was removed', async () => {
      const rewrite = rewriteFromHere(t, [a, b], [merged])
      await commitRewrite(t, rewriteFromHere(t, [b], [await t.dataFile([1])]))
      await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'no longer in the table')
    })

    it('when the starting snapshot is not in the history of main any more', async () => {
      const [first] = t.table.metadata.snapshots
      if (first === undefined) throw new Error('no snapshot')
      const rewrite = rewriteFromHere(t, [a, c], [await t.dataFile([1])])
      await t.update([
        { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': first.snapshotId },
      ])
      await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'no longer in the history')
      await append(t, await t.dataFile([1]))
      await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'no longer in the history')
    })

    it('when a replaced file came after the starting snapshot', async () => {
      const late = await t.dataFile([1])
      const rewrite = rewriteFromHere(t, [a, late], [merged])
      await append(t, late)
      await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'not the same file')
    })

    it.each(['partition', 'path', 'bounds'] as const)('when a replaced file got position deletes by %s', async (by) => {
      const rewrite = rewriteFromHere(t, [a, b], [merged])
      const text = new TextEncoder().encode(a.filePath.replace('mem:', ''))
      const bound = new Map([[2_147_483_546, text]])
      const options = {
        partition: {},
        path: { referencedDataFile: a.filePath },
        bounds: { lowerBounds: bound, upperBounds: bound },
      }
      await deleteRows(t, await t.positionDeletes([1], options[by]))
      await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'position deletes')
    })

    it('when rows that change their spec got equality deletes', async () => {
      const fields = byPart.fields.map((field) => ({ ...field, name: 'again', fieldId: 1001 }))
      await t.update([{ action: 'add-spec', spec: partitionSpecToJson({ specId: 1, fields }) }])
      const moved = await t.dataFile([1], { specId: 1, recordCount: 200 })
      const rewrite = rewriteFromHere(t, [a, b], [moved])
      await deleteRows(t, await t.equalityDeletes([1]))
      await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'equality deletes')
    })

    it('when rows that change their partition would meet new equality deletes there', async () => {
      const rewrite = rewriteFromHere(t, [a, b], [await t.dataFile([3], { recordCount: 200 })])
      await append(t, await t.dataFile([3]))
      await deleteRows(t, await t.equalityDeletes([3]))
      await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'equality deletes')
    })

    it('when a delete that was applied is withdrawn', async () => {
      const deletes = await t.positionDeletes([1])
      await deleteRows(t, deletes)
      const rewrite = rewriteFromHere(t, [a, b], [{ ...merged, recordCount: 198 }])
      await t.commit((table) =>
        stageRowDelta(table, {
          dataFiles: [],
          deleteFiles: [],
          replacedDeleteFiles: [deletes],
          operationId: 'undelete',
        }),
      )
      await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'lost the delete file')
    })

    it('when another commit was first, at the latest when it is committed', async () => {
      const staged = await stageRewrite(t.table, { ...rewriteFromHere(t, [a, b], [merged]), operationId: 'rewrite' })
      await append(t, await t.dataFile([1]))
      await expect(t.commitStaged(staged)).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    })
  })

  describe('refuses invalid input', () => {
    it('more rows than before', async () => {
      const rewrite = rewriteFromHere(t, [a, b], [{ ...merged, recordCount: 201 }])
      await expectRefused(t, rewrite, 'ROWS_NOT_CONSERVED')
    })

    it('nothing to replace, files given twice, files that are in the table, a wrong sequence number', async () => {
      const rewrite = rewriteFromHere(t, [a, b], [merged])
      await expectRefused(t, { ...rewrite, replaced: [] }, 'INVALID_ARGUMENT')
      await expectRefused(t, { ...rewrite, replaced: [a, a] }, 'INVALID_ARGUMENT')
      await expectRefused(t, { ...rewrite, added: [merged, merged] }, 'INVALID_ARGUMENT')
      await expectRefused(t, { ...rewrite, added: [c] }, 'INVALID_ARGUMENT', 'already in the table')
      await expectRefused(t, { ...rewrite, added: [a] }, 'INVALID_ARGUMENT', 'already in the table')
      await expectRefused(t, { ...rewrite, startingSequenceNumber: 1 }, 'INVALID_ARGUMENT')
    })

    it('a table that lists a file twice', async () => {
      await append(t, a)
      await expectRefused(t, rewriteFromHere(t, [a, b], [merged]), 'INVALID_METADATA', 'twice')
    })
  })

  describe('with equality deletes', () => {
    it('lets later ones apply to the new files', async () => {
      const rewrite = rewriteFromHere(t, [a, b], [merged])
      const deletes = await t.equalityDeletes([1])
      const replacement = await t.dataFile([1], { recordCount: 3 })
      await t.commit((table) =>
        stageRowDelta(table, { dataFiles: [replacement], deleteFiles: [deletes], operationId: 'upsert' }),
      )
      const staged = await commitRewrite(t, rewrite)
      expect(staged.removedDeleteFiles).toBe(0)
      const tasks = new Map((await planFiles(t.table)).map((task) => [task.dataFile.filePath, task]))
      expect(tasks.get(merged.filePath)?.deletes.map((ref) => ref.file.filePath)).toEqual([deletes.filePath])
      expect(tasks.get(replacement.filePath)?.deletes).toEqual([])
    })

    it('drops those that only the replaced files needed', async () => {
      const deletes = await t.equalityDeletes([1])
      await deleteRows(t, deletes)
      const staged = await commitRewrite(t, rewriteFromHere(t, [a, b], [{ ...merged, recordCount: 197 }]))
      expect(staged.removedDeleteFiles).toBe(1)
      expect(staged.summary).toMatchObject({
        'removed-delete-files': '1',
        'removed-equality-delete-files': '1',
        'removed-equality-deletes': '3',
        'total-delete-files': '0',
        'total-equality-deletes': '0',
        'removed-files-size': '3000',
      })
      expect(await liveDeletes(t)).toEqual([])
    })

    it('keeps those that another file of the partition still needs', async () => {
      await deleteRows(t, await t.equalityDeletes([1]))
      const rewrite = rewriteFromHere(t, [a], [await t.dataFile([1], { recordCount: 99 })])
      expect((await commitRewrite(t, rewrite)).removedDeleteFiles).toBe(0)
      expect(await liveDeletes(t)).toHaveLength(1)
      const [tasks] = (await planFiles(t.table)).filter((task) => task.dataFile.filePath === b.filePath)
      expect(tasks?.deletes).toHaveLength(1)
    })

    it('keeps those that came after the rewrite began, although no staying file needs them', async () => {
      const rewrite = rewriteFromHere(t, [a, b], [merged])
      await deleteRows(t, await t.equalityDeletes([1]))
      expect((await commitRewrite(t, rewrite)).removedDeleteFiles).toBe(0)
      expect(await liveDeletes(t)).toHaveLength(1)
    })

    it('keeps global ones as long as any file anywhere is older', async () => {
      await t.update([{ action: 'add-spec', spec: partitionSpecToJson({ specId: 1, fields: [] }) }])
      const deletes = await t.equalityDeletes([], { specId: 1 })
      await deleteRows(t, deletes)
      const one = await t.dataFile([1], { recordCount: 197 })
      expect((await commitRewrite(t, rewriteFromHere(t, [a, b], [one]))).removedDeleteFiles).toBe(0)
      const tasks = new Map((await planFiles(t.table)).map((task) => [task.dataFile.filePath, task.deletes]))
      expect(tasks.get(c.filePath)?.map((ref) => ref.file.filePath)).toEqual([deletes.filePath])
      expect(tasks.get(one.filePath)).toEqual([])
      const two = await t.dataFile([2], { recordCount: 97 })
      expect((await commitRewrite(t, rewriteFromHere(t, [c], [two]))).removedDeleteFiles).toBe(1)
    })

    it('keeps global ones that came after the rewrite began, for its new files', async () => {
      await t.update([{ action: 'add-spec', spec: partitionSpecToJson({ specId: 1, fields: [] }) }])
      const rewrite = rewriteFromHere(t, [a, b, c], [merged, await t.dataFile([2])])
      await deleteRows(t, await t.equalityDeletes([], { specId: 1 }))
      expect((await commitRewrite(t, rewrite)).removedDeleteFiles).toBe(0)
      expect((await planFiles(t.table)).map((task) => task.deletes.length)).toEqual([1, 1])
    })

    it('refuses those on columns that the new files may lack', async () => {
      const rewrite = rewriteFromHere(t, [a, b], [merged])
      await deleteRows(t, await t.equalityDeletes([1], { equalityIds: [3] }))
      const withoutName = { ...fixtureSchema, fields: fixtureSchema.fields.slice(0, 2) }
      await t.update([
        { action: 'add-schema', schema: schemaToJson(withoutName) },
        { action: 'set-current-schema', 'schema-id': -1 },
      ])
      await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'equality deletes')
    })
  })

  describe('with position deletes', () => {
    it('drops those of replaced files and keeps those of others', async () => {
      const ofA = await t.positionDeletes([1], { referencedDataFile: a.filePath })
      const ofC = await t.positionDeletes([2], { referencedDataFile: c.filePath.replace('mem:', 'mem://host') })
      await deleteRows(t, ofA, ofC)
      const staged = await commitRewrite(t, rewriteFromHere(t, [a, b], [{ ...merged, recordCount: 198 }]))
      expect(staged.removedDeleteFiles).toBe(1)
      expect(await liveDeletes(t)).toEqual([ofC.filePath])
      const byPath = new Map((await entriesOf(t)).map((entry) => [entry.dataFile.filePath, entry]))
      expect(byPath.get(ofA.filePath)).toMatchObject({ status: 'deleted', sequenceNumber: 3 })
      expect(byPath.get(ofC.filePath)).toMatchObject({ status: 'existing', sequenceNumber: 3, fileSequenceNumber: 3 })
    })

    it('keeps those of a partition until its last old file is replaced', async () => {
      const shared = await t.positionDeletes([1])
      await deleteRows(t, shared)
      const young = await t.dataFile([1])
      await append(t, young)
      const one = await t.dataFile([1], { recordCount: 99 })
      expect((await commitRewrite(t, rewriteFromHere(t, [a], [one]))).removedDeleteFiles).toBe(0)
      expect(await liveDeletes(t)).toEqual([shared.filePath])
      const two = await t.dataFile([1], { recordCount: 99 })
      expect((await commitRewrite(t, rewriteFromHere(t, [b], [two]))).removedDeleteFiles).toBe(1)
      expect(await livePaths(t)).toContain(young.filePath)
    })
  })

  it('keeps position deletes of rows that came with the same commit', async () => {
    const dataFiles = [await t.dataFile([1])]
    const deleteFiles = [await t.positionDeletes([1])]
    await t.commit((table) => stageRowDelta(table, { dataFiles, deleteFiles, operationId: 'delta' }))
    await commitRewrite(t, rewriteFromHere(t, [a, b], [merged]))
    const [own] = (await planFiles(t.table)).filter((task) => task.dataFile.filePath === dataFiles[0]?.filePath)
    expect(own?.deletes.map((ref) => ref.file.filePath)).toEqual([deleteFiles[0]?.filePath])
  })

  it('refuses encrypted tables', async () => {
    const json = { ...t.table.metadata.json, 'encryption-keys': [{ 'key-id': 'k' }] }
    const table = { ...t.table, metadata: { ...t.table.metadata, json, encrypted: true } }
    const attempt = stageRewrite(table, { ...rewriteFromHere(t, [a], []), operationId: 'x' })
    await expect(attempt).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})

describe('stageRewrite in format version 3', () => {
  it('drops the deletion vectors of replaced files and only those', async () => {
    const t = await TableFixture.create({ formatVersion: 3 })
    const a = await t.dataFile()
    const b = await t.dataFile()
    await append(t, a, b)
    const ofA = await t.deletionVector(a)
    const ofB = await t.deletionVector(b, { filePath: ofA.filePath, contentOffset: 44 })
    await deleteRows(t, ofA, ofB)
    const merged = await t.dataFile([], { recordCount: 98 })
    const staged = await commitRewrite(t, rewriteFromHere(t, await t.scanned(a), [merged]))
    expect(staged.removedDeleteFiles).toBe(1)
    expect(staged.summary).toMatchObject({ 'removed-dvs': '1', 'removed-delete-files': '1', 'total-delete-files': '1' })
    const tasks = new Map((await planFiles(t.table)).map((task) => [task.dataFile.filePath, task.deletes]))
    expect(tasks.get(merged.filePath)).toEqual([])
    expect(tasks.get(b.filePath)?.map((ref) => ref.file.contentOffset)).toEqual([44])
  })

  it('refuses when a replaced file got a deletion vector', async () => {
    const t = await TableFixture.create({ formatVersion: 3 })
    const a = await t.dataFile()
    await append(t, a)
    const rewrite = rewriteFromHere(t, await t.scanned(a), [await t.dataFile()])
    await deleteRows(t, await t.deletionVector(a))
    await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'position deletes')
  })

  it('refuses when a replaced file got row ids', async () => {
    const t = await TableFixture.create({ formatVersion: 2 })
    const a = await t.dataFile()
    await append(t, a)
    const rewrite = rewriteFromHere(t, await t.scanned(a), [await t.dataFile()])
    await t.update([{ action: 'upgrade-format-version', 'format-version': 3 }])
    await append(t, await t.dataFile())
    await expectRefused(t, rewrite, 'COMMIT_CONFLICT', 'row ids')
    expect((await t.scanned(a))[0]?.firstRowId).toBeDefined()
  })

  it('keeps row ids of files that stay and gives new files fresh ones', async () => {
    const t = await TableFixture.create({ formatVersion: 3 })
    const a = await t.dataFile([], { recordCount: 5 })
    const b = await t.dataFile([], { recordCount: 7 })
    await append(t, a, b)
    const merged = await t.dataFile([], { recordCount: 5, firstRowId: 0 })
    await commitRewrite(t, rewriteFromHere(t, await t.scanned(a), [merged]))
    const ids = new Map((await planFiles(t.table)).map((task) => [task.dataFile.filePath, task.dataFile.firstRowId]))
    expect(ids.get(b.filePath)).toBe(5)
    expect(ids.get(merged.filePath)).toBeGreaterThanOrEqual(12)
    const snapshot = currentSnapshot(t.table.metadata)
    expect(snapshot?.firstRowId).toBe(12)
    expect(t.table.metadata.nextRowId).toBe(12 + (snapshot?.addedRows ?? Number.NaN))
  })
})

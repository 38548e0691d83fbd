import { beforeEach, describe, expect, it } from 'vitest'
import type { DataFile } from '../../../../src/iceberg/manifest/manifest.ts'
import { currentSnapshot } from '../../../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../../../src/iceberg/update/stage/stage-rewrite.ts'
import type { RewriteOptions } from '../../../../src/iceberg/update/stage/stage-rewrite.ts'
import { stageRowDelta } from '../../../../src/iceberg/update/stage/stage-row-delta.ts'
import { TableFixture } from '../../../support/table-fixture.ts'

describe.each([2, 3] as const)('stageRewrite with included deletes in version %i', (formatVersion) => {
  let t: TableFixture
  let a: DataFile
  let b: DataFile
  let merged: DataFile
  let start: { readonly startingSnapshotId: bigint; readonly startingSequenceNumber: number }

  beforeEach(async () => {
    t = await TableFixture.create({ formatVersion })
    a = await t.dataFile()
    b = await t.dataFile()
    merged = await t.dataFile([], { recordCount: 200 })
    await t.commit((table) => stageAppend(table, { files: [a, b], operationId: 'append' }))
    const snapshot = currentSnapshot(t.table.metadata)
    if (snapshot === undefined) throw new Error('no snapshot')
    start = { startingSnapshotId: snapshot.snapshotId, startingSequenceNumber: snapshot.sequenceNumber }
  })

  const deletesFor = (file: DataFile): Promise<DataFile> =>
    formatVersion === 3 ? t.deletionVector(file) : t.positionDeletes([], { referencedDataFile: file.filePath })

  const deleteRows = async (replacedDeleteFiles: readonly DataFile[], ...deleteFiles: readonly DataFile[]) => {
    await t.commit((table) =>
      stageRowDelta(table, { dataFiles: [], deleteFiles, replacedDeleteFiles, operationId: 'delete' }),
    )
  }

  /** A rewrite of both files that includes deletes of the first. */
  async function rewrite(included: readonly DataFile[], carried: readonly DataFile[]): Promise<RewriteOptions> {
    const replaced = await t.scanned(a, b)
    const lists = new Map([
      [a.filePath, included.map((file) => ({ file, sequenceNumber: 2 }))],
      [b.filePath, []],
    ])
    return {
      ...start,
      replaced,
      added: [merged],
      positionDeletes: { included: lists, carried },
      operationId: 'rewrite',
    }
  }

  const stage = (options: RewriteOptions) => stageRewrite(t.table, options)

  it('adds carried deletes, and drops the deletes that they replace', async () => {
    const arrived = await deletesFor(a)
    const carried = await deletesFor(merged)
    await deleteRows([], arrived)
    const options = await rewrite([arrived], [carried])
    const staged = await t.commit(() => stage(options))
    const [task, ...others] = await planFiles(t.table)
    expect(others).toEqual([])
    expect(task).toMatchObject({
      dataFile: { filePath: merged.filePath },
      sequenceNumber: start.startingSequenceNumber,
    })
    expect(task?.deletes).toMatchObject([{ file: { filePath: carried.filePath }, sequenceNumber: 3 }])
    expect(staged).toMatchObject({ removedDeleteFiles: 1 })
    expect(staged.summary).toMatchObject({
      operation: 'replace',
      'added-delete-files': '1',
      'removed-delete-files': '1',
      'total-delete-files': '1',
      'total-position-deletes': '2',
    })
  })

  it.each(['none', 'an older one'])('refuses newer deletes when it includes %s', async (included) => {
    const older = await deletesFor(a)
    const newer = await deletesFor(a)
    await deleteRows([], older)
    await deleteRows(formatVersion === 3 ? [older] : [], newer)
    const options = await rewrite(included === 'none' ? [] : [older], [await deletesFor(merged)])
    await expect(stage(options)).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
  })

  it('refuses to commit when included deletes are no longer in the table', async () => {
    const arrived = await deletesFor(a)
    const options = await rewrite([arrived], [await deletesFor(merged)])
    await expect(stage(options)).rejects.toMatchObject({
      code: 'COMMIT_CONFLICT',
      message: expect.stringContaining('lost position deletes'),
    })
  })

  it('accepts other delete files when their positions were compared', async () => {
    const [one, other] = [await deletesFor(a), await deletesFor(a)]
    await deleteRows([], one)
    await deleteRows([one], other)
    const options = await rewrite([other], [])
    await expect(stage(options)).resolves.toMatchObject({ removedDeleteFiles: 1 })
  })

  it('refuses carried deletes of another format version or another file', async () => {
    const arrived = await deletesFor(a)
    await deleteRows([], arrived)
    const wrong =
      formatVersion === 3
        ? await t.positionDeletes([], { referencedDataFile: merged.filePath })
        : await t.deletionVector(merged)
    const ofOther = await rewrite([arrived], [await deletesFor(b)])
    await expect(stage(await rewrite([arrived], [wrong]))).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    await expect(stage(ofOther)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('refuses to commit when equality deletes that were applied are gone', async () => {
    const equality = await t.equalityDeletes()
    await deleteRows([], equality)
    const snapshot = currentSnapshot(t.table.metadata)
    if (snapshot === undefined) throw new Error('no snapshot')
    start = { startingSnapshotId: snapshot.snapshotId, startingSequenceNumber: snapshot.sequenceNumber }
    const arrived = await deletesFor(a)
    await deleteRows([equality], arrived)
    const options = await rewrite([arrived], [await deletesFor(merged)])
    await expect(stage(options)).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
  })
})

it('stageRewrite refuses two carried vectors of one file', async () => {
  const t = await TableFixture.create({ formatVersion: 3 })
  const a = await t.dataFile()
  const added = await t.dataFile()
  await t.commit((table) => stageAppend(table, { files: [a], operationId: 'append' }))
  const snapshot = currentSnapshot(t.table.metadata)
  if (snapshot === undefined) throw new Error('no snapshot')
  const options = {
    startingSnapshotId: snapshot.snapshotId,
    startingSequenceNumber: snapshot.sequenceNumber,
    replaced: await t.scanned(a),
    added: [added],
    positionDeletes: {
      included: new Map([[a.filePath, []]]),
      carried: [await t.deletionVector(added), await t.deletionVector(added)],
    },
    operationId: 'rewrite',
  }
  await expect(stageRewrite(t.table, options)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

it('stageRewrite accepts included position deletes when manifests list them twice', async () => {
  const t = await TableFixture.create({ formatVersion: 2 })
  const a = await t.dataFile()
  await t.commit((table) => stageAppend(table, { files: [a], operationId: 'append' }))
  const snapshot = currentSnapshot(t.table.metadata)
  if (snapshot === undefined) throw new Error('no snapshot')
  const file = await t.positionDeletes([], { referencedDataFile: a.filePath })
  for (const operationId of ['delete', 'delete-again']) {
    await t.commit((table) => stageRowDelta(table, { dataFiles: [], deleteFiles: [{ ...file }], operationId }))
  }
  const staged = stageRewrite(t.table, {
    startingSnapshotId: snapshot.snapshotId,
    startingSequenceNumber: snapshot.sequenceNumber,
    replaced: await t.scanned(a),
    added: [await t.dataFile()],
    positionDeletes: { included: new Map([[a.filePath, [{ file, sequenceNumber: 2 }]]]), carried: [] },
    operationId: 'rewrite',
  })
  await expect(staged).resolves.toMatchObject({ removedDeleteFiles: 2 })
})

import { describe, expect, it } from 'vitest'
import type { DataFile } from '../../../../src/iceberg/manifest/manifest.ts'
import { planFiles } from '../../../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../../../src/iceberg/update/stage/stage-append.ts'
import { stageRowDelta } from '../../../../src/iceberg/update/stage/stage-row-delta.ts'
import type { RowDeltaOptions } from '../../../../src/iceberg/update/stage/stage-row-delta.ts'
import { byPart, TableFixture } from '../../../support/table-fixture.ts'

type Delta = Partial<Omit<RowDeltaOptions, 'operationId'>>

const stage = (t: TableFixture, delta: Delta) =>
  stageRowDelta(t.table, { dataFiles: [], deleteFiles: [], ...delta, operationId: 'delta' })

async function tableWith(formatVersion: 2 | 3, count: number): Promise<{ t: TableFixture; files: DataFile[] }> {
  const t = await TableFixture.create({ formatVersion })
  const files: DataFile[] = []
  for (let i = 0; i < count; i++) files.push(await t.dataFile())
  await t.commit((table) => stageAppend(table, { files, operationId: 'append' }))
  return { t, files }
}

describe('stageRowDelta', () => {
  it('names its operation by what it adds, and counts deletes', async () => {
    const { t } = await tableWith(2, 1)
    const dataFiles = [await t.dataFile()]
    const deleteFiles = [await t.equalityDeletes()]
    expect((await stage(t, { dataFiles })).summary['operation']).toBe('append')
    expect((await stage(t, { deleteFiles })).summary['operation']).toBe('delete')
    const { summary } = await t.commit(() => stage(t, { dataFiles, deleteFiles }))
    expect(summary).toMatchObject({
      operation: 'overwrite',
      'added-data-files': '1',
      'added-delete-files': '1',
      'added-equality-delete-files': '1',
      'added-equality-deletes': '3',
      'total-equality-deletes': '3',
      'total-delete-files': '1',
    })
    const [fresh, old] = await planFiles(t.table)
    expect(fresh?.deletes).toEqual([])
    expect(old?.deletes).toHaveLength(1)
  })

  it('accepts only what the format version allows', async () => {
    const v2 = await tableWith(2, 1)
    const v3 = await tableWith(3, 1)
    const refuse = async (t: TableFixture, file: DataFile): Promise<void> => {
      await expect(stage(t, { deleteFiles: [file] })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
    const [data] = v3.files
    if (data === undefined) throw new Error('no file')
    await refuse(v2.t, await v2.t.deletionVector(data))
    await refuse(v3.t, await v3.t.positionDeletes())
    await refuse(v2.t, await v2.t.equalityDeletes([], { equalityIds: [] }))
    await refuse(v2.t, await v2.t.equalityDeletes([], { equalityIds: [99] }))
    const { contentOffset: _, ...incomplete } = await v3.t.deletionVector(data)
    await refuse(v3.t, incomplete)
    await refuse(v2.t, await v2.t.dataFile())
  })

  it('refuses deletes of a removed data file', async () => {
    const { t, files } = await tableWith(2, 1)
    const lost = await t.positionDeletes([], { referencedDataFile: `${t.table.metadata.location}/data/lost.parquet` })
    await expect(stage(t, { deleteFiles: [lost] })).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    const shared = await t.positionDeletes()
    const named = { deleteFiles: [shared], referencedDataFiles: ['mem:/warehouse/t/data/lost.parquet'] }
    await expect(stage(t, named)).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    await t.commit(() => stage(t, { ...named, referencedDataFiles: files.map((file) => file.filePath) }))
  })

  it('keeps one deletion vector per data file', async () => {
    const { t, files } = await tableWith(3, 2)
    const [a, b] = files
    if (a === undefined || b === undefined) throw new Error('no files')
    const first = await t.deletionVector(a)
    const twice = stage(t, { deleteFiles: [first, await t.deletionVector(a)] })
    await expect(twice).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await t.commit(() => stage(t, { deleteFiles: [first] }))
    const second = await t.deletionVector(a, { recordCount: 5 })
    await expect(stage(t, { deleteFiles: [second] })).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    const staged = await t.commit(() => stage(t, { deleteFiles: [second], replacedDeleteFiles: [first] }))
    expect(staged.removedDeleteFiles).toBe(1)
    expect(staged.summary).toMatchObject({ 'added-dvs': '1', 'removed-dvs': '1', 'total-position-deletes': '5' })
    const again = stage(t, { deleteFiles: [await t.deletionVector(a)], replacedDeleteFiles: [first, second] })
    await expect(again).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    const tasks = new Map((await planFiles(t.table)).map((task) => [task.dataFile.filePath, task.deletes]))
    expect(tasks.get(a.filePath)?.map((ref) => ref.file.filePath)).toEqual([second.filePath])
    expect(tasks.get(b.filePath)).toEqual([])
  })

  it('refuses a deletion vector that would hide position deletes from before the upgrade', async () => {
    const t = await TableFixture.create({ partitionSpec: byPart })
    const files = [await t.dataFile([1]), await t.dataFile([2])]
    await t.commit((table) => stageAppend(table, { files, operationId: 'append' }))
    const shared = await t.positionDeletes([1])
    await t.commit(() => stage(t, { deleteFiles: [shared] }))
    await t.update([{ action: 'upgrade-format-version', 'format-version': 3 }])
    const [a, b] = files
    if (a === undefined || b === undefined) throw new Error('no files')
    const vector = await t.deletionVector(a)
    await expect(stage(t, { deleteFiles: [vector] })).rejects.toThrow('would hide its deletes')
    await stage(t, { deleteFiles: [await t.deletionVector(b)] })
    await t.commit(() => stage(t, { deleteFiles: [vector], mergedDeleteFiles: [shared] }))
    const tasks = new Map((await planFiles(t.table)).map((task) => [task.dataFile.filePath, task.deletes]))
    expect(tasks.get(a.filePath)?.map((ref) => ref.file.filePath)).toEqual([vector.filePath])
  })
})

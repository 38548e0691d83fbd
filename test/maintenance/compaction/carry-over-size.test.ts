import { afterAll, beforeAll, expect, it } from 'vitest'
import { currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import type { DeleteFileRef } from '../../../src/iceberg/scan/delete-index.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../../src/iceberg/update/stage/stage-rewrite.ts'
import { stageRowDelta } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import { CarryOver } from '../../../src/maintenance/compaction/carry-over.ts'
import type { RewrittenGroup } from '../../../src/maintenance/compaction/group-rewrite.ts'
import { TableFixture } from '../../support/table-fixture.ts'
import { Workshop } from '../real-lake.ts'

/** Data files, and position deletes that apply to all of them. */
const FILES = 300

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** A list of deletes, with a count of how often their locations are read. */
function countReads(deletes: readonly DeleteFileRef[]): { refs: readonly DeleteFileRef[]; reads: () => number } {
  let reads = 0
  const refs = deletes.map((ref) => {
    const { filePath } = ref.file
    const file = Object.defineProperty({ ...ref.file }, 'filePath', {
      get: () => {
        reads += 1
        return filePath
      },
    })
    return { ...ref, file }
  })
  return { refs, reads: () => reads }
}

it('a carry-over compares the deletes of a partition once when all its data files share them', async () => {
  const t = await TableFixture.create({ formatVersion: 2 })
  const files = await Promise.all(Array.from({ length: FILES }, () => t.dataFile()))
  const deleteFiles = await Promise.all(Array.from({ length: FILES }, () => t.positionDeletes()))
  const addDeletes = (...added: typeof deleteFiles) =>
    t.commit((table) => stageRowDelta(table, { dataFiles: [], deleteFiles: added, operationId: 'delete' }))
  await t.commit((table) => stageAppend(table, { files, operationId: 'append' }))
  await addDeletes(...deleteFiles)
  const start = t.table
  const planned = await planFiles(start)
  const { refs, reads } = countReads(planned[0]?.deletes ?? [])
  expect(refs).toHaveLength(FILES)
  const inputs = planned.map((task) => ({ ...task, deletes: refs }))
  const added = [await t.dataFile()]
  const group: RewrittenGroup = {
    group: {
      index: 0,
      outputSpecId: 0,
      partitionKey: '',
      inputs,
      bytes: 1,
      expectedOutputFiles: 1,
      targetSplitBytes: 1,
      reasons: [],
    },
    added,
    rows: { rowsRead: 0, rowsDeleted: 0, rowsWritten: 0 },
    isCopied: false,
  }
  const carry = new CarryOver({
    engine: shop.engine,
    start,
    reload: () => Promise.resolve(t.table),
    fileNamePrefix: 'op',
  })
  const stage = () => {
    const snapshot = currentSnapshot(start.metadata)
    return stageRewrite(t.table, {
      startingSnapshotId: snapshot?.snapshotId ?? 0n,
      startingSequenceNumber: snapshot?.sequenceNumber ?? 0,
      replaced: inputs.map(({ dataFile }) => dataFile),
      added,
      positionDeletes: carry.deletesOf([group]),
      operationId: 'rewrite',
    })
  }
  await expect(stage()).resolves.toMatchObject({ removedDeleteFiles: FILES })
  expect(await carry.findChanged([group])).toEqual([])
  await addDeletes(await t.positionDeletes())
  await expect(stage()).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
  expect(await carry.findChanged([group])).toEqual([group])
  // each comparison may read each location a few times; one set of keys for each data file reads 90,000
  expect(reads()).toBeLessThan(FILES * 20)
  await carry.close()
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { newestBatches, type NewestBounds } from '../../../src/streaming/source/newest-batches.ts'
import { deleteRow, numbered, openLab, type StreamLab } from '../support.ts'

const WIDE: NewestBounds = { batches: 20, files: 100, rows: 1_000_000, bytes: 2 ** 30 }

let lab: StreamLab
let count = 0
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

/** A table with a snapshot per list of sizes, each size a file. */
async function tableOf(...snapshots: readonly (readonly number[])[]): Promise<string> {
  const name = `s.newest_${(count += 1)}`
  await lab.createTable(name, [
    ['id', 'long'],
    ['name', 'string'],
  ])
  for (const sizes of snapshots) await lab.append(name, ...sizes.map((size) => numbered(0, size)))
  return name
}

async function newest(name: string, bounds: Partial<NewestBounds> = {}) {
  const table = await lab.load(name)
  const { snapshotIds, tasks, ...rest } = await newestBatches(table, { ...WIDE, ...bounds })
  const all = table.metadata.snapshots.map(({ snapshotId }) => snapshotId)
  return {
    ...rest,
    snapshots: snapshotIds.map((id) => all.indexOf(id)),
    sizes: tasks.map(({ dataFile }) => dataFile.recordCount),
    deletes: tasks.flatMap(({ deletes }) => deletes).length,
  }
}

describe('the newest batches of a table', () => {
  it('are the files that the last snapshots appended', async () => {
    const name = await tableOf([1], [2, 3], [4])
    expect(await newest(name, { batches: 2 })).toEqual({
      snapshots: [1, 2],
      sizes: [4, 2, 3],
      deletes: 0,
      isCut: false,
    })
    expect(await newest(name)).toMatchObject({ snapshots: [0, 1, 2], isCut: false })
  })

  it('are none of a table without snapshots', async () => {
    expect(await newest(await tableOf())).toEqual({ snapshots: [], sizes: [], deletes: 0, isCut: false })
  })

  it('do not include snapshots that deleted rows, nor these deletes', async () => {
    const name = await tableOf([5], [6])
    await deleteRow(lab, name, 3)
    expect(await newest(name, { batches: 1 })).toEqual({ snapshots: [1], sizes: [6], deletes: 0, isCut: false })
  })

  it.each<[string, Partial<NewestBounds>]>([
    ['files', { files: 2 }],
    ['rows', { rows: 9 }],
  ])('end at the bound of %s', async (_, bounds) => {
    const name = await tableOf([1], [2, 3], [4])
    const found = await newest(name, bounds)
    expect(found).toMatchObject(
      bounds.files === 2 ? { snapshots: [1, 2], sizes: [4, 2] } : { snapshots: [1, 2], sizes: [4, 2, 3] },
    )
    expect(found.isCut).toBe(true)
    expect(found.maxRows).toBeUndefined()
  })

  it('end at the bound of bytes, but read a part of the newest file at least', async () => {
    const name = await tableOf([100], [1000])
    const [large] = (await planFiles(await lab.load(name))).toSorted(
      (a, b) => b.dataFile.fileSizeInBytes - a.dataFile.fileSizeInBytes,
    )
    const size = large?.dataFile.fileSizeInBytes ?? 0
    expect(await newest(name, { bytes: size })).toMatchObject({ sizes: [1000], isCut: true })
    expect(await newest(name, { bytes: size / 4 })).toMatchObject({ sizes: [1000], isCut: true, maxRows: 250 })
    expect(await newest(name, { bytes: 1 })).toMatchObject({ sizes: [1000], maxRows: 1 })
    expect(await newest(name, { rows: 10 })).toMatchObject({ sizes: [1000], maxRows: 10 })
  })

  it('are the current files when the snapshots that appended them have expired', async () => {
    const name = await tableOf([3], [4])
    const compacted = await lab.service.post('/api/compact', { table: name, rewrite_all: true })
    expect(compacted.status, JSON.stringify(compacted.body)).toBe(200)
    expect(await newest(name)).toMatchObject({ snapshots: [0, 1], sizes: [4, 3] })
    const older_than = new Date(Date.now() + 60_000).toISOString()
    const expired = await lab.service.post('/api/expire', { table: name, older_than, retain_last: 1 })
    expect(expired.status, JSON.stringify(expired.body)).toBe(200)
    expect(await newest(name)).toEqual({ snapshots: [0], sizes: [7], deletes: 0, isCut: false })
    await deleteRow(lab, name, 2)
    expect(await newest(name)).toMatchObject({ snapshots: [1], sizes: [7], deletes: 1 })
  })
})

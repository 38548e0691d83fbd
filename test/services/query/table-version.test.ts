import { describe, expect, it } from 'vitest'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { versionOf } from '../../../src/services/query/table-version.ts'
import { MemoryTable } from '../../maintenance/memory-table.ts'

/** Three snapshots, at 100, 200 and 300 ms; each has the one before as its parent. */
async function threeSnapshots(): Promise<TableMetadata> {
  const made = await MemoryTable.create()
  let table = await made.load()
  for (let at = 0; at < 3; at += 1) table = await made.append(await made.files(1))
  const snapshots = table.metadata.snapshots.map((one, at) => ({ ...one, timestampMs: (at + 1) * 100 }))
  const snapshotLog = snapshots.map(({ snapshotId, timestampMs }) => ({ snapshotId, timestampMs }))
  return { ...table.metadata, snapshots, snapshotLog }
}

describe('the state of a table at a time', () => {
  it('is that of the newest entry of its log', async () => {
    const metadata = await threeSnapshots()
    expect(versionOf(metadata, { timestampMs: 250 }).snapshotId).toBe(metadata.snapshots[1]?.snapshotId)
    expect(() => versionOf(metadata, { timestampMs: 99 })).toThrow(/has no snapshot from .* or before/)
  })

  it('is refused when its snapshot has expired after a rollback', async () => {
    const metadata = await threeSnapshots()
    const [first, second, third] = metadata.snapshots
    const rolledBack = {
      ...metadata,
      currentSnapshotId: first?.snapshotId,
      snapshots: metadata.snapshots.filter((one) => one !== second && one !== third),
      snapshotLog: [...metadata.snapshotLog, { snapshotId: first?.snapshotId ?? 0n, timestampMs: 400 }],
    } as TableMetadata
    expect(() => versionOf(rolledBack, { timestampMs: 250 })).toThrow(/the snapshot that the table had at .* expired/)
    expect(versionOf(rolledBack, { timestampMs: 450 }).snapshotId).toBe(first?.snapshotId)
  })

  it('is refused when its log begins later', async () => {
    const metadata = await threeSnapshots()
    const short = { ...metadata, snapshotLog: metadata.snapshotLog.slice(2) }
    expect(() => versionOf(short, { timestampMs: 250 })).toThrow(/has no snapshot from/)
  })

  it('is that of an ancestor when the table has no log', async () => {
    const metadata = await threeSnapshots()
    const found = versionOf({ ...metadata, snapshotLog: [] }, { timestampMs: 250 })
    expect(found.snapshotId).toBe(metadata.snapshots[1]?.snapshotId)
  })
})

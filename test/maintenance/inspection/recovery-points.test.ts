import { describe, expect, it } from 'vitest'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { listRecoveryPoints, requireRecoveryPoint } from '../../../src/maintenance/inspection/recovery-points.ts'
import { versionOf } from '../../../src/services/query/table-version.ts'
import { MemoryTable } from '../memory-table.ts'

const NOW = 1000

/** A table with snapshots at 100, 200, 300 and 400 ms, each an append to the one before. */
async function fourSnapshots() {
  const made = await MemoryTable.create()
  let table = await made.load()
  for (let at = 0; at < 4; at += 1) table = await made.append(await made.files(1))
  const snapshots = table.metadata.snapshots.map((one, at) => ({ ...one, timestampMs: (at + 1) * 100 }))
  const ids = snapshots.map(({ snapshotId }) => snapshotId)
  const snapshotLog = snapshots.map(({ snapshotId, timestampMs }) => ({ snapshotId, timestampMs }))
  return { metadata: { ...table.metadata, snapshots, snapshotLog } satisfies TableMetadata, ids }
}

type Four = Awaited<ReturnType<typeof fourSnapshots>>

/** `main` moved to one of the snapshots at a time, as a rollback does. */
function movedTo(metadata: TableMetadata, snapshotId: bigint, timestampMs: number): TableMetadata {
  return {
    ...metadata,
    currentSnapshotId: snapshotId,
    refs: { ...metadata.refs, main: { type: 'branch', snapshotId } },
    snapshotLog: [...metadata.snapshotLog, { snapshotId, timestampMs }],
  }
}

/** Without some snapshots, and with the log that the specification asks for then. */
function expired({ metadata, ids }: Four, ...places: readonly number[]): TableMetadata {
  const gone = new Set(places.map((place) => ids[place]))
  const from = metadata.snapshotLog.findLastIndex(({ snapshotId }) => gone.has(snapshotId)) + 1
  const snapshots = metadata.snapshots.filter(({ snapshotId }) => !gone.has(snapshotId))
  return { ...metadata, snapshots, snapshotLog: metadata.snapshotLog.slice(from) }
}

const at = (timestampMs: number) => ({ timestampMs, nowMs: NOW })
const obstacles = (metadata: TableMetadata) => listRecoveryPoints(metadata).points.map(({ obstacle }) => obstacle)

describe('recovery points', () => {
  it('are all states of a table whose history is whole, and nothing was before the first', async () => {
    const { metadata, ids } = await fourSnapshots()
    const { points, earliest, earlier } = listRecoveryPoints(metadata)
    expect(points.map(({ snapshotId }) => snapshotId)).toEqual(ids.toReversed())
    expect(points.map(({ isCurrent }) => isCurrent)).toEqual([true, false, false, false])
    expect([earliest?.fromMs, earlier]).toEqual([100, 'no_snapshot'])
    expect(requireRecoveryPoint(metadata, at(250)).snapshotId).toBe(ids[1])
    expect(requireRecoveryPoint(metadata, at(300)).snapshotId).toBe(ids[2])
    expect(() => requireRecoveryPoint(metadata, at(99))).toThrow(
      /^to_timestamp is before all known states.*earliest time .* 1970-01-01T00:00:00.100Z, because the table had no snapshot/,
    )
    expect(() => requireRecoveryPoint(metadata, at(NOW + 1))).toThrow(/^to_timestamp must not be in the future/)
  })

  it('leave out states that a rollback undid, and have the others, after two rollbacks', async () => {
    const { metadata, ids } = await fourSnapshots()
    const [first = 0n, second = 0n, third = 0n] = ids
    const twice = movedTo(movedTo(metadata, third, 500), second, 600)
    expect(obstacles(twice)).toEqual([
      undefined,
      'not_in_history',
      'not_in_history',
      'not_in_history',
      undefined,
      undefined,
    ])
    expect(requireRecoveryPoint(twice, at(600)).snapshotId).toBe(second)
    expect(requireRecoveryPoint(twice, at(150)).snapshotId).toBe(first)
    for (const time of [350, 450, 550]) {
      expect(() => requireRecoveryPoint(twice, at(time))).toThrow(
        /is no ancestor of the current snapshot.*GET \/api\/recovery-points/,
      )
      expect(versionOf(twice, { timestampMs: time }).snapshotId, 'still readable').toBeDefined()
    }
  })

  it('begin after the snapshots that have expired', async () => {
    const four = await fourSnapshots()
    const metadata = expired(four, 0, 1)
    const { points, earliest, earlier } = listRecoveryPoints(metadata)
    expect(points).toHaveLength(2)
    expect([earliest?.fromMs, earlier]).toEqual([300, 'expired'])
    expect(() => requireRecoveryPoint(metadata, at(250))).toThrow(
      /earliest time .*00.300Z, because older snapshots have expired/,
    )
  })

  it('name a snapshot as expired that another writer left in the log', async () => {
    const four = await fourSnapshots()
    const metadata = { ...expired(four, 0, 1), snapshotLog: four.metadata.snapshotLog }
    expect(obstacles(metadata)).toEqual([undefined, undefined, 'expired', 'expired'])
    expect(listRecoveryPoints(metadata).earlier).toBe('expired')
    expect(() => requireRecoveryPoint(metadata, at(250))).toThrow(/^to_timestamp names an expired snapshot/)
  })

  it('have no whole history when the parent of the first snapshot was removed with its id (PyIceberg)', async () => {
    const four = await fourSnapshots()
    const metadata = expired(four, 0)
    const [oldest, ...others] = metadata.snapshots
    const { parentSnapshotId: _, ...orphan } = oldest ?? metadata.snapshots[1]!
    expect(listRecoveryPoints({ ...metadata, snapshots: [orphan, ...others] }).earlier).toBe('expired')
  })

  it('begin at the snapshot that replaced the table', async () => {
    const { metadata, ids } = await fourSnapshots()
    const snapshots = metadata.snapshots.map((one) => {
      const { parentSnapshotId: _, ...root } = one
      return one.snapshotId === ids[2] ? root : one
    })
    const { earliest, earlier } = listRecoveryPoints({ ...metadata, snapshots })
    expect([earliest?.fromMs, earlier]).toEqual([300, 'not_in_history'])
  })

  it('of a branch cannot be rolled back to', async () => {
    const { metadata, ids } = await fourSnapshots()
    const refs = { ...metadata.refs, audit: { type: 'branch' as const, snapshotId: ids[1] ?? 0n } }
    const { points, earliest } = listRecoveryPoints({ ...metadata, refs }, 'audit')
    expect(points.map(({ snapshotId, obstacle }) => [snapshotId, obstacle])).toEqual([
      [ids[1], 'not_main'],
      [ids[0], 'not_main'],
    ])
    expect(earliest?.fromMs).toBe(100)
  })

  it('are none for an empty table', async () => {
    const { metadata } = await (await MemoryTable.create()).load()
    expect(listRecoveryPoints(metadata)).toEqual({ points: [], earliest: undefined, earlier: 'no_snapshot' })
    expect(() => requireRecoveryPoint(metadata, at(1))).toThrow(/because the table has no snapshots/)
  })
})

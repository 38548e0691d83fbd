import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { branchStates, findStateAt } from '../../../src/iceberg/metadata/branch-states.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { MemoryTable } from '../../maintenance/memory-table.ts'
import { runs } from '../../support/effort.ts'

const made = await MemoryTable.create()
for (let at = 0; at < 3; at += 1) await made.append(await made.files(1))
const { metadata } = await made.load()
const snapshots = metadata.snapshots.map((one, at) => ({ ...one, timestampMs: (at + 1) * 100 }))
const [first, second, third] = snapshots.map(({ snapshotId }) => snapshotId)

/** The table with a log of times and places of its snapshots, as any writer may have left it. */
function withLog(log: readonly (readonly [timestampMs: number, place: number])[]): TableMetadata {
  const snapshotLog = log.map(([timestampMs, place]) => ({
    timestampMs,
    snapshotId: snapshots[place]?.snapshotId ?? 0n,
  }))
  return { ...metadata, snapshots, snapshotLog }
}

describe('the states of main', () => {
  it('are the last entry at or before each time, also when clocks of writers differ', () => {
    const entry = fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 3 }))
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 12 }), (log) => {
        const table = withLog(log)
        const states = branchStates(table, 'main')
        for (let time = -1; time <= 21; time += 1) {
          const byLog = table.snapshotLog.findLast(({ timestampMs }) => timestampMs <= time)?.snapshotId
          expect(findStateAt(states, time)?.snapshotId, `at ${time}`).toBe(byLog)
          const holding = states.filter(({ fromMs, untilMs = Infinity }) => fromMs <= time && time < untilMs)
          expect(holding).toHaveLength(byLog === undefined ? 0 : 1)
        }
      }),
      { numRuns: runs(1000) },
    )
  })

  it('have both stays of a snapshot that a rollback made current again', () => {
    const states = branchStates(
      withLog([
        [100, 0],
        [200, 1],
        [300, 0],
      ]),
      'main',
    )
    expect(states).toEqual([
      { snapshotId: first, fromMs: 100, untilMs: 200 },
      { snapshotId: second, fromMs: 200, untilMs: 300 },
      { snapshotId: first, fromMs: 300, untilMs: undefined },
    ])
  })

  it('follow the ancestors when the table has no log', () => {
    const states = branchStates({ ...metadata, snapshots, snapshotLog: [] }, 'main')
    expect(states.map(({ fromMs, snapshotId }) => [fromMs, snapshotId])).toEqual([
      [100, first],
      [200, second],
      [300, third],
    ])
  })
})

it('the states of another branch follow its ancestors, and an unknown branch has none', () => {
  const refs = { ...metadata.refs, old: { type: 'branch' as const, snapshotId: second ?? 0n } }
  const table = { ...metadata, snapshots, refs }
  expect(branchStates(table, 'old').map(({ snapshotId, untilMs }) => [snapshotId, untilMs])).toEqual([
    [first, 200],
    [second, undefined],
  ])
  expect(branchStates(table, 'toString')).toEqual([])
})

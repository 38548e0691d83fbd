import { describe, expect, test } from 'vitest'
import type { RecoveryPoint, Snapshot } from '../../../frontend/src/api/types.ts'
import { describeRestore } from '../../../frontend/src/features/tables/snapshots/restore-answer.ts'
import { rowsOverTime } from '../../../frontend/src/features/tables/snapshots/rows-over-time.ts'
import { liveRows, rowChange, snapshotDelta } from '../../../frontend/src/features/tables/snapshots/snapshot-change.ts'

test('files and bytes of a summary; a non-numeric value counts as absent', () => {
  const summary = { 'added-data-files': '11', 'total-files-size': '900', 'removed-files-size': 'lots' }
  expect(snapshotDelta({ summary }, 'files')).toEqual({ added: 11, removed: 0, total: undefined })
  expect(snapshotDelta({ summary }, 'bytes')).toEqual({ added: 0, removed: 0, total: 900 })
})

describe('row changes of a snapshot', () => {
  const change = (operation: string, summary: Record<string, string>) => rowChange({ operation, summary })

  test('an append adds rows, an overwrite adds and deletes them', () => {
    expect(change('append', { 'added-records': '5000' })).toEqual({
      kind: 'changed',
      added: 5000,
      deleted: 0,
      equalityDeletes: 0,
    })
    expect(change('overwrite', { 'added-records': '99', 'deleted-records': '100' })).toMatchObject({
      added: 99,
      deleted: 100,
    })
  })

  test('a compaction that applies deletes changes no row', () => {
    const summary = { 'added-records': '761', 'deleted-records': '1000', 'removed-position-deletes': '239' }
    expect(change('replace', summary)).toEqual({ kind: 'rewritten', applied: 239 })
    expect(change('replace', { 'added-records': '10', 'deleted-records': '10' })).toEqual({
      kind: 'rewritten',
      applied: 0,
    })
  })

  test('position deletes count as deleted rows; a replacement vector counts only its new rows', () => {
    expect(change('delete', { 'added-position-deletes': '239' })).toMatchObject({ deleted: 239 })
    expect(change('delete', { 'added-position-deletes': '5', 'removed-position-deletes': '3' })).toMatchObject({
      deleted: 2,
    })
  })

  test('rows of a removed file that were deleted before are not counted twice', () => {
    expect(change('delete', { 'deleted-records': '100', 'removed-position-deletes': '3' })).toMatchObject({
      deleted: 97,
    })
  })

  test('equality deletes are counted separately, as the summary does not contain their number of rows', () => {
    expect(change('overwrite', { 'added-records': '2', 'added-equality-deletes': '12' })).toEqual({
      kind: 'changed',
      added: 2,
      deleted: 0,
      equalityDeletes: 12,
    })
  })
})

test('live rows are those of data files without the rows marked by position deletes', () => {
  expect(liveRows({ summary: { 'total-records': '1000', 'total-position-deletes': '239' } })).toEqual({
    rows: 761,
    isUpperBound: false,
  })
  expect(liveRows({ summary: { 'total-records': '10', 'total-equality-deletes': '4' } })).toEqual({
    rows: 10,
    isUpperBound: true,
  })
  expect(liveRows({ summary: {} })).toBeUndefined()
})

describe('rows over time', () => {
  const at = (second: number): string => new Date(second * 1000).toISOString()
  const snapshot = (id: string, second: number, total: string | undefined, parent: string | null): Snapshot => ({
    snapshot_id: id,
    parent_id: parent,
    sequence_number: second,
    committed_at: at(second),
    operation: 'append',
    summary: total === undefined ? {} : { 'total-records': total },
    refs: [],
  })

  test('a single remaining snapshot after expiry is a line from its commit until now', () => {
    expect(rowsOverTime([snapshot('3', 300, '70', '2')], '3', 400_000)).toEqual({
      x: [300, 400],
      rows: [70, 70],
      snapshotCount: 1,
      isUpperBound: false,
      isCut: true,
    })
  })

  test('include the ancestors of the current snapshot, but not rolled-back snapshots', () => {
    const all = [snapshot('3', 30, '99', '2'), snapshot('2', 20, '20', '1'), snapshot('1', 10, '10', null)]
    expect(rowsOverTime(all, '2', 50_000)).toMatchObject({ x: [10, 20, 50], rows: [10, 20, 20], isCut: false })
  })

  test('never go back in time, and have a gap for a snapshot without a total', () => {
    const all = [snapshot('3', 15, '30', '2'), snapshot('2', 20, undefined, '1'), snapshot('1', 10, '10', null)]
    expect(rowsOverTime(all, '3', 50_000)).toMatchObject({ x: [10, 20, 20, 50], rows: [10, null, 30, 30] })
  })

  test('are absent without a current snapshot or any total; a parent cycle ends the line', () => {
    expect(rowsOverTime([snapshot('1', 10, '1', null)], null, 0)).toBeUndefined()
    expect(rowsOverTime([snapshot('1', 10, undefined, null)], '1', 0)).toBeUndefined()
    expect(rowsOverTime([snapshot('1', 10, '1', '1')], '1', 20_000)?.snapshotCount).toBe(1)
  })
})

describe('the state at a time, before a restore', () => {
  const point: RecoveryPoint = {
    snapshot_id: '7',
    made_current_at: '2026-11-20T10:00:00.000Z',
    current_until: '2026-11-20T11:00:00.500Z',
    operation: 'append',
    summary: {},
    is_current: false,
    is_readable: true,
    is_restorable: true,
    obstacle: null,
  }
  const describeFor = (recovery_points: RecoveryPoint[], earliest_at: string | null = point.made_current_at) =>
    describeRestore(
      {
        success: true,
        table: 's.t',
        branch: 'main',
        earliest_at,
        earlier: 'expired',
        earlier_reason: 'older snapshots have expired',
        recovery_points,
        next_page_token: null,
      },
      'Europe/Berlin',
    )

  test('has the snapshot and its times in the zone of the page', () => {
    expect(describeFor([point])).toEqual({
      text: 'Snapshot 7 (append) was current from 2026-11-20 11:00:00 +01:00 until 2026-11-20 12:00:00 +01:00.',
      isRestorable: true,
    })
  })

  test('cannot be restored when it is current, expired, outside of the history or unknown', () => {
    const cases: readonly [RecoveryPoint | undefined, RegExp][] = [
      [{ ...point, current_until: null, is_current: true }, /is current since .* nothing to restore\.$/],
      [
        { ...point, is_readable: false, is_restorable: false, obstacle: 'expired' },
        /expired and cannot .* earliest time/,
      ],
      [
        { ...point, is_restorable: false, obstacle: 'not_in_history' },
        /no ancestor .* earliest time .* have expired\.$/,
      ],
      [undefined, /^No state .* is 2026-11-20 11:00:00 \+01:00\. Older snapshots have expired\.$/],
    ]
    for (const [one, text] of cases) {
      const answer = describeFor(one === undefined ? [] : [one])
      expect(answer).toEqual({ text: expect.stringMatching(text), isRestorable: false })
    }
    expect(describeFor([], null).text).toBe('No state of that time is known. Older snapshots have expired.')
  })
})

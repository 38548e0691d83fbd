import type { Snapshot } from '../../../api/types.ts'
import { liveRows } from './snapshot-change.ts'

/** Rows of a table over time; the line keeps its value from one snapshot to the next. */
export interface RowsOverTime {
  /** Seconds since 1970, ascending; the last one is now. */
  readonly x: readonly number[]
  readonly rows: readonly (number | null)[]
  /** How many snapshots the line is made of. */
  readonly snapshotCount: number
  /** Some value ignores equality deletes. */
  readonly isUpperBound: boolean
  /** Older snapshots have expired: the line begins in the middle. */
  readonly isCut: boolean
}

/**
 * Rows of the current snapshot and of its ancestors among `snapshots`, up to `nowMs`. Snapshots of other branches and
 * those that were rolled back are not in it. Undefined when no summary has a total.
 */
export function rowsOverTime(
  snapshots: readonly Snapshot[],
  current: string | null | undefined,
  nowMs: number,
): RowsOverTime | undefined {
  const byId = new Map(snapshots.map((one) => [one.snapshot_id, one]))
  const line = new Set<Snapshot>()
  for (let one = byId.get(current ?? ''); one && !line.has(one); one = byId.get(one.parent_id ?? '')) line.add(one)
  const oldest = [...line].at(-1)
  const points = [...line].reverse().map((one) => ({ at: Date.parse(one.committed_at) / 1000, live: liveRows(one) }))
  if (oldest === undefined || points.every(({ live }) => live === undefined)) return undefined
  const rows = points.map(({ live }) => live?.rows ?? null)
  const x = points.map(({ at }) => at)
  // Clocks of writers differ, and the axis must ascend.
  for (let at = 1; at < x.length; at++) x[at] = Math.max(x[at] ?? 0, x[at - 1] ?? 0)
  return {
    x: [...x, Math.max(nowMs / 1000, x.at(-1) ?? 0)],
    rows: [...rows, rows.at(-1) ?? null],
    snapshotCount: line.size,
    isUpperBound: points.some(({ live }) => live?.isUpperBound === true),
    isCut: oldest.parent_id !== null,
  }
}

import type { Snapshot } from '../../../api/types.ts'

type Summary = Snapshot['summary']

/** Files or bytes that a snapshot added and removed; `total` afterwards is undefined where the summary has none. */
export interface SnapshotDelta {
  readonly added: number
  readonly removed: number
  readonly total: number | undefined
}

const KEYS = {
  files: { added: 'added-data-files', removed: 'deleted-data-files', total: 'total-data-files' },
  bytes: { added: 'added-files-size', removed: 'removed-files-size', total: 'total-files-size' },
} as const

/** Data files or bytes of a snapshot's summary, whose counts are decimal strings (spec, "Optional Snapshot Summary Fields"). */
export function snapshotDelta({ summary }: Pick<Snapshot, 'summary'>, what: keyof typeof KEYS): SnapshotDelta {
  const keys = KEYS[what]
  return {
    added: numberIn(summary, keys.added) ?? 0,
    removed: numberIn(summary, keys.removed) ?? 0,
    total: numberIn(summary, keys.total),
  }
}

/** What a snapshot did to the rows that a query returns. */
export type RowChange =
  /** The same rows in other files. `applied`: deleted rows that the new files no longer contain. */
  | { readonly kind: 'rewritten'; readonly applied: number }
  /** `deleted` counts rows of removed files and rows marked by position deletes; `equalityDeletes` are keys, not rows. */
  | { readonly kind: 'changed'; readonly added: number; readonly deleted: number; readonly equalityDeletes: number }

/** Reads the row change of a snapshot from its operation and summary. */
export function rowChange({ operation, summary }: Pick<Snapshot, 'operation' | 'summary'>): RowChange {
  const count = (key: string): number => numberIn(summary, key) ?? 0
  const added = count('added-records')
  const removed = count('deleted-records')
  const isConversion = operation === 'overwrite' && summary['lockhouse.same-rows'] === 'true' // of equality deletes
  if (operation === 'replace' || isConversion) return { kind: 'rewritten', applied: Math.max(0, removed - added) }
  // Removed position deletes belong to removed files, whose rows they had deleted before.
  const marked = count('added-position-deletes') - count('removed-position-deletes')
  return {
    kind: 'changed',
    added,
    deleted: Math.max(0, removed + marked),
    equalityDeletes: count('added-equality-deletes'),
  }
}

/** Rows of the table at a snapshot. */
export interface LiveRows {
  readonly rows: number
  /** Equality deletes are in force, and the summary does not say how many rows they delete. */
  readonly isUpperBound: boolean
}

/** Rows in data files without those that position deletes mark; undefined where the summary has no total. */
export function liveRows({ summary }: Pick<Snapshot, 'summary'>): LiveRows | undefined {
  const stored = numberIn(summary, 'total-records')
  if (stored === undefined) return undefined
  const marked = numberIn(summary, 'total-position-deletes') ?? 0
  return { rows: Math.max(0, stored - marked), isUpperBound: (numberIn(summary, 'total-equality-deletes') ?? 0) > 0 }
}

function numberIn(summary: Summary, key: string): number | undefined {
  const value = summary[key]
  if (value === undefined || !/^\d+$/.test(value)) return undefined
  return Number(value)
}

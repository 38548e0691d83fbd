import type { Snapshot } from '../../api/types.ts'

/** What a snapshot added and took away, and what there is afterwards; undefined where its summary does not say. */
export interface SnapshotDelta {
  readonly added: number
  readonly removed: number
  readonly total: number | undefined
}

const KEYS = {
  rows: { added: 'added-records', removed: 'deleted-records', total: 'total-records' },
  files: { added: 'added-data-files', removed: 'deleted-data-files', total: 'total-data-files' },
  bytes: { added: 'added-files-size', removed: 'removed-files-size', total: 'total-files-size' },
} as const

/** Rows, data files or bytes of a snapshot's summary; the counts are texts, as Iceberg writes them. */
export function snapshotDelta({ summary }: Pick<Snapshot, 'summary'>, what: keyof typeof KEYS): SnapshotDelta {
  const keys = KEYS[what]
  return {
    added: numberIn(summary, keys.added) ?? 0,
    removed: numberIn(summary, keys.removed) ?? 0,
    total: numberIn(summary, keys.total),
  }
}

function numberIn(summary: Readonly<Record<string, string>>, key: string): number | undefined {
  const value = summary[key]
  if (value === undefined || !/^\d+$/.test(value)) return undefined
  return Number(value)
}

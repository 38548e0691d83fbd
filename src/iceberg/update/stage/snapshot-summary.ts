import type { DataFile } from '../../manifest/manifest.ts'
import { isDeletionVector } from '../../puffin/deletion-vector.ts'

/** Metrics of a summary: added, removed and total of each (Iceberg spec, "Optional Snapshot Summary Fields"). */
interface Metric {
  readonly added: string
  readonly removed: string
  readonly total?: string
}

const METRICS = {
  dataFiles: { added: 'added-data-files', removed: 'deleted-data-files', total: 'total-data-files' },
  deleteFiles: { added: 'added-delete-files', removed: 'removed-delete-files', total: 'total-delete-files' },
  positionDeleteFiles: { added: 'added-position-delete-files', removed: 'removed-position-delete-files' },
  equalityDeleteFiles: { added: 'added-equality-delete-files', removed: 'removed-equality-delete-files' },
  deletionVectors: { added: 'added-dvs', removed: 'removed-dvs' },
  records: { added: 'added-records', removed: 'deleted-records', total: 'total-records' },
  filesSize: { added: 'added-files-size', removed: 'removed-files-size', total: 'total-files-size' },
  positionDeletes: {
    added: 'added-position-deletes',
    removed: 'removed-position-deletes',
    total: 'total-position-deletes',
  },
  equalityDeletes: {
    added: 'added-equality-deletes',
    removed: 'removed-equality-deletes',
    total: 'total-equality-deletes',
  },
} as const satisfies Record<string, Metric>

type MetricName = keyof typeof METRICS
const METRIC_NAMES = [
  'dataFiles',
  'deleteFiles',
  'positionDeleteFiles',
  'equalityDeleteFiles',
  'deletionVectors',
  'records',
  'filesSize',
  'positionDeletes',
  'equalityDeletes',
] as const satisfies readonly MetricName[]

/** Size of an entry; of a deletion vector only its blob, because others may share the Puffin file. */
export function contentSizeInBytes(file: DataFile): number {
  return isDeletionVector(file) ? (file.contentSizeInBytes ?? file.fileSizeInBytes) : file.fileSizeInBytes
}

/** Collects what a snapshot adds and removes into the summary that other systems write and read. */
export class SnapshotSummaryBuilder {
  readonly #added = new Map<MetricName, number>()
  readonly #removed = new Map<MetricName, number>()
  readonly #partitions = new Set<string>()

  /** Counts an added file; `partitionKey` is that of its spec and tuple. */
  add(file: DataFile, partitionKey: string): void {
    this.#count(this.#added, file, partitionKey)
  }

  /** Counts a removed file. */
  remove(file: DataFile, partitionKey: string): void {
    this.#count(this.#removed, file, partitionKey)
  }

  /**
   * The summary: counts that are not zero, totals continued from the parent's summary (from zero without a parent;
   * omitted if the parent has none or an invalid one), then `extra`.
   */
  build(
    parent: Readonly<Record<string, string>> | undefined,
    extra: Readonly<Record<string, string>>,
  ): Record<string, string> {
    const summary: Record<string, string> = {}
    for (const name of METRIC_NAMES) {
      const metric: Metric = METRICS[name]
      const added = this.#added.get(name) ?? 0
      const removed = this.#removed.get(name) ?? 0
      if (added > 0) summary[metric.added] = String(added)
      if (removed > 0) summary[metric.removed] = String(removed)
      if (metric.total === undefined) continue
      const total = previousTotal(parent, metric.total) + added - removed
      if (total >= 0) summary[metric.total] = String(total)
    }
    summary['changed-partition-count'] = String(this.#partitions.size)
    return { ...summary, ...extra }
  }

  #count(counts: Map<MetricName, number>, file: DataFile, partitionKey: string): void {
    this.#partitions.add(partitionKey)
    for (const [name, amount] of contributions(file)) counts.set(name, (counts.get(name) ?? 0) + amount)
  }
}

function contributions(file: DataFile): readonly (readonly [MetricName, number])[] {
  const size = ['filesSize', contentSizeInBytes(file)] as const
  switch (file.content) {
    case 'data':
      return [['dataFiles', 1], ['records', file.recordCount], size]
    case 'position-deletes': {
      const kind = isDeletionVector(file) ? 'deletionVectors' : 'positionDeleteFiles'
      return [['deleteFiles', 1], [kind, 1], ['positionDeletes', file.recordCount], size]
    }
    case 'equality-deletes':
      return [['deleteFiles', 1], ['equalityDeleteFiles', 1], ['equalityDeletes', file.recordCount], size]
  }
}

/** NaN, so that no total is written, unless the parent has a whole number. */
function previousTotal(parent: Readonly<Record<string, string>> | undefined, key: string): number {
  if (parent === undefined) return 0
  const text = Object.hasOwn(parent, key) ? parent[key] : undefined
  const value = text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : Number.NaN
}

import { withoutPaths } from '../../domain/without-paths.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import type { Verification } from './options.ts'
import type { CompactionGroup, CompactionPlan } from './plan.ts'
import type { GroupFailure, RewrittenGroup } from './group-rewrite.ts'

/** A group that was not compacted, as shown in responses. */
export interface FailedGroupDetails {
  readonly files: number
  readonly bytes: number
  readonly reason: string
}

/**
 * Outcome of a compaction, or of its dry run, in the column names of Iceberg's `rewrite_data_files`; sizes in bytes,
 * snapshot ids as text. In a dry run, the added numbers are the planner's estimates, the delete files are all that apply
 * to the selected files, and the deleted rows are those of position deletes.
 */
export interface CompactionDetails {
  readonly rewritten_data_files_count: number
  readonly added_data_files_count: number
  readonly rewritten_bytes_count: number
  /** Of the rewritten files and bytes, those whose row groups were copied without being read; in a dry run, at most. */
  readonly copied_data_files_count: number
  readonly copied_bytes_count: number
  readonly failed_data_files_count: number
  readonly removed_delete_files_count: number
  /** Rows that other writers deleted during the rewrite, and whose deletes were carried over to the new files. */
  readonly carried_over_deletes_count: number
  readonly added_bytes_count: number
  readonly base_snapshot_id: string | null
  /** The last snapshot of the compaction; null when it had nothing to do. */
  readonly snapshot_id: string | null
  readonly rows_read: number
  readonly rows_deleted: number
  readonly rows_written: number
  /** What was verified in the new files before the commit: their values, or only the number of rows. */
  readonly verified: Verification
  /** Columns whose values were compared, row lineage included; empty when nothing was. */
  readonly verified_columns: readonly string[]
  /** Time that the comparison took, summed over the groups. */
  readonly verify_ms: number
  readonly groups_count: number
  readonly commits_count: number
  readonly failures: readonly FailedGroupDetails[]
}

/** What a commit of groups did. */
export interface CompactionCommit {
  readonly snapshotId: bigint
  readonly removedDeleteFiles: number
  readonly carriedRows: number
}

/** Sums up the outcome of a compaction as its groups are committed or fail. */
export class CompactionTally {
  readonly #baseSnapshotId: bigint | undefined
  readonly #failures: FailedGroupDetails[] = []
  /** Files whose outcome is counted already: a group may fail on its own and again with its batch. */
  readonly #settled = new Set<string>()
  #groups = 0
  #rewrittenFiles = 0
  #addedFiles = 0
  #copied = { files: 0, bytes: 0 }
  #rewrittenBytes = 0
  #addedBytes = 0
  #failedFiles = 0
  #removedDeleteFiles = 0
  #carriedRows = 0
  readonly #verification: Verification
  #verified = { columns: new Set<string>(), milliseconds: 0 }
  #rows = { read: 0, deleted: 0, written: 0 }
  #commits = 0
  #snapshotId: bigint | undefined

  constructor({ baseSnapshotId, skipped, options }: Pick<CompactionPlan, 'baseSnapshotId' | 'skipped' | 'options'>) {
    this.#baseSnapshotId = baseSnapshotId
    this.#verification = options.verify
    this.skipped(skipped)
  }

  get committedGroups(): number {
    return this.#groups
  }

  committed(groups: readonly RewrittenGroup[], commit: CompactionCommit): void {
    this.#commits += 1
    this.#snapshotId = commit.snapshotId
    this.#removedDeleteFiles += commit.removedDeleteFiles
    this.#carriedRows += commit.carriedRows
    for (const { group, added, rows, values, isCopied } of groups) {
      for (const task of group.inputs) this.#settled.add(task.dataFile.filePath)
      this.#groups += 1
      this.#rewrittenFiles += group.inputs.length
      this.#rewrittenBytes += group.bytes
      if (isCopied) {
        this.#copied.files += group.inputs.length
        this.#copied.bytes += group.bytes
      }
      this.#addedFiles += added.length
      for (const file of added) this.#addedBytes += file.fileSizeInBytes
      this.#rows.read += rows.rowsRead
      this.#rows.deleted += rows.rowsDeleted
      this.#rows.written += rows.rowsWritten
      for (const name of values?.columns ?? []) this.#verified.columns.add(name)
      this.#verified.milliseconds += values?.milliseconds ?? 0
    }
  }

  /** Counts groups that a plan leaves out. */
  skipped(groups: CompactionPlan['skipped']): void {
    for (const { files, bytes, reason } of groups) {
      this.#failures.push({ files, bytes, reason })
      this.#failedFiles += files
    }
  }

  failed(failures: readonly GroupFailure[]): void {
    for (const { group, error } of failures) {
      const files = group.inputs.filter((task) => !this.#settled.has(task.dataFile.filePath))
      if (files.length === 0) continue
      for (const task of files) this.#settled.add(task.dataFile.filePath)
      this.#failedFiles += files.length
      const reason = withoutPaths(error instanceof Error ? error.message : String(error))
      this.#failures.push({ files: files.length, bytes: group.bytes, reason })
    }
  }

  details(): CompactionDetails {
    return {
      rewritten_data_files_count: this.#rewrittenFiles,
      added_data_files_count: this.#addedFiles,
      rewritten_bytes_count: this.#rewrittenBytes,
      copied_data_files_count: this.#copied.files,
      copied_bytes_count: this.#copied.bytes,
      failed_data_files_count: this.#failedFiles,
      removed_delete_files_count: this.#removedDeleteFiles,
      carried_over_deletes_count: this.#carriedRows,
      added_bytes_count: this.#addedBytes,
      base_snapshot_id: this.#baseSnapshotId?.toString() ?? null,
      snapshot_id: this.#snapshotId?.toString() ?? null,
      rows_read: this.#rows.read,
      rows_deleted: this.#rows.deleted,
      rows_written: this.#rows.written,
      verified: this.#verification,
      verified_columns: [...this.#verified.columns],
      verify_ms: this.#verified.milliseconds,
      groups_count: this.#groups,
      commits_count: this.#commits,
      failures: this.#failures,
    }
  }
}

/** What a plan would do, in the same shape as its outcome, and its groups (the first `maxGroups`, largest first). */
export interface CompactionPreview extends CompactionDetails {
  /** Files that need a rewrite, but exceed `max_bytes_to_rewrite`. */
  readonly beyond_budget_files_count: number
  readonly beyond_budget_bytes_count: number
  readonly groups: readonly PlannedGroupDetails[]
}

export interface PlannedGroupDetails {
  readonly files: number
  readonly bytes: number
  readonly expected_files: number
  readonly reasons: readonly string[]
  /** `copy`: row groups are copied, if the footers permit it. */
  readonly method: 'copy' | 'rewrite'
  /** Why row groups are not copied. */
  readonly no_copy_reason?: string
  /** The files whose bounds overlap with most others, those first; only when rows are laid out anew. */
  readonly most_overlapping?: readonly OverlappingFileDetails[]
}

export interface OverlappingFileDetails {
  readonly file_path: string
  readonly bytes: number
  /** With how many other files of the partition the bounds overlap. */
  readonly overlaps: number
}

/** Describes a plan without running it. Pure. */
export function describeCompactionPlan(
  plan: CompactionPlan | CompactionPlan<number>,
  maxGroups = 100,
): CompactionPreview {
  const groups: readonly ShownGroup[] = plan.groups
  const copied = groups.filter(({ noCopyReason }) => noCopyReason === undefined)
  const largest = groups.toSorted((a, b) => b.bytes - a.bytes).slice(0, maxGroups)
  return {
    ...new CompactionTally(plan).details(),
    rewritten_data_files_count: plan.totals.files,
    added_data_files_count: plan.totals.expectedOutputFiles,
    copied_data_files_count: copied.reduce((sum, { inputs }) => sum + inputs.length, 0),
    copied_bytes_count: copied.reduce((sum, { bytes }) => sum + bytes, 0),
    rewritten_bytes_count: plan.totals.bytes,
    added_bytes_count: plan.totals.bytes,
    removed_delete_files_count: plan.totals.deleteFiles,
    rows_read: plan.totals.records,
    rows_deleted: plan.totals.positionDeletes,
    rows_written: plan.totals.records - plan.totals.positionDeletes,
    groups_count: plan.totals.groups,
    beyond_budget_files_count: plan.beyondBudget.files,
    beyond_budget_bytes_count: plan.beyondBudget.bytes,
    groups: largest.map(describeGroup),
  }
}

/** A group whose files are scan tasks, or only positions. */
type ShownGroup = CompactionGroup<FileScanTask | number>

function describeGroup(group: ShownGroup): PlannedGroupDetails {
  return {
    files: group.inputs.length,
    bytes: group.bytes,
    expected_files: group.expectedOutputFiles,
    reasons: group.reasons,
    method: group.noCopyReason === undefined ? 'copy' : 'rewrite',
    ...(group.noCopyReason === undefined ? {} : { no_copy_reason: group.noCopyReason }),
    ...(group.overlaps === undefined ? {} : { most_overlapping: mostOverlapping(group, group.overlaps) }),
  }
}

/** Files of a group that a preview names. */
const MAX_NAMED_FILES = 20

function mostOverlapping({ inputs }: ShownGroup, overlaps: readonly number[]): OverlappingFileDetails[] {
  const measured = inputs.flatMap((input, at) => {
    if (typeof input === 'number') return []
    const { filePath, fileSizeInBytes } = input.dataFile
    return [{ file_path: filePath, bytes: fileSizeInBytes, overlaps: Math.round(overlaps[at] ?? 0) }]
  })
  return measured.toSorted((a, b) => b.overlaps - a.overlaps).slice(0, MAX_NAMED_FILES)
}

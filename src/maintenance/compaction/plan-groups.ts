import { unwritableReason } from '../../engines/writable-types.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { currentSchema, type TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { PartitionSpec, PartitionTuple } from '../../iceberg/partitioning/partitioning.ts'
import { type CopyFacts, copyRefusal } from './copy-plan.ts'
import { expectedOutputFiles, type FileMeasures, type SelectedGroup } from './file-selection.ts'
import { selectFileGroups, targetSplitBytes } from './file-selection.ts'
import type { CompactionOptions } from './options.ts'
import type { CompactionGroup, CompactionPlan } from './plan.ts'

/** What a plan asks of files in any representation: scan tasks, or positions in columns. */
export interface PlannedFiles<T> {
  readonly measures: FileMeasures<T>
  /** Why the embedded engine must not rewrite one of the files; undefined: none. */
  readonly unsupportedReason: (files: readonly T[]) => string | undefined
  readonly copyFactsOf: (file: T) => CopyFacts
  /** With how many other files a file overlaps; undefined when rows keep their order. */
  readonly overlaps?: { readonly of: (file: T) => number } | undefined
}

/** Files of one partition, or of all other specs than the current one. */
export interface FilePool<T> {
  readonly key: string
  /** Undefined for rows of several partitions. */
  readonly partition: PartitionTuple | undefined
  readonly files: readonly T[]
}

/** How groups are made of selected files. */
export interface GroupRules {
  readonly metadata: TableMetadata
  readonly spec: PartitionSpec
  readonly options: CompactionOptions
  readonly isEmbedded: boolean
}

/** The groups of a plan, and those that are left out. Errors as of `planCompaction`. Pure. */
export function planGroups<T>(
  pools: Iterable<FilePool<T>>,
  files: PlannedFiles<T>,
  rules: GroupRules,
): Pick<CompactionPlan<T>, 'groups' | 'skipped'> {
  const planner = new GroupPlanner(files, rules)
  for (const pool of pools) planner.add(pool)
  return planner.finish()
}

/** Why a group can neither be rewritten nor copied. */
export function bothReasons(noRewriteReason: string, noCopyReason: string): string {
  return `${noRewriteReason}; its row groups are not copied: ${noCopyReason}`
}

/** Plans the groups of one pool after the other. */
export class GroupPlanner<T> {
  readonly #groups: CompactionGroup<T>[] = []
  readonly #skipped: CompactionPlan['skipped'][number][] = []
  readonly #files: PlannedFiles<T>
  readonly #rules: GroupRules
  /** Why the engine cannot write the columns of the table; undefined: it can. */
  readonly #noRewriteReason: string | undefined
  #filesLeft: number

  constructor(files: PlannedFiles<T>, rules: GroupRules) {
    this.#files = files
    this.#rules = rules
    this.#filesLeft = rules.options.maxFilesToRewrite ?? Number.POSITIVE_INFINITY
    const { isEmbedded, metadata } = rules
    this.#noRewriteReason = isEmbedded
      ? unwritableReason(currentSchema(metadata).fields, metadata.properties)
      : undefined
  }

  /** Selects files of a pool. Errors as of `planCompaction`. */
  add(pool: FilePool<T>): void {
    const { options, isEmbedded } = this.#rules
    for (const selected of selectFileGroups(pool.files, this.#files.measures, options)) {
      const reason = isEmbedded ? this.#files.unsupportedReason(selected.files) : undefined
      if (reason !== undefined) {
        if (!options.partialProgress) throw new IcebergError('UNSUPPORTED', `cannot compact the table: ${reason}`)
        this.#skip(pool, selected, reason)
        continue
      }
      if (this.#filesLeft <= 0) continue
      this.#addGroup(pool, selected)
    }
  }

  /** The groups, and what was left out. `UNSUPPORTED` when the engine cannot write the table and no group can be copied. */
  finish(): Pick<CompactionPlan<T>, 'groups' | 'skipped'> {
    const [first] = this.#skipped
    const isRefused = this.#noRewriteReason !== undefined && this.#rules.options.method !== 'copy'
    if (isRefused && this.#groups.length === 0 && first !== undefined) {
      throw new IcebergError('UNSUPPORTED', `cannot compact the table: ${first.reason}`)
    }
    return { groups: this.#groups, skipped: this.#skipped }
  }

  #addGroup(pool: FilePool<T>, selected: SelectedGroup<T>): void {
    const group = this.#toGroup(pool, selected)
    const noCopyReason = this.#copyRefusal(group)
    const skipReason = this.#reasonToSkip(noCopyReason)
    if (skipReason !== undefined) {
      this.#skip(pool, { files: group.inputs, bytes: group.bytes }, skipReason)
      return
    }
    const noRewriteReason = this.#noRewriteReason
    this.#groups.push({
      ...group,
      ...(noCopyReason === undefined ? {} : { noCopyReason }),
      ...(noRewriteReason === undefined ? {} : { noRewriteReason }),
    })
    this.#filesLeft -= Math.min(selected.files.length, this.#filesLeft)
  }

  #skip({ key }: FilePool<T>, { files, bytes }: Pick<SelectedGroup<T>, 'files' | 'bytes'>, reason: string): void {
    this.#skipped.push({ partitionKey: key, files: files.length, bytes, reason })
  }

  /** Why a group is left as it is: it cannot be copied, and another way is not wanted or not possible. */
  #reasonToSkip(noCopyReason: string | undefined): string | undefined {
    if (noCopyReason === undefined) return undefined
    if (this.#noRewriteReason !== undefined) return bothReasons(this.#noRewriteReason, noCopyReason)
    return this.#rules.options.method === 'copy' ? noCopyReason : undefined
  }

  #copyRefusal({ inputs, partition }: CompactionGroup<T>): string | undefined {
    const { isEmbedded, metadata, options } = this.#rules
    if (!isEmbedded) return 'Spark copies no row groups'
    const { copyFactsOf: factsOf } = this.#files
    const rules = { metadata, options, isOnlyWay: this.#noRewriteReason !== undefined }
    return copyRefusal({ inputs, factsOf, hasPartition: partition !== undefined }, rules)
  }

  #toGroup({ partition, key }: FilePool<T>, selected: SelectedGroup<T>): CompactionGroup<T> {
    const { spec, options } = this.#rules
    const { overlaps, measures } = this.#files
    const isCut = this.#filesLeft < selected.files.length
    const inputs = isCut ? selected.files.slice(0, this.#filesLeft) : selected.files
    return {
      index: this.#groups.length,
      outputSpecId: spec.specId,
      ...(partition === undefined ? {} : { partition }),
      partitionKey: key,
      inputs,
      bytes: isCut ? inputs.reduce((total, file) => total + measures.sizeBytes(file), 0) : selected.bytes,
      // as Iceberg does, max_files_to_rewrite cuts the inputs but keeps the sizing of the whole group
      expectedOutputFiles: expectedOutputFiles(selected.bytes, options),
      targetSplitBytes: targetSplitBytes(selected.bytes, options),
      reasons: selected.reasons,
      ...(overlaps === undefined ? {} : { overlaps: inputs.map((file) => overlaps.of(file)) }),
    }
  }
}

import { IcebergError } from '../../iceberg/errors.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
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
  return planner
}

/** Plans the groups of one pool after the other. */
export class GroupPlanner<T> implements Pick<CompactionPlan<T>, 'groups' | 'skipped'> {
  readonly groups: CompactionGroup<T>[] = []
  readonly skipped: CompactionPlan['skipped'][number][] = []
  readonly #files: PlannedFiles<T>
  readonly #rules: GroupRules
  #filesLeft: number

  constructor(files: PlannedFiles<T>, rules: GroupRules) {
    this.#files = files
    this.#rules = rules
    this.#filesLeft = rules.options.maxFilesToRewrite ?? Number.POSITIVE_INFINITY
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

  #addGroup(pool: FilePool<T>, selected: SelectedGroup<T>): void {
    const group = this.#toGroup(pool, selected)
    const noCopyReason = this.#copyRefusal(group)
    if (this.#rules.options.method === 'copy' && noCopyReason !== undefined) {
      this.#skip(pool, { files: group.inputs, bytes: group.bytes }, noCopyReason)
      return
    }
    this.groups.push(noCopyReason === undefined ? group : { ...group, noCopyReason })
    this.#filesLeft -= Math.min(selected.files.length, this.#filesLeft)
  }

  #skip({ key }: FilePool<T>, { files, bytes }: Pick<SelectedGroup<T>, 'files' | 'bytes'>, reason: string): void {
    this.skipped.push({ partitionKey: key, files: files.length, bytes, reason })
  }

  #copyRefusal({ inputs, partition }: CompactionGroup<T>): string | undefined {
    const { isEmbedded, ...rules } = this.#rules
    if (!isEmbedded) return 'Spark copies no row groups'
    const { copyFactsOf: factsOf } = this.#files
    return copyRefusal({ inputs, factsOf, hasPartition: partition !== undefined }, rules)
  }

  #toGroup({ partition, key }: FilePool<T>, selected: SelectedGroup<T>): CompactionGroup<T> {
    const { spec, options } = this.#rules
    const { overlaps, measures } = this.#files
    const isCut = this.#filesLeft < selected.files.length
    const inputs = isCut ? selected.files.slice(0, this.#filesLeft) : selected.files
    return {
      index: this.groups.length,
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

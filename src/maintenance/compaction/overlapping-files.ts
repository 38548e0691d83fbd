import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import { fileRange } from '../where/metrics-filter.ts'
import type { Layout } from '../clustering/layout.ts'
import { chooseOverlapping, measureOverlap } from '../clustering/overlap.ts'
import type { FileRange } from '../clustering/overlap.ts'
import { expectedOutputFiles, isCandidate } from './file-selection.ts'
import type { FileMeasures, SelectionThresholds } from './file-selection.ts'

/** The overlaps of files with the other files of their partitions. */
export interface FileOverlaps {
  /** With how many other files a file overlaps. */
  readonly of: (task: FileScanTask) => number
  /** Whether laying the file out anew reduces overlaps. */
  readonly isChosen: (task: FileScanTask) => boolean
}

/** Measures and chooses files of partitions by their bounds; the tasks must carry the metrics of the layout's columns. Pure. */
export function findOverlappingFiles(
  layout: Layout,
  partitions: readonly (readonly FileScanTask[])[],
  thresholds: SelectionThresholds,
): FileOverlaps {
  const counts = new Map<FileScanTask, number>()
  const chosen = new Set<FileScanTask>()
  for (const tasks of partitions) {
    const { overlaps } = measureOverlap(layout, rangesOf(layout, tasks))
    for (const [at, task] of tasks.entries()) counts.set(task, overlaps[at] ?? 0)
    const outputFiles = (files: readonly number[]): number =>
      expectedOutputFiles(sumBytes(files.flatMap((file) => tasks[file] ?? [])), thresholds)
    for (const file of chooseOverlapping({ layout, overlaps, outputFiles })) {
      const task = tasks[file]
      if (task !== undefined) chosen.add(task)
    }
  }
  return { of: (task) => counts.get(task) ?? 0, isChosen: (task) => chosen.has(task) }
}

function rangesOf({ columns }: Layout, tasks: readonly FileScanTask[]): readonly (readonly FileRange[])[] {
  return columns.map(({ id, type }) => tasks.map(({ dataFile }) => fileRange(dataFile, id, type)))
}

/** A byte budget for the files of partitions. */
export interface BudgetInput {
  readonly partitions: readonly (readonly FileScanTask[])[]
  readonly measures: FileMeasures<FileScanTask>
  readonly thresholds: SelectionThresholds
  readonly maxBytes: number
  readonly overlaps?: FileOverlaps | undefined
}

/** The candidates of all partitions that fit into a budget, those that overlap most first. Pure. */
export function chooseWithinBytes(input: BudgetInput): ReadonlySet<FileScanTask> {
  const { partitions, measures, thresholds, maxBytes, overlaps } = input
  const candidates = partitions.flat().filter((task) => isCandidate(task, measures, thresholds))
  const ordered = overlaps === undefined ? candidates : candidates.toSorted((a, b) => overlaps.of(b) - overlaps.of(a))
  const chosen = new Set<FileScanTask>()
  let bytes = 0
  for (const task of ordered) {
    const size = task.dataFile.fileSizeInBytes
    if (bytes + size > maxBytes) continue
    bytes += size
    chosen.add(task)
  }
  return chosen
}

function sumBytes(tasks: readonly FileScanTask[]): number {
  return tasks.reduce((sum, { dataFile }) => sum + dataFile.fileSizeInBytes, 0)
}

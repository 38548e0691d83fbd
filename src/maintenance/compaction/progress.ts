import type { EngineProgress } from '../../engines/run-options.ts'
import type { CompactionGroup, CompactionTotals } from './plan.ts'

/** How far a compaction is; files and bytes are those of the inputs. */
export interface CompactionProgress {
  readonly phase: 'rewriting' | 'committing'
  readonly groupsDone: number
  readonly groupsTotal: number
  readonly filesDone: number
  readonly filesTotal: number
  readonly bytesDone: number
  readonly bytesTotal: number
}

type ProgressTotals = Pick<CompactionTotals, 'groups' | 'files' | 'bytes'>

/** Turns the progress of groups into one figure; it only decreases when groups must be repeated. */
export class CompactionProgressMeter {
  readonly #report: ((progress: CompactionProgress) => void) | undefined
  readonly #running = new Map<CompactionGroup, number>()
  #total: ProgressTotals
  #done: ProgressTotals = { groups: 0, files: 0, bytes: 0 }

  constructor(totals: ProgressTotals, report: ((progress: CompactionProgress) => void) | undefined) {
    this.#total = totals
    this.#report = report
  }

  groupProgress(group: CompactionGroup, { rowsDone, rowsTotal }: EngineProgress): void {
    const share = rowsTotal > 0 ? Math.min(1, rowsDone / rowsTotal) : 0
    this.#running.set(group, Math.max(this.#running.get(group) ?? 0, Math.floor(group.bytes * share)))
    this.#emit('rewriting')
  }

  groupDone(group: CompactionGroup): void {
    this.#running.delete(group)
    this.#done = add(this.#done, measure([group]), 1)
    this.#emit('rewriting')
  }

  committing(): void {
    this.#emit('committing')
  }

  /** Groups whose work was discarded, and the groups that replace them. */
  restart(discarded: readonly CompactionGroup[], replacements: readonly CompactionGroup[]): void {
    this.#done = add(this.#done, measure(discarded), -1)
    this.#total = add(add(this.#total, measure(discarded), -1), measure(replacements), 1)
    this.#emit('rewriting')
  }

  #emit(phase: CompactionProgress['phase']): void {
    if (this.#report === undefined) return
    let runningBytes = 0
    for (const bytes of this.#running.values()) runningBytes += bytes
    this.#report({
      phase,
      groupsDone: this.#done.groups,
      groupsTotal: this.#total.groups,
      filesDone: this.#done.files,
      filesTotal: this.#total.files,
      bytesDone: this.#done.bytes + runningBytes,
      bytesTotal: this.#total.bytes,
    })
  }
}

function measure(groups: readonly CompactionGroup[]): ProgressTotals {
  let files = 0
  let bytes = 0
  for (const group of groups) {
    files += group.inputs.length
    bytes += group.bytes
  }
  return { groups: groups.length, files, bytes }
}

function add(a: ProgressTotals, b: ProgressTotals, sign: 1 | -1): ProgressTotals {
  return { groups: a.groups + sign * b.groups, files: a.files + sign * b.files, bytes: a.bytes + sign * b.bytes }
}

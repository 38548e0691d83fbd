import { DeleteComparison } from '../../../iceberg/scan/delete-comparison.ts'
import type { DeleteFileRef } from '../../../iceberg/scan/delete-index.ts'
import type { FileScanTask } from '../../../iceberg/scan/scan.ts'

import { inputOfKey, loadPositionDeletes } from '../scan/position-deletes.ts'
import type { ScanInput } from '../scan/inputs.ts'
import { requireReadable } from '../scan/read-checks.ts'
import type { StageContext } from '../scan/stage-context.ts'

/** Temporary table of the positions that position deletes and deletion vectors remove now; may repeat a position. */
export const LIVE_DELETES = 'live_deletes'

/** Deletes to read for an input; `isComplete`: they replace what was read before. */
interface PendingDeletes {
  readonly input: ScanInput
  /** All deletes that apply to it now. */
  readonly now: readonly DeleteFileRef[]
  readonly refs: readonly DeleteFileRef[]
  readonly isComplete: boolean
}

/** Keeps {@link LIVE_DELETES} up to date, reading only delete files that are new. */
export class ArrivingDeletes {
  readonly #context: StageContext
  readonly #inputs: readonly ScanInput[]
  /** The deletes whose positions are in the table, by input; inputs share lists. */
  readonly #loaded = new Map<ScanInput, readonly DeleteFileRef[]>()
  #loads = 0

  private constructor(context: StageContext, inputs: readonly ScanInput[]) {
    this.#context = context
    this.#inputs = inputs
  }

  static async create(context: StageContext, inputs: readonly ScanInput[]): Promise<ArrivingDeletes> {
    await context.run.execute(`CREATE TEMP TABLE ${LIVE_DELETES} (k BIGINT)`)
    return new ArrivingDeletes(context, inputs)
  }

  /**
   * Reads the position deletes that apply now; `tasks` are in the order of the inputs. Returns the numbers of the inputs whose
   * delete files changed; the first time of all.
   */
  async update(tasks: readonly FileScanTask[]): Promise<readonly number[]> {
    const comparison = new DeleteComparison('position-deletes')
    const pending = this.#inputs.flatMap((input, at) => this.#pending(input, tasks[at]?.deletes ?? [], comparison))
    if (pending.length === 0) return []
    const { run, metadata } = this.#context
    // equality deletes that arrive apply to the new files and are not read
    requireReadable(
      metadata,
      pending.map(({ input, refs }) => ({ ...input.task, deletes: refs })),
    )
    const reset = pending.filter(({ isComplete }) => isComplete).map(({ input }) => input.index)
    if (reset.length > 0) {
      await run.execute(`DELETE FROM ${LIVE_DELETES} WHERE ${inputOfKey('k')} IN (${reset.join(', ')})`)
    }
    await this.#load(pending.filter(({ refs }) => refs.length > 0))
    for (const { input, now } of pending) this.#loaded.set(input, now)
    return pending.map(({ input }) => input.index)
  }

  #pending(input: ScanInput, now: readonly DeleteFileRef[], comparison: DeleteComparison): readonly PendingDeletes[] {
    const loaded = this.#loaded.get(input)
    if (loaded === undefined) return [{ input, now, refs: positionDeletes(now), isComplete: true }]
    const { added, removed } = comparison.compare(loaded, now)
    if (removed.length > 0) return [{ input, now, refs: positionDeletes(now), isComplete: true }]
    return added.length === 0 ? [] : [{ input, now, refs: added, isComplete: false }]
  }

  async #load(pending: readonly PendingDeletes[]): Promise<void> {
    if (pending.length === 0) return
    const { run } = this.#context
    this.#loads += 1
    const table = `arriving_${this.#loads}`
    const inputs = pending.map(({ input, refs }) => ({ ...input, task: { ...input.task, deletes: refs } }))
    await loadPositionDeletes(this.#context, inputs, { table, prefix: `a${this.#loads}_` })
    await run.execute(`INSERT INTO ${LIVE_DELETES} SELECT k FROM ${table}`)
    await run.execute(`DROP TABLE ${table}`)
  }
}

function positionDeletes(deletes: readonly DeleteFileRef[]): readonly DeleteFileRef[] {
  return deletes.filter(({ file }) => file.content === 'position-deletes')
}

import { DomainError } from '../../domain/errors.ts'
import { FairSlots } from '../../engines/fair-slots.ts'
import type { ChangeRange } from '../../iceberg/changes/change-range.ts'
import type { SnapshotChanges } from '../../iceberg/changes/changed-files.ts'
import { planChanges } from '../../iceberg/changes/plan-changes.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { countDataFiles, type FileScanTask, planFiles, planFilesInSteps } from '../../iceberg/scan/scan.ts'

/** Data files of a table that one query may read; more cannot be read within the time limit. */
export const MAX_FILES = 5000

/** Which files are planned, and for whom. */
export interface FilePlanRequest {
  readonly label: string
  readonly table: Table
  /** Undefined: the table has no snapshot. */
  readonly snapshotId: bigint | undefined
  readonly user: string
  readonly signal: AbortSignal
}

/** Files that are planned only as far as rows are needed. */
export interface GrowingPlan {
  /** The files that were planned by now. */
  readonly files: readonly FileScanTask[]
  /** Whether these are all files. */
  readonly isComplete: boolean
  /** Plans on, until the files have at least this many rows (before deletes), are too many, or no file is left. */
  grow(rows: number): Promise<void>
}

/** Plans the scans of queries: of one user one at a time, because a manifest may need much memory. */
export interface FilePlanner {
  /** All files. `UNPROCESSABLE` for too many, where possible before a manifest is read; errors of `planFiles`. */
  all(request: FilePlanRequest): Promise<readonly FileScanTask[]>
  /** All files of a table with at most as many as a query may read, else the first ones. Errors as {@link all}. */
  first(request: FilePlanRequest): Promise<GrowingPlan>
  /** The changed files of each snapshot of a range. `UNPROCESSABLE` for too many snapshots, files or manifest entries. */
  changes(request: ChangePlanRequest): Promise<readonly SnapshotChanges[]>
}

/** Which changes are planned, and for whom. */
export interface ChangePlanRequest extends Omit<FilePlanRequest, 'snapshotId'> {
  readonly range: ChangeRange
}

/** Snapshots of which one query may read the changes. */
export const MAX_SNAPSHOTS = 1000
/** Entries of manifests and manifest lists of these snapshots, together: about ten seconds of work. */
const MAX_ENTRIES = 1_000_000

const LANES = { plan: { running: 4, runningPerOwner: 1, waiting: 64, waitingPerOwner: 8 } } as const

/** A planner with a queue of its own. */
export function createFilePlanner(): FilePlanner {
  const slots = new FairSlots(LANES)
  const inTurn = <T>(
    { user: owner, signal, label }: Turn,
    work: () => Promise<T>,
    explain: Explain = tooMany,
  ): Promise<T> =>
    slots.run({ lane: 'plan', owner, signal }, () =>
      work().catch((error: unknown) =>
        Promise.reject(isIcebergError(error, 'LIMIT_EXCEEDED') ? explain(label, error) : error),
      ),
    )
  return {
    all: (request) => inTurn(request, () => planAll(request)),
    first: (request) =>
      inTurn(request, async () => {
        const { table, snapshotId } = request
        const count = snapshotId === undefined ? 0 : await countDataFiles(table, snapshotId)
        if (count === undefined || count > MAX_FILES) return new PlanInSteps(request, (work) => inTurn(request, work))
        return completePlan(await planAll(request))
      }),
    changes: (request) => inTurn(request, () => planRange(request), tooManyChanges),
  }
}

type Explain = (label: string, error: Error) => DomainError
type Turn = Pick<FilePlanRequest, 'user' | 'signal' | 'label'>

async function planRange({ table, range, label, signal }: ChangePlanRequest): Promise<readonly SnapshotChanges[]> {
  const { length } = range.snapshots
  if (length > MAX_SNAPSHOTS) {
    const message = `${label} has ${length} snapshots in this range, and a query reads the changes of at most ${MAX_SNAPSHOTS}`
    throw new DomainError('UNPROCESSABLE', `${message}: choose a smaller range`)
  }
  const steps: SnapshotChanges[] = []
  const limits = { maxFiles: MAX_FILES, maxEntries: MAX_ENTRIES, signal }
  for await (const step of planChanges(table, range, limits)) steps.push(step)
  return steps
}

function tooManyChanges(label: string, { message }: Error): DomainError {
  return new DomainError(
    'UNPROCESSABLE',
    `${label} has too many changes to read here: ${message}; at most ${MAX_FILES} changed files are read, so choose a smaller range`,
  )
}

/** A plan that has all files. */
export function completePlan(files: readonly FileScanTask[]): GrowingPlan {
  return { files, isComplete: true, grow: () => Promise.resolve() }
}

/** `UNPROCESSABLE` for more files than a query may read. */
export function requireFewFiles(label: string, files: readonly FileScanTask[]): void {
  if (files.length > MAX_FILES) throw tooMany(label)
}

async function planAll({ table, snapshotId, signal }: FilePlanRequest): Promise<readonly FileScanTask[]> {
  return snapshotId === undefined ? [] : planFiles(table, { snapshotId, maxFiles: MAX_FILES, signal })
}

class PlanInSteps implements GrowingPlan {
  readonly files: FileScanTask[] = []
  isComplete = false
  #rows = 0
  readonly #steps: AsyncGenerator<readonly FileScanTask[]>
  readonly #inTurn: (work: () => Promise<void>) => Promise<void>

  constructor({ table, snapshotId, signal }: FilePlanRequest, inTurn: (work: () => Promise<void>) => Promise<void>) {
    const snapshot = snapshotId === undefined ? {} : { snapshotId }
    this.#steps = planFilesInSteps(table, { ...snapshot, maxFiles: MAX_FILES, signal })
    this.#inTurn = inTurn
  }

  grow(rows: number): Promise<void> {
    return this.#inTurn(async () => {
      while (!this.isComplete && this.#rows < rows && this.files.length <= MAX_FILES) {
        const { value = [], done } = await this.#steps.next()
        this.isComplete = done === true
        for (const task of value as readonly FileScanTask[]) {
          this.files.push(task)
          this.#rows += task.dataFile.recordCount
        }
      }
    })
  }
}

function tooMany(label: string): DomainError {
  return new DomainError(
    'UNPROCESSABLE',
    `${label} has too many files to query here: a query reads at most ${MAX_FILES} data files of a table`,
  )
}

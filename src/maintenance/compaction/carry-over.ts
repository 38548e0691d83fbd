import type { Engine } from '../../engines/engine.ts'
import type { RowIndex, RowLocation } from '../../engines/row-index.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { newDataLocation } from '../../iceberg/metadata/locations.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { writeDeletionVectors } from '../../iceberg/puffin/deletion-vector-file.ts'
import { PositionBitmap } from '../../iceberg/puffin/position-bitmap.ts'
import { DeleteComparison } from '../../iceberg/scan/delete-comparison.ts'
import type { DeleteFileRef } from '../../iceberg/scan/delete-index.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import { planFiles } from '../../iceberg/scan/scan.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import type { IncludedDeletes } from '../../iceberg/update/stage/stage-rewrite.ts'
import { deleteFiles } from '../file-deletion.ts'
import type { RewrittenGroup } from './group-rewrite.ts'
import { checkCarriedRows } from './row-conservation.ts'

export interface CarryOverInput {
  readonly engine: Engine
  /** The table that the groups were read from. */
  readonly start: Table
  /** Loads the table as it is now. */
  readonly reload: () => Promise<Table>
  /** Prefix of the names of new delete files; unique to the round. */
  readonly fileNamePrefix: string
  readonly signal?: AbortSignal | undefined
}

/** What a rewritten group takes account of. */
interface GroupState {
  index?: RowIndex
  /** The group's inputs with the deletes that the new files take account of. */
  inputs: readonly FileScanTask[]
  /** Delete files of the group's new files. */
  carried: readonly DataFile[]
  rows: number
  /** The format version that the carried files are for. */
  formatVersion: number
}

/** `deletes`: only position deletes or vectors differ, which can be carried over; `lost`: the group must be done again. */
type GroupChange = 'none' | 'deletes' | 'lost'

/** After these errors a group is done again: a needed file is gone or cannot be read, or the index needs too much memory or disk. */
const CANNOT_CARRY = [
  'FILE_NOT_FOUND',
  'CORRUPT_FILE',
  'UNSUPPORTED',
  'ENGINE_FAILED',
  'NO_SPACE',
  'LIMIT_EXCEEDED',
] as const

/**
 * Carries deletes over to the new files of rewritten groups, in the order of events: a commit was refused; {@link update} compares
 * the table with what each group takes account of; the engine finds the deleted rows in the new files; their positions are
 * written as delete files; the next commit adds these (docs/iceberg-notes.md#deletes-that-arrive-during-a-compaction).
 */
export class CarryOver {
  readonly #input: CarryOverInput
  readonly #states = new Map<RewrittenGroup, GroupState>()
  #files = 0

  constructor(input: CarryOverInput) {
    this.#input = input
  }

  /** The deletes that the groups include, for their commit. */
  deletesOf(groups: readonly RewrittenGroup[]): IncludedDeletes {
    const included = new Map<string, readonly DeleteFileRef[]>()
    for (const { inputs } of groups.map((group) => this.#stateOf(group))) {
      for (const { dataFile, deletes } of inputs) included.set(dataFile.filePath, deletes)
    }
    return { included, carried: groups.flatMap((group) => this.#stateOf(group).carried) }
  }

  /** Rows of the groups that the carried deletes remove. */
  rowsOf(groups: readonly RewrittenGroup[]): number {
    return groups.reduce((sum, group) => sum + this.#stateOf(group).rows, 0)
  }

  /** Groups whose rows changed since they were read, other than by equality deletes. */
  async findChanged(groups: readonly RewrittenGroup[]): Promise<readonly RewrittenGroup[]> {
    const fresh = await this.#load()
    return groups.filter((group) => this.#changeOf(group, fresh) !== 'none')
  }

  /**
   * Takes account of the table as it is now; returns the groups that must be done again. These are all groups when no reason
   * for the conflict is found, so that every round makes progress. Errors: those of engine, catalog and FileIO,
   * `ROWS_NOT_CONSERVED`.
   */
  async update(groups: readonly RewrittenGroup[]): Promise<readonly RewrittenGroup[]> {
    const lost = new Set<RewrittenGroup>()
    let fresh = await this.#load()
    const isChanged = groups.some((group) => this.#changeOf(group, fresh) !== 'none')
    if (!isChanged) return groups
    for (;;) {
      const opened = await this.#openIndexes(groups, fresh, lost)
      if (!opened) break
      // opening reads all rows of a group; the table may have moved on
      fresh = await this.#load()
    }
    for (const group of groups) {
      const change = this.#changeOf(group, fresh)
      if (change === 'lost') lost.add(group)
      if (change === 'deletes' && !lost.has(group)) {
        throwIfCancelled(this.#input.signal)
        if (!(await this.#tryCarry(() => this.#carry(group, fresh)))) lost.add(group)
      }
      // copies and temporary tables need space that the other groups may need
      if (lost.has(group)) await this.#closeIndexes([group])
    }
    return groups.filter((group) => lost.has(group))
  }

  /** Deletes the carried files of groups that are not committed, and what the engine stored for them. */
  async discard(groups: readonly RewrittenGroup[]): Promise<void> {
    await this.#closeIndexes(groups)
    const states = groups.map((group) => this.#stateOf(group))
    await deleteFiles(
      this.#input.start.io,
      states.flatMap(({ carried }) => carried.map((file) => file.filePath)),
    )
  }

  /** Closes what the engine opened. */
  async close(): Promise<void> {
    await this.#closeIndexes([...this.#states.keys()])
  }

  async #closeIndexes(groups: readonly RewrittenGroup[]): Promise<void> {
    const states = groups.map((group) => this.#stateOf(group))
    const open = states.flatMap(({ index }) => index ?? [])
    for (const state of states) delete state.index
    await Promise.allSettled(open.map((index) => index.close()))
  }

  /** Opens an index for each group that needs a first one; returns whether any was opened. */
  async #openIndexes(groups: readonly RewrittenGroup[], fresh: Fresh, lost: Set<RewrittenGroup>): Promise<boolean> {
    let opened = false
    for (const group of groups) {
      const state = this.#stateOf(group)
      if (lost.has(group) || state.index !== undefined || this.#changeOf(group, fresh) !== 'deletes') continue
      const isOpen = await this.#tryCarry(async () => {
        state.index = await this.#openIndex(group)
        return true
      })
      if (isOpen) opened = true
      else lost.add(group)
    }
    return opened
  }

  #openIndex({ group, added }: RewrittenGroup): Promise<RowIndex> {
    const { engine, start, signal } = this.#input
    const { io, metadata } = start
    const { formatVersion } = metadata
    const task = { io, metadata, inputs: group.inputs, files: added, schema: currentSchema(metadata), formatVersion }
    return engine.openRowIndex(task, signal === undefined ? {} : { signal })
  }

  /** Returns whether the group takes account of all deletes now. */
  async #carry(group: RewrittenGroup, { table, tasks }: Fresh): Promise<boolean> {
    const state = this.#stateOf(group)
    const inputs = group.group.inputs.map((task) => tasks.get(task.dataFile.filePath) ?? task)
    const location = await state.index?.locate(inputs)
    if (location?.kind !== 'located') return false
    checkCarriedRows(group.added, location)
    const before = state.carried
    state.carried = await this.#writeDeletes(group, { table, location })
    state.formatVersion = table.metadata.formatVersion
    state.inputs = inputs
    state.rows = location.rows
    await deleteFiles(
      table.io,
      before.map((file) => file.filePath),
    )
    return true
  }

  async #writeDeletes(group: RewrittenGroup, { table, location }: ToWrite): Promise<readonly DataFile[]> {
    const { metadata, io } = table
    if (location.rows === 0) return []
    this.#files += 1
    const name = `${this.#input.fileNamePrefix}-g${group.group.index}-deletes-${this.#files}`
    if (metadata.formatVersion >= 3) {
      return writeVectors(io, newDataLocation(metadata, '', `${name}.puffin`), { files: group.added, location })
    }
    const index = this.#stateOf(group).index
    if (index === undefined) return []
    return index.writePositionDeletes({
      properties: metadata.properties,
      newLocation: (n) => newDataLocation(metadata, '', `${name}-${n}.parquet`),
    })
  }

  async #tryCarry(work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work()
    } catch (error) {
      if (CANNOT_CARRY.some((code) => isIcebergError(error, code))) return false
      throw error
    }
  }

  #changeOf(group: RewrittenGroup, fresh: Fresh): GroupChange {
    const { table, tasks } = fresh
    const { inputs, carried, formatVersion } = this.#stateOf(group)
    const changes = new Set(inputs.map((task) => changeOf(task, tasks.get(task.dataFile.filePath), fresh)))
    if (changes.has('lost')) return 'lost'
    const isStale = carried.length > 0 && formatVersion !== table.metadata.formatVersion
    return changes.has('deletes') || isStale ? 'deletes' : 'none'
  }

  #stateOf(group: RewrittenGroup): GroupState {
    const known = this.#states.get(group)
    if (known !== undefined) return known
    const { formatVersion } = this.#input.start.metadata
    const state: GroupState = { inputs: group.group.inputs, carried: [], rows: 0, formatVersion }
    this.#states.set(group, state)
    return state
  }

  async #load(): Promise<Fresh> {
    const table = await this.#input.reload()
    const tasks = await planFiles(table)
    return {
      table,
      tasks: new Map(tasks.map((task) => [task.dataFile.filePath, task])),
      positionDeletes: new DeleteComparison('position-deletes'),
      equalityDeletes: new DeleteComparison('equality-deletes'),
    }
  }
}

/** The table as it is now, and its data files by location. */
interface Fresh extends Comparisons {
  readonly table: Table
  readonly tasks: ReadonlyMap<string, FileScanTask>
}

/** Compare the deletes of now with those that groups take account of. */
interface Comparisons {
  readonly positionDeletes: DeleteComparison
  readonly equalityDeletes: DeleteComparison
}

interface ToWrite {
  readonly table: Table
  readonly location: Extract<RowLocation, { kind: 'located' }>
}

function changeOf(
  planned: FileScanTask,
  now: FileScanTask | undefined,
  { positionDeletes, equalityDeletes }: Comparisons,
): GroupChange {
  if (now === undefined || !isSameFile(planned, now)) return 'lost'
  if (equalityDeletes.compare(planned.deletes, now.deletes).removed.length > 0) return 'lost'
  const { added, removed } = positionDeletes.compare(planned.deletes, now.deletes)
  return added.length === 0 && removed.length === 0 ? 'none' : 'deletes'
}

function isSameFile(planned: FileScanTask, now: FileScanTask): boolean {
  return (
    now.dataFile.firstRowId === planned.dataFile.firstRowId &&
    now.dataFile.recordCount === planned.dataFile.recordCount &&
    now.sequenceNumber === planned.sequenceNumber
  )
}

/** Writes a deletion vector for each new file that has deleted rows. */
function writeVectors(
  io: FileIO,
  location: string,
  { files, location: located }: { readonly files: readonly DataFile[]; readonly location: ToWrite['location'] },
): Promise<readonly DataFile[]> {
  const deleted = files.flatMap((file, at) => {
    const positions = PositionBitmap.of(located.positions[at] ?? [])
    return positions.cardinality === 0 ? [] : [{ file, positions }]
  })
  return writeDeletionVectors(io, location, deleted)
}

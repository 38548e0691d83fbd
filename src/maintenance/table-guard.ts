import type { Catalog } from '../catalog/catalog.ts'
import type { Caller } from '../domain/roles.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import type { Snapshot } from '../iceberg/metadata/snapshots.ts'
import type { Table } from '../iceberg/metadata/table.ts'
import type { TouchedColumn } from './evolve.ts'

/** Snapshots that a pipeline has not read yet. */
export interface SnapshotPin {
  readonly pipelineId: string
  /** The last snapshot that the pipeline has read. */
  readonly snapshotId: bigint
  /** All snapshots that must stay, including that one. */
  readonly snapshotIds: ReadonlySet<bigint>
}

/** What must be kept of a table. */
export interface PinnedHistory {
  readonly pins: readonly SnapshotPin[]
  /** The metadata to choose expired snapshots from: without retention that was only set for these pins. */
  readonly metadata: TableMetadata
  /** The metadata without pins, to determine what is kept because of them. */
  readonly unpinned: TableMetadata
}

/** What a pipeline has not read of a table. */
export interface UnreadRows {
  readonly snapshots: number
  readonly rows: number
}

/** A pipeline or version that would break when a column is renamed or dropped. */
export type ColumnUser =
  | {
      /** A pipeline that runs or should run, or whose unread rows have values of the column. */
      readonly kind: 'pipeline'
      readonly id: string
      readonly isLive: boolean
      /** Rows with the column that the pipeline has not read; only for a change that loses their values. */
      readonly unread?: UnreadRows | undefined
    }
  | {
      /** A version of a pipeline definition in uat or production. */
      readonly kind: 'version'
      readonly id: string
      readonly definition: string
      readonly version: number
      readonly environment: string
      /** The nodes that need the column. */
      readonly nodeIds: readonly string[]
    }

/** A rollback that is about to happen. */
export interface PlannedRollback {
  readonly catalog: Catalog
  readonly table: Table
  /** The snapshots that would be undone, newest first. */
  readonly undone: readonly Snapshot[]
}

/** A pipeline that a rollback would break, or whose rows it would remove. */
export interface AffectedPipeline {
  readonly id: string
  /** Whether it reads the table or writes it. */
  readonly role: 'reader' | 'sink'
  /** Its state; `unknown` for one that was deleted, or that another system runs. */
  readonly state: string
  /** Whether it runs or should run: then the rollback must wait until it is stopped. */
  readonly isLive: boolean
  /** What would happen to it, in words. */
  readonly consequence: string
  /** Undone snapshots that it has read or written, and their rows. */
  readonly snapshots: number
  readonly rows: number
  /** Batches that it wrote with them; none for a reader. */
  readonly batchIds: readonly number[]
}

/** A pipeline that reads or writes a table. */
export interface TableUser {
  readonly id: string
  readonly role: 'reader' | 'sink'
  readonly state: string
  /** Whether it runs or should run. */
  readonly isLive: boolean
}

/** A column, and something that would break without it. */
export interface ColumnUse {
  readonly column: TouchedColumn
  readonly user: ColumnUser
}

/** A batch of a stream that another system commits. */
export interface ForeignBatch {
  /** The id of the stream's query, which identifies its batches in the sink. */
  readonly queryId: string
  readonly batchId: number
  readonly caller: Caller
}

/** Finds what depends on tables; maintenance calls it before it removes anything. */
export interface TableGuard {
  pinsOf(table: Table): Promise<PinnedHistory>
  /** Everything that would break when the columns are renamed or dropped. */
  usersOf(table: string, columns: readonly TouchedColumn[]): Promise<readonly ColumnUse[]>
  /** Every pipeline that reads or writes the table. */
  pipelinesOf(table: string): Promise<readonly TableUser[]>
  /** Every pipeline for which a rollback is not provably without consequence. */
  affectedBy(rollback: PlannedRollback): Promise<readonly AffectedPipeline[]>
  /** Why the batch would make a pipeline skip rows; undefined when it does not, or no pipeline has the query. */
  batchProblem(batch: ForeignBatch): Promise<string | undefined>
}

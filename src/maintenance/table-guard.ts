import type { TableMetadata } from '../iceberg/metadata.ts'
import type { Table } from '../iceberg/table.ts'
import type { TouchedColumn } from './evolve.ts'

/** Snapshots that a pipeline has still to read. */
export interface SnapshotPin {
  readonly pipelineId: string
  /** Up to where the pipeline has read. */
  readonly snapshotId: bigint
  /** All that must stay, that one among them. */
  readonly snapshotIds: ReadonlySet<bigint>
}

/** What must be kept of a table. */
export interface PinnedHistory {
  readonly pins: readonly SnapshotPin[]
  /** The metadata to choose expired snapshots from: without retention that was only set for these pins. */
  readonly metadata: TableMetadata
  /** As if nothing were pinned, to tell what is kept because of the pins. */
  readonly unpinned: TableMetadata
}

/** Who would be broken when a column is renamed or dropped. */
export type ColumnUser =
  | {
      /** A pipeline that runs, or is wanted to. */
      readonly kind: 'pipeline'
      readonly id: string
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

/** Knows who depends on tables; maintenance asks it before it takes anything away. */
export interface TableGuard {
  pinsOf(table: Table): Promise<PinnedHistory>
  /** Those who would be broken when the column is renamed or dropped. */
  usersOf(table: string, column: TouchedColumn): Promise<readonly ColumnUser[]>
}

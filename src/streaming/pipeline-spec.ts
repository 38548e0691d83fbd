import type { TableIdentifier } from '../iceberg/metadata/table.ts'
import type { IntoBranch } from '../schemas/pipelines.ts'
import type { BatchQuery } from './sink/batch-query.ts'
import type { OnDelete, ReadPosition } from './source/history.ts'
import type { BatchLimits } from './source/batch-draft.ts'

/** A pipeline, ready to run. */
export interface PipelineSpec {
  readonly pipelineId: string
  /** New for every start. */
  readonly runId: string
  /** The id of its checkpoint, which identifies its batches in the sink. */
  readonly queryId: string
  /** At least one; batches read them all, and the checkpoint has an offset for each. */
  readonly sources: readonly TableIdentifier[]
  readonly sink: TableIdentifier
  readonly checkpointLocation: string
  readonly triggerMs: number
  readonly limits: BatchLimits
  readonly onDelete: OnDelete
  /** Where a new checkpoint begins, one position per source; absent: with the current rows. */
  readonly start?: readonly ReadPosition[]
  /** Where the rows go before `main`; absent: to `main`, or to the branch that the checkpoint began with. */
  readonly branch?: IntoBranch
  readonly query: BatchQuery
  /** The user who started it; batches of different users take turns. */
  readonly owner?: string
}

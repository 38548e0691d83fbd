import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { PlannedRun, Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import type { PipelineRecord } from '../../storage/stores/pipeline-store.ts'
import { Checkpoint } from '../../streaming/checkpoint/checkpoint.ts'
import { fenceSink } from '../../streaming/sink/fence.ts'
import { readSinkState } from '../../streaming/sink/progress.ts'
import type { RolloutDeps } from './deployment-deps.ts'
import { readOldProgress } from './old-progress.ts'

type HandoverDeps = Pick<RolloutDeps, 'catalog' | 'checkpointIo'>

/**
 * Creates the new checkpoint with the offsets of the sources that remain, after the old pipeline can commit nothing more.
 * Repeating it writes the same.
 */
export async function carryOffsets(
  deps: HandoverDeps,
  previous: PipelineRecord,
  { id, planned }: Pick<Rollout, 'id' | 'planned'>,
): Promise<void> {
  if (planned === undefined || planned.sources.every(({ carriedFrom }) => carriedFrom === undefined)) return
  const { sinkUuid: uuid } = await readOldProgress(deps, previous)
  await fenceSink(deps.catalog.current(), { table: previous.sinkTable, uuid, operationId: `${id}-start` })
  const old = await readOldProgress(deps, previous)
  const checkpoint = new Checkpoint(deps.checkpointIo, planned.pipeline.checkpointLocation)
  for (const [at, { carriedFrom, uuid, table }] of planned.sources.entries()) {
    if (carriedFrom === undefined) continue
    const offset = old.offsets[carriedFrom]
    if (old.sourceUuids[carriedFrom] !== uuid || offset === undefined) {
      throw new DomainError('CONFLICT', `the checkpoint of ${table} has changed during the rollout`)
    }
    await checkpoint.writeInitial(at, offset)
  }
}

/** Whether the stopped pipeline has committed rows; it cannot commit any afterwards. */
export async function hasRowsInSink(
  { catalog }: Pick<HandoverDeps, 'catalog'>,
  rolloutId: string,
  { pipeline, sinkUuid: uuid }: PlannedRun,
): Promise<boolean> {
  await fenceSink(catalog.current(), { table: pipeline.sinkTable, uuid, operationId: `${rolloutId}-undo` })
  try {
    const { metadata } = await catalog.current().loadTable(parseIdentifier(pipeline.sinkTable))
    return metadata.tableUuid === uuid && readSinkState(metadata, pipeline.queryId).lastBatch >= 0
  } catch (error) {
    if (isIcebergError(error, 'NO_SUCH_TABLE') || isIcebergError(error, 'NO_SUCH_NAMESPACE')) return false
    throw error
  }
}

import { loadIfPresent } from '../../../catalog/load-if-present.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'
import type { PipelineRecord } from '../../../storage/stores/pipelines/pipeline-store.ts'
import { Checkpoint } from '../../../streaming/checkpoint/checkpoint.ts'
import { fromStoredPosition } from '../../../streaming/checkpoint/stored-positions.ts'
import { committedOffsets } from '../../../streaming/recovery/committed-offsets.ts'
import { withStart } from '../../../streaming/run/start-positions.ts'
import { readSinkState } from '../../../streaming/sink/progress.ts'
import type { StreamingOffset } from '../../../streaming/source/offset.ts'
import type { PlanDeps } from '../deployment-deps.ts'

/** The tables of a pipeline by identity, and how far its batches are committed. */
export interface OldProgress {
  readonly sourceUuids: readonly string[]
  readonly sinkUuid: string
  /** Undefined for a source of which nothing was read. */
  readonly offsets: readonly (StreamingOffset | undefined)[]
  /** The branch of the sink that has its rows; undefined: `main`. */
  readonly branch: string | undefined
}

/**
 * Reads the progress of a pipeline from its checkpoint and its sink. A table that was replaced or dropped keeps the
 * identity that the checkpoint has. Errors of catalog, FileIO and `committedOffsets`.
 */
export async function readOldProgress(
  { catalog, checkpointIo }: Pick<PlanDeps, 'catalog' | 'checkpointIo'>,
  pipeline: PipelineRecord,
): Promise<OldProgress> {
  const { sources, sinkTable, checkpointLocation, queryId } = pipeline
  const found = await new Checkpoint(checkpointIo, checkpointLocation).read(sources.length)
  const state = withStart(found, pipeline.options.start?.map(fromStoredPosition))
  const load = (name: string): Promise<Table | undefined> => loadIfPresent(catalog.current(), name)
  const sink = await load(sinkTable)
  const sinkUuid = state.owner?.sink.uuid ?? uuidOf(sink)
  const isSameSink = sink !== undefined && sink.metadata.tableUuid === sinkUuid
  const sinkState = isSameSink
    ? readSinkState(sink.metadata, queryId)
    : { lastBatch: state.lastCommit ?? -1, runId: undefined, progress: undefined }
  const owned = state.owner?.sources.map(({ uuid }) => uuid)
  const sourceUuids = owned ?? (await Promise.all(sources.map(async (name) => uuidOf(await load(name)))))
  const branch = sinkState.progress?.branch?.name
  return { sourceUuids, sinkUuid, offsets: committedOffsets(state, sinkState), branch }
}

function uuidOf(table: Table | undefined): string {
  return table?.metadata.tableUuid ?? ''
}

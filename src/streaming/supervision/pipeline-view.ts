import type { pipeline } from '../../schemas/pipelines.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import { copyModesOf } from './copy-modes.ts'

/** See {@link describePipeline}. */
export type PipelineView = Wire<typeof pipeline>

/** What a pipeline without a version reads, and how it writes. */
function modesView({ versionId, options }: PipelineRecord): Pick<PipelineView, 'read' | 'write' | 'key'> {
  if (versionId !== undefined) return { read: null, write: null, key: null }
  const { read, write, updateKey } = copyModesOf(options)
  return { read, write: write.mode, key: write.mode === 'append' ? (updateKey ?? null) : write.key }
}

/** The other options of its start. */
function optionsView({ options }: PipelineRecord) {
  return {
    lookup_tables: options.lookups ?? [],
    divert_tables: options.diverts ?? [],
    on_delete: options.onDelete,
    on_schema_change: options.onSchemaChange ?? null,
    from: options.from ?? null,
    into_branch: options.branch ?? null,
    create_sink_table: options.createSinkTable,
    max_files_per_batch: options.maxFilesPerBatch,
    max_bytes_per_batch: options.maxBytesPerBatch,
  }
}

/** A pipeline as the interface shows it (docs/api.md#streaming-pipelines). */
export function describePipeline(record: PipelineRecord): PipelineView {
  return {
    id: record.id,
    run_id: record.runId,
    source_table: record.sources[0] ?? null,
    source_tables: record.sources,
    sink_table: record.sinkTable,
    checkpoint_location: record.checkpointLocation,
    trigger_interval: record.triggerInterval,
    engine: record.engine,
    state: record.state,
    desired_state: record.desiredState,
    error: record.error === undefined ? null : { code: record.error.code, message: record.error.message },
    warnings: record.warnings,
    ...modesView(record),
    ...optionsView(record),
    query_id: record.queryId,
    created_by: record.createdBy,
    created_at: record.createdAt,
    started_at: record.startedAt ?? null,
    stopped_at: record.stoppedAt ?? null,
    definition_id: record.definitionId ?? null,
    version_id: record.versionId ?? null,
    environment: record.environment ?? null,
    last_progress: record.progress ?? null,
  }
}

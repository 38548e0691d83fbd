import type { pipeline } from '../../schemas/pipelines.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { PipelineRecord } from '../../storage/stores/pipeline-store.ts'
import { copyModesOf } from './copy-modes.ts'

/** See {@link describePipeline}. */
export type PipelineView = Wire<typeof pipeline>

/** What a pipeline without a version reads, and how it writes. */
function modesView({ versionId, options }: PipelineRecord): Pick<PipelineView, 'read' | 'write' | 'key'> {
  if (versionId !== undefined) return { read: null, write: null, key: null }
  const { read, write, updateKey } = copyModesOf(options)
  return { read, write: write.mode, key: write.mode === 'append' ? (updateKey ?? null) : write.key }
}

/** A pipeline as the interface shows it (docs/api.md#streaming-pipelines). */
export function describePipeline(record: PipelineRecord): PipelineView {
  return {
    id: record.id,
    run_id: record.runId,
    source_table: record.sources[0] ?? null,
    source_tables: record.sources,
    sink_table: record.sinkTable,
    lookup_tables: record.options.lookups ?? [],
    divert_tables: record.options.diverts ?? [],
    checkpoint_location: record.checkpointLocation,
    trigger_interval: record.triggerInterval,
    engine: record.engine,
    state: record.state,
    desired_state: record.desiredState,
    error: record.error === undefined ? null : { code: record.error.code, message: record.error.message },
    warnings: record.warnings,
    on_delete: record.options.onDelete,
    ...modesView(record),
    on_schema_change: record.options.onSchemaChange ?? null,
    from: record.options.from ?? null,
    into_branch: record.options.branch ?? null,
    create_sink_table: record.options.createSinkTable,
    max_files_per_batch: record.options.maxFilesPerBatch,
    max_bytes_per_batch: record.options.maxBytesPerBatch,
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

import type { PipelineRecord } from '../storage/pipeline-store.ts'

/** A pipeline as the interface shows it (contract, section 6). */
export function describePipeline(record: PipelineRecord) {
  return {
    id: record.id,
    run_id: record.runId,
    source_table: record.sources[0] ?? null,
    source_tables: record.sources,
    sink_table: record.sinkTable,
    checkpoint_location: record.checkpointLocation,
    trigger_interval: record.triggerInterval,
    engine: 'embedded' as const,
    state: record.state,
    desired_state: record.desiredState,
    error: record.error ?? null,
    warnings: record.warnings,
    on_delete: record.options.onDelete,
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
    last_progress: record.progress ?? null,
  }
}

/** See {@link describePipeline}. */
export type PipelineView = ReturnType<typeof describePipeline>

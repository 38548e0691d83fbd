import { z } from 'zod'
import { SCHEMA_CHANGES } from '../domain/pipelines/modes.ts'
import { keyColumns, READ_HELP, readMode, writeMode } from './node-types.ts'
import {
  bytes,
  chartRange,
  count,
  nextPageToken,
  NO_CONTROL_CHARACTERS,
  pageQuery,
  snapshotId,
  tableName,
  timeInput,
  timestamp,
} from './common.ts'
import { ENGINES } from './tables/maintenance.ts'
import { runEnvironment } from './environments.ts'
import type { Wire } from './wire.ts'

export const pipelineParams = z.strictObject({ pipeline_id: z.string().min(1).max(100) })

/** Where a pipeline with a new checkpoint begins to read (docs/api.md#where-reading-begins). */
export const startFrom = z
  .union([
    z.enum(['beginning', 'now']),
    z.strictObject({ snapshot_id: snapshotId }),
    z.strictObject({ timestamp: timeInput }),
  ])
  .meta({ id: 'StartFrom' })

/** A branch of the sink that gets the rows before `main` (docs/api.md#fill-a-branch-first). */
export const intoBranch = z
  .strictObject({
    name: z.string().min(1).max(200).regex(NO_CONTROL_CHARACTERS, 'must not contain control characters'),
    publish: z.enum(['when_caught_up', 'manual']).default('manual').meta({
      description: '`when_caught_up`: `main` gets the rows when everything is read; `manual`: when it is started so',
    }),
  })
  .meta({ id: 'IntoBranch' })

/** Request of POST /api/pipeline/start (docs/api.md#streaming-pipelines). */
export const startPipelineRequest = z
  .strictObject({
    source_table: tableName.optional(),
    sink_table: tableName.optional().meta({ description: 'Required without version_id; a version defines its own' }),
    checkpoint_location: z.string().min(1).max(1000).meta({
      description:
        'Path or file: URI inside the warehouse or LOCKHOUSE_HOME; relative paths are relative to LOCKHOUSE_HOME',
      example: 'checkpoints/orders',
    }),
    trigger_interval: z
      .string()
      .max(100)
      .meta({ description: 'Number and unit (ms, s, min, h), from 100 ms to 24 h', example: '5 seconds' }),
    create_sink_table: z.boolean().optional(),
    maintain_sink: z.boolean().optional().meta({
      description:
        'Creates a policy that compacts the sink when small files and deletes add up, unless the sink has it. Needs the role LeadDataEngineer',
    }),
    on_delete: z.enum(['fail', 'skip']).optional(),
    read: readMode.optional().meta({
      description: `${READ_HELP}. Default for read, write and key: as before for a pipeline that is started again, else appends and append`,
    }),
    write: writeMode.optional(),
    key: keyColumns.optional().meta({
      description:
        'Columns that identify a row: of the sink for upsert and mirror; where changes are appended, those by which an inserted and a deleted row are an update',
    }),
    on_schema_change: z.enum(SCHEMA_CHANGES).optional().meta({
      description:
        'When the source has a column that the sink lacks: fail waits until someone adds it, ignore leaves it out, add adds it to the sink. Default: add for a sink that a pipeline created, else fail',
    }),
    from: startFrom.optional().meta({
      description:
        'Where a new checkpoint begins: `beginning` (default): with all current rows; `now`, `{"snapshot_id": "…"}` or `{"timestamp": "…"}`: only rows that were appended after it. Refused for a checkpoint that has begun',
    }),
    into_branch: intoBranch.optional().meta({
      description: 'Write to this new branch of the sink before `main`. Only the embedded engine can',
    }),
    max_files_per_batch: z.int().min(1).max(1_000_000).optional(),
    max_bytes_per_batch: z.int().min(1).optional(),
    engine: z.enum(ENGINES).optional().meta({
      description:
        'What runs it: this service, Spark at SPARK_REMOTE, or `auto`: Spark when there is more to read than ENGINE_EMBEDDED_MAX_BYTES. Default: as before for a pipeline that is started again; the default of the environment with version_id; else embedded',
    }),
    version_id: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'A version to run, instead of source_table' }),
  })
  .meta({ id: 'StartPipelineRequest' })

/** Request of POST /api/pipeline/{pipeline_id}/stop; optional. */
export const stopPipelineRequest = z.strictObject({ mode: z.enum(['graceful', 'immediate']).optional() })

export const PIPELINE_STATES = ['starting', 'running', 'degraded', 'stopping', 'stopped', 'failed'] as const

export const listPipelinesQuery = pageQuery.extend({ state: z.enum(PIPELINE_STATES).optional() })

const offset = z.object({
  snapshot_id: z.string().meta({ description: 'A snapshot id, or -1 before the first snapshot' }),
  position: z.int(),
  scan_all_files: z.boolean(),
})

/** How far a pipeline is behind a source. */
export const sourceLag = z.object({ snapshots: count, files: count, rows: count, bytes, seconds: z.number().min(0) })

/** Spark's StreamingQueryProgress in snake_case. */
export const pipelineProgress = z
  .object({
    id: z.string(),
    run_id: z.string(),
    batch_id: z.int().min(0),
    timestamp,
    batch_duration_ms: count,
    num_input_rows: count,
    input_rows_per_second: z.number().nullable(),
    processed_rows_per_second: z.number().nullable(),
    duration_ms: z.record(z.string(), z.number()),
    sources: z.array(
      z.object({
        description: z.string(),
        start_offset: offset.nullable(),
        end_offset: offset.nullable(),
        latest_offset: z.object({ snapshot_id: snapshotId }).nullable(),
        num_input_rows: count,
        lag: sourceLag,
      }),
    ),
    sink: z.object({
      description: z.string(),
      num_output_rows: count,
      num_inserted_rows: count.optional().meta({ description: 'Output rows whose key the sink did not have' }),
      num_updated_rows: count.optional().meta({ description: 'Output rows that replaced one with the same key' }),
      num_deleted_rows: count.optional().meta({ description: 'Rows of the sink whose key was deleted' }),
      snapshot_id: snapshotId.nullable(),
      branch: z.string().optional().meta({ description: 'The branch that has the rows; absent: `main`' }),
    }),
    rows_diverted: count.meta({ description: 'Rows that check nodes wrote to other tables' }),
    rows_dropped: count.meta({ description: 'Rows that check and deduplicate nodes left out' }),
    checks: z
      .array(z.object({ node_id: z.string(), name: z.string(), failed: count, total: count }))
      .meta({ description: 'Rows of the batch that failed each expectation, of those that reached its node' }),
  })
  .meta({ id: 'PipelineProgress' })

export type PipelineProgress = Wire<typeof pipelineProgress>

/** A streaming pipeline (docs/api.md#streaming-pipelines). */
export const pipeline = z
  .object({
    id: z.string(),
    run_id: z.string(),
    source_table: z.string().nullable(),
    source_tables: z.array(z.string()),
    sink_table: z.string(),
    lookup_tables: z.array(z.string()).meta({ description: 'Tables that its lookup nodes read' }),
    divert_tables: z.array(z.string()).meta({ description: 'Tables that get the rows that its check nodes divert' }),
    checkpoint_location: z.string(),
    trigger_interval: z.string(),
    engine: z.enum(['embedded', 'spark']),
    state: z.enum(PIPELINE_STATES),
    desired_state: z.enum(['running', 'stopped']),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    warnings: z.array(z.string()),
    on_delete: z.enum(['fail', 'skip']),
    read: readMode.nullable().meta({ description: 'Null: its version says what each source reads' }),
    write: writeMode.nullable().meta({ description: 'Null: its version says how rows are written' }),
    key: z.array(z.string()).nullable(),
    on_schema_change: z.enum(SCHEMA_CHANGES).nullable().meta({
      description: 'Null: add for a sink that a pipeline created, else fail',
    }),
    from: startFrom.nullable().meta({ description: 'As it was requested; null: it was not, as for `beginning`' }),
    // without its id: a request may leave out what a response always has
    into_branch: z.strictObject(intoBranch.shape).nullable().meta({
      description: 'The branch that got the rows first; `last_progress.sink` says whether it still does',
    }),
    create_sink_table: z.boolean(),
    max_files_per_batch: count,
    max_bytes_per_batch: bytes,
    query_id: z.string().meta({ description: 'The query id in the checkpoint, as used by Spark' }),
    created_by: z.string(),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    stopped_at: timestamp.nullable(),
    definition_id: z.string().nullable(),
    version_id: z.string().nullable(),
    environment: runEnvironment
      .nullable()
      .meta({ description: 'Where its version runs; null: it was started without a version' }),
    last_progress: pipelineProgress.nullable(),
  })
  .meta({ id: 'Pipeline' })

export const pipelineAnswer = z.object({ success: z.literal(true), pipeline }).meta({ id: 'PipelineAnswer' })

export const pipelineList = z
  .object({ success: z.literal(true), pipelines: z.array(pipeline), next_page_token: nextPageToken })
  .meta({ id: 'PipelineList' })

const progressPoint = z
  .object({
    at: timestamp,
    batch_id: z.int().min(0),
    num_input_rows: count,
    num_output_rows: count,
    num_inserted_rows: count,
    num_updated_rows: count,
    num_deleted_rows: count,
    rows_diverted: count,
    rows_dropped: count,
    input_rows_per_second: z.number().nullable(),
    processed_rows_per_second: z.number().nullable(),
    batch_duration_ms: count,
    lag_rows: count.meta({ description: 'Unread rows of all sources together' }),
    lag_seconds: z.number().min(0).meta({ description: 'Lag of the source that is furthest behind' }),
    after_gap: z.boolean().meta({
      description: 'Before this trigger, nothing was reported for longer than the trigger interval explains',
    }),
  })
  .meta({ id: 'ProgressPoint' })

const stateChange = z
  .object({
    at: timestamp,
    state: z.enum(PIPELINE_STATES),
    run_id: z.string(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
  })
  .meta({ id: 'PipelineStateChange' })

/** A range of the stored triggers; without any of these, the last triggers that this process observed. */
export const pipelineHistoryQuery = z.strictObject(chartRange)

/** Triggers and states of a pipeline, oldest first. */
export const pipelineHistory = z
  .object({
    success: z.literal(true),
    since: timestamp.meta({ description: 'Start of the recording in this process' }),
    oldest: timestamp.nullable().meta({ description: 'The oldest stored trigger; null: none' }),
    progress: z.array(progressPoint).meta({ description: 'The last 300 triggers, or those of the range' }),
    is_thinned: z.boolean().meta({ description: 'Whether triggers of the range are left out' }),
    states: z.array(stateChange).meta({ description: 'The last 100 state changes of this process' }),
  })
  .meta({ id: 'PipelineHistory' })

/** See {@link intoBranch}. */
export type IntoBranch = z.infer<typeof intoBranch>
/** See {@link startFrom}. */
export type StartFrom = z.infer<typeof startFrom>
/** See {@link pipelineHistoryQuery}. */
export type PipelineHistoryQuery = z.infer<typeof pipelineHistoryQuery>
export type StartPipelineRequest = z.infer<typeof startPipelineRequest>
export type ListPipelinesQuery = z.infer<typeof listPipelinesQuery>

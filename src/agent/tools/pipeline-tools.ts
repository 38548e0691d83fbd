import { z } from 'zod'
import { PIPELINE_STATES } from '../../schemas/pipelines.ts'
import type { PipelineView } from '../../streaming/supervision/pipeline-view.ts'
import { pageToken } from './paging.ts'
import { type AgentTool, readTool } from './tool.ts'

const PAGE = 40

/** Tools that read streaming pipelines. */
export const pipelineTools: readonly AgentTool[] = [
  readTool({
    name: 'list_pipelines',
    title: 'List streaming pipelines',
    description:
      'Lists streaming pipelines, newest first: tables, state (starting, running, degraded, stopping, stopped, ' +
      'failed), error, how far each is behind its source (lag), and its last batch.',
    examples: [
      'Which pipelines are behind?',
      'Which pipelines failed?',
      'How are the pipelines?',
      'Are all pipelines ok?',
      'Which pipelines are running?',
      'List all streaming pipelines',
      'Is any pipeline late?',
      'Which pipelines lag?',
      'Status of all pipelines',
      'Which pipelines are stopped?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({ state: z.enum(PIPELINE_STATES).optional(), page_token: pageToken }),
    async run({ state, page_token }, { services }) {
      const { items, next_page_token } = await services.pipelines.list({ state, page_size: PAGE, page_token })
      return { pipelines: items.map(summarize), next_page_token }
    },
  }),
  readTool({
    name: 'pipeline_status',
    title: 'Status of a pipeline',
    description: 'Returns all details of one streaming pipeline, including its last batch.',
    examples: [
      'Status of pipeline {pipeline}',
      '{pipeline}',
      'How is {pipeline}?',
      'Is the pipeline into {table} behind?',
      'Is the pipeline that writes {table} running?',
      'Is the pipeline into {table} ok?',
      'How far is {pipeline} behind?',
      'Status of the pipeline from {table} to {table}',
      'Why did {pipeline} fail?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({ pipeline_id: z.string().min(1).max(100).describe('Such as pipe-…, from list_pipelines') }),
    run: ({ pipeline_id }, { services }) => services.pipelines.status(pipeline_id),
  }),
]

function summarize(pipeline: PipelineView) {
  const { last_progress: last } = pipeline
  return {
    id: pipeline.id,
    source_tables: pipeline.source_tables,
    sink_table: pipeline.sink_table,
    state: pipeline.state,
    error: pipeline.error,
    warnings: pipeline.warnings,
    trigger_interval: pipeline.trigger_interval,
    started_at: pipeline.started_at,
    version_id: pipeline.version_id,
    lag: last?.sources.map(({ description, lag }) => ({ source: description, ...lag })) ?? null,
    last_batch:
      last === null
        ? null
        : {
            batch_id: last.batch_id,
            at: last.timestamp,
            input_rows: last.num_input_rows,
            rows_per_second: last.processed_rows_per_second,
          },
  }
}

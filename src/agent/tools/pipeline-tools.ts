import { z } from 'zod'
import { tableName } from '../../schemas/common.ts'
import { DEFAULT_LINEAGE_DEPTH, LINEAGE_DIRECTIONS, MAX_LINEAGE_DEPTH } from '../../schemas/lineage.ts'
import { PIPELINE_STATES } from '../../schemas/pipelines.ts'
import type { PipelineView } from '../../streaming/supervision/pipeline-view.ts'
import { pageToken } from './paging.ts'
import { type AgentTool, readTool } from './tool.ts'

const PAGE = 40
/** Tables, pipelines and versions of one answer about lineage. */
const LINEAGE_LIMIT = 60

/** Tools that read streaming pipelines, and follow data through them. */
export const pipelineTools: readonly AgentTool[] = [
  readTool({
    name: 'list_pipelines',
    reach: 'filtered',
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
    async run({ state, page_token }, { caller, services }) {
      const query = { state, page_size: PAGE, page_token }
      const { items, next_page_token } = await services.pipelines.list(query, caller)
      return { pipelines: items.map(summarize), next_page_token }
    },
  }),
  readTool({
    name: 'pipeline_status',
    reach: 'objects',
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
  readTool({
    name: 'table_lineage',
    reach: 'filtered',
    title: 'Lineage of a table',
    description:
      'Returns the tables that a table is made of or that are made of it, with the pipelines and versions between them, their ' +
      'state and lag. Call it before a change of a table, to see what the change affects.',
    examples: [
      'What reads {table}?',
      'Which pipelines write {table}?',
      'Lineage of {table}',
      'Where does the data of {table} come from?',
      'What depends on {table}?',
      'Which tables are made of {table}?',
      'Who writes {table}?',
      'What is upstream of {table}?',
      'What is downstream of {table}?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({
      table: tableName,
      direction: z.enum(LINEAGE_DIRECTIONS).default('both').describe('upstream: what the table is made of'),
      depth: z.int().min(1).max(MAX_LINEAGE_DEPTH).default(DEFAULT_LINEAGE_DEPTH).describe('Pipelines in a row'),
      columns: z.boolean().default(false).describe('Also which columns flow, and from which columns they come'),
    }),
    async run(request, { caller, services }) {
      const { nodes, edges, truncated, similar_tables } = await services.lineage.read(
        { ...request, limit: LINEAGE_LIMIT },
        { caller },
      )
      const used = edges.filter(({ kind }) => kind === 'reads' || kind === 'writes')
      return {
        table: request.table,
        nodes: nodes.filter(({ id }) => used.some(({ from, to }) => from === id || to === id)),
        edges: used.map(({ kind, from, to, state, lag, columns, column_sources }) => {
          const edge = { kind, from, to, state, lag }
          return request.columns ? { ...edge, columns, column_sources } : edge
        }),
        similar_tables,
        truncated,
      }
    },
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

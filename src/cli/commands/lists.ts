import type { z } from 'zod'
import type { approvalList } from '../../schemas/approvals.ts'
import type { definitionList } from '../../schemas/definitions.ts'
import type { pipelineList } from '../../schemas/pipelines.ts'
import type { operationList } from '../../schemas/tables/operations.ts'
import { CHOICES } from '../choices.ts'
import type { Command } from '../command.ts'
import { durationText } from '../text.ts'
import { JSON_OPTION, showRows } from './show.ts'

export const operations: Command = {
  summary: 'list operations, newest first',
  names: [],
  options: {
    table: { value: 'TABLE', help: 'only those of a table' },
    state: { value: 'STATE', choices: CHOICES.state, help: 'running, succeeded, failed, cancelled or unknown' },
    ...JSON_OPTION,
  },
  examples: ['lockhouse operations --state running'],
  async run(call) {
    const query = { table: call.text('table'), state: call.text('state') }
    const answer = await call.api.get<z.infer<typeof operationList>>('/api/operations', query)
    showRows(call, answer, {
      rows: answer.operations,
      none: 'no operations',
      columns: [
        { header: 'ID', cell: ({ id }) => id },
        { header: 'OPERATION', cell: ({ operation }) => operation },
        { header: 'TABLE', cell: ({ table }) => table },
        { header: 'STATE', cell: ({ state }) => state },
        { header: 'BY', cell: (row) => row.requested_by },
        { header: 'TIME', cell: (row) => (row.duration_ms === null ? null : durationText(row.duration_ms)) },
        { header: 'CREATED', cell: (row) => row.created_at },
      ],
    })
  },
}

export const pipelines: Command = {
  summary: 'list streaming pipelines with their lag',
  names: [],
  options: JSON_OPTION,
  examples: ['lockhouse pipelines'],
  async run(call) {
    const answer = await call.api.get<z.infer<typeof pipelineList>>('/api/pipelines')
    showRows(call, answer, {
      rows: answer.pipelines,
      none: 'no pipelines',
      columns: [
        { header: 'ID', cell: ({ id }) => id },
        { header: 'STATE', cell: ({ state }) => state },
        { header: 'FROM', cell: (row) => row.source_tables.join(', ') },
        { header: 'TO', cell: (row) => row.sink_table },
        { header: 'ENVIRONMENT', cell: ({ environment }) => environment },
        { header: 'LAG', cell: (row) => lagText(row.last_progress) },
        { header: 'PROBLEM', cell: ({ error }) => error && `${error.code}: ${error.message}` },
      ],
    })
  },
}

type Progress = z.infer<typeof pipelineList>['pipelines'][number]['last_progress']

function lagText(progress: Progress): string | null {
  if (progress === null) return null
  return durationText(Math.max(0, ...progress.sources.map(({ lag }) => lag.seconds)) * 1000)
}

export const definitions: Command = {
  summary: 'list pipeline definitions',
  names: [],
  options: JSON_OPTION,
  examples: ['lockhouse definitions'],
  async run(call) {
    const answer = await call.api.get<z.infer<typeof definitionList>>('/api/pipeline-defs')
    showRows(call, answer, {
      rows: answer,
      none: 'no definitions',
      columns: [
        { header: 'ID', cell: ({ id }) => id },
        { header: 'NAME', cell: ({ name }) => name },
        { header: 'BY', cell: (row) => row.created_by },
        { header: 'CREATED', cell: (row) => row.created_at },
      ],
    })
  },
}

export const approvals: Command = {
  summary: 'list approval requests',
  names: [],
  options: {
    status: { value: 'STATUS', choices: CHOICES.status, help: 'pending, approved or rejected' },
    ...JSON_OPTION,
  },
  examples: ['lockhouse approvals --status pending'],
  async run(call) {
    const answer = await call.api.get<z.infer<typeof approvalList>>('/api/approvals', { status: call.text('status') })
    showRows(call, answer, {
      rows: answer,
      none: 'no approval requests',
      columns: [
        { header: 'ID', cell: ({ id }) => id },
        { header: 'STATUS', cell: ({ status }) => status },
        { header: 'DEFINITION', cell: (row) => row.definition_name },
        { header: 'VERSION', cell: ({ version }) => version },
        { header: 'TO', cell: (row) => row.to_environment },
        { header: 'BY', cell: (row) => row.requested_by },
        { header: 'REQUESTED', cell: (row) => row.requested_at },
      ],
    })
  },
}

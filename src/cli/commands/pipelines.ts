import type { z } from 'zod'
import type { pipelineList } from '../../schemas/pipelines.ts'
import { callCommand, limitOf, listCommand } from '../api/api-command.ts'
import { listAll } from '../api/pages.ts'
import { resolveIds } from '../api/parameters.ts'
import type { Call, Command } from '../command.ts'
import { watchPipelines } from '../monitor.ts'
import { durationText } from '../text.ts'
import { showRows } from '../show.ts'

const list = listCommand('listPipelines', { columns: [], none: 'no pipelines', examples: ['lockhouse pipelines'] })
const FIELDS = [
  'pipeline.id',
  'pipeline.state',
  'pipeline.error.code',
  'pipeline.error.message',
  'pipeline.source_tables',
  'pipeline.sink_table',
  'pipeline.read',
  'pipeline.write',
  'pipeline.key',
  'pipeline.engine',
  'pipeline.checkpoint_location',
  'pipeline.trigger_interval',
  'pipeline.warnings',
] as const

/** Commands for streaming pipelines. */
export const pipelineCommands: Readonly<Record<string, Command>> = {
  pipelines: { ...list, summary: 'list streaming pipelines with their lag', run: listPipelines },
  'pipelines show': callCommand('getPipelineStatus', {
    summary: 'show state, checkpoint and latest progress of a pipeline',
    inside: 'pipeline',
    except: ['pipeline.last_progress.id', 'pipeline.last_progress.run_id', 'pipeline.last_progress.duration_ms'],
    examples: ['lockhouse pipelines show demo.big_orders'],
  }),
  'pipelines start': callCommand('startPipeline', {
    summary: 'start a pipeline from options or a file with JSON, or resume a stopped one from its checkpoint',
    file: 'optional',
    inside: 'pipeline',
    fields: FIELDS,
    examples: [
      'lockhouse pipelines start --source-table demo.orders --sink-table demo.copy --create-sink-table --checkpoint-location checkpoints/copy --trigger-interval "5 seconds"',
      'lockhouse pipelines start --source-table demo.orders --sink-table demo.mirror --create-sink-table --read changes --write mirror --key order_id --checkpoint-location checkpoints/mirror --trigger-interval "5 seconds"',
      'lockhouse pipelines start copy.json',
    ],
  }),
  'pipelines stop': callCommand('stopPipeline', {
    inside: 'pipeline',
    fields: FIELDS,
    examples: ['lockhouse pipelines stop demo.copy'],
  }),
  'pipelines delete': callCommand('deletePipeline', {
    confirm: 'Delete the pipeline {}? Its tables and its checkpoint stay.',
    done: 'the pipeline {} is deleted',
    examples: ['lockhouse pipelines delete demo.copy --yes'],
  }),
  'pipelines history': callCommand('getPipelineHistory', {
    tables: {
      states: ['at', 'state', ['ERROR', 'error.message']],
      progress: [
        'at',
        ['BATCH', 'batch_id'],
        ['IN', 'num_input_rows'],
        ['INSERTED', 'num_inserted_rows'],
        ['UPDATED', 'num_updated_rows'],
        ['DELETED', 'num_deleted_rows'],
        ['TIME', 'batch_duration_ms'],
        ['LAG ROWS', 'lag_rows'],
        ['LAG SECONDS', 'lag_seconds'],
      ],
    },
    examples: ['lockhouse pipelines history demo.copy'],
  }),
  'pipelines watch': {
    summary: 'show states and batches as they come, of one pipeline or of all, until it is interrupted',
    names: ['[PIPELINE]'],
    options: { json: { help: 'the messages of the service, one JSON document a line' } },
    examples: ['lockhouse pipelines watch', 'lockhouse pipelines watch demo.copy --json'],
    endpoints: ['monitorPipelines'],
    async run(call) {
      const isOne = call.names.length > 0
      const { pipeline_id: id } = isOne ? await resolveIds(call, ['pipeline_id'], call.names) : {}
      await watchPipelines(call, id)
    },
  },
}

type Pipeline = z.infer<typeof pipelineList>['pipelines'][number]

async function listPipelines(call: Call): Promise<void> {
  const { answer, rows } = await listAll(call, 'listPipelines', {
    query: { state: call.text('state') },
    limit: limitOf(call),
  })
  showRows(call, answer, {
    rows: rows as readonly Pipeline[],
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
}

/** How far the sources are behind. */
function lagText(progress: Pipeline['last_progress']): string | null {
  if (progress === null) return null
  return durationText(Math.max(0, ...progress.sources.map(({ lag }) => lag.seconds)) * 1000)
}

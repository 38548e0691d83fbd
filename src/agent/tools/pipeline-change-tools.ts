import { z } from 'zod'
import { DomainError } from '../../domain/errors.ts'
import { parseTriggerInterval, TRIGGER_RULE } from '../../domain/pipelines/trigger-interval.ts'
import { type StartFrom, type StartPipelineRequest, startPipelineRequest } from '../../schemas/pipelines.ts'
import { requireRoleIn } from '../../services/environments/write-rules.ts'
import { copyModes } from '../../services/pipelines/requested-modes.ts'
import { contextOf } from './change-tools.ts'
import { visible } from './plan-text.ts'
import { toStoredJson } from './stored-value.ts'
import { type AgentTool, changeTool, type ToolPlan, type ToolRun } from './tool.ts'

const stopInput = z.strictObject({
  pipeline_id: z.string().min(1).max(100).describe('Such as pipe-…, from list_pipelines'),
  mode: z.enum(['graceful', 'immediate']).default('graceful'),
})

/** Tools that propose to start and stop streaming pipelines. */
export const pipelineChangeTools: readonly AgentTool[] = [
  changeTool({
    name: 'start_pipeline',
    reach: 'objects',
    title: 'Start a pipeline',
    description:
      'Proposes to start a streaming pipeline from a source table into a sink table, or from a version. With read ' +
      '"changes", write "mirror" and a key, the sink follows inserts, updates and deletes of the source. Only plans: ' +
      'the user has to confirm before anything is started.',
    examples: [
      'Start a pipeline from {table} to {table} every {time} with checkpoint {checkpoint}',
      'Start streaming {table} into {table}',
      'Create a pipeline from {table} into {table}',
      'Mirror {table} into {table} by {column} every {time} with checkpoint {checkpoint}',
      'Upsert {table} into {table} by {column}',
    ],
    risk: 'change',
    minRole: 'DataEngineer',
    input: startPipelineRequest,
    plan: (request, run) => planStart(request, run),
    apply: (args, run) => run.services.pipelines.start(startPipelineRequest.parse(args), contextOf(run)),
  }),
  changeTool({
    name: 'stop_pipeline',
    reach: 'objects',
    title: 'Stop a pipeline',
    description:
      'Proposes to stop a streaming pipeline; it can resume later from its checkpoint. Only plans: the user has to ' +
      'confirm before it is stopped.',
    examples: [
      'Stop pipeline {pipeline}',
      'Stop {pipeline}',
      'Stop the pipeline into {table}',
      'Shut down pipeline {pipeline}',
    ],
    risk: 'change',
    minRole: 'DataEngineer',
    input: stopInput,
    async plan({ pipeline_id, mode }, { services, caller }): Promise<ToolPlan> {
      const { state, source_tables, sink_table, environment } = await services.pipelines.status(pipeline_id)
      if (environment !== null) requireRoleIn(environment, caller)
      const plan = toStoredJson({ state, source_tables, sink_table, mode })
      const what = visible(`pipeline ${pipeline_id} from ${source_tables.join(', ')} into ${sink_table}`)
      if (state === 'stopped' || state === 'failed') {
        return { plan, summary: `There is nothing to stop: ${what} is ${state}`, action: undefined }
      }
      return { plan, summary: `Stop ${what}, which is ${state}`, action: { arguments: { pipeline_id, mode } } }
    },
    apply(args, run) {
      const { pipeline_id, mode } = stopInput.parse(args)
      return run.services.pipelines.stop(pipeline_id, mode, contextOf(run))
    },
  }),
]

/** Checks what can be checked now; the start itself checks all of it again, and more. */
async function planStart(request: StartPipelineRequest, { services }: ToolRun): Promise<ToolPlan> {
  if (parseTriggerInterval(request.trigger_interval) === undefined) {
    throw new DomainError('INVALID_REQUEST', `trigger_interval: ${TRIGGER_RULE}`)
  }
  const { source_table: source, sink_table: sink, version_id: version, create_sink_table: create } = request
  if (version === undefined && (source === undefined || sink === undefined)) {
    throw new DomainError('INVALID_REQUEST', 'give source_table and sink_table, or version_id')
  }
  if (version === undefined) copyModes(request)
  if (source !== undefined) await services.tables.schema(source)
  if (sink !== undefined && create !== true) await services.tables.schema(sink)
  const what = version === undefined ? `from ${source ?? ''} into ${sink ?? ''}` : `of version ${version}`
  const when = `every ${request.trigger_interval}, with the checkpoint ${JSON.stringify(request.checkpoint_location)}`
  const summary = visible(`Start a pipeline ${what}${modeText(request)}, ${when}${firstSteps(request)}`)
  const args = toStoredJson(request)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a request is a JSON object
  return { plan: args, summary, action: { arguments: args as { readonly [key: string]: typeof args } } }
}

function firstSteps({ from, into_branch: branch, maintain_sink: isMaintained }: StartPipelineRequest): string {
  const begins = from === undefined ? '' : `, reading ${beginText(from)}`
  const fills = branch === undefined ? '' : `, writing to the branch ${branch.name} first`
  return `${begins}${fills}${isMaintained === true ? ', and create a policy that compacts the sink' : ''}`
}

function beginText(from: StartFrom): string {
  if (from === 'now') return 'only rows that are appended from now on'
  if (from === 'beginning') return 'from the beginning'
  return 'snapshot_id' in from
    ? `only rows after snapshot ${from.snapshot_id}`
    : `only rows appended after ${from.timestamp}`
}

/** What is not plain about the modes of a request. */
function modeText({ read, write, key }: StartPipelineRequest): string {
  const by = key === undefined ? '' : ` by ${key.join(', ')}`
  const parts = [
    ...(read === 'changes' ? ['reads all changes'] : []),
    ...(write === undefined || write === 'append' ? [] : [`writes with ${write}${by}`]),
  ]
  return parts.length === 0 ? '' : ` that ${parts.join(' and ')}`
}

import { z } from 'zod'
import type { RequestContext } from '../../domain/audit.ts'
import { OPERATIONS, type ProposableKind, PROPOSABLE_KINDS } from '../../domain/tables/operations.ts'
import { tableName } from '../../schemas/common.ts'
import {
  addColumnFields,
  compactRequest,
  dropColumnFields,
  expireRequest,
  renameColumnFields,
  convertDeletesRequest,
  rewriteDeletesRequest,
  rewriteManifestsRequest,
} from '../../schemas/tables/maintenance.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import { type MaintenanceRequest, toWire } from '../../services/operations/maintenance-service.ts'
import { describePlan } from './plan-text.ts'
import { type AgentTool, changeTool, readTool, type ToolPlan, type ToolRun } from './tool.ts'
import { toStoredJson } from './stored-value.ts'

const service = { dry_run: true, plan_id: true } as const
/** Only people may decide to break versions in uat or production. */
const forced = { ...service, force: true } as const
const compactInput = compactRequest.omit({ ...service, partial_progress: true, max_files_to_rewrite: true })
const expireInput = expireRequest.omit(service)
const PLANS_ONLY = 'Only plans: the user has to confirm before anything is changed.'

/** Tools that plan maintenance without proposing it. */
export const planTools: readonly AgentTool[] = [
  readTool({
    name: 'plan_compaction',
    reach: 'objects',
    title: 'Plan a compaction',
    description: 'Shows what compacting a table would do: files, bytes and groups, from the planner. Changes nothing.',
    examples: [
      'What would compaction do to {table}?',
      'What would compacting {table} do?',
      'Preview a compaction of {table}',
      'Should I compact {table}?',
      'Is it worth to compact {table}?',
      'Does {table} need compaction?',
      'How many files would a compaction of {table} rewrite?',
      'What happens if I compact {table}?',
    ],
    minRole: 'DataEngineer',
    input: compactInput,
    run: (args, run) => previewOnly('compact', args, run),
  }),
  readTool({
    name: 'plan_expiry',
    reach: 'objects',
    title: 'Plan an expiry',
    description:
      'Shows what expiring snapshots of a table would do: snapshots, deleted files, freed bytes, and snapshots kept ' +
      'for pipelines. ' +
      'Changes nothing.',
    examples: [
      'What would expiring snapshots of {table} do?',
      'What would expiry do to {table}?',
      'What happens if I expire snapshots of {table} older than {time}?',
      'Preview an expiry of {table}',
      'Which snapshots of {table} would expire?',
      'How much space would expiring snapshots of {table} free?',
      'Should I expire the snapshots of {table} and keep {count}?',
    ],
    minRole: 'DataEngineer',
    input: expireInput,
    run: (args, run) => previewOnly('expire', args, run),
  }),
]

/** What the agent may fill in of each request. */
const INPUTS: { readonly [Kind in ProposableKind]: z.ZodObject } = {
  compact: compactInput,
  convert_deletes: convertDeletesRequest.omit(service),
  rewrite_position_deletes: rewriteDeletesRequest.omit(service),
  rewrite_manifests: rewriteManifestsRequest.omit(service),
  expire: expireInput,
  add_column: addColumnFields.omit(service),
  rename_column: renameColumnFields.omit(forced),
  drop_column: dropColumnFields.omit(forced),
}

/** Tools that propose to change a table. */
export const maintenanceTools: readonly AgentTool[] = PROPOSABLE_KINDS.map(maintenanceTool)

/** What every proposal has; its options are beside these. */
const proposedRequest = z.looseObject({ table: tableName, plan_id: z.string().optional() })

/** A confirmation runs the plan made now, by its id: it is refused when the table has changed in the meantime. */
function maintenanceTool(kind: ProposableKind): AgentTool {
  const { summary: effect, tool, risk, request: endpoint } = OPERATIONS[kind]
  return changeTool({
    ...tool,
    reach: 'objects',
    description: `Proposes to change a table: ${effect}. ${PLANS_ONLY}`,
    risk,
    input: INPUTS[kind],
    minRole: endpoint.minRole,
    async plan(args, run): Promise<ToolPlan> {
      const request: MaintenanceRequest = proposedRequest.parse(args)
      const { details, planId } = await preview(kind, request, run)
      const summary = describePlan(kind, request.table, { ...request, ...details })
      if (summary === undefined) {
        return {
          plan: details,
          summary: `${tool.title}: there is nothing to do in ${request.table}`,
          action: undefined,
        }
      }
      const confirmed = { ...toRecord(toStoredJson(request)), ...(planId === undefined ? {} : { plan_id: planId }) }
      return { plan: details, summary, action: { arguments: confirmed } }
    },
    async apply(args, run) {
      const request: MaintenanceRequest = proposedRequest.parse(args)
      const { done } = await run.services.maintenance.start(kind, request, contextOf(run))
      return toWire(await done)
    },
  })
}

async function previewOnly(kind: ProposableKind, request: MaintenanceRequest, run: ToolRun): Promise<object> {
  const { details } = await preview(kind, request, run)
  const summary = describePlan(kind, request.table, { ...request, ...details })
  return { summary: summary ?? `there is nothing to do in ${request.table}`, plan: details, changed: false }
}

interface Preview {
  readonly details: { readonly [key: string]: StoredJson }
  readonly planId: string | undefined
}

async function preview(kind: ProposableKind, request: MaintenanceRequest, run: ToolRun): Promise<Preview> {
  const answer = await run.services.maintenance.preview(kind, { ...request, dry_run: true }, contextOf(run))
  return { details: toRecord(toStoredJson(answer.details)), planId: answer.plan_id }
}

/** The request context of a service call: the user on whose behalf the agent works. */
export function contextOf({ caller, requestId, channel }: ToolRun): RequestContext {
  return { caller, requestId, channel: channel ?? 'agent' }
}

function toRecord(value: StoredJson): { readonly [key: string]: StoredJson } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a JSON object that is not a list
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, StoredJson>)
    : {}
}

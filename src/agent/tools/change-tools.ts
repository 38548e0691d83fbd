import { z } from 'zod'
import type { RequestContext } from '../../domain/audit.ts'
import { tableName } from '../../schemas/common.ts'
import {
  addColumnFields,
  compactRequest,
  dropColumnFields,
  expireRequest,
  renameColumnFields,
  rewriteManifestsRequest,
} from '../../schemas/tables/maintenance.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { MaintenanceRequest } from '../../services/operations/maintenance-service.ts'
import { describePlan, type PlanDetails, type ProposableKind } from './plan-text.ts'
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
    title: 'Plan a compaction',
    description: 'Shows what compacting a table would do: files, bytes and groups, from the planner. Changes nothing.',
    minRole: 'DataEngineer',
    input: compactInput,
    run: (args, run) => previewOnly('compact', args, run),
  }),
  readTool({
    name: 'plan_expiry',
    title: 'Plan an expiry',
    description:
      'Shows what expiring snapshots of a table would do: snapshots, deleted files, freed bytes, and snapshots kept ' +
      'for pipelines. ' +
      'Changes nothing.',
    minRole: 'DataEngineer',
    input: expireInput,
    run: (args, run) => previewOnly('expire', args, run),
  }),
]

/** Tools that propose to change a table. */
export const maintenanceTools: readonly AgentTool[] = [
  maintenanceTool('compact', {
    name: 'compact',
    title: 'Compact a table',
    description: `Proposes to rewrite small files, and files with deletes, into fewer large ones. ${PLANS_ONLY}`,
    risk: 'change',
    input: compactInput,
  }),
  maintenanceTool('expire', {
    name: 'expire_snapshots',
    title: 'Expire snapshots',
    description: `Proposes to expire old snapshots and delete the files that only they use. ${PLANS_ONLY}`,
    risk: 'destructive',
    input: expireInput,
  }),
  maintenanceTool('rewrite_manifests', {
    name: 'rewrite_manifests',
    title: 'Rewrite manifests',
    description: `Proposes to merge small manifests of a table, so that planning reads fewer files. ${PLANS_ONLY}`,
    risk: 'change',
    input: rewriteManifestsRequest.omit(service),
  }),
  maintenanceTool('add_column', {
    name: 'add_column',
    title: 'Add a column',
    description: `Proposes to add an optional column; a dotted name adds a field to a struct. ${PLANS_ONLY}`,
    risk: 'change',
    input: addColumnFields.omit(service),
  }),
  maintenanceTool('rename_column', {
    name: 'rename_column',
    title: 'Rename a column',
    description: `Proposes to rename a column; its data stays. ${PLANS_ONLY}`,
    risk: 'change',
    input: renameColumnFields.omit(forced),
  }),
  maintenanceTool('drop_column', {
    name: 'drop_column',
    title: 'Drop a column',
    description: `Proposes to drop a column that nothing depends on. ${PLANS_ONLY}`,
    risk: 'destructive',
    input: dropColumnFields.omit(forced),
  }),
]

interface MaintenanceTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly risk: 'change' | 'destructive'
  readonly input: z.ZodObject
}

/** What every proposal has; its options are beside these. */
const proposedRequest = z.looseObject({ table: tableName, plan_id: z.string().optional() })

/** A confirmation runs the plan made now, by its id: it is refused when the table has changed in the meantime. */
function maintenanceTool(kind: ProposableKind, tool: MaintenanceTool): AgentTool {
  return changeTool({
    ...tool,
    minRole: 'DataEngineer',
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
      return (await run.services.maintenance.start(kind, request, contextOf(run))).done
    },
  })
}

async function previewOnly(kind: ProposableKind, request: MaintenanceRequest, run: ToolRun): Promise<object> {
  const { details } = await preview(kind, request, run)
  const summary = describePlan(kind, request.table, { ...request, ...details })
  return { summary: summary ?? `there is nothing to do in ${request.table}`, plan: details, changed: false }
}

interface Preview {
  readonly details: PlanDetails & { readonly [key: string]: StoredJson }
  readonly planId: string | undefined
}

async function preview(kind: ProposableKind, request: MaintenanceRequest, run: ToolRun): Promise<Preview> {
  const answer = await run.services.maintenance.preview(kind, { ...request, dry_run: true }, contextOf(run))
  return { details: toRecord(JSON.parse(answer.details_json) as StoredJson), planId: answer.plan_id }
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

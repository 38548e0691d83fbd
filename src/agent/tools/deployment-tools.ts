import { z } from 'zod'
import {
  DEPLOY_CHECKPOINTS,
  type DeployCheckpoint,
  DEPLOYMENT_ACTIONS,
  type DeploymentAction,
} from '../../domain/deployments.ts'
import { RUN_ENVIRONMENTS, type RunEnvironment } from '../../domain/environments.ts'
import { DomainError } from '../../domain/errors.ts'
import { type IntoBranch, intoBranch, type StartFrom, startFrom } from '../../schemas/pipelines.ts'
import type { DeploymentAnswer } from '../../services/deployments/deployment-views.ts'
import { requireRoleIn } from '../../services/environments/write-rules.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import { contextOf } from './change-tools.ts'
import { describeDeployment, describeProblems } from './deployment-text.ts'
import { pageToken } from './paging.ts'
import { toStoredJson } from './stored-value.ts'
import { type AgentTool, changeTool, readTool, type ToolPlan, type ToolRun } from './tool.ts'

const PAGE = 50

const definitionId = z.string().min(1).max(200).describe('Such as def-…, from list_definitions')
const environment = z.enum(RUN_ENVIRONMENTS)
const checkpoint = z
  .enum(DEPLOY_CHECKPOINTS)
  .optional()
  .describe(
    'continue (default): read on where pipelines of the definition stand; resume: also after what others have written into the sink; fresh: read all sources from the beginning or from `from`, which may write rows again',
  )
const from = startFrom
  .optional()
  .describe('Only with checkpoint fresh: where it begins; beginning is the default, the others read only later rows')

const changeInput = z.strictObject({ definition_id: definitionId, environment })
const deployInput = changeInput.extend({ checkpoint, from, into_branch: intoBranch.optional() })
const planInput = deployInput.extend({ action: z.enum(DEPLOYMENT_ACTIONS).default('deploy') })
/** The arguments of a proposed change: exactly this plan, or nothing. */
const confirmedInput = deployInput.extend({ plan_id: z.string() })

const PLANS_ONLY =
  'Needs DataEngineer in development and qa, LeadDataEngineer in uat and production. Only plans: the user has to confirm ' +
  'before anything is started or stopped.'

/** Tools that read deployments, and that plan one without proposing it. */
export const deploymentTools: readonly AgentTool[] = [
  readTool({
    name: 'list_deployments',
    reach: 'filtered',
    title: 'List deployments',
    description:
      'Lists what runs of each pipeline definition in each environment, what a deployment would run, and the state with its reason.',
    examples: [
      'What is deployed in {environment}?',
      'List all deployments',
      'Which deployments are there?',
      'Which version runs in {environment}?',
      'Where is {definition} deployed?',
      'Did any deployment fail?',
    ],
    minRole: 'Auditor',
    input: z.strictObject({
      environment: environment.optional(),
      definition_id: definitionId.optional(),
      page_token: pageToken,
    }),
    async run(query, { caller, services }) {
      const page = await services.deployments.list({ ...query, page_size: PAGE }, caller)
      return { deployments: page.items, next_page_token: page.next_page_token }
    },
  }),
  readTool({
    name: 'plan_deployment',
    reach: 'objects',
    title: 'Plan a deployment',
    description:
      'Shows what a deploy, undeploy or rollback would do: what runs, what would run, where each source starts, problems, ' +
      'and what is lost or repeated. Changes nothing.',
    examples: [
      'What would deploying {definition} to {environment} do?',
      'What would happen if I deploy {definition} to {environment}?',
      'Preview a deployment of {definition} in {environment}',
      'What would an undeploy of {definition} in {environment} do?',
      'Can {definition} be deployed to {environment}?',
      'What would a rollback of the deployment of {definition} in {environment} do?',
    ],
    minRole: 'DataEngineer',
    input: planInput,
    async run(asked, run) {
      const answer = await preview(asked, run)
      return { ...answer, summary: describeDeployment(answer) ?? describeProblems(answer), changed: false }
    },
  }),
]

/** Tools that propose to change what runs in an environment. */
export const deploymentChangeTools: readonly AgentTool[] = [
  deploymentTool('deploy', {
    name: 'deploy_pipeline',
    title: 'Deploy a pipeline',
    description: `Proposes to run the newest version of a definition in an environment instead of what runs there. ${PLANS_ONLY}`,
    examples: [
      'Deploy {definition} to {environment}',
      'Deploy the newest version of {definition} in {environment}',
      'Release {definition} in {environment}',
    ],
    input: deployInput,
  }),
  deploymentTool('undeploy', {
    name: 'undeploy_pipeline',
    title: 'Undeploy a pipeline',
    description: `Proposes to stop what runs of a definition in an environment; its checkpoint is kept. ${PLANS_ONLY}`,
    examples: [
      'Undeploy {definition} in {environment}',
      'Remove the deployment of {definition} from {environment}',
      'Take {definition} down in {environment}',
      'Stop what runs of {definition} in {environment}',
    ],
    input: changeInput,
  }),
  deploymentTool('rollback', {
    name: 'rollback_deployment',
    title: 'Roll a deployment back',
    description: `Proposes to run the version again that ran before in an environment. ${PLANS_ONLY}`,
    examples: [
      'Roll back the deployment of {definition} in {environment}',
      'Rollback {definition} in {environment}',
      'Roll {definition} back to the previous version in {environment}',
      'Go back to the previous deployment of {definition} in {environment}',
    ],
    input: changeInput,
  }),
]

interface DeploymentTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly examples: readonly string[]
  readonly input: typeof changeInput | typeof deployInput
}

/** The environment's role is checked now and again at the confirmation, which runs the plan made now by its id. */
function deploymentTool(action: DeploymentAction, tool: DeploymentTool): AgentTool {
  return changeTool({
    reach: 'objects',
    ...tool,
    risk: 'change',
    minRole: 'DataEngineer',
    async plan(args, run): Promise<ToolPlan> {
      requireRoleIn(args.environment, run.caller)
      const answer = await preview({ ...args, action }, run)
      const plan = toStoredJson(answer.plan)
      if (isInPlace(answer, args)) {
        const summary = `Nothing to deploy: the newest version already runs in ${args.environment} with its settings`
        return { plan, summary, action: undefined }
      }
      const summary = describeDeployment(answer)
      if (summary === undefined || answer.plan_id === undefined) throw refused(answer)
      return { plan, summary, action: { arguments: confirmedArguments(args, answer.plan_id) } }
    },
    apply(args, run) {
      const { definition_id: id, ...request } = confirmedInput.parse(args)
      return run.services.deployments.change(action, { definitionId: id, request }, contextOf(run))
    },
  })
}

interface Asked {
  readonly definition_id: string
  readonly environment: RunEnvironment
  readonly checkpoint?: DeployCheckpoint | undefined
  readonly from?: StartFrom | undefined
  readonly into_branch?: IntoBranch | undefined
}

function preview(
  { action, definition_id: id, environment: place, ...begin }: Asked & { readonly action: DeploymentAction },
  run: ToolRun,
): Promise<DeploymentAnswer> {
  const request = { environment: place, dry_run: true, ...(action === 'deploy' ? givenOf(begin) : {}) }
  return run.services.deployments.change(action, { definitionId: id, request }, contextOf(run))
}

function confirmedArguments({ definition_id, environment: place, ...begin }: Asked, planId: string) {
  const given: Record<string, StoredJson> = { definition_id, environment: place }
  return { ...given, ...givenOf(begin), plan_id: planId }
}

function givenOf({ checkpoint: kind, from: begin, into_branch }: Omit<Asked, 'definition_id' | 'environment'>) {
  return {
    ...(kind === undefined ? {} : { checkpoint: kind }),
    ...(begin === undefined ? {} : { from: begin }),
    ...(into_branch === undefined ? {} : { into_branch }),
  }
}

/** Whether the deployment would change nothing, as the service decides it. */
function isInPlace(
  { plan, state, running_version_id: running }: DeploymentAnswer,
  { checkpoint: kind }: Asked,
): boolean {
  return kind !== 'fresh' && state === 'in_sync' && plan?.would_run?.version_id === running
}

function refused(answer: DeploymentAnswer): DomainError {
  const fields = (answer.plan?.problems ?? []).map(({ node_id: node, parameter, message }) => ({
    path: [
      node === null ? 'deployment' : `nodes.${node}`,
      ...(parameter === null ? [] : [`parameters.${parameter}`]),
    ].join('.'),
    message,
  }))
  return new DomainError('UNPROCESSABLE', describeProblems(answer), { fields })
}

import type { z } from 'zod'
import { sleep } from '../../lib/sleep.ts'
import type { deployment } from '../../schemas/deployments.ts'
import { callCommand, type CallSpec, limitOf, listCommand, queryOf } from '../api/api-command.ts'
import { showList, valueAt } from '../api/answer.ts'
import { endpointOf, filledPath } from '../endpoint.ts'
import { listAll } from '../api/pages.ts'
import { resolveIds } from '../api/parameters.ts'
import type { Call, Command } from '../command.ts'
import { CommandError } from '../errors.ts'
import { jsonText } from '../text.ts'

type Change = 'deployDefinition' | 'undeployDefinition' | 'rollbackDeployment'

const VIEW = {
  words: ['environment'],
  fails: (answer: unknown) => {
    const problems = valueAt(answer, 'plan.problems')
    return Array.isArray(problems) && problems.length > 0 ? 'this plan cannot be carried out' : undefined
  },
  tables: {
    'plan.sources': ['table', 'starts'],
    'plan.problems': ['code', 'node_id', 'parameter', 'message'],
  },
  after: waitForRollout,
} as const satisfies Omit<CallSpec<Change>, 'examples'>

const deployments = listCommand('listDeployments', {
  columns: [],
  none: 'no deployments',
  examples: ['lockhouse deployments --environment production'],
})
const COLUMNS = [
  ['DEFINITION', 'name'],
  'environment',
  'state',
  ['RUNS', 'running_version_id'],
  ['SHOULD RUN', 'desired_version_id'],
  ['PIPELINE', 'pipeline_id'],
  'reason',
] as const

/** Commands that run versions in environments, and those for the environments. */
export const deploymentCommands: Readonly<Record<string, Command>> = {
  deployments: { ...deployments, endpoints: ['listDeployments', 'listDefinitions'], run: listDeployments },
  'deployments history': listCommand('listDeploymentHistory', {
    columns: [
      ['STARTED', 'started_at'],
      'environment',
      'action',
      'outcome',
      ['VERSION', 'version_id'],
      ['BEFORE', 'previous_version_id'],
      ['BY', 'started_by'],
      'reason',
      ['OVERRIDDEN BY', 'override.by'],
    ],
    none: 'nothing was deployed yet',
    limit: 100,
    examples: ['lockhouse deployments history orders'],
  }),
  'definitions deploy': waiting(
    callCommand('deployDefinition', {
      ...VIEW,
      examples: [
        'lockhouse definitions deploy orders production --dry-run',
        'lockhouse definitions deploy orders production --wait',
      ],
    }),
  ),
  'definitions undeploy': waiting(
    callCommand('undeployDefinition', {
      ...VIEW,
      confirm: 'Stop what runs of {} in {}?',
      examples: ['lockhouse definitions undeploy orders production --yes --wait'],
    }),
  ),
  'definitions rollback': waiting(
    callCommand('rollbackDeployment', {
      ...VIEW,
      examples: ['lockhouse definitions rollback orders production --dry-run'],
    }),
  ),
  'definitions override-window': waiting(
    callCommand('overrideDeploymentWindow', {
      words: ['environment'],
      after: waitForRollout,
      examples: ['lockhouse definitions override-window orders production --reason "fixes wrong invoices" --wait'],
    }),
  ),
  environments: listCommand('listEnvironments', {
    summary: 'list parameters, write rules, defaults and rules for changes of the environments',
    columns: [
      'environment',
      'deploy',
      'parameters',
      'writes',
      ['TRIGGER', 'defaults.trigger_interval'],
      ['ENGINE', 'defaults.engine'],
      ['APPROVALS', 'approvals.required'],
    ],
    none: 'no environments',
    examples: ['lockhouse environments'],
  }),
  'environments show': callCommand('getEnvironment', { examples: ['lockhouse environments show production'] }),
  'environments set': callCommand('setEnvironment', {
    summary: 'change an environment by options, or by a file with JSON; what is not given stays as it is',
    file: 'optional',
    ignores: ['environment', 'managed_by', 'revision', 'updated_at'],
    examples: ['lockhouse environments set production --writes "sales.*"', 'lockhouse environments set qa qa.json'],
  }),
}

/** Lists deployments with the names of their definitions, which the answer does not have. */
async function listDeployments(call: Call): Promise<void> {
  const query = queryOf(call, endpointOf('listDeployments'))
  const { answer, rows } = await listAll(call, 'listDeployments', { query, limit: limitOf(call) })
  if (call.isSet('json')) return call.terminal.out(jsonText(answer))
  const definitions = (await listAll(call, 'listDefinitions', {})).rows as readonly { id: string; name: string }[]
  const names = new Map(definitions.map(({ id, name }) => [id, name]))
  const named = (rows as readonly { definition_id: string }[]).map((row) => ({
    ...row,
    name: names.get(row.definition_id) ?? row.definition_id,
  }))
  showList(call, answer, { rows: named, columns: COLUMNS, none: 'no deployments' })
}

const LOOK_MS = 500

/** A change of a deployment that can wait until the rollout has ended. */
function waiting(command: Command): Command {
  return {
    ...command,
    options: { wait: { help: 'until the rollout has ended; ends with 1 when it fails' }, ...command.options },
    endpoints: [...command.endpoints, 'listDeploymentHistory'],
  }
}

async function waitForRollout(call: Call, answer: unknown): Promise<void> {
  if (!call.isSet('wait') || call.isSet('dry-run')) return
  const { rollout, state } = answer as Deployment
  if (rollout === null) call.terminal.note(`no rollout is under way: the state is ${state}`)
  else if (rollout.phase === 'waiting_for_window') {
    call.terminal.note(`the rollout waits for a window, which opens at ${rollout.opens_at ?? 'no known time'}`)
  } else await rolloutEnd(call, rollout.id)
}

type Deployment = z.infer<typeof deployment>

interface Rollout {
  readonly id: string
  readonly action: string
  readonly outcome: string
  readonly reason: string | null
}

/** Waits for the end of this rollout; later ones of the definition are those of others. */
async function rolloutEnd(call: Call, id: string): Promise<void> {
  const [, environment] = call.names
  const path = filledPath(endpointOf('listDeploymentHistory').path, await resolveIds(call, ['def_id'], call.names))
  while (true) {
    const entries = await call.api.get<readonly Rollout[]>(path, { environment, page_size: '100' })
    const own = entries.find((entry) => entry.id === id)
    if (own === undefined) throw new CommandError(`the history has no rollout ${id}`)
    const { action, outcome, reason } = own
    if (outcome === 'succeeded') return call.terminal.note(`${action} has succeeded`)
    if (outcome !== 'running') {
      throw new CommandError(`${action} ended with ${outcome}${reason === null ? '' : `: ${reason}`}`)
    }
    await sleep(LOOK_MS)
  }
}

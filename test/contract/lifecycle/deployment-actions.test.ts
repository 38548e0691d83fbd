import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RUN_ENVIRONMENTS, type RunEnvironment } from '../../../src/domain/environments.ts'
import { type DeployLab, graphOf, openDeployLab } from '../../services/deployments/deploy-lab.ts'
import type { Place } from '../../support/lifecycle.ts'
import { callTool } from '../../support/mcp-call.ts'
import { callsTool, says } from '../../support/model-provider/reply.ts'
import { type ModelProvider, startModelProvider } from '../../support/model-provider/model-provider.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const ROLES = ['none', 'Auditor', 'DataEngineer', 'LeadDataEngineer'] as const
type RoleName = (typeof ROLES)[number]

/** The definitions of an environment. */
interface Definitions {
  /** Not deployed. */
  readonly idle: Place
  /** Deployed in its second version, after the first. */
  readonly deployed: Place
  /** Started with its version. */
  readonly started: Place
}

let lab: DeployLab
let provider: ModelProvider
let tokens: Readonly<Record<RoleName, string | null>>
const places = new Map<RunEnvironment, Definitions>()

beforeAll(async () => {
  provider = await startModelProvider()
  lab = await openDeployLab({ env: { OPENAI_API_KEY: 'sk-matrix-0123456789abcdef', OPENAI_BASE_URL: provider.url } })
  tokens = {
    none: null,
    Auditor: await tokenOf('aud', 'Auditor'),
    DataEngineer: await tokenOf('eng', 'DataEngineer'),
    LeadDataEngineer: await tokenOf('lead', 'LeadDataEngineer'),
  }
  for (const environment of RUN_ENVIRONMENTS) {
    const [idle, deployed, started] = [await made('idle'), await made('deployed'), await made('started')]
    places.set(environment, { idle, deployed, started })
    async function made(kind: string): Promise<Place> {
      const name = `${kind}_${environment}`
      await lab.tables(name, 3)
      const place = await lab.define(name)
      await lab.users.bring(place, environment)
      return place
    }
    expect((await lab.deploy(deployed, environment)).status).toBe(200)
    await lab.untilState(deployed, 'in_sync', environment)
    const name = `deployed_${environment}`
    const second = await lab.users.addVersion(
      deployed.definitionId,
      graphOf([`s.${name}_in`], `s.${name}_out`, 'id > -1'),
    )
    await lab.users.bring(second, environment)
    await restore(environment)
  }
}, 300_000)
afterAll(async () => {
  await lab.close()
  await provider.close()
})

async function tokenOf(user: string, role: string): Promise<string> {
  const { body } = await lab.lab.service.post('/api/auth/tokens', { user, role, name: 'matrix' })
  return body.token
}

const placesIn = (environment: RunEnvironment): Definitions => {
  const found = places.get(environment)
  if (found === undefined) throw new Error(`no definitions in ${environment}`)
  return found
}

const call = async (role: RoleName, method: string, path: string, body?: object) => {
  const token = tokens[role]
  return lab.lab.service.call(method, path, { token, ...(body === undefined ? {} : { body }) })
}

/** Waits for the end of a rollout, and deploys or undeploys until everything is as it was. */
async function restore(environment: RunEnvironment): Promise<void> {
  const { idle, deployed } = placesIn(environment)
  await settled(idle, environment)
  if ((await lab.deploymentOf(idle, environment)).state !== 'none') {
    await lab.change('undeploy', idle, environment)
    await lab.untilState(idle, 'none', environment)
  }
  const now = await settled(deployed, environment)
  if (now.state !== 'in_sync') {
    await lab.deploy(deployed, environment)
    await lab.untilState(deployed, 'in_sync', environment)
  }
}

function settled(place: Place, environment: RunEnvironment) {
  return until(
    async () => {
      const now = await lab.deploymentOf(place, environment)
      return now?.rollout === null && now
    },
    async () => JSON.stringify(await lab.deploymentOf(place, environment)),
    120_000,
  )
}

/** What runs: it must be the same before and after everything that is refused or only planned. */
async function whatRuns(): Promise<unknown> {
  const { body: deployments } = await lab.lab.service.get('/api/deployments')
  const { body } = await lab.lab.service.get('/api/pipelines')
  const pipelines = body.pipelines.map(({ id, run_id, version_id }: Record<string, string>) => [id, run_id, version_id])
  const states = deployments.map(({ state, running_version_id, pipeline_id }: Record<string, string>) => [
    state,
    running_version_id,
    pipeline_id,
  ])
  return { pipelines: pipelines.sort(), states }
}

let checkpoints = 0
const startRequest = (environment: RunEnvironment) => ({
  version_id: placesIn(environment).started.versionId,
  checkpoint_location: `cp/matrix-${environment}-${(checkpoints += 1)}`,
  trigger_interval: '1 hour',
})

/** The pipeline of a version, started by a lead for one call; it is removed afterwards. */
async function withPipeline(environment: RunEnvironment, work: (id: string) => Promise<number | string>) {
  const lead = 'LeadDataEngineer'
  const { status, body } = await call(lead, 'POST', '/api/pipeline/start', startRequest(environment))
  expect(status, JSON.stringify(body)).toBe(200)
  const { id } = body.pipeline
  const answer = await work(id)
  await removePipeline(id)
  return answer
}

async function removePipeline(id: string): Promise<void> {
  await call('LeadDataEngineer', 'POST', `/api/pipeline/${id}/stop`, {})
  expect([204, 404]).toContain((await call('LeadDataEngineer', 'DELETE', `/api/pipeline/${id}`)).status)
}

type Act = (role: RoleName, at: RunEnvironment) => Promise<number | string>

/** A change of a deployment over REST. */
const change =
  (action: string, of: keyof Definitions, more: object = {}): Act =>
  async (role, at) => {
    const path = `${placesIn(at)[of].definition}/${action}`
    return (await call(role, 'POST', path, { environment: at, ...more })).status
  }

/** A call of a tool over MCP: the status, the code of the refusal, or what it answered. */
const overMcp =
  (name: string, args: (at: RunEnvironment) => object): Act =>
  async (role, at) => {
    const send = (path: string, init: RequestInit) => lab.lab.service.app.request(path, init)
    const token = tokens[role]
    if (token === null) return (await call(role, 'POST', '/mcp', {})).status
    return outcomeOf((await callTool(send, token, { name, arguments: args(at) })).result)
  }

/** The same through the agent and a model that wants it. */
const overAgent =
  (name: string, args: (at: RunEnvironment) => object): Act =>
  async (role, at) => {
    provider.script = [callsTool(name, args(at)), says('Done.')]
    const { status, body } = await call(role, 'POST', '/api/agent/chat', { prompt: 'do it' })
    if (status !== 200) return status
    const used = body.tool_calls[0]
    return used === undefined ? 'not offered' : outcomeOf(JSON.parse(used.result_json))
  }

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers freely
function outcomeOf(result: any): string {
  if (result.error !== undefined) return result.error.code
  return result.data?.pending_action === undefined ? 'answered' : 'proposed'
}

const argsOf = (of: keyof Definitions) => (at: RunEnvironment) => ({
  definition_id: placesIn(at)[of].definitionId,
  environment: at,
})
const TOOLS: readonly (readonly [string, (at: RunEnvironment) => object])[] = [
  ['list_deployments', (environment) => ({ environment })],
  ['plan_deployment', argsOf('idle')],
  ['deploy_pipeline', argsOf('idle')],
  ['undeploy_pipeline', argsOf('deployed')],
  ['rollback_deployment', argsOf('deployed')],
]

const REST: readonly (readonly [string, Act])[] = [
  ['list', async (role, at) => (await call(role, 'GET', `/api/deployments?environment=${at}`)).status],
  ['history', async (role, at) => (await call(role, 'GET', `${placesIn(at).deployed.definition}/deployments`)).status],
  ['dry run of deploy', change('deploy', 'idle', { dry_run: true })],
  ['dry run of undeploy', change('undeploy', 'deployed', { dry_run: true })],
  ['dry run of rollback', change('rollback', 'deployed', { dry_run: true })],
  ['deploy', change('deploy', 'idle')],
  ['undeploy', change('undeploy', 'deployed')],
  ['rollback', change('rollback', 'deployed')],
  [
    'start with version',
    async (role, at) => {
      const { status, body } = await call(role, 'POST', '/api/pipeline/start', startRequest(at))
      if (status === 200) await removePipeline(body.pipeline.id)
      return status
    },
  ],
  [
    'stop',
    (role, at) =>
      withPipeline(at, async (id) => {
        const { status } = await call(role, 'POST', `/api/pipeline/${id}/stop`, {})
        expect((await lab.pipeline(id)).desired_state).toBe(status === 200 ? 'stopped' : 'running')
        return status
      }),
  ],
  [
    'start again without a version',
    (role, at) =>
      withPipeline(at, async (id) => {
        await call('LeadDataEngineer', 'POST', `/api/pipeline/${id}/stop`, {})
        const { source_table, sink_table, checkpoint_location } = await lab.pipeline(id)
        const body = { source_table, sink_table, checkpoint_location, trigger_interval: '1 hour' }
        return (await call(role, 'POST', '/api/pipeline/start', body)).status
      }),
  ],
  [
    'delete',
    (role, at) =>
      withPipeline(at, async (id) => {
        await call('LeadDataEngineer', 'POST', `/api/pipeline/${id}/stop`, {})
        return (await call(role, 'DELETE', `/api/pipeline/${id}`)).status
      }),
  ],
  ['stop_pipeline over MCP', stopOver(overMcp)],
  ['stop_pipeline over the agent', stopOver(overAgent)],
  ...TOOLS.map(([name, args]) => [`${name} over MCP`, overMcp(name, args)] as const),
  ...TOOLS.map(([name, args]) => [`${name} over the agent`, overAgent(name, args)] as const),
]

function stopOver(over: typeof overMcp): Act {
  return (role, at) => withPipeline(at, (id) => over('stop_pipeline', () => ({ pipeline_id: id }))(role, at))
}

/** What reads answer. */
const READ = [401, 200, 200, 200]
/** What everyone from DataEngineer on may do everywhere. */
const ENGINEER = [401, 403, 200, 200]
const LEAD_ONLY = [401, 403, 403, 200]
const BY_ENVIRONMENT = [ENGINEER, ENGINEER, LEAD_ONLY, LEAD_ONLY]
const same = (row: readonly (number | string)[]) => [row, row, row, row]
const byEnvironment = (low: readonly (number | string)[], high: readonly (number | string)[]) => [low, low, high, high]

/** What none, Auditor, DataEngineer and LeadDataEngineer get, in development, qa, uat and production. */
const EXPECTED: Readonly<Record<string, readonly (readonly (number | string)[])[]>> = {
  list: same(READ),
  history: same(READ),
  'dry run of deploy': same(ENGINEER),
  'dry run of undeploy': same(ENGINEER),
  'dry run of rollback': same(ENGINEER),
  deploy: BY_ENVIRONMENT,
  undeploy: BY_ENVIRONMENT,
  rollback: BY_ENVIRONMENT,
  'start with version': BY_ENVIRONMENT,
  stop: BY_ENVIRONMENT,
  'start again without a version': BY_ENVIRONMENT,
  delete: byEnvironment([401, 403, 204, 204], [401, 403, 403, 204]),
  'list_deployments over MCP': same([401, 'answered', 'answered', 'answered']),
  'plan_deployment over MCP': same([401, 'FORBIDDEN', 'answered', 'answered']),
  'list_deployments over the agent': same([401, 403, 'answered', 'answered']),
  'plan_deployment over the agent': same([401, 403, 'answered', 'answered']),
  ...Object.fromEntries(
    ['deploy_pipeline', 'undeploy_pipeline', 'rollback_deployment', 'stop_pipeline'].flatMap((tool) => [
      [
        `${tool} over MCP`,
        byEnvironment([401, 'FORBIDDEN', 'proposed', 'proposed'], [401, 'FORBIDDEN', 'FORBIDDEN', 'proposed']),
      ],
      [
        `${tool} over the agent`,
        byEnvironment([401, 403, 'proposed', 'proposed'], [401, 403, 'FORBIDDEN', 'proposed']),
      ],
    ]),
  ),
}

/** Only these may change what runs, where they are allowed. */
const CHANGES: ReadonlySet<string> = new Set(['deploy', 'undeploy', 'rollback'])

describe('each role in each environment', { ...LONG, timeout: 180_000 }, () => {
  it('has a row for every action', () =>
    expect(REST.map(([name]) => name).sort()).toEqual(Object.keys(EXPECTED).sort()))

  it.each(REST)('may %s as the table says, and nothing else changes what runs', async (name, act) => {
    const seen: (readonly (number | string)[])[] = []
    for (const environment of RUN_ENVIRONMENTS) {
      const answers: (number | string)[] = []
      for (const role of ROLES) {
        const before = await whatRuns()
        const answer = await act(role, environment)
        answers.push(answer)
        if (CHANGES.has(name) && answer === 200) await restore(environment)
        else expect(await whatRuns(), `${name} as ${role} in ${environment}`).toEqual(before)
      }
      seen.push(answers)
    }
    expect(seen).toEqual(EXPECTED[name])
  })
})

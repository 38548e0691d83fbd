import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Role } from '../../../src/domain/roles.ts'
import { LONG } from '../../support/effort.ts'
import { type DeployLab, graphOf, openDeployLab } from '../../services/deployments/deploy-lab.ts'
import type { Place } from '../../support/lifecycle.ts'
import { callTool } from '../../support/mcp-call.ts'

let lab: DeployLab
beforeAll(async () => {
  lab = await openDeployLab()
})
afterAll(() => lab.close())

const tokenOf = async (user: string, role: Role): Promise<string> => {
  const { body } = await lab.lab.service.post('/api/auth/tokens', { user, role, name: 'tools' })
  return body.token
}

/** What a tool answers to a user, over MCP. */
async function use(token: string, name: string, args: object) {
  const send = (path: string, init: RequestInit) => lab.lab.service.app.request(path, init)
  return (await callTool(send, token, { name, arguments: args })).result
}

const confirm = (token: string, id: string) =>
  lab.lab.service.call('POST', `/api/agent/actions/${id}/confirm`, { body: {}, token })

const argsOf = (place: Place, environment = 'development') => ({ definition_id: place.definitionId, environment })

/** A deployed first version, and a second one that is not deployed. */
async function twoVersions(name: string, environment: 'development' | 'production' = 'development') {
  await lab.tables(name)
  const one = await lab.define(name)
  await lab.users.bring(one, environment)
  await lab.deploy(one, environment)
  const now = await lab.untilState(one, 'in_sync', environment)
  const graph = graphOf([`s.${name}_in`], `s.${name}_out`, 'id > -1')
  const two = await lab.users.addVersion(one.definitionId, graph)
  await lab.users.bring(two, environment)
  return {
    one,
    two,
    pipelineId: now.pipeline_id as string,
    runId: (await lab.pipeline(now.pipeline_id)).run_id as string,
  }
}

describe('a deployment proposed by a tool', { timeout: 180_000 }, () => {
  it('names what runs, what would run and the consequences, and starts only when it is confirmed', LONG, async () => {
    const { one, two, pipelineId, runId } = await twoVersions('proposed')
    const ed = await tokenOf('ed', 'DataEngineer')
    const planned = await use(ed, 'plan_deployment', argsOf(one))
    expect(planned.data).toMatchObject({ changed: false, plan: { problems: [] } })
    const { data } = await use(ed, 'deploy_pipeline', argsOf(one))
    expect(data.summary).toBe(planned.data.summary)
    for (const text of [
      `Deploy ${one.definitionId} in development to version 2 (${two.versionId})`,
      `Now pipeline ${pipelineId} with version 1 from s.proposed_in into s.proposed_out is running`,
      'Afterwards version 2 runs from s.proposed_in into s.proposed_out every 100 ms with the same checkpoint',
      'Consequence: continues on the same checkpoint: no row is lost or repeated',
    ]) {
      expect(data.summary).toContain(text)
    }
    expect(data.note).toContain('Nothing has been changed')
    expect(await lab.deploymentOf(one)).toMatchObject({ running_version_id: one.versionId, rollout: null })
    expect((await lab.pipeline(pipelineId)).run_id).toBe(runId)
    const done = await confirm(ed, data.pending_action.id)
    expect(done.status, JSON.stringify(done.body)).toBe(200)
    expect(done.body.result).toMatchObject({ state: 'rolling_out', desired_version_id: two.versionId })
    await lab.untilState(one, 'in_sync')
    expect(await lab.deploymentOf(one)).toMatchObject({ running_version_id: two.versionId })
    await lab.untilCopied('proposed', 10)
    const again = await use(ed, 'deploy_pipeline', argsOf(one))
    expect(again.data).toMatchObject({ nothing_to_do: true })
    const listed = await use(ed, 'list_deployments', argsOf(one))
    expect(listed.data.deployments).toMatchObject([{ state: 'in_sync', running_version_id: two.versionId }])
    await rollBackAndUndeploy(ed, one, two)
  })

  async function rollBackAndUndeploy(token: string, one: Place, two: Place): Promise<void> {
    const back = await use(token, 'rollback_deployment', argsOf(one))
    expect(back.data.summary).toContain(`Roll back ${one.definitionId} in development to version 1 (${one.versionId})`)
    expect(await lab.deploymentOf(one)).toMatchObject({ running_version_id: two.versionId, rollout: null })
    expect((await confirm(token, back.data.pending_action.id)).status).toBe(200)
    await expect.poll(async () => (await lab.deploymentOf(one)).rollout, { timeout: 60_000 }).toBe(null)
    expect(await lab.deploymentOf(one)).toMatchObject({ running_version_id: one.versionId })
    const end = await use(token, 'undeploy_pipeline', argsOf(one))
    expect(end.data.summary).toContain('Afterwards nothing runs there')
    expect(end.data.summary).toContain('Consequence: s.proposed_out gets no new rows; its checkpoint is kept')
    expect((await confirm(token, end.data.pending_action.id)).status).toBe(200)
    await lab.untilState(one, 'none')
    expect((await use(token, 'undeploy_pipeline', argsOf(one))).error).toMatchObject({ code: 'CONFLICT' })
  }

  it('does exactly what was shown, or nothing: PLAN_STALE after the settings have changed', LONG, async () => {
    const { one, pipelineId, runId } = await twoVersions('stale')
    const ed = await tokenOf('ed', 'DataEngineer')
    const { data } = await use(ed, 'deploy_pipeline', argsOf(one))
    const settings = { body: { parameters: { changed: 1 } } }
    await lab.lab.service.call('PUT', '/api/environments/development', settings)
    const { status, body } = await confirm(ed, data.pending_action.id)
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'PLAN_STALE' })
    expect((await lab.pipeline(pipelineId)).run_id).toBe(runId)
  })

  it('that has problems is refused with node and parameter, and creates no action', LONG, async () => {
    const { one } = await twoVersions('wrong')
    await lab.users.addVersion(one.definitionId, graphOf(['s.wrong_in'], 's.wrong_out', 'id > ${nobody}'))
    const ed = await tokenOf('ed-2', 'DataEngineer')
    const { error } = await use(ed, 'deploy_pipeline', argsOf(one))
    expect(error).toMatchObject({ code: 'UNPROCESSABLE', errors: [{ path: 'nodes.keep.parameters.nobody' }] })
    expect(error.message).toContain('node keep: parameter nobody')
    const { body } = await lab.lab.service.get('/api/agent/actions', { token: ed })
    expect(body.actions).toEqual([])
  })

  it('checks the role of the environment again when it is confirmed', async () => {
    const { one, pipelineId, runId } = await twoVersions('lowered', 'production')
    const { data } = await use(await tokenOf('lou', 'LeadDataEngineer'), 'deploy_pipeline', argsOf(one, 'production'))
    const { status, body } = await confirm(await tokenOf('lou', 'DataEngineer'), data.pending_action.id)
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'FORBIDDEN' })
    expect((await lab.pipeline(pipelineId)).run_id).toBe(runId)
    expect(await lab.deploymentOf(one, 'production')).toMatchObject({ running_version_id: one.versionId })
  })

  it('that stops a pipeline in production needs a lead, at the confirmation too', async () => {
    const { pipelineId } = await twoVersions('halted', 'production')
    const args = { pipeline_id: pipelineId }
    const refused = await use(await tokenOf('ed', 'DataEngineer'), 'stop_pipeline', args)
    expect(refused.error).toMatchObject({ code: 'FORBIDDEN' })
    const { data } = await use(await tokenOf('lou', 'LeadDataEngineer'), 'stop_pipeline', args)
    const { status } = await confirm(await tokenOf('lou', 'DataEngineer'), data.pending_action.id)
    expect(status).toBe(403)
    expect(await lab.pipeline(pipelineId)).toMatchObject({ state: 'running', desired_state: 'running' })
  })
})

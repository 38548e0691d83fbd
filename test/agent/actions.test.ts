import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callsTool, says } from '../support/model-provider/reply.ts'
import type { Actor } from '../support/lifecycle.ts'
import { stateKindsOfWholeRuns } from '../support/state/state-kinds.ts'
import { stateOf } from '../support/state-of.ts'
import { type AgentLab, SMALL_EVENTS, startAgentLab } from './agent-lab.ts'

const HOUR_MS = 3_600_000

describe.each(stateKindsOfWholeRuns)('a change proposed by the agent, state on $name', ({ skip, place }) => {
  let lab: AgentLab
  let offsetMs = 0
  beforeAll(async () => {
    if (skip) return
    const { env, remove } = await place()
    const now = (): Date => new Date(Date.now() + offsetMs)
    lab = await startAgentLab({ events: SMALL_EVENTS, env, onClose: remove, overrides: { now } })
  })
  afterAll(() => lab?.close())

  const propose = async (
    tool: string,
    args: object,
  ): Promise<{ id: string; body: Awaited<ReturnType<AgentLab['ask']>>['body'] }> => {
    lab.provider.script = [callsTool(tool, args), says('It waits for you.')]
    const { body } = await lab.ask('do it')
    return { id: body.pending_actions[0]?.id, body }
  }
  const addColumn = (name: string) => propose('add_column', { table: 'demo.events', name, type: 'string' })
  const confirm = (user: Actor, id: string, headers?: Readonly<Record<string, string>>) =>
    user.call('POST', `/api/agent/actions/${id}/confirm`, {}, headers)
  const columns = async (): Promise<string[]> => {
    const { body } = await lab.service.get('/api/table/demo.events/schema')
    return body.columns.map(({ name }: { name: string }) => name)
  }

  it.skipIf(skip)('changes nothing until its user confirms it', async () => {
    const { id, body } = await addColumn('note')
    expect(body.pending_actions).toEqual([
      {
        id: expect.stringMatching(/^act-/),
        tool: 'add_column',
        arguments: { table: 'demo.events', name: 'note', type: 'string', plan_id: expect.stringMatching(/^plan-/) },
        summary: 'Add column "note" of type "string" to demo.events',
        plan: expect.objectContaining({ field_id: 6 }),
        expires_at: expect.any(String),
      },
    ])
    const result = JSON.parse(body.tool_calls[0].result_json)
    expect(result.data).toMatchObject({
      pending_action: { id },
      note: expect.stringContaining('Nothing has been changed'),
    })
    expect(await columns()).not.toContain('note')
    const { status, body: done } = await confirm(lab.ana, id)
    expect({ status, state: done.state }).toEqual({ status: 200, state: 'done' })
    expect(done.result).toMatchObject({ success: true, operation: 'add_column', table: 'demo.events' })
    expect(await columns()).toContain('note')
  })

  it.skipIf(skip)('runs once, and returns the same answer when repeated', async () => {
    const { id } = await addColumn('once')
    const first = await confirm(lab.ana, id)
    const operations = await lab.service.get('/api/operations')
    const second = await confirm(lab.ana, id)
    expect(second.status).toBe(200)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.body).toEqual(first.body)
    expect((await lab.service.get('/api/operations')).body).toEqual(operations.body)
  })

  it.skipIf(skip)('runs once when it is confirmed many times at the same time', async () => {
    const { id } = await addColumn('race')
    const before = (await lab.service.get('/api/operations')).body.operations.length
    const answers = await Promise.all(Array.from({ length: 12 }, () => confirm(lab.ana, id)))
    const winners = answers.filter(({ status, headers }) => status === 200 && !headers.get('idempotent-replayed'))
    expect(winners).toHaveLength(1)
    for (const { status, body, headers } of answers) {
      if (status === 200) expect(body.state).toBe('done')
      else {
        expect({ status, code: body.code }).toEqual({ status: 409, code: 'CONFLICT' })
        expect(headers.get('retry-after')).toBe('1')
      }
    }
    expect((await lab.service.get('/api/operations')).body.operations).toHaveLength(before + 1)
  })

  it.skipIf(skip)('belongs to its user only: no other user, lead or auditor can confirm it', async () => {
    const { id } = await addColumn('mine')
    for (const user of [lab.bo, lab.lea]) {
      for (const path of [`/api/agent/actions/${id}/confirm`, `/api/agent/actions/${id}/dismiss`]) {
        const { status, body } = await user.call('POST', path, {})
        expect({ status, code: body.code }).toEqual({ status: 404, code: 'NOT_FOUND' })
      }
      expect((await user.call('GET', `/api/agent/actions/${id}`)).status).toBe(404)
      expect((await user.call('GET', '/api/agent/actions')).body.actions).toEqual([])
    }
    expect(await columns()).not.toContain('mine')
    expect((await lab.ana.call('GET', `/api/agent/actions/${id}`)).body.state).toBe('pending')
  })

  it.skipIf(skip)('expires', async () => {
    const { id } = await addColumn('late')
    offsetMs += HOUR_MS + 1000
    const { status, body } = await confirm(lab.ana, id)
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'ACTION_NOT_PENDING' })
    expect(body.detail).toContain('expired')
    expect((await lab.ana.call('GET', `/api/agent/actions/${id}`)).body.state).toBe('expired')
    const ids = async (state: string) => {
      const list = await lab.ana.call('GET', `/api/agent/actions?state=${state}`)
      return list.body.actions.map((action: { id: string }) => action.id)
    }
    expect(await ids('expired')).toContain(id)
    expect(await ids('pending')).not.toContain(id)
    expect(await columns()).not.toContain('late')
  })

  it.skipIf(skip)('can be dismissed permanently', async () => {
    const { id } = await addColumn('unwanted')
    const dismissed = await lab.ana.call('POST', `/api/agent/actions/${id}/dismiss`)
    expect(dismissed.body).toMatchObject({ state: 'dismissed', result: null, error: null })
    expect((await lab.ana.call('POST', `/api/agent/actions/${id}/dismiss`, {})).body).toEqual(dismissed.body)
    const { status, body } = await confirm(lab.ana, id)
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'ACTION_NOT_PENDING' })
    expect(await columns()).not.toContain('unwanted')
  })

  it.skipIf(skip)('becomes stale and fails permanently when the table has changed', async () => {
    const { id } = await addColumn('stale')
    await lab.service.post('/api/evolve/add-column', {
      table: 'demo.events',
      name: `moved_${id.slice(-6)}`,
      type: 'int',
    })
    const { status, body } = await confirm(lab.ana, id)
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'PLAN_STALE' })
    const action = await lab.ana.call('GET', `/api/agent/actions/${id}`)
    expect(action.body).toMatchObject({ state: 'failed', error: { code: 'PLAN_STALE' } })
    const again = await confirm(lab.ana, id)
    expect({ status: again.status, code: again.body.code }).toEqual({ status: 409, code: 'ACTION_NOT_PENDING' })
    expect(await columns()).not.toContain('stale')
  })

  it.skipIf(skip)('checks the role again on confirmation', async () => {
    const { id } = await addColumn('demoted')
    const { body } = await lab.service.post('/api/auth/tokens', { user: 'ana', role: 'Auditor', name: 'lower' })
    const path = `/api/agent/actions/${id}/confirm`
    const refused = await lab.service.call('POST', path, { token: body.token, body: {} })
    expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 403, code: 'FORBIDDEN' })
    expect(await columns()).not.toContain('demoted')
    expect((await confirm(lab.ana, id)).status).toBe(200)
  })

  it.skipIf(skip)('can be waited for on another connection', async () => {
    const { id } = await propose('compact', { table: 'demo.events', min_input_files: 2 })
    const { status, headers, body } = await confirm(lab.ana, id, { Prefer: 'respond-async' })
    expect({ status, state: body.state }).toEqual({ status: 202, state: 'running' })
    expect(headers.get('location')).toBe(`/api/agent/actions/${id}`)
    const state = async () => (await lab.ana.call('GET', `/api/agent/actions/${id}`)).body.state
    await expect.poll(state, { timeout: 60_000 }).toBe('done')
    const { body: health } = await lab.service.get('/api/table/demo.events/health')
    expect(health.data_file_count).toBe(1)
  })

  it.skipIf(skip)('is not proposed when there is nothing to do', async () => {
    const { body } = await propose('expire_snapshots', { table: 'demo.events' })
    expect(body.pending_actions).toEqual([])
    expect(JSON.parse(body.tool_calls[0].result_json).data.nothing_to_do).toBe(true)
  })

  it.skipIf(skip)('is recorded in the audit log as an act of the agent on behalf of its user', async () => {
    const { id } = await addColumn('audited')
    await confirm(lab.ana, id)
    const { body } = await lab.service.get(`/api/audit?object=${id}`)
    expect(body.map((entry: Record<string, unknown>) => [entry['action'], entry['outcome'], entry['actor']])).toEqual([
      ['agent_action.confirm', 'done', 'ana'],
      ['agent_action.confirm', 'begun', 'ana'],
      ['agent_action.propose', 'done', 'ana'],
    ])
    expect(body[2]).toMatchObject({ channel: 'agent', details: { on_behalf_of: 'ana', tool: 'add_column' } })
    const { body: begun } = await lab.service.get('/api/audit?page_size=1&action=operation.begin')
    expect(begun[0]).toMatchObject({ actor: 'ana', channel: 'agent' })
    expect((await lab.service.get('/api/audit/verify')).body.ok).toBe(true)
  })
})

describe('an action that was running during a crash', () => {
  it('is marked as failed on the next start, with a message that says where to look', async () => {
    const lab = await startAgentLab({ events: SMALL_EVENTS })
    lab.provider.script = [callsTool('add_column', { table: 'demo.events', name: 'x', type: 'int' }), says('ok')]
    const { body } = await lab.ask('add it')
    const { id } = body.pending_actions[0]
    const state = stateOf(lab.service.folder, {})
    await state.updateTable('agent_actions').set({ state: 'running', instance_id: 999 }).where('id', '=', id).execute()
    await state.destroy()
    await lab.service.restart()
    const action = await lab.ana.call('GET', `/api/agent/actions/${id}`)
    expect(action.body).toMatchObject({ state: 'failed', error: { code: 'SHUTTING_DOWN' } })
    await lab.close()
  })
})

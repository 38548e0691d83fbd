import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { calls, callsTool, fails, says } from '../support/model-provider/reply.ts'
import { actor } from '../support/lifecycle.ts'
import { type AgentLab, PROVIDER_KEY, SMALL_EVENTS, startAgentLab } from './agent-lab.ts'

let lab: AgentLab
beforeAll(async () => {
  lab = await startAgentLab({ events: SMALL_EVENTS })
})
afterEach(() => lab.provider.reset())
afterAll(() => lab.close())

describe('POST /api/agent/chat', () => {
  it('answers in the shape of the specification, with extra fields', async () => {
    lab.provider.script = [callsTool('list_tables', {}), says('One table: demo.events.')]
    const { status, body } = await lab.ask('Which tables are there?')
    expect(status).toBe(200)
    expect(body).toEqual({
      success: true,
      response: 'One table: demo.events.',
      tool_calls: [{ tool: 'list_tables', arguments_json: '{}', result_json: expect.any(String) }],
      chat_id: expect.stringMatching(/^chat-/),
      provider: 'openai',
      model: 'gpt-5-mini',
      steps: 2,
      stop_reason: 'answered',
      usage: { input_tokens: 200, output_tokens: expect.any(Number), estimated: false },
      pending_actions: [],
    })
    expect(JSON.parse(body.tool_calls[0].result_json)).toEqual({
      untrusted: true,
      truncated: false,
      data: { tables: ['demo.events'], next_page_token: null },
    })
  })

  it('sends the server’s key, the model and the tools that the role may call', async () => {
    await lab.ask('hello', { model: 'gpt-other' })
    const [{ headers, body, path }] = lab.provider.received as [(typeof lab.provider.received)[0]]
    expect(headers.authorization).toBe(`Bearer ${PROVIDER_KEY}`)
    expect(path).toBe('/v1/chat/completions')
    expect(body.model).toBe('gpt-other')
    const names = body.tools?.map((tool) => tool.function.name)
    expect(names).toContain('compact')
    expect(names).not.toContain('pending_approvals')
    expect(names?.filter((name) => /(^|_)(approve|reject|promote|delete)(_|$)/.test(name))).toEqual([])
    lab.provider.reset()
    await lab.lea.call('POST', '/api/agent/chat', { prompt: 'hello' })
    expect(lab.provider.received[0]?.body.tools?.map((tool) => tool.function.name)).toContain('pending_approvals')
  })

  it('uses the caller’s key instead of the server’s, and does not store it', async () => {
    const headers = { 'X-Model-Api-Key': 'sk-callers-own-key-987654321' }
    const { status, body } = await lab.ana.call('POST', '/api/agent/chat', { prompt: 'hello' }, headers)
    expect(status).toBe(200)
    expect(lab.provider.received[0]?.headers.authorization).toBe('Bearer sk-callers-own-key-987654321')
    const chat = await lab.ana.call('GET', `/api/agent/chats/${body.chat_id}`)
    const audit = await lab.service.get('/api/audit?page_size=50')
    expect(JSON.stringify([chat.body, audit.body])).not.toContain('callers-own-key')
  })

  it('tells the model the user and the time, and nothing about the lakehouse', async () => {
    await lab.ask('Tell me about demo.events')
    const [system, user, ...rest] = lab.provider.received[0]?.body.messages ?? []
    expect(system?.role).toBe('system')
    expect(String(system?.content)).toContain('role is DataEngineer')
    expect(String(system?.content)).not.toMatch(/demo|events|ana/)
    expect(user).toEqual({ role: 'user', content: 'Tell me about demo.events' })
    expect(rest).toEqual([])
  })

  it('returns tool results by call id, in the order of the calls', async () => {
    lab.provider.script = [
      calls([
        { id: 'a', name: 'table_health', arguments: '{"table":"demo.events"}' },
        { id: 'b', name: 'list_tables', arguments: '{}' },
        { id: 'c', name: 'get_schema', arguments: { table: 'demo.events' } },
      ]),
      says('done'),
    ]
    const { body } = await lab.ask('everything')
    expect(body.tool_calls.map((call: { tool: string }) => call.tool)).toEqual([
      'table_health',
      'list_tables',
      'get_schema',
    ])
    const messages = lab.provider.received[1]?.body.messages ?? []
    expect(messages.at(-4)?.tool_calls?.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(messages.slice(-3).map(({ tool_call_id }) => tool_call_id)).toEqual(['a', 'b', 'c'])
    for (const message of messages.slice(-3)) expect(JSON.parse(String(message.content)).untrusted).toBe(true)
  })

  it('replaces missing or duplicate call ids with ids that all providers accept', async () => {
    lab.provider.script = [
      calls([
        { id: null, name: 'list_tables', arguments: '{}' },
        { id: 'same', name: 'list_tables', arguments: '{}' },
        { id: 'same', name: 'list_tables', arguments: '{}' },
      ]),
      says('done'),
    ]
    expect((await lab.ask('again')).body.tool_calls).toHaveLength(3)
    const messages = lab.provider.received[1]?.body.messages ?? []
    const ids = messages.slice(-3).map(({ tool_call_id }) => tool_call_id)
    expect(new Set(ids).size).toBe(3)
    expect(ids.filter((id) => id !== 'same').every((id) => /^[A-Za-z0-9]{9}$/.test(id ?? ''))).toBe(true)
  })

  it.each([
    ['no prompt', {}, 'prompt'],
    ['a blank prompt', { prompt: '  ' }, 'prompt'],
    ['a prompt that is not a string', { prompt: 5 }, 'prompt'],
    ['an unknown provider', { prompt: 'x', provider: 'clippy' }, 'provider'],
    ['a misspelled field', { prompt: 'x', api_bass: null }, 'api_bass'],
    ['a provider without a key', { prompt: 'x', provider: 'anthropic' }, 'provider'],
    ['an address that is not allowed', { prompt: 'x', api_base: 'https://elsewhere.example/v1' }, 'api_base'],
    [
      'an address for the builtin assistant',
      { prompt: 'x', provider: 'builtin', api_base: 'https://elsewhere.example' },
      'api_base',
    ],
  ])('refuses %s and names the field', async (_, request, path) => {
    const { status, body } = await lab.ana.call('POST', '/api/agent/chat', request)
    expect({ status, code: body.code, path: body.errors?.[0]?.path }).toEqual({
      status: 400,
      code: 'INVALID_REQUEST',
      path,
    })
    expect(lab.provider.received).toEqual([])
  })

  it('accepts null as api_base', async () => {
    expect((await lab.ask('hello', { provider: 'openai', model: 'm', api_base: null })).status).toBe(200)
  })
})

describe('a provider that fails', () => {
  it.each([
    ['500', [fails(500), fails(500)], 502, 'MODEL_UNAVAILABLE'],
    ['401', [fails(401)], 502, 'MODEL_UNAVAILABLE'],
    ['404', [fails(404)], 502, 'MODEL_UNAVAILABLE'],
    ['504', [fails(504)], 504, 'MODEL_TIMEOUT'],
    ['429 twice', [fails(429, { 'Retry-After': '1' }), fails(429, { 'Retry-After': '7' })], 503, 'MODEL_BUSY'],
    ['429 for long', [fails(429, { 'Retry-After': '60' })], 503, 'MODEL_BUSY'],
  ])('with %s returns a problem with its own code', async (_, script, status, code) => {
    const asked = script.length
    lab.provider.script = [...script]
    const answer = await lab.ask('hello')
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code })
    expect(lab.provider.received).toHaveLength(asked)
    expect(JSON.stringify(answer.body)).not.toContain(PROVIDER_KEY)
    if (status === 503) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(5)
  })

  it('once is retried, and the user sees no error', async () => {
    lab.provider.script = [fails(503), says('here I am')]
    expect((await lab.ask('hello')).body.response).toBe('here I am')
  })

  it('after tool calls leaves the turn in the transcript', async () => {
    lab.provider.script = [callsTool('list_tables', {}), fails(400)]
    expect((await lab.ask('hello')).status).toBe(502)
    const { body: chats } = await lab.ana.call('GET', '/api/agent/chats?page_size=1')
    const { body: chat } = await lab.ana.call('GET', `/api/agent/chats/${chats.chats[0].id}`)
    expect(chat.turns).toHaveLength(1)
    expect(chat.turns[0]).toMatchObject({ stop_reason: 'failed', steps: 2, prompt: 'hello' })
    expect(chat.turns[0].tool_calls).toHaveLength(1)
  })
})

describe('conversations', () => {
  it('continue: the model receives the earlier turns', async () => {
    lab.provider.script = [says('It has 120 rows.')]
    const first = await lab.ask('How many rows has demo.events?')
    lab.provider.script = [says('Yes.')]
    const second = await lab.ask('Is that all?', { chat_id: first.body.chat_id })
    expect(second.body.chat_id).toBe(first.body.chat_id)
    expect(lab.provider.received[1]?.body.messages.slice(1)).toEqual([
      { role: 'user', content: 'How many rows has demo.events?' },
      { role: 'assistant', content: 'It has 120 rows.' },
      { role: 'user', content: 'Is that all?' },
    ])
    const { body } = await lab.ana.call('GET', `/api/agent/chats/${first.body.chat_id}`)
    expect(body).toMatchObject({ title: 'How many rows has demo.events?', turn_count: 2, next_page_token: null })
    expect(body.turns.map((turn: { seq: number; response: string }) => [turn.seq, turn.response])).toEqual([
      [1, 'It has 120 rows.'],
      [2, 'Yes.'],
    ])
  })

  it('are private to their user', async () => {
    const { body } = await lab.ask('secret plans')
    const path = `/api/agent/chats/${body.chat_id}`
    expect((await lab.bo.call('GET', path)).status).toBe(404)
    expect((await lab.lea.call('GET', path)).status).toBe(404)
    expect((await lab.bo.call('GET', '/api/agent/chats')).body.chats).toEqual([])
    const asked = lab.provider.received.length
    const other = await lab.bo.call('POST', '/api/agent/chat', { prompt: 'and then?', chat_id: body.chat_id })
    expect({ status: other.status, code: other.body.code }).toEqual({ status: 404, code: 'NOT_FOUND' })
    expect(lab.provider.received).toHaveLength(asked)
  })

  it('are listed newest first, page by page', async () => {
    const user = await actor(lab.service, 'cleo', 'DataEngineer')
    for (const prompt of ['one', 'two', 'three']) await user.call('POST', '/api/agent/chat', { prompt })
    const first = await user.call('GET', '/api/agent/chats?page_size=2')
    expect(first.body.chats.map(({ title }: { title: string }) => title)).toEqual(['three', 'two'])
    const rest = await user.call('GET', `/api/agent/chats?page_size=2&page_token=${first.body.next_page_token}`)
    expect(rest.body.chats.map(({ title }: { title: string }) => title)).toEqual(['one'])
    expect(rest.body.next_page_token).toBeNull()
    expect((await user.call('GET', '/api/agent/chats?page_token=nonsense')).status).toBe(400)
  })

  it('return their turns in pages', async () => {
    const { body: first } = await lab.ask('1')
    for (const prompt of ['2', '3']) await lab.ask(prompt, { chat_id: first.chat_id })
    const path = `/api/agent/chats/${first.chat_id}?page_size=2`
    const page = await lab.ana.call('GET', path)
    expect(page.body.turns.map(({ prompt }: { prompt: string }) => prompt)).toEqual(['1', '2'])
    const next = await lab.ana.call('GET', `${path}&page_token=${page.body.next_page_token}`)
    expect(next.body.turns.map(({ prompt }: { prompt: string }) => prompt)).toEqual(['3'])
  })

  it('number their turns without gaps when two questions are asked at the same time', async () => {
    const { body: first } = await lab.ask('start')
    await Promise.all(['a', 'b', 'c', 'd'].map((prompt) => lab.ask(prompt, { chat_id: first.chat_id })))
    const { body } = await lab.ana.call('GET', `/api/agent/chats/${first.chat_id}`)
    expect(body.turns.map(({ seq }: { seq: number }) => seq)).toEqual([1, 2, 3, 4, 5])
  })
})

describe('the audit log', () => {
  it('records the prompt under its user, and every call as an act of the agent on behalf of the user', async () => {
    lab.provider.script = [
      calls([
        { name: 'get_schema', arguments: '{"table":"demo.events"}' },
        { name: 'get_schema', arguments: '{"table":"demo.none"}' },
        { name: 'no_such_tool', arguments: '{}' },
      ]),
      says('done'),
    ]
    const { body, headers } = await lab.ask('look')
    const request = headers.get('x-request-id')
    const { body: entries } = await lab.service.get('/api/audit?page_size=20')
    const mine = entries.filter((entry: { request_id: string }) => entry.request_id === request)
    expect(
      mine.map((entry: Record<string, unknown>) => [
        entry['action'],
        entry['object_id'],
        entry['outcome'],
        entry['channel'],
      ]),
    ).toEqual(
      expect.arrayContaining([
        ['agent.chat', body.chat_id, 'done', 'api'],
        ['tool.call', 'get_schema', 'done', 'agent'],
        ['tool.call', 'get_schema', 'failed', 'agent'],
        ['tool.call', 'no_such_tool', 'refused', 'agent'],
      ]),
    )
    expect(mine).toHaveLength(4)
    for (const entry of mine) expect(entry.actor).toBe('ana')
    const call = mine.find((entry: { outcome: string }) => entry.outcome === 'failed')
    expect(call.details).toEqual({
      on_behalf_of: 'ana',
      chat_id: body.chat_id,
      subject: 'demo.none',
      code: 'NO_SUCH_TABLE',
    })
  })

  it('has one entry for a failed run', async () => {
    lab.provider.script = [fails(400)]
    const { headers } = await lab.ask('fail')
    const { body: entries } = await lab.service.get('/api/audit?page_size=20')
    const mine = entries.filter((entry: { request_id: string }) => entry.request_id === headers.get('x-request-id'))
    expect(mine).toHaveLength(1)
    expect(mine[0]).toMatchObject({ action: 'agent.chat', outcome: 'failed', details: { code: 'MODEL_UNAVAILABLE' } })
  })
})

describe('GET /api/agent/providers', () => {
  it('lists the available providers, and no key', async () => {
    const { status, body } = await lab.ana.call('GET', '/api/agent/providers')
    expect(status).toBe(200)
    expect(body).toMatchObject({ default_provider: 'openai', default_model: 'gpt-5-mini' })
    const configured = body.providers.filter((one: { configured: boolean }) => one.configured)
    expect(configured.map(({ name }: { name: string }) => name)).toEqual(['openai', 'builtin'])
    expect(JSON.stringify(body)).not.toContain(PROVIDER_KEY)
  })
})

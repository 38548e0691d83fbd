import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { calls, callsTool, onWire, says } from '../support/model-provider/reply.ts'
import { type AgentLab, SMALL_EVENTS, startAgentLab } from './agent-lab.ts'

/** Whether a request gives the model no tools. */
function mustAnswer(request: object): boolean {
  return 'tool_choice' in request && request.tool_choice === 'none'
}

const LIST = callsTool('list_tables', {})
const WRONG = callsTool('get_schema', { tabel: 'demo.events' })

describe('a run within its limits', () => {
  let lab: AgentLab
  beforeAll(async () => {
    lab = await startAgentLab({ events: SMALL_EVENTS })
  })
  afterEach(() => lab.provider.reset())
  afterAll(() => lab.close())

  it('asks the model eight times, the last time without tools', async () => {
    lab.provider.fallback = (request) => (mustAnswer(request) ? says('That is what I know.') : LIST)
    const { body } = await lab.ask('on and on')
    expect(body).toMatchObject({ steps: 8, stop_reason: 'step_limit', response: 'That is what I know.' })
    expect(body.tool_calls).toHaveLength(7)
    expect(lab.provider.received).toHaveLength(8)
  })

  it('reports why it stopped when the model still calls tools', async () => {
    lab.provider.fallback = LIST
    const { body } = await lab.ask('on and on')
    expect(body).toMatchObject({ steps: 8, stop_reason: 'step_limit' })
    expect(body.response).toContain('limit of steps')
  })

  it('calls at most sixteen tools, refuses the others and lets the model answer', async () => {
    const many = Array.from({ length: 50 }, () => ({ name: 'list_tables', arguments: '{}' }))
    lab.provider.script = [calls(many), says('enough')]
    const { body } = await lab.ask('everything at once')
    expect(body).toMatchObject({ steps: 2, stop_reason: 'tool_call_limit', response: 'enough' })
    expect(body.tool_calls).toHaveLength(16)
    const results = lab.provider.received[1]?.body.messages.filter(({ role }) => role === 'tool') ?? []
    expect(results).toHaveLength(50)
    expect(results.filter(({ content }) => String(content).includes('TOOL_CALL_LIMIT'))).toHaveLength(34)
  })

  it('lets a model correct a wrong call twice at most', async () => {
    lab.provider.script = [WRONG, WRONG, callsTool('get_schema', { table: 'demo.events' }), says('five columns')]
    const good = await lab.ask('which columns?')
    expect(good.body).toMatchObject({ stop_reason: 'answered', response: 'five columns', steps: 4 })
    const errors = good.body.tool_calls.map(
      (call: { result_json: string }) => JSON.parse(call.result_json).error?.errors,
    )
    expect(errors[0]).toEqual(expect.arrayContaining([{ path: 'tabel', message: 'is not a known field' }]))
    expect(errors[2]).toBeUndefined()
    lab.provider.reset()
    lab.provider.script = [WRONG, WRONG, WRONG, says('I cannot')]
    const bad = await lab.ask('which columns?')
    expect(bad.body).toMatchObject({ stop_reason: 'invalid_tool_calls', response: 'I cannot', steps: 4 })
    expect(lab.provider.received[3]?.body).toMatchObject({ tool_choice: 'none' })
  })

  it('uses no more output tokens than allowed', async () => {
    lab.provider.fallback = (request) =>
      mustAnswer(request)
        ? says('x')
        : {
            turn: {
              toolCalls: [{ name: 'list_tables', arguments: '{}' }],
              usage: { prompt_tokens: 10, completion_tokens: 7000 },
            },
          }
    const { body } = await lab.ask('think hard')
    expect(body).toMatchObject({ stop_reason: 'token_limit', steps: 3 })
    const wanted = lab.provider.received.map(
      ({ body: asked }) => (asked as { max_completion_tokens?: number }).max_completion_tokens,
    )
    expect(wanted).toEqual([8192, 8192, 6000])
  })
})

describe('a slow model', () => {
  let lab: AgentLab
  beforeAll(async () => {
    lab = await startAgentLab({ limits: { modelCallMs: 700 } })
  })
  afterEach(() => lab.provider.reset())
  afterAll(() => lab.close())

  it('is given up after the time limit of one answer', async () => {
    lab.provider.script = [onWire(says('late'), { beforeHeaders: 'hang' })]
    const { status, body } = await lab.ask('hello')
    expect({ status, code: body.code }).toEqual({ status: 504, code: 'MODEL_TIMEOUT' })
  })

  it('is given up also when it sends the answer slowly, byte by byte', async () => {
    lab.provider.script = [onWire(says('x'.repeat(2000)), { pieceBytes: 10, everyMs: 100 })]
    const { status, body } = await lab.ask('hello')
    expect({ status, code: body.code }).toEqual({ status: 504, code: 'MODEL_TIMEOUT' })
  })
})

describe('a run that exceeds its time limit', () => {
  let lab: AgentLab
  beforeAll(async () => {
    lab = await startAgentLab({ events: SMALL_EVENTS, limits: { totalMs: 1500 } })
  })
  afterAll(() => lab.close())

  it('answers with its results so far', async () => {
    lab.provider.fallback = onWire(LIST, { pieceBytes: 100, everyMs: 120 })
    const { status, body } = await lab.ask('slowly')
    expect(status).toBe(200)
    expect(body.stop_reason).toBe('time_limit')
    expect(body.response).toContain('time')
    expect(body.tool_calls.length).toBeGreaterThan(0)
  })

  it('returns a timeout when it has no results', async () => {
    lab.provider.fallback = onWire(says('late'), { beforeHeaders: 'hang' })
    const { status, body } = await lab.ask('slowly')
    expect({ status, code: body.code }).toEqual({ status: 504, code: 'MODEL_TIMEOUT' })
  })
})

describe('the daily budget', () => {
  let lab: AgentLab
  let now = new Date('2026-11-20T23:00:00.000Z')
  beforeAll(async () => {
    lab = await startAgentLab({ env: { AGENT_DAILY_TOKENS: '1000' }, overrides: { now: () => now } })
  })
  afterAll(() => lab.close())

  it('ends a run, refuses the next one until tomorrow, and is counted per user', async () => {
    const costly = { prompt_tokens: 500, completion_tokens: 300 }
    lab.provider.fallback = { turn: { toolCalls: [{ name: 'list_tables', arguments: '{}' }], usage: costly } }
    const first = await lab.ask('a')
    expect(first.body).toMatchObject({ stop_reason: 'daily_limit', steps: 2, usage: { input_tokens: 1000 } })
    expect(first.body.response).toContain('token budget')
    const refused = await lab.ask('b')
    expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 429, code: 'RATE_LIMITED' })
    expect(refused.headers.get('retry-after')).toBe('3600')
    expect((await lab.ask('Which tables are there?', { provider: 'builtin' })).status).toBe(200)
    expect((await lab.bo.call('POST', '/api/agent/chat', { prompt: 'c' })).status).toBe(200)
    await lab.service.restart()
    expect((await lab.ask('d')).status).toBe(429)
    now = new Date('2026-11-21T00:00:01.000Z')
    expect((await lab.ask('e')).status).toBe(200)
  })

  it('is shared by concurrent requests of a user', async () => {
    now = new Date('2026-11-22T12:00:00.000Z')
    lab.provider.reset()
    lab.provider.fallback = says('x', { usage: { prompt_tokens: 300, completion_tokens: 300 } })
    const answers = await Promise.all(Array.from({ length: 12 }, () => lab.ask('at once')))
    expect(answers.every(({ status }) => status === 200 || status === 429)).toBe(true)
    for (let i = 0; i < 3; i++) await lab.ask('one after the other')
    expect(lab.provider.received).toHaveLength(2)
    expect((await lab.ask('one more')).status).toBe(429)
  })

  it('counts tokens when the provider does not', async () => {
    now = new Date('2026-11-23T12:00:00.000Z')
    lab.provider.fallback = says('word '.repeat(1000), { usage: null })
    const { body } = await lab.ask('talk')
    expect(body.usage.estimated).toBe(true)
    expect(body.usage.output_tokens).toBeGreaterThan(1000)
    expect((await lab.ask('more')).status).toBe(429)
  })
})

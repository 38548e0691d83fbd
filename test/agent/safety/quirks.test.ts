import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mapBounded } from '../../../src/lib/bounded-map.ts'
import { type Behaviour, type ModelProvider, startModelProvider } from '../../support/model-provider/model-provider.ts'
import { says } from '../../support/model-provider/reply.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { chat, CHAT_WAYS, type ChatEnd, type ChatWay } from './chat.ts'
import { type Quirk, QUIRKS } from './quirks.ts'
import { LONG } from '../../support/effort.ts'

const LIMITS = { modelCallMs: 5000, totalMs: 12_000 }
const MAX_STEPS = 8
const MAX_TOOL_CALLS = 16
const AT_ONCE = 12

interface Run {
  readonly quirk: Quirk
  readonly way: ChatWay
  /** Sets the quirk of the provider. */
  readonly model: string
}

const runs = QUIRKS.flatMap((quirk, at) => CHAT_WAYS.map((way): Run => ({ quirk, way, model: `quirk-${at}-${way}` })))

let provider: ModelProvider
let service: TestService
const ends = new Map<string, ChatEnd>()
const asked = new Map<string, number>()
beforeAll(async () => {
  provider = await startModelProvider()
  const scripts = new Map<string, Behaviour[]>(runs.map(({ model, quirk }) => [model, [...(quirk.script ?? [])]]))
  const always = new Map(runs.map(({ model, quirk }) => [model, quirk.always ?? says('done')]))
  provider.fallback = (request, call) => {
    asked.set(request.model, (asked.get(request.model) ?? 0) + 1)
    const behaviour = scripts.get(request.model)?.shift() ?? always.get(request.model) ?? says('done')
    return typeof behaviour === 'function' ? behaviour(request, call) : behaviour
  }
  service = await startTestService({
    events: { commits: 1, filesPerCommit: 1, rowsPerFile: 10 },
    env: { OPENAI_API_KEY: 'sk-quirks-0123456789', OPENAI_BASE_URL: provider.url, AGENT_DAILY_TOKENS: '1000000000000' },
    overrides: { agentLimits: LIMITS },
  })
  await mapBounded(runs, AT_ONCE, async ({ model, way }) => {
    ends.set(model, await chat(service, { prompt: 'Which tables are there?', provider: 'openai', model }, { way }))
  })
}, 300_000)
afterAll(async () => {
  await service.close()
  await provider.close()
})

describe('a provider that misbehaves', LONG, () => {
  it('has at least 60 quirks', () => expect(QUIRKS.length).toBeGreaterThanOrEqual(60))

  it.each(runs)('$way: $quirk.name', ({ model, quirk }) => {
    const { status, body } = ends.get(model) ?? { status: 0, body: undefined }
    const outcome = status === 200 ? 'answer' : [502, 503, 504].includes(status) ? 'failure' : `status ${status}`
    expect(['answer', 'failure'], JSON.stringify(body)).toContain(outcome)
    if (quirk.outcome !== 'either') expect(outcome, JSON.stringify(body)).toBe(quirk.outcome)
    expect(asked.get(model)).toBeGreaterThan(0)
    // A failed step may be retried.
    expect(asked.get(model)).toBeLessThanOrEqual(2 * MAX_STEPS)
    if (outcome === 'failure') {
      expect(body).toMatchObject({ success: false, code: expect.stringMatching(/^MODEL_/) })
      return
    }
    expect(body.success).toBe(true)
    expect(body.response.trim()).not.toBe('')
    expect(body.response.length).toBeLessThanOrEqual(100_001)
    expect(body.steps).toBeLessThanOrEqual(MAX_STEPS)
    expect(body.tool_calls.length).toBeLessThanOrEqual(MAX_TOOL_CALLS)
    for (const call of body.tool_calls) {
      expect(call.result_json.length).toBeLessThanOrEqual(16_384)
      expect(() => [JSON.parse(call.arguments_json), JSON.parse(call.result_json)]).not.toThrow()
    }
    expect(body.pending_actions).toEqual([])
  })

  it('leaves no open connection, and a service that works', async () => {
    await expect.poll(() => provider.openConnections(), { timeout: 60_000 }).toBeLessThanOrEqual(AT_ONCE)
    expect((await service.get('/api/health')).body.status).toBe('ok')
    expect((await service.get('/api/tables')).body.tables).toHaveLength(1)
    const end = await chat(service, { prompt: 'Still there?', provider: 'openai', model: 'well' })
    expect(end).toMatchObject({ status: 200, body: { response: 'done' } })
    expect((await service.get('/api/audit/verify')).body.ok).toBe(true)
  })
})

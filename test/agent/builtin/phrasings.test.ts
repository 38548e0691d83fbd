import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChangeTool } from '../../../src/agent/tools/all-tools.ts'
import { type Actor, lifecycle } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { HELD_OUT, type IdName, type Phrasing, TUNED } from './phrasings.ts'

const MIN_RATE = 0.95
const DAY_MS = 86_400_000

let service: TestService
let lea: Actor
let ids: Readonly<Record<IdName, string>>

beforeAll(async () => {
  service = await startTestService({ env: { LOCKHOUSE_DEMO: '1' } })
  const { lead, create, addVersion, bring } = await lifecycle(service)
  lea = lead
  const place = await create('daily_sales')
  await bring(place, 'qa')
  await addVersion(place.definitionId)
  await create('fraud check')
  const { body } = await service.post('/api/pipeline/start', {
    source_table: 'demo.orders',
    sink_table: 'demo.orders_copy',
    checkpoint_location: 'checkpoints/orders',
    trigger_interval: '1 hour',
    create_sink_table: true,
  })
  ids = { '<definition>': place.definitionId, '<pipeline>': body.pipeline.id }
})
afterAll(() => service.close())

interface Asked {
  /** What differs from the phrasing; empty: nothing. */
  readonly wrong: string
  /** Tools that propose a change and were called although the phrasing names none or another. */
  readonly changes: readonly string[]
}

async function ask({ ask: text, tool, args = {} }: Phrasing): Promise<Asked> {
  const prompt = withIds(text)
  const { status, body } = await lea.call('POST', '/api/agent/chat', { prompt, provider: 'builtin' })
  expect(status, prompt).toBe(200)
  const calls: readonly { readonly tool: string; readonly arguments_json: string }[] = body.tool_calls
  const changes = calls.map((call) => call.tool).filter((name) => findChangeTool(name) !== undefined && name !== tool)
  const call = calls.findLast((one) => one.tool === tool)
  const isRight =
    tool === undefined ? calls.length === 0 : call !== undefined && hasArguments(call.arguments_json, args)
  const made = calls.map((one) => `${one.tool}(${one.arguments_json})`).join(', ')
  return { wrong: isRight ? '' : `${prompt} → ${made || body.response}`, changes }
}

function hasArguments(json: string, args: Readonly<Record<string, unknown>>): boolean {
  const given: Readonly<Record<string, unknown>> = JSON.parse(json)
  return Object.entries(args).every(([name, wanted]) => {
    const value = given[name]
    if (name !== 'older_than') return isDeepStrictEqual(value, typeof wanted === 'string' ? withIds(wanted) : wanted)
    return Math.abs((Date.now() - Date.parse(String(value))) / DAY_MS - Number(wanted)) < 0.01
  })
}

function withIds(text: string): string {
  return Object.entries(ids).reduce((filled, [name, id]) => filled.replaceAll(name, id), text)
}

async function askAll(phrasings: readonly Phrasing[]): Promise<{ wrong: string[]; changes: string[]; rate: number }> {
  const asked: Asked[] = []
  for (const phrasing of phrasings) asked.push(await ask(phrasing))
  const wrong = asked.map((one) => one.wrong).filter((text) => text !== '')
  return { wrong, changes: asked.flatMap(({ changes }) => changes), rate: 1 - wrong.length / phrasings.length }
}

describe('the builtin assistant', () => {
  it('answers every phrasing with which it was tuned', async () => {
    const { wrong, changes } = await askAll(TUNED)
    expect(wrong).toEqual([])
    expect(changes).toEqual([])
  })

  it('answers most phrasings that it has never seen', async () => {
    const { wrong, changes, rate } = await askAll(HELD_OUT)
    expect(rate, wrong.join('\n')).toBeGreaterThanOrEqual(MIN_RATE)
    expect(changes).toEqual([])
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Actor, actor } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'

let service: TestService
let ana: Actor
let lea: Actor
beforeAll(async () => {
  service = await startTestService({ env: { LOCKHOUSE_DEMO: '1' } })
  ana = await actor(service, 'ana', 'DataEngineer')
  lea = await actor(service, 'lea', 'LeadDataEngineer')
})
afterAll(() => service.close())

interface Answer {
  readonly response: string
  readonly tools: readonly string[]
  readonly last: string
  readonly proposed: readonly unknown[]
}

/** Sends prompts one after the other in one conversation, and returns the last answer. */
async function talk(prompts: readonly string[], user: Actor = ana): Promise<Answer> {
  let chat: string | undefined
  let last: Answer = { response: '', tools: [], last: '', proposed: [] }
  for (const prompt of prompts) {
    const request = { prompt, provider: 'builtin', ...(chat === undefined ? {} : { chat_id: chat }) }
    const { status, body } = await user.call('POST', '/api/agent/chat', request)
    expect(status, JSON.stringify(body)).toBe(200)
    chat = body.chat_id
    const calls: readonly { readonly tool: string; readonly arguments_json: string }[] = body.tool_calls
    last = {
      response: body.response,
      tools: calls.map(({ tool }) => tool),
      last: calls.at(-1)?.arguments_json ?? '',
      proposed: body.pending_actions.map(
        ({ tool, arguments: { table } }: { tool: string; arguments: { table: string } }) => `${tool} ${table}`,
      ),
    }
  }
  return last
}

describe('the builtin assistant', () => {
  it('proposes the order before when the user chooses a table from its list', async () => {
    expect((await talk(['compact it', 'yes, the first'])).proposed).toEqual(['compact demo.events'])
    expect((await talk(['compact it', 'the last one'])).proposed).toEqual(['compact demo.trips'])
    expect((await talk(['compact it', 'trips'])).proposed).toEqual(['compact demo.trips'])
    expect((await talk(['compact it', 'demo.trips please'])).proposed).toEqual(['compact demo.trips'])
  })

  it('proposes an order that names a table after an answer that lists tables', async () => {
    const question = 'Which tables need maintenance, and why?'
    expect((await talk([question, 'Compact demo.events'])).proposed).toEqual(['compact demo.events'])
    expect((await talk([question, 'health demo.trips'])).last).toContain('demo.trips')
  })

  it('offers the table that a misspelt name resembles', async () => {
    const asked = await talk(['compact tripps'])
    expect(asked.proposed).toEqual([])
    expect(asked.response).toContain('Did you mean:\n\n- `demo.trips`')
    expect((await talk(['compact tripps', 'yes'])).proposed).toEqual(['compact demo.trips'])
    const missing = await talk(['what does demo.trpis hold?'])
    expect(missing.response).toMatch(/^I cannot read `demo.trpis`/)
    expect(missing.response).toContain('Did you mean:\n\n- `demo.trips`')
    expect((await talk(['what does demo.trpis hold?', 'yes'])).response).toContain('`demo.trips` holds 35,000 rows')
  })

  it('answers the same question about another table', async () => {
    const and = await talk(['How many rows has demo.orders?', 'and demo.trips?'])
    expect(and.response).toContain('`demo.trips` has 35,000 rows')
    const other = await talk(['describe demo.orders', 'describe demo.trips', 'and the other one?'])
    expect(other.response).toContain('`demo.orders` holds 200,000 rows')
    const it = await talk(['describe demo.trips', 'compact it'])
    expect(it.proposed).toEqual(['compact demo.trips'])
  })

  it('plans a change when a follow-up without an order names another table', async () => {
    const { tools, proposed } = await talk(['compact demo.trips', 'and demo.events?'])
    expect(tools).toEqual(['plan_compaction'])
    expect(proposed).toEqual([])
  })

  it('asks which table the user means when its last answer named several tables', async () => {
    const { response, proposed } = await talk(['Which tables need care?', 'compact it'])
    expect(response).toContain('Which table do you mean?')
    expect(proposed).toEqual([])
  })

  it('suggests questions that fit the role of the user and the tables of the catalog', async () => {
    const { response, tools } = await talk(['sing a song'])
    expect(tools).toEqual([])
    expect(response).toContain('How many rows does demo.events have?')
    expect(response).not.toContain('What is waiting for approval?')
    expect((await talk(['sing a song'], lea)).response).toContain('What is waiting for approval?')
  })

  it('names the role when a tool needs more than the role of the user', async () => {
    expect((await talk(['is anything waiting for my decision?'])).response).toMatch(/^Only the LeadDataEngineer role/)
  })

  it('asks for the values that an order lacks', async () => {
    expect((await talk(['add a column to demo.orders'])).response).toContain('I need more for that')
    expect((await talk(['start a pipeline from demo.orders to demo.trips'])).response).toContain(
      'an interval and a checkpoint',
    )
    expect((await talk(['stop the pipeline'])).response).toContain('There are no streaming pipelines')
    expect((await talk(['deploy sales to qa'])).response).toContain('There are no pipeline definitions')
  })
})

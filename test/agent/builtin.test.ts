import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Actor, actor, lifecycle } from '../support/lifecycle.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let ana: Actor
beforeAll(async () => {
  service = await startTestService({ env: { LOCKHOUSE_DEMO: '1' } })
  ana = await actor(service, 'ana', 'DataEngineer')
})
afterAll(() => service.close())

// oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of answers without types
async function ask(prompt: string, more: { user?: Actor; chat_id?: string } = {}): Promise<any> {
  const { user = ana, ...rest } = more
  const { status, body } = await user.call('POST', '/api/agent/chat', { prompt, ...rest })
  expect(status, JSON.stringify(body)).toBe(200)
  expect(body).toMatchObject({ provider: 'builtin', model: 'rules', stop_reason: 'answered' })
  expect(body.usage).toEqual({ input_tokens: 0, output_tokens: 0, estimated: false })
  expect(body.response).toContain('I am a rule-based assistant, not a language model')
  return body
}

const tools = (body: { tool_calls: readonly { tool: string }[] }): string[] => body.tool_calls.map(({ tool }) => tool)

describe('the builtin assistant without a key or a network', () => {
  it('is used when nothing is configured', async () => {
    const { body } = await ana.call('GET', '/api/agent/providers')
    expect(body).toMatchObject({ default_provider: 'builtin', default_model: 'rules' })
    expect((await ask('hello')).response).toContain('Which tables need care')
  })

  it.each([
    'Which tables need care, and why?',
    'what needs attention',
    'Which tables have too many small files?',
    'How healthy is my lakehouse?',
    'what should I compact?',
    'show me the unhealthy tables',
    'Is everything ok?',
    'Are there any problems?',
    'Give me an overview',
    'What is the state of my lakehouse?',
    'What can I clean up?',
  ])('ranks tables by their health: %s', async (prompt) => {
    const body = await ask(prompt)
    expect(tools(body)).toEqual(['tables_needing_care'])
    const { body: health } = await service.get('/api/table/demo.events/health')
    expect(body.response).toContain('2 of 3 tables')
    expect(body.response).toContain(`\`demo.events\` has a score of ${health.score} out of 100`)
    expect(body.response).toContain('240 of 240 data files')
    expect(body.response).toContain('compact: 240 data files (2.6 MiB) become 1')
    expect(body.response.indexOf('demo.events')).toBeLessThan(body.response.indexOf('demo.trips'))
    expect(body.response).not.toContain('`demo.orders`')
  })

  it.each([
    ['What does demo.trips hold?', 'demo.trips'],
    ['describe the trips table', 'demo.trips'],
    ['schema of demo.trips', 'demo.trips'],
    ['how big is trips?', 'demo.trips'],
    ['Tell me about `demo.trips`', 'demo.trips'],
  ])('describes the content of a table, with numbers and units: %s', async (prompt, table) => {
    const { response, tool_calls } = await ask(prompt)
    const { body: health } = await service.get(`/api/table/${table}/health`)
    expect(tools({ tool_calls }).slice(-2)).toEqual(['get_schema', 'table_health'])
    expect(response).toContain(`\`${table}\` holds 35,000 rows, in ${health.data_file_count} data files (`)
    expect(response).toContain(`7 snapshots. Its health score is ${health.score} out of 100`)
    for (const column of ['trip_id', 'started_at', 'city', 'distance_km', 'tip'])
      expect(response).toContain(`\`${column}\``)
    expect(response).toMatch(/\d+(\.\d)? KiB/)
  })

  it('describes what compaction and expiry would do, and changes nothing', async () => {
    const before = (await service.get('/api/table/demo.events')).body
    const compaction = await ask('What would compaction do to demo.events?')
    expect(tools(compaction)).toEqual(['plan_compaction'])
    expect(compaction.response).toContain('Rewrite 240 data files (2.6 MiB) of demo.events into 1')
    expect(compaction.response).toContain('120,000 rows')
    const expiry = await ask('what would happen if I expire snapshots of demo.events?')
    expect(tools(expiry)).toEqual(['plan_expiry'])
    expect(expiry.response).toContain('nothing to do')
    expect([...compaction.pending_actions, ...expiry.pending_actions]).toEqual([])
    expect((await service.get('/api/table/demo.events')).body).toEqual(before)
  })

  it.each([
    'compact demo.trips',
    'Please compact the trips table',
    'Could you compact demo.trips?',
    'run a compaction of trips',
  ])('proposes what the user orders, and waits: %s', async (prompt) => {
    const { response, pending_actions } = await ask(prompt)
    expect(pending_actions).toHaveLength(1)
    expect(pending_actions[0]).toMatchObject({ tool: 'compact', arguments: { table: 'demo.trips' } })
    expect(response).toContain(pending_actions[0].id)
    expect(response).toContain('Nothing has been changed yet')
  })

  it('lists the tables that need maintenance, and proposes it for each of them', async () => {
    const asked = await ask('What would compaction do?')
    expect(asked.pending_actions).toEqual([])
    expect(asked.response).toContain('2 tables would benefit from it; nothing has been changed')
    expect(asked.response).toMatch(/`demo.events`: 240 data files .* become 1/)
    const ordered = await ask('compact everything that needs it')
    expect(ordered.pending_actions.map(({ summary }: { summary: string }) => summary)).toEqual([
      expect.stringMatching(/of demo.events into 1$/),
      expect.stringMatching(/of demo.trips into 7$/),
    ])
    for (const { id } of ordered.pending_actions) expect(ordered.response).toContain(id)
    expect((await ask('rewrite the manifests of all tables')).response).toContain('No table needs it')
  })

  it('reports the total size of all tables', async () => {
    const { response } = await ask('How large are all tables together?')
    expect(response).toMatch(/^All tables \(3\) hold [\d.]+ MiB of data/)
    expect(response.indexOf('demo.orders')).toBeLessThan(response.indexOf('demo.trips'))
  })

  it.each([
    'What is the average total in demo.orders?',
    'top 5 customers of demo.orders',
    'sum of total per customer in demo.orders',
  ])('does not compute from free text: %s', async (prompt) => {
    const { response } = await ask(prompt)
    expect(response).toContain('I cannot write SQL for this question')
    expect(response).toContain('`total`')
  })

  it('reads ages and counts in an order to expire snapshots', async () => {
    const { tool_calls } = await ask('expire snapshots of demo.trips older than 2 weeks and keep 3')
    const args = JSON.parse(tool_calls[0].arguments_json)
    expect(args).toMatchObject({ table: 'demo.trips', retain_last: 3 })
    const ageMs = Date.now() - Date.parse(args.older_than)
    expect(Math.abs(ageMs - 14 * 86_400_000)).toBeLessThan(60_000)
    const { pending_actions } = await ask('expire all snapshots of demo.trips but the last 2')
    expect(pending_actions[0]).toMatchObject({ tool: 'expire_snapshots', arguments: { retain_last: 2 } })
    expect(pending_actions[0].summary).toContain('Expire 5 snapshots of demo.trips')
  })

  it.each([
    ['add column note string to demo.orders', 'add_column', { name: 'note', type: 'string' }],
    [
      'add a new column price of type decimal(10, 2) to demo.orders',
      'add_column',
      { name: 'price', type: 'decimal(10, 2)' },
    ],
    ['rename column total to amount in demo.orders', 'rename_column', { name: 'total', new_name: 'amount' }],
    ['rename the column total of demo.orders to amount', 'rename_column', { name: 'total', new_name: 'amount' }],
    ['drop column customer from demo.orders', 'drop_column', { name: 'customer' }],
  ])('proposes column changes: %s', async (prompt, tool, args) => {
    const { pending_actions } = await ask(prompt)
    expect(pending_actions).toHaveLength(1)
    expect(pending_actions[0]).toMatchObject({ tool, arguments: { table: 'demo.orders', ...args } })
  })

  it('counts and shows current rows, without deleted ones', async () => {
    expect((await ask('How many rows has demo.events?')).response).toContain('`demo.events` has 119,400 rows')
    const sample = await ask('show 3 rows of demo.orders')
    expect(sample.response).toContain('| order_id | customer | ordered_on | total |')
    expect(sample.response.split('\n').filter((line: string) => line.startsWith('| ')).length).toBe(4)
    const query = await ask('select city, count(*) as n from demo.trips group by city order by city')
    expect(query.response).toContain('| Kraków | 8750 |')
  })

  it('remembers the table from earlier turns', async () => {
    const first = await ask('describe demo.orders')
    const second = await ask('how many rows does it have?', { chat_id: first.chat_id })
    expect(second.response).toContain('`demo.orders` has 200,000 rows')
    const third = await ask('what would compaction do?', { chat_id: first.chat_id })
    expect(third.response).toContain('demo.orders')
  })

  it('asks a question when it does not know which table is meant', async () => {
    const { response, pending_actions } = await ask('compact it')
    expect(pending_actions).toEqual([])
    expect(response).toContain('Which table do you mean?')
    for (const table of ['demo.events', 'demo.orders', 'demo.trips']) expect(response).toContain(table)
  })

  it('reports what it cannot find', async () => {
    expect((await ask('what does demo.missing hold?')).response).toMatch(/cannot read `demo.missing`.*demo\.missing/i)
  })

  it('reports pipelines: first none, then those that run and lag', async () => {
    expect((await ask('Which pipelines lag?')).response).toContain('There are no streaming pipelines')
    const start =
      'start a pipeline from demo.orders to demo.orders_copy every 1 hour with checkpoint checkpoints/orders'
    const missing = await ask(start)
    expect(missing.pending_actions).toEqual([])
    expect(missing.response).toContain('demo.orders_copy')
    const made = await service.post('/api/pipeline/start', {
      source_table: 'demo.orders',
      sink_table: 'demo.orders_copy',
      checkpoint_location: 'checkpoints/orders',
      trigger_interval: '1 hour',
      create_sink_table: true,
    })
    expect(made.status).toBe(200)
    const { id } = made.body.pipeline
    const rows = async () => {
      const { body } = await service.get(`/api/pipeline/${id}/status`)
      return body.pipeline.last_progress?.num_input_rows
    }
    await expect.poll(rows, { timeout: 60_000 }).toBe(200_000)
    const all = await ask('How are the pipelines?')
    expect(all.response).toContain(`There is 1 pipeline: 1 running`)
    expect(all.response).toContain(`\`${id}\` from \`demo.orders\` into \`demo.orders_copy\` is running`)
    expect((await ask('Which pipelines lag?')).response).toContain('None of them is behind its source')
    expect((await ask('which pipelines failed?')).response).toContain('None of them has failed')
    expect((await ask(`status of ${id}`)).response).toContain('is running')
    const stop = await ask(`stop pipeline ${id}`)
    expect(stop.pending_actions[0]).toMatchObject({
      tool: 'stop_pipeline',
      arguments: { pipeline_id: id, mode: 'graceful' },
    })
    const confirmed = await ana.call('POST', `/api/agent/actions/${stop.pending_actions[0].id}/confirm`)
    expect(confirmed.body.result).toMatchObject({ id, state: 'stopped' })
    expect((await ask(`stop pipeline ${id}`)).response).toContain('There is nothing to stop')
  })

  it('shows pending approvals to leads, and refuses other users', async () => {
    const { request, versionIn, lead } = await lifecycle(service)
    expect((await ask('What waits for approval?', { user: lead })).response).toContain(
      'Nothing is waiting for approval',
    )
    const id = await request(await versionIn('qa'))
    const { response } = await ask('What waits for approval?', { user: lead })
    expect(response).toContain('1 approval request is waiting for a decision')
    expect(response).toMatch(/Version 1 of `orders`, from qa to uat, requested by `ed`/)
    expect(response).toContain(id)
    expect((await ask('pending approvals')).response).toContain('Only the LeadDataEngineer role')
    expect((await ask('what is in qa?')).response).toContain('`orders`')
    for (const order of [
      `approve ${id}`,
      `reject ${id} because of reasons`,
      'promote the version',
      'delete demo.orders',
    ]) {
      const refused = await ask(order, { user: lead })
      expect(refused.tool_calls).toEqual([])
      expect(refused.response).toMatch(/^I cannot (approve|delete)/)
    }
    expect((await lead.call('GET', `/api/approvals/${id}`)).body.status).toBe('pending')
  })

  it('reports recent operations', async () => {
    await service.post('/api/compact', { table: 'demo.trips' })
    const { response } = await ask('What happened lately?')
    expect(response).toMatch(/compact of `demo.trips` by `admin` succeeded in .*, score 85 → 100/)
    expect((await ask('Who compacted demo.trips?')).response).toContain('by `admin` succeeded')
    for (const prompt of ['which operations failed?', 'Did anything fail today?']) {
      expect((await ask(prompt)).response).toContain('no failed operation')
    }
  })

  it.each([
    'write me a poem',
    'what is the capital of France?',
    'asdf',
    'SELECT',
    '???',
    'a'.repeat(20_000),
    '<b>`$(x)`',
  ])('says that it does not understand, and lists what it can do: %.30s', async (prompt) => {
    const { response } = await ask(prompt)
    expect(response).toContain('I did not understand that')
    expect(response).toContain('Which tables need care, and why?')
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAST, numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { tokenFor } from '../../agent/mcp/mcp-client.ts'
import { until } from '../../support/waiting.ts'

let lab: StreamLab
beforeAll(async () => {
  lab = await openLab({
    overrides: {
      streaming: FAST,
      automation: { index: { pollMs: 50, remeasureMs: 0 }, policyTickMs: 100 },
    },
  })
})
afterAll(() => lab.close())

/** Each batch writes one of them into the sink; its policy compacts more than 50. */
const FILES = 55

async function makeSource(name: string): Promise<void> {
  await lab.createTable(`s.${name}`, [
    ['id', 'long'],
    ['name', 'string'],
  ])
  await lab.append(`s.${name}`, numbered(0, 10))
}

const start = (name: string, more: object = {}, token?: string) =>
  lab.service.post(
    '/api/pipeline/start',
    {
      source_table: `s.${name}`,
      sink_table: `s.${name}_sink`,
      checkpoint_location: `cp/${name}`,
      trigger_interval: '100 ms',
      create_sink_table: true,
      maintain_sink: true,
      ...more,
    },
    ...(token === undefined ? [] : [{ token }]),
  )

const policies = async (): Promise<{ id: string; name: string; tables: string[]; mode: string }[]> =>
  (await lab.service.get('/api/policies')).body.policies

describe('a pipeline that is to keep its sink healthy', () => {
  it('creates the policy of its sink once, which then compacts it', { timeout: 180_000 }, async () => {
    await makeSource('orders')
    for (let file = 1; file < FILES; file += 1) await lab.append('s.orders', numbered(file * 10, file * 10 + 10))
    const started = await start('orders', { max_files_per_batch: 1 })
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    const [policy] = await policies()
    expect(policy).toMatchObject({ name: 'sink s.orders_sink', tables: ['s.orders_sink'], mode: 'active' })
    await until(
      async () => {
        const { operations } = (await lab.service.get('/api/operations?table=s.orders_sink')).body
        return operations.some(({ state }: { state: string }) => state === 'succeeded')
      },
      'the policy compacted the sink',
      60_000,
    )
    await until(async () => (await lab.rows('s.orders_sink')).length >= FILES * 10, 'the sink has all rows')
    expect(await lab.rows('s.orders_sink')).toEqual(await lab.rows('s.orders'))

    await lab.service.post(`/api/pipeline/${started.body.pipeline.id}/stop`, {})
    expect((await start('orders')).status).toBe(200)
    expect(await policies()).toHaveLength(1)
  })

  it('is refused to a DataEngineer, and starts nothing', async () => {
    await makeSource('mine')
    const token = await tokenFor(lab.service, 'bob', 'DataEngineer')
    const { status, body } = await start('mine', {}, token)
    expect(status).toBe(403)
    expect(body.detail).toContain('maintain_sink creates a policy, which needs the role LeadDataEngineer')
    expect((await start('mine', { maintain_sink: false }, token)).status).toBe(200)
  })

  it('is refused when another policy of high priority compacts the sink, and starts nothing', async () => {
    await makeSource('taken')
    const other = { name: 'all of s', tables: ['s.taken*'], when: { health_below: 1 }, priority: 500 }
    const created = await lab.service.post('/api/policies', { ...other, operations: [{ operation: 'compact' }] })
    expect(created.status, JSON.stringify(created.body)).toBe(201)
    const { status, body } = await start('taken')
    expect(status).toBe(409)
    expect(body.detail).toContain('maintain_sink cannot be true: policy “all of s” already compacts s.taken_sink')
    expect((await lab.service.get('/api/table/s.taken_sink')).status, 'the sink was not created').toBe(404)
    const { pipelines } = (await lab.service.get('/api/pipelines')).body
    expect(pipelines.map(({ sink_table: sink }: { sink_table: string }) => sink)).not.toContain('s.taken_sink')
  })

  it('creates policies of different names for sinks whose names differ only in letters that policies cannot have', async () => {
    for (const name of ['ä', 'ö']) {
      await makeSource(name)
      expect((await start(name)).status).toBe(200)
    }
    const tables = (await policies()).filter(({ name }) => name.startsWith('sink s.__sink')).map((one) => one.tables)
    expect(tables.toSorted()).toEqual([['s.ä_sink'], ['s.ö_sink']])
  })

  it('is refused when a policy with the name of its own compacts something else', async () => {
    await makeSource('named')
    const other = { name: 'sink s.named_sink', tables: ['s.elsewhere'], when: { health_below: 1 } }
    await lab.service.post('/api/policies', { ...other, operations: [{ operation: 'compact' }] })
    const { status, body } = await start('named')
    expect(status).toBe(409)
    expect(body.detail).toContain('policy “sink s.named_sink” exists, and does not compact s.named_sink')
    expect(body.errors[0].path).toBe('maintain_sink')
  })
})

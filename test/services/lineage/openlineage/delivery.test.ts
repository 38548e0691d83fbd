import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tableFacets } from '../../../../src/services/lineage/openlineage/facets.ts'
import { createAlertDeliveryStore } from '../../../../src/storage/stores/alerts/alert-delivery-store.ts'
import { stateOf } from '../../../support/state-of.ts'
import { openAlertLab } from '../../alerts/alert-lab.ts'
import { type FakeReceiver, type Reply, startFakeReceiver } from '../../../support/network/fake-receiver.ts'
import { until } from '../../../support/waiting.ts'
import { numbered, openLab, type StreamLab } from '../../../streaming/support.ts'

let receiver: FakeReceiver
let lab: StreamLab
beforeEach(async () => {
  receiver = await startFakeReceiver()
  lab = await openLab({
    env: { OPENLINEAGE_URL: receiver.url, OPENLINEAGE_API_KEY: 'key-1', OPENLINEAGE_NAMESPACE: 'lake' },
    overrides: { deliveryRetryDelaysMs: [30, 30, 30] },
  })
})
afterEach(async () => {
  await lab.close()
  await receiver.close()
})

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into messages freely
const sent = (): any[] => receiver.received.map(({ body }) => JSON.parse(body))
const arrived = (eventType: string, job: string) =>
  until(
    () => sent().find((event) => event.eventType === eventType && event.job.name === job),
    () =>
      `${eventType} of ${job} in ${JSON.stringify(sent().map(({ eventType: type, job: { name } }) => [type, name]))}`,
  )

async function makeTable(name: string): Promise<void> {
  await lab.createTable(name, [
    ['id', 'long'],
    ['tags', { kind: 'list', elementId: 10, element: { kind: 'string' }, elementRequired: false }],
  ])
}

describe('run events', () => {
  it('describe an operation with its table, columns and location', async () => {
    await makeTable('s.a')
    const done = await lab.service.post('/api/expire', { table: 's.a' })
    expect(done.status, JSON.stringify(done.body)).toBe(200)
    const complete = await arrived('COMPLETE', 'expire.s.a')
    const start = await arrived('START', 'expire.s.a')
    expect(receiver.received[0]).toMatchObject({
      path: '/hook/api/v1/lineage',
      headers: { authorization: 'Bearer key-1', 'content-type': 'application/json' },
    })
    expect(start.run.runId).toBe(complete.run.runId)
    expect(complete).toMatchObject({
      schemaURL: expect.stringMatching(/^https:\/\/openlineage\.io\/spec\/2-0-2\/.+RunEvent$/),
      producer: expect.stringMatching(/^urn:lockhouse:/),
      run: { runId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/), facets: {} },
      job: {
        namespace: 'lake',
        facets: { jobType: { processingType: 'BATCH', integration: 'LOCKHOUSE', jobType: 'OPERATION' } },
      },
    })
    const [dataset] = complete.inputs
    expect(dataset).toMatchObject({ namespace: 'lake', name: 's.a' })
    expect(dataset.facets.schema.fields).toEqual([
      { name: 'id', type: 'long' },
      { name: 'tags', type: 'array', fields: [{ name: '_element', type: 'string' }] },
    ])
    // a path of the server's machine is no name for others
    expect(Object.keys(dataset.facets)).toEqual(['schema'])
    const table = await lab.load('s.a')
    const remote = { ...table, metadata: { ...table.metadata, location: 's3://bucket/lake/a/' } }
    expect(tableFacets(remote, 'urn:x')).toMatchObject({
      symlinks: { identifiers: [{ namespace: 's3://bucket', name: 'lake/a', type: 'LOCATION' }] },
    })
    expect(complete.outputs).toEqual(complete.inputs)
  })

  it('describe a failed operation on a table that does not exist', async () => {
    await lab.service.post('/api/compact', { table: 's.never' })
    const failed = await arrived('FAIL', 'compact.s.never')
    expect(failed.run.facets.errorMessage.message).toMatch(/^NO_SUCH_TABLE: /)
    expect(failed.inputs).toEqual([{ namespace: 'lake', name: 's.never', facets: {} }])
    expect(sent().filter(({ eventType }) => eventType === 'COMPLETE')).toEqual([])
  })

  it('follow a pipeline from its start to its end', async () => {
    for (const name of ['s.from', 's.to'])
      await lab.createTable(name, [
        ['id', 'long'],
        ['name', 'string'],
      ])
    await lab.append('s.from', numbered(0, 3))
    const request = {
      source_table: 's.from',
      sink_table: 's.to',
      checkpoint_location: 'cp/openlineage',
      trigger_interval: '1 hour',
    }
    const { body } = await lab.service.post('/api/pipeline/start', request)
    const start = await arrived('START', 'copy.s.from.s.to')
    expect(start).toMatchObject({
      inputs: [{ name: 's.from', facets: { schema: { fields: [{ name: 'id' }, { name: 'name' }] } } }],
      outputs: [{ name: 's.to' }],
      job: { facets: { jobType: { processingType: 'STREAMING', jobType: 'PIPELINE' } } },
    })
    await lab.service.call('POST', `/api/pipeline/${body.pipeline.id}/stop`)
    const end = await arrived('COMPLETE', 'copy.s.from.s.to')
    expect(end.run.runId).toBe(start.run.runId)
  })

  it.each([[[500, 'cut', 503]], [[{ status: 429, retryAfter: '0' }, 'cut', 302]]] as [Reply[]][])(
    'arrive in their order after the replies %j',
    async (replies) => {
      await makeTable('s.a')
      receiver.replies = [...replies]
      await lab.service.post('/api/expire', { table: 's.a' })
      await arrived('COMPLETE', 'expire.s.a')
      const types = sent().map(({ eventType }) => eventType)
      expect(types).toEqual([...replies.map(() => 'START'), 'START', 'COMPLETE'])
      const bodies = receiver.received.slice(0, replies.length + 1).map(({ body }) => body)
      expect(new Set(bodies).size).toBe(1)
    },
  )

  it('do not hold up operations and other runs while the receiver does not answer', async () => {
    await makeTable('s.a')
    await makeTable('s.b')
    receiver.replies = ['hang']
    const first = await lab.service.post('/api/expire', { table: 's.a' })
    expect(first.status).toBe(200)
    await receiver.until(1)
    const second = await lab.service.post('/api/expire', { table: 's.b' })
    expect(second.status).toBe(200)
    await arrived('COMPLETE', 'expire.s.b')
    expect(
      sent()
        .filter(({ job }) => job.name === 'expire.s.a')
        .map(({ eventType }) => eventType),
    ).toEqual(['START'])
  })
})

it('a run event of a receiver that is configured no more ends, and does not wait forever', async () => {
  const alerts = await openAlertLab()
  const db = stateOf(alerts.service.folder, {})
  try {
    const store = createAlertDeliveryStore(db)
    const at = new Date().toISOString()
    await store.insert({
      id: 'dlv-left',
      alertId: 'openlineage',
      kind: 'trigger',
      conditionKey: 'op-1',
      eventSeq: 1,
      heldBack: 0,
      state: 'pending',
      attempts: 0,
      nextAttemptAt: at,
      lastStatus: null,
      lastError: null,
      createdAt: at,
      finishedAt: null,
    })
    await alerts.happen({ type: 'config.changed', objectType: 'config', objectId: 'catalog' })
    const ended = await until(async () => {
      const delivery = await store.find('dlv-left')
      return delivery?.state === 'pending' ? undefined : delivery
    })
    expect(ended).toMatchObject({ state: 'failed', lastError: expect.stringContaining('does not exist any more') })
    expect(alerts.receiver.received).toEqual([])
  } finally {
    await db.destroy()
    await alerts.close()
  }
})

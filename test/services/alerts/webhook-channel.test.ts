import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeReceiver, isSigned, startFakeReceiver } from '../../support/network/fake-receiver.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { LONG } from '../../support/effort.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { webhookRules } from './payload-rules.ts'
import { CI_SLOWNESS, sleep, until } from '../../support/waiting.ts'

/** Causes three events, `operation.started`, `operation.finished` and `operation.failed`. */
const happen = (service: TestService) => service.post('/api/compact', { table: 'no.such' })

for (const kind of stateKindsOfWholeRuns) {
  describe.skipIf(kind.skip)(`the signed channel of an alert on ${kind.name}`, () => {
    let service: TestService
    let receiver: FakeReceiver
    beforeEach(async () => {
      receiver = await startFakeReceiver()
      const place = await kind.place()
      service = await startTestService({
        env: { ...place.env, WEBHOOK_ALLOW_PRIVATE: 'true' },
        overrides: { deliveryRetryDelaysMs: [30, 30, 30] },
        onClose: place.remove,
      })
    })
    afterEach(async () => {
      await service.close()
      await receiver.close()
    })

    let made = 0
    const subscribe = async (events: readonly string[] = ['operation.*'], url = receiver.url) => {
      made += 1
      const { status, body } = await service.post('/api/alerts', {
        name: `receiver ${made}`,
        events,
        channel: { type: 'webhook', url },
      })
      expect(status).toBe(201)
      return { id: body.id, secret: body.signing_secret }
    }
    const deliveries = async (id: string) => (await service.get(`/api/alerts/${id}/deliveries`)).body
    const settled = async (id: string, count: number) => {
      const isSettled = ({ state }: { state: string }): boolean => state !== 'pending'
      const read = async () => {
        const all = await deliveries(id)
        return all.length >= count && all.every(isSettled) ? all : undefined
      }
      return await until(read, async () => `${count} settled deliveries: ${JSON.stringify(await deliveries(id))}`)
    }

    it('sends the members of a selected event, signed and with a timestamp', async () => {
      const { id, secret } = await subscribe(['operation.finished', 'notebook.*'])
      await happen(service)
      await receiver.until(1)
      const [delivery] = await settled(id, 1)
      expect(delivery).toMatchObject({ state: 'delivered', attempts: 1, last_status: 200, last_error: null })
      const [message] = receiver.received
      expect(receiver.received).toHaveLength(1)
      expect(isSigned(message!, secret)).toBe(true)
      expect(isSigned({ ...message!, body: `${message!.body} ` }, secret)).toBe(false)
      expect(message!.headers['webhook-id']).toBe(delivery.id)
      expect(Math.abs(Date.now() / 1000 - Number(message!.headers['webhook-timestamp']))).toBeLessThan(10)
      const sent = webhookRules.parse(JSON.parse(message!.body))
      expect(sent).toMatchObject({
        seq: delivery.event_seq,
        type: 'operation.finished',
        object_type: 'operation',
        data: { operation: 'compact', state: 'failed' },
        id: delivery.id,
        kind: 'trigger',
        alert: { id, name: 'receiver 1' },
        held_back: 0,
      })
      const [event] = (await service.get('/api/events?type=operation.finished')).body.events
      const { seq, at, type, object_type, object_id, data } = sent
      expect({ seq, at, type, object_type, object_id, data }).toEqual(event)
    })

    it('sends no event from before the alert', async () => {
      await happen(service)
      const { id } = await subscribe()
      await happen(service)
      const seqs = (await settled(id, 3)).map(({ event_seq: seq }: { event_seq: number }) => seq)
      expect(seqs.sort()).toEqual([5, 6, 7]) // 4: the creation of the alert
    })

    it('repeats a failed delivery with the same id until the receiver accepts it', async () => {
      receiver.replies = [500, 'cut']
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      const [delivery] = await settled(id, 1)
      expect(delivery).toMatchObject({ state: 'delivered', attempts: 3, last_status: 200 })
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([delivery.id]))
    })

    it('repeats a delivery with the same id when the receiver does not answer for ten seconds', LONG, async () => {
      receiver.replies = ['hang']
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      const [delivery] = await settled(id, 1)
      expect(delivery).toMatchObject({ state: 'delivered', attempts: 2, last_status: 200 })
      expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([delivery.id, delivery.id])
      const [first, second] = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
      expect(second! - first!).toBeGreaterThanOrEqual(9)
    })

    it('gives a delivery up after the last attempt, and at once when the receiver answers 410', async () => {
      receiver.replies = [500, 500, 500, 503]
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      expect(await settled(id, 1)).toMatchObject([{ state: 'failed', attempts: 4, last_status: 503 }])
      receiver.replies = [410]
      await happen(service)
      expect((await settled(id, 2))[0]).toMatchObject({ state: 'failed', attempts: 1, last_status: 410 })
    })

    it('follows no redirect', async () => {
      const elsewhere = await startFakeReceiver()
      receiver.replies = Array.from({ length: 4 }, () => ({ redirect: elsewhere.url }))
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      expect(await settled(id, 1)).toMatchObject([{ state: 'failed', attempts: 4, last_status: 302 }])
      expect(elsewhere.received).toEqual([])
      await elsewhere.close()
    })

    it('delays neither requests nor other alerts when a receiver hangs', async () => {
      const other = await startFakeReceiver()
      receiver.replies = Array.from({ length: 20 }, () => 'hang')
      await subscribe()
      const { id } = await subscribe(['operation.*'], other.url)
      const startedAt = performance.now()
      for (let i = 0; i < 5; i++) await happen(service)
      expect(performance.now() - startedAt).toBeLessThan(5000 * CI_SLOWNESS)
      await other.until(15)
      expect((await settled(id, 15)).every(({ state }: { state: string }) => state === 'delivered')).toBe(true)
      expect(receiver.received.length).toBeLessThanOrEqual(2)
      await other.close()
    })

    it('sends every event across a restart', async () => {
      receiver.replies = Array.from({ length: 3 }, () => 500)
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      await receiver.until(1)
      await service.restart()
      await happen(service)
      const all = await settled(id, 2)
      expect(all.map(({ state }: { state: string }) => state)).toEqual(['delivered', 'delivered'])
    })

    it('sends an event whose attempts restarts cancel again and again', async () => {
      receiver.replies = Array.from({ length: 6 }, () => 'hang')
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      for (let restarts = 1; restarts <= 6; restarts += 1) {
        await receiver.until(restarts)
        await service.restart()
      }
      expect(await settled(id, 1)).toMatchObject([{ state: 'delivered', attempts: 1 }])
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    })

    it('sends no event after the alert is deleted', async () => {
      const { id } = await subscribe()
      expect((await service.call('DELETE', `/api/alerts/${id}`)).status).toBe(204)
      await happen(service)
      await sleep(200)
      expect(receiver.received).toEqual([])
      expect((await service.get(`/api/alerts/${id}/deliveries`)).status).toBe(404)
    })
  })
}

describe('addresses of the signed channel', () => {
  it.each([
    'http://127.0.0.1/x',
    'http://2130706433/x',
    'http://0x7f.1/x',
    'http://localhost/x',
    'http://a.localhost/x',
    'http://10.1.2.3/x',
    'http://192.168.0.1:8080/x',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/x',
    'http://[::ffff:10.0.0.1]/x',
    'http://[fd00::1]/x',
    'http://[fe80::1]/x',
    'http://0.0.0.0/x',
    'http://metadata.google.internal/x',
    'https://user:password@hooks.example/x',
    'file:///etc/passwd',
    'gopher://hooks.example/',
    'nonsense',
  ])('%s is refused', async (url) => {
    const service = await startTestService()
    const alert = { name: 'a', events: ['*'], channel: { type: 'webhook', url } }
    const { status, body } = await service.post('/api/alerts', alert)
    expect([status, body.code, body.errors?.[0]?.path]).toEqual([422, 'UNPROCESSABLE', 'channel.url'])
    await service.close()
  })
})

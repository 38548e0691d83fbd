import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeReceiver, isSigned, startFakeReceiver } from '../../support/network/fake-receiver.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKinds } from '../../support/state-kinds.ts'
import { CI_SLOWNESS, sleep, until } from '../../support/waiting.ts'

/** Causes three events, `operation.started`, `operation.finished` and `operation.failed`. */
const happen = (service: TestService) => service.post('/api/compact', { table: 'no.such' })

for (const kind of stateKinds) {
  describe.skipIf(kind.skip)(`webhooks on ${kind.name}`, () => {
    let service: TestService
    let receiver: FakeReceiver
    beforeEach(async () => {
      receiver = await startFakeReceiver()
      const place = await kind.place()
      service = await startTestService({
        env: { ...place.env, WEBHOOK_ALLOW_PRIVATE: 'true' },
        overrides: { webhookRetryDelaysMs: [30, 30, 30] },
        onClose: place.remove,
      })
    })
    afterEach(async () => {
      await service.close()
      await receiver.close()
    })

    const subscribe = async (types: readonly string[] = ['operation.*'], url = receiver.url) => {
      const { status, body } = await service.post('/api/webhooks', { url, types })
      expect(status).toBe(201)
      return body
    }
    const deliveries = async (id: string) => (await service.get(`/api/webhooks/${id}/deliveries`)).body
    const settled = async (id: string, count: number) => {
      const isSettled = ({ state }: { state: string }): boolean => state !== 'pending'
      const read = async () => {
        const all = await deliveries(id)
        return all.length >= count && all.every(isSettled) ? all : undefined
      }
      return await until(read, async () => `${count} settled deliveries: ${JSON.stringify(await deliveries(id))}`)
    }

    it('receive the selected events, signed and with a timestamp', async () => {
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
      expect(JSON.parse(message!.body)).toMatchObject({
        seq: delivery.event_seq,
        type: 'operation.finished',
        webhook_id: id,
        data: { operation: 'compact', state: 'failed' },
      })
    })

    it('receive no events from before their creation', async () => {
      await happen(service)
      const { id } = await subscribe()
      await happen(service)
      const seqs = (await settled(id, 3)).map(({ event_seq: seq }: { event_seq: number }) => seq)
      expect(seqs.sort()).toEqual([4, 5, 6])
    })

    it('are retried after a failure with the same id until they respond', async () => {
      receiver.replies = [500, 'cut']
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      const [delivery] = await settled(id, 1)
      expect(delivery).toMatchObject({ state: 'delivered', attempts: 3, last_status: 200 })
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([delivery.id]))
    })

    it('are given up after the last attempt, and at once on 410', async () => {
      receiver.replies = [500, 500, 500, 503]
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      expect(await settled(id, 1)).toMatchObject([{ state: 'failed', attempts: 4, last_status: 503 }])
      receiver.replies = [410]
      await happen(service)
      expect((await settled(id, 2))[0]).toMatchObject({ state: 'failed', attempts: 1, last_status: 410 })
    })

    it('do not follow redirects', async () => {
      const elsewhere = await startFakeReceiver()
      receiver.replies = Array.from({ length: 4 }, () => ({ redirect: elsewhere.url }))
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      expect(await settled(id, 1)).toMatchObject([{ state: 'failed', attempts: 4, last_status: 302 }])
      expect(elsewhere.received).toEqual([])
      await elsewhere.close()
    })

    it('that hang delay neither requests nor other webhooks', async () => {
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

    it('receive every event across a restart', async () => {
      receiver.replies = Array.from({ length: 3 }, () => 500)
      const { id } = await subscribe(['operation.started'])
      await happen(service)
      await receiver.until(1)
      await service.restart()
      await happen(service)
      const all = await settled(id, 2)
      expect(all.map(({ state }: { state: string }) => state)).toEqual(['delivered', 'delivered'])
    })

    it('receive an event whose attempts restarts cancel again and again', async () => {
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

    it('receive no events after they are deleted, and show their secret once', async () => {
      const { id, secret } = await subscribe()
      const list = await service.get('/api/webhooks')
      expect(list.body).toMatchObject([{ id, url: receiver.url, types: ['operation.*'], created_by: 'admin' }])
      expect(JSON.stringify(list.body)).not.toContain(secret)
      expect((await service.call('DELETE', `/api/webhooks/${id}`)).status).toBe(204)
      await happen(service)
      await sleep(200)
      expect(receiver.received).toEqual([])
      expect((await service.get(`/api/webhooks/${id}/deliveries`)).status).toBe(404)
      const actions = (await service.get('/api/audit?object_type=webhook')).body.map(
        ({ action }: { action: string }) => action,
      )
      expect(actions).toEqual(['webhook.delete', 'webhook.create'])
    })
  })
}

describe('webhook addresses', () => {
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
    const { status, body } = await service.post('/api/webhooks', { url })
    expect([status, body.code, body.errors?.[0]?.path]).toEqual([422, 'UNPROCESSABLE', 'url'])
    await service.close()
  })

  it('event types that no event has are refused', async () => {
    const service = await startTestService()
    for (const type of ['table.sick', 'nope.*']) {
      const { status, body } = await service.post('/api/webhooks', { url: 'https://hooks.example/x', types: [type] })
      expect([status, body.errors?.[0]?.path]).toEqual([422, 'types.0'])
    }
    await service.close()
  })
})

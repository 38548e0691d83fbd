import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { attemptDelivery } from '../../../src/services/alerts/delivery-loop.ts'
import { createLogger } from '../../../src/services/logger.ts'
import { createHttpSender } from '../../../src/services/outbound/http-sender.ts'
import {
  type AlertDelivery,
  createAlertDeliveryStore,
} from '../../../src/storage/stores/alerts/alert-delivery-store.ts'
import { createAlertStore } from '../../../src/storage/stores/alerts/alert-store.ts'
import { describeDatabases } from '../../storage/open.ts'
import { until } from '../../support/waiting.ts'

const AT = '2026-01-02T03:04:05.678Z'
const LEASE_END = '2026-01-02T03:04:35.678Z'

const DELIVERY: AlertDelivery = {
  id: 'dlv-1',
  alertId: 'alr-1',
  kind: 'trigger',
  conditionKey: null,
  eventSeq: 1,
  heldBack: 0,
  state: 'pending',
  attempts: 0,
  nextAttemptAt: AT,
  lastStatus: null,
  lastError: null,
  createdAt: AT,
  finishedAt: null,
}

describeDatabases('an attempt that outlives its lease', (databases) => {
  /** A receiver that answers the first message only when it is told to, and the second one at once with 200. */
  async function receive() {
    const waiting: ServerResponse[] = []
    const server = createServer((request, response) => {
      request.resume()
      if (waiting.push(response) > 1) response.writeHead(200).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
    const { port } = server.address() as AddressInfo
    return { url: `http://127.0.0.1:${port}/`, waiting, close: () => server.close() }
  }

  it.each([500, 410])('leaves a delivery delivered when its own late answer is %i', async (status) => {
    const db = await databases.open()
    const channel = { type: 'slack', url: 'https://hooks.example.com' } as const
    await createAlertStore(db).insert({
      id: 'alr-1',
      settings: { name: 'a', events: ['*'], channel },
      silencedUntil: undefined,
      sinceSeq: 1,
      managedBy: undefined,
      revision: 1,
      createdBy: 'ana',
      createdAt: AT,
      updatedAt: AT,
    })
    const deliveries = createAlertDeliveryStore(db)
    await deliveries.insert(DELIVERY)
    const receiver = await receive()
    const post = createHttpSender({ allowPrivate: true })
    const deps = {
      deliveries,
      now: () => new Date(),
      log: createLogger('silent', () => undefined),
      send: (_: AlertDelivery, signal: AbortSignal) => post({ url: receiver.url, headers: {}, body: '{}', signal }),
    }
    const attempt = (delivery: AlertDelivery) => attemptDelivery(deps, delivery, new AbortController().signal)

    expect(await deliveries.take(DELIVERY, LEASE_END)).toBe(true)
    const late = attempt(DELIVERY)
    await until(() => receiver.waiting.length === 1)
    const [again] = await deliveries.due(LEASE_END, 1, [])
    if (again === undefined) throw new Error('the delivery is not due when its lease ends')
    expect(await deliveries.take(again, new Date(Date.now() + 30_000).toISOString())).toBe(true)
    await attempt(again)
    receiver.waiting[0]?.writeHead(status).end()
    await late
    expect(await deliveries.find('dlv-1')).toMatchObject({ state: 'delivered', lastStatus: 200, attempts: 2 })
    receiver.close()
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Service } from '../interop/harness/service.ts'
import { type FakeReceiver, startFakeReceiver } from '../support/network/fake-receiver.ts'
import { sleep, until } from '../support/waiting.ts'

/** How long a delivery stays with a process that has died, ms, and some patience. */
const LEASE_MS = 30_000
const PATIENCE_MS = LEASE_MS + 30_000

describe('alerts of a process that is killed', { timeout: 240_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'alerts-kill-'))
  const env = { WEBHOOK_ALLOW_PRIVATE: 'true' }
  let receiver: FakeReceiver
  let service: Service
  let alertId = ''

  beforeAll(async () => {
    receiver = await startFakeReceiver()
    service = await Service.start({ home: `${folder}/home`, env })
    const { status, body } = await service.post('/api/alerts', {
      name: 'failures',
      events: ['operation.failed'],
      channel: { type: 'webhook', url: receiver.url },
    })
    expect(status, JSON.stringify(body)).toBe(201)
    alertId = String(body['id'])
  })

  afterAll(async () => {
    await service.stop()
    await receiver.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const fail = () => service.post('/api/compact', { table: 'no.such' })
  const deliveries = async () =>
    await service.read<{ id: string; state: string }[]>(`/api/alerts/${alertId}/deliveries`)
  const untilDelivered = (count: number) =>
    until(
      async () => {
        const all = await deliveries()
        return all.length >= count && all.every(({ state }) => state === 'delivered') ? all : undefined
      },
      async () => JSON.stringify(await deliveries()),
      PATIENCE_MS,
    )

  it('arrive when it was killed before the answer, again with the same id', async () => {
    receiver.replies = ['hang']
    await fail()
    await receiver.until(1)
    await service.kill()
    service = await Service.start({ home: `${folder}/home`, env })
    const [delivery] = await untilDelivered(1)
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).toEqual([delivery?.id, delivery?.id])
  })

  it('arrive when it was killed at any moment, each event at least once and never under two ids', async () => {
    receiver.received.length = 0
    const known = (await deliveries()).length
    let failures = 0
    for (let round = 0; round < 4; round += 1) {
      for (let at = 0; at < 5; at += 1) {
        await fail()
        failures += 1
      }
      await sleep(Math.random() * 30)
      await service.kill()
      service = await Service.start({ home: `${folder}/home`, env })
    }
    await untilDelivered(known + failures)
    const idsOf = new Map<string, Set<string>>()
    for (const { headers, body } of receiver.received) {
      const { object_id: operation } = JSON.parse(body) as { object_id: string }
      idsOf.set(operation, (idsOf.get(operation) ?? new Set()).add(String(headers['webhook-id'])))
    }
    process.stdout.write(`\nalerts kill -9: ${failures} events, ${receiver.received.length} messages\n`)
    expect(idsOf.size).toBe(failures)
    for (const ids of idsOf.values()) expect(ids.size).toBe(1)
  })
})

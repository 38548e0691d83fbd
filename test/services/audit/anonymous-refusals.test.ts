import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createAnonymousRefusals } from '../../../src/services/audit/anonymous-refusals.ts'
import { startTestService, type TestService } from '../../support/service.ts'

let service: TestService | undefined
let clockMs: number
afterEach(async () => {
  await service?.close()
  service = undefined
})

async function start(): Promise<TestService> {
  clockMs = Date.parse('2026-11-20T10:00:00Z')
  service = await startTestService({ overrides: { now: () => new Date(clockMs) } })
  return service
}

const refusals = async (running: TestService) =>
  (await running.get('/api/audit?action=request.refuse&page_size=1000')).body.reverse()

describe('refusals without a credential', () => {
  it('of one client and reason are two entries an hour in any number, and the chain stays valid', async () => {
    const running = await start()
    const before = await stateSize(running)
    for (let i = 0; i < 5000; i++) {
      const path = `/api/no/such/${i}`
      expect((await running.call('POST', path, { token: null, remoteAddress: '192.0.2.7' })).status).toBe(404)
    }
    expect(await refusals(running)).toHaveLength(1)
    clockMs += 3_600_000
    await running.call('POST', '/api/none', { token: null, remoteAddress: '192.0.2.7' })
    const [first, sum, next] = await refusals(running)
    expect(first).toMatchObject({
      object_id: '/api/no/such/0',
      actor: null,
      details: { method: 'POST', status: 404, code: 'NOT_FOUND', client: '192.0.2.7' },
    })
    expect(sum).toMatchObject({
      object_id: '/api/no/such/4999',
      outcome: 'refused',
      details: { status: 404, code: 'NOT_FOUND', client: '192.0.2.7', more: 4999 },
    })
    expect(next.object_id).toBe('/api/none')
    expect(await stateSize(running)).toBeLessThan(before + 500_000)
    expect((await running.get('/api/audit/verify')).body).toMatchObject({ ok: true })
  })

  it('are separated by client and reason, and written when the service stops', async () => {
    const running = await start()
    for (const remoteAddress of ['192.0.2.7', '192.0.2.8', '192.0.2.8', '192.0.2.8']) {
      await running.get('/api/tables', { token: null, remoteAddress })
      await running.call('DELETE', '/api/none', { token: null, remoteAddress })
    }
    expect(await refusals(running)).toHaveLength(4)
    await running.restart()
    const sums = (await refusals(running)).slice(4)
    expect(
      sums.map(({ details }: { details: Record<string, unknown> }) => [
        details['client'],
        details['status'],
        details['more'],
      ]),
    ).toEqual([
      ['192.0.2.8', 401, 2],
      ['192.0.2.8', 404, 2],
    ])
    expect((await running.get('/api/audit/verify')).body).toMatchObject({ ok: true })
  })

  it('of users are one entry each', async () => {
    const running = await start()
    for (let i = 0; i < 20; i++) await running.call('DELETE', `/api/auth/tokens/tok-${i}`)
    expect(await refusals(running)).toHaveLength(20)
  })
})

describe('the counters of anonymous refusals', () => {
  it('of 1,000,000 clients take at most 101 entries and limited memory', () => {
    let entries = 0
    const sums = createAnonymousRefusals(() => new Date('2026-11-20T10:00:00Z'))
    const entry = { caller: undefined, action: 'request.refuse', objectType: 'request' } as const
    const add = (client: string): void => {
      entries += sums.add({ client, status: 401, code: 'UNAUTHENTICATED', path: '/x', entry }).length
    }
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 1_000_000; i++) add(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
    globalThis.gc?.()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(300 * 2 ** 20)
    expect(entries).toBe(100)
    const taken = sums.take({ all: true })
    expect(taken).toHaveLength(1)
    expect(taken[0]?.details).toMatchObject({ client: 'others', more: 999_900 })
    expect(sums.take({ all: true })).toEqual([])
  })
})

async function stateSize({ folder }: TestService): Promise<number> {
  const files = ['state.db', 'state.db-wal'].map((name) => stat(join(folder, 'home', name)))
  return (await Promise.all(files)).reduce((sum, { size }) => sum + size, 0)
}

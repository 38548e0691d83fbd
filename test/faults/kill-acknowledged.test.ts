import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type Answer, Service } from '../interop/harness/service.ts'
import { runs } from '../support/effort.ts'
import { sleep } from '../support/waiting.ts'

/** Total kills; the full run of a release sets KILL_ROUNDS=200. */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? runs(20, 4))
const CLIENTS = 8

interface Write {
  readonly name: string
  readonly requestId: string
}

interface Acknowledged extends Write {
  readonly id: string
  readonly versionId: string
  /** Whether its promotion was acknowledged too. */
  promoted: boolean
}

describe('kill -9 under load', () => {
  const home = mkdtempSync(join(tmpdir(), 'kill-ack-'))
  const totals = { acknowledged: 0, promoted: 0, inFlight: 0, effectBeforeKill: 0 }
  let writes = 0

  afterAll(() => {
    rmSync(home, { recursive: true, force: true })
    process.stdout.write(`\nkill -9 under load: ${ROUNDS} rounds, ${JSON.stringify(totals)}\n`)
  })

  it(`loses and duplicates no acknowledged write (${ROUNDS} rounds)`, { timeout: ROUNDS * 60_000 }, async () => {
    let service = await Service.start({ home })
    for (let round = 0; round < ROUNDS; round++) {
      const from = new Date().toISOString()
      const acknowledged: Acknowledged[] = []
      const inFlight = new Map<string, Write>()
      const clients = Array.from({ length: CLIENTS }, () => work(service, acknowledged, inFlight))
      await sleep(100 + Math.random() * 900)
      await service.kill()
      await Promise.all(clients)

      service = await Service.start({ home })
      expect(await service.read('/api/audit/verify')).toMatchObject({ ok: true })
      await checkAcknowledged(service, acknowledged)
      await checkAudit(service, acknowledged, from)
      await checkInFlight(service, [...inFlight.values()])
    }
    await service.stop()
  })

  /** Creates definitions and promotes them until the service is gone. */
  async function work(service: Service, acknowledged: Acknowledged[], inFlight: Map<string, Write>): Promise<void> {
    for (;;) {
      const write = { name: `d-${writes++}`, requestId: `kill-${writes}-${Date.now()}` }
      inFlight.set(write.name, write)
      const created = await send(service, write).catch(() => undefined)
      if (!created) return
      expect(created.status).toBe(201)
      inFlight.delete(write.name)
      const { definition, version } = created.body as Record<string, { id: string }>
      const known = { ...write, id: definition!.id, versionId: version!.id, promoted: false }
      acknowledged.push(known)
      totals.acknowledged += 1
      const promoted = await service
        .post(`/api/pipeline-defs/${known.id}/versions/${known.versionId}/promote`, {})
        .catch(() => undefined)
      if (!promoted) return
      expect(promoted.status).toBe(200)
      known.promoted = true
      totals.promoted += 1
    }
  }

  function send(service: Service, { name, requestId }: Write): Promise<Answer> {
    const headers = { 'Idempotency-Key': `key-${name}`, 'X-Request-Id': requestId }
    return service.post('/api/pipeline-defs', { name, description: '', nodes: [], edges: [] }, headers)
  }

  async function checkAcknowledged(service: Service, acknowledged: readonly Acknowledged[]): Promise<void> {
    for (const { id, versionId, name, promoted } of acknowledged) {
      expect(await service.read(`/api/pipeline-defs/${id}`)).toMatchObject({ id, name })
      const version = await service.read<{ environment: string }>(`/api/pipeline-defs/${id}/versions/${versionId}`)
      if (promoted) expect(version.environment).toBe('qa')
    }
  }

  async function checkAudit(service: Service, acknowledged: readonly Acknowledged[], from: string): Promise<void> {
    const entries = await service.read<{ request_id: string; object_id: string }[]>(
      `/api/audit?action=definition.create&from=${from}`,
    )
    const byRequest = Map.groupBy(entries, (entry) => entry.request_id.split('.')[0])
    for (const { requestId } of acknowledged) expect(byRequest.get(requestId), requestId).toHaveLength(1)
  }

  /** Repeats unanswered requests: each must have one effect, however far the first attempt got. */
  async function checkInFlight(service: Service, unanswered: readonly Write[]): Promise<void> {
    const before = new Set(await names(service))
    for (const write of unanswered) {
      totals.inFlight += 1
      const had = before.has(write.name)
      if (had) totals.effectBeforeKill += 1
      const again = await send(service, { ...write, requestId: `${write.requestId}-again` })
      // 201: done now, or the stored answer of the first attempt. 409: the effect exists, but its answer was lost.
      expect(again.status, JSON.stringify(again.body)).toSatisfy(
        (status: number) => status === 201 || (had && status === 409),
      )
    }
    const after = Map.groupBy(await names(service), (name) => name)
    for (const { name } of unanswered) expect(after.get(name), name).toHaveLength(1)
  }

  async function names(service: Service): Promise<string[]> {
    const found: string[] = []
    for (let path: string | undefined = '/api/pipeline-defs?page_size=1000'; path !== undefined;) {
      const { body, headers }: Answer = await service.get(path)
      found.push(...(body as unknown as { name: string }[]).map(({ name }) => name))
      path = /^<(.+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
    }
    return found
  }
})

import { afterEach, describe, expect, it } from 'vitest'
import { postgresPlace, postgresServer } from '../../storage/open.ts'
import { LONG } from '../../support/effort.ts'
import { Relay } from '../../support/network/relay.ts'
import { type Answer, startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'

const DEFINITION = { name: 'once', description: '', nodes: [], edges: [] }
/** The statement that stores the definition. */
const INSERTED = 'insert into "pipeline_definitions"'
const KEYED = { headers: { 'Idempotency-Key': 'k' } }

describe.skipIf(postgresServer === undefined)(
  'a request with a key whose connection to PostgreSQL breaks',
  LONG,
  () => {
    let service: TestService
    let relay: Relay
    let close: () => Promise<void> = async () => undefined
    afterEach(() => close())

    async function start(): Promise<void> {
      const { place, remove } = await postgresPlace()
      const server = new URL(place)
      relay = await Relay.start({ host: server.hostname, port: Number(server.port) })
      server.port = String(relay.port)
      const env = { DATABASE_URL: server.href, AUDIT_KEY: 'a key of this test, of 32 characters or more' }
      service = await startTestService({ env, events: { commits: 3, filesPerCommit: 1, rowsPerFile: 10 } })
      close = async () => {
        await service.close()
        await relay.close()
        await remove()
      }
    }

    const create = () => service.post('/api/pipeline-defs', DEFINITION, KEYED)
    /** Repeats the request as a client does that follows `Retry-After`. */
    const again = (send: () => Promise<Answer>) =>
      until(async () => {
        const answer = await send()
        return answer.headers.get('retry-after') === null && answer.status !== 503 && answer
      }, 'an answer to the repeated request')
    const names = async () => (await service.get('/api/pipeline-defs')).body.map(({ name }: { name: string }) => name)

    /** Cuts the line once: after, or instead of, the first message to the server that has the last text, after the others. */
    function cutAt(texts: readonly string[], how: 'cut' | 'cut after'): void {
      let next = 0
      relay.judge = (piece, from) => {
        while (from === 'client' && next < texts.length && piece.includes(texts[next] ?? '')) next += 1
        if (next < texts.length) return 'pass'
        relay.judge = () => 'pass'
        return how
      }
    }

    it('can be sent again when the beginning of its operation was stored and not confirmed', async () => {
      await start()
      const compact = () => service.post('/api/compact', { table: 'demo.events' }, KEYED)
      cutAt(['insert into "operations"', 'commit\0'], 'cut after')
      expect((await compact()).status).toBe(503)
      expect((await again(compact)).status).toBe(200)
      const { operations } = (await service.get('/api/operations')).body
      expect(operations.map(({ state }: { state: string }) => state).toSorted()).toEqual(['failed', 'succeeded'])
    })

    it('has one effect when that was stored and not confirmed', async () => {
      await start()
      cutAt([INSERTED, 'commit\0'], 'cut after')
      expect((await create()).status).toBe(503)
      const { status, body } = await again(create)
      expect([status, body.code], JSON.stringify(body)).toEqual([409, 'CONFLICT'])
      expect(body.detail).toMatch(/took effect \(\S+ def-\S+\)/)
      expect(await names()).toEqual(['once'])
    })

    it('has one effect, and its answer, when the answer could not be stored', async () => {
      await start()
      cutAt(['update "idempotency_keys"'], 'cut')
      expect((await create()).status).toBe(503)
      const { status, headers } = await again(create)
      expect([status, headers.get('idempotent-replayed')]).toEqual([201, 'true'])
      expect(await names()).toEqual(['once'])
    })

    it('can be sent again when its key was stored and not confirmed', async () => {
      await start()
      cutAt(['insert into "idempotency_keys"'], 'cut after')
      expect((await create()).status).toBe(503)
      expect((await again(create)).status).toBe(201)
      expect(await names()).toEqual(['once'])
    })

    it('can be sent again when the database was gone before it had an effect', async () => {
      await start()
      expect(await names()).toEqual([])
      cutAt([INSERTED, 'commit\0'], 'cut')
      expect((await create()).status).toBe(503)
      expect((await again(create)).status).toBe(201)
      expect(await names()).toEqual(['once'])
    })
  },
)

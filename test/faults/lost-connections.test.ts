import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import type { TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { type Answer, Service } from '../interop/harness/service.ts'
import { postgresPlace, postgresServer } from '../storage/open.ts'
import { LONG, runs } from '../support/effort.ts'
import { Relay } from '../support/network/relay.ts'
import { sleep, until } from '../support/waiting.ts'
import { QUICK_SERVICE } from './harness/rollouts.ts'
import { expectLedgerIsTrue, idsOf, type LedgerEntry } from './harness/table-checks.ts'

/** How often all connections to the state database are ended. */
const CUTS = Number(process.env['CONNECTION_CUTS'] ?? runs(60, 20))
/** The line is cut after every such commit. */
const COMMITS_PER_CUT = 15
/** The longest time between two cuts; the service connects again within some milliseconds. */
const LONGEST_CALM_MS = 700
const TABLES = Array.from({ length: 8 }, (_, at) => `t${at}`)
const COPIED = TABLES.slice(0, 2)
const ROWS_PER_FILE = 20
const PATIENCE_MS = 120_000
/** How long a stream of events is read before it is opened again. */
const FOLLOWED_MS = 3000

const POLICY = {
  name: 'all tables',
  tables: ['c.t*'],
  operations: [{ operation: 'compact', options: { min_input_files: 2 } }, { operation: 'rewrite_manifests' }],
  when: { small_files_over: 6, commits_since_last_over: 15 },
  budget: { concurrent_operations: 3 },
  cooldown: '1 minute',
  mode: 'active',
}

interface Operation extends LedgerEntry {
  readonly table: string
}

describe.skipIf(postgresServer === undefined)(
  'a service whose PostgreSQL ends its connections again and again',
  { timeout: 600_000 + CUTS * 5000, ...LONG },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'lost-connections-'))
    const identifier = (name: string): TableIdentifier => ({ namespace: ['c'], name })
    const written = new Map<string, number>()
    const answers: Record<string, number> = {}
    const created: string[] = []
    /** Creations whose answer was lost: the service says that they took effect. */
    let lost = 0
    let lake: Lakehouse
    let database: { place: string; remove: () => Promise<void> }
    /** Between the service and the database; it cuts lines after a commit was delivered and before it is confirmed. */
    let relay: Relay
    let unconfirmed = 0
    let db: Kysely<StateTables>
    let service: Service
    /** Another one on the same database. */
    let other: Service
    let goesOn = false
    let policyId = ''
    /** The number of the last event before the cuts. */
    let before = 0
    /** The numbers of the events that an alert has delivered, and that a stream has shown. */
    const delivered = new Set<number>()
    const streamed: number[] = []
    const receiver = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        delivered.add((JSON.parse(Buffer.concat(chunks).toString()) as { seq: number }).seq)
        response.writeHead(204).end()
      })
    })

    beforeAll(async () => {
      lake = await openLakehouse(`${folder}/lake`, 'hadoop')
      await lake.catalog.createNamespace(['c'])
      const fields = [{ id: 1, name: 'id', required: false, type: { kind: 'long' as const } }]
      for (const name of TABLES) {
        await lake.catalog.createTable(identifier(name), { schema: { schemaId: 0, identifierFieldIds: [], fields } })
        await write(name)
      }
      database = await postgresPlace()
      db = new Kysely<StateTables>({ dialect: postgresDialect(database.place) })
      const server = new URL(database.place)
      relay = await Relay.start({ host: server.hostname, port: Number(server.port) })
      server.port = String(relay.port)
      const start = (home: string): Promise<Service> =>
        Service.start({
          home: `${folder}/${home}`,
          entry: QUICK_SERVICE,
          env: {
            WEBHOOK_ALLOW_PRIVATE: 'true',
            DATABASE_URL: server.href,
            AUDIT_KEY: 'a key of this test, of 32 characters or more',
          },
        })
      service = await start('home')
      other = await start('other-home')
      await service.configure(lake.settings)
      const policy = await service.post('/api/policies', POLICY)
      expect(policy.status, JSON.stringify(policy.body)).toBe(201)
      policyId = String(policy.body['id'])
      await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
      const hook = await service.post('/api/alerts', {
        name: 'all',
        events: ['*'],
        channel: { type: 'webhook', url },
      })
      expect(hook.status, JSON.stringify(hook.body)).toBe(201)
      for (const name of COPIED) {
        const started = await service.post('/api/pipeline/start', {
          source_table: `c.${name}`,
          sink_table: `c.copy_of_${name}`,
          checkpoint_location: `${folder}/lake/warehouse/checkpoints/${name}`,
          trigger_interval: '100 ms',
          create_sink_table: true,
        })
        expect(started.status, JSON.stringify(started.body)).toBe(200)
      }
    })

    afterAll(async () => {
      await service?.stop()
      await other?.stop()
      await lake?.close()
      await db?.destroy()
      await relay?.close()
      await database?.remove()
      receiver.close()
      rmSync(folder, { recursive: true, force: true })
    })

    async function write(name: string): Promise<void> {
      const first = written.get(name) ?? 0
      await lake.append(identifier(name), `SELECT i AS c1 FROM range(${first}, ${first + ROWS_PER_FILE}) t(i)`)
      written.set(name, first + ROWS_PER_FILE)
    }

    const allOf = (name: string): number[] => Array.from({ length: written.get(name) ?? 0 }, (_, id) => id)

    /** Repeats something until the cuts are over. */
    async function meanwhile(work: (round: number) => Promise<unknown>, pauseMs: number): Promise<void> {
      for (let round = 0; goesOn; round += 1) {
        await work(round)
        await sleep(pauseMs)
      }
    }

    function count(what: string, { status, body }: Answer): void {
      const { code = '' } = body as { code?: string }
      const key = `${what} ${status}${code === '' ? '' : ` ${code}`}`
      answers[key] = (answers[key] ?? 0) + 1
      expect([200, 201, 409, 503], `${key} ${JSON.stringify(body)}\n${service.log}`).toContain(status)
    }

    /** One of the services. */
    const at = (round: number): Service => (round % 2 === 0 ? service : other)

    async function create(round: number): Promise<void> {
      const name = `definition ${round}`
      const nodes = [
        { id: 'in', type: 'iceberg-source', config: { table: 'c.t0' } },
        { id: 'out', type: 'iceberg-sink', config: { table: 'c.other' } },
      ]
      const edges = [{ id: 'e', source: 'in', target: 'out' }]
      const request = { name, description: 'a', nodes, edges }
      // repeated with its key until it has an answer, as a client does, here by either service
      for (let attempt = round; goesOn; attempt += 1) {
        const key = { 'Idempotency-Key': `create-${round}` }
        const answer = await at(attempt).post('/api/pipeline-defs', request, key)
        count('create', answer)
        if (answer.status === 201) created.push((answer.body['definition'] as { id: string }).id)
        if (answer.status === 409 && answer.headers.get('retry-after') === null) lost += 1
        if (answer.status !== 503 && answer.headers.get('retry-after') === null) return
        await sleep(40)
      }
    }

    async function compact(round: number): Promise<void> {
      const table = `c.${TABLES[round % TABLES.length]}`
      const by = at(Math.floor(round / TABLES.length))
      count('compact', await by.post('/api/compact', { table, min_input_files: 2 }))
    }

    async function read(round: number): Promise<void> {
      for (const path of ['/api/operations', '/api/pipelines', '/api/audit', '/api/policies', '/api/pipeline-defs']) {
        count('read', await at(round).get(path))
      }
    }

    async function refuse(): Promise<void> {
      const response = await fetch(`http://127.0.0.1:${service.port}/api/tables`, {
        headers: { Authorization: `Bearer lh_wrong_${'0'.repeat(40)}` },
      })
      expect([401, 429, 503]).toContain(response.status)
      await response.body?.cancel()
    }

    /** Reads the stream of events, from the last one that it has seen. */
    async function follow(ms = FOLLOWED_MS): Promise<void> {
      const response = await fetch(`http://127.0.0.1:${service.port}/api/events?since=${streamed.at(-1) ?? before}`, {
        headers: { Authorization: `Bearer ${service.token}`, Accept: 'text/event-stream' },
        signal: AbortSignal.timeout(ms),
      }).catch(() => undefined)
      let text = ''
      try {
        for await (const chunk of response?.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          text += chunk
          const lines = text.split('\n')
          text = lines.pop() ?? ''
          streamed.push(...lines.flatMap((line) => (line.startsWith('id:') ? [Number(line.slice(3))] : [])))
        }
      } catch {
        // it is opened again
      }
    }

    /** The numbers of all events after one. */
    async function eventsSince(seq: number): Promise<readonly number[]> {
      const found: number[] = []
      for (;;) {
        const since = found.at(-1) ?? seq
        const page = await service.read<{ events: { seq: number }[] }>(`/api/events?since=${since}&limit=500`)
        if (page.events.length === 0) return found
        found.push(...page.events.map((event) => event.seq))
      }
    }

    async function cut(): Promise<number> {
      const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`.execute(db)
      return rows.length
    }

    async function operations(): Promise<readonly Operation[]> {
      const page = await service.read<{ operations: Operation[]; next_page_token: string | null }>(
        '/api/operations?page_size=1000',
      )
      expect(page.next_page_token).toBeNull()
      return page.operations
    }

    it('goes on, answers what it can, and loses nothing that it has confirmed', async () => {
      goesOn = true
      let commits = 0
      relay.judge = (piece, from) => {
        if (from === 'server' || !piece.includes('commit\0')) return 'pass'
        commits += 1
        if (commits % COMMITS_PER_CUT !== 0) return 'pass'
        unconfirmed += 1
        return 'cut after'
      }
      before = (await eventsSince(0)).at(-1) ?? 0
      streamed.length = 0
      const work = [
        meanwhile((round) => write(TABLES[round % TABLES.length] ?? ''), 25),
        meanwhile(create, 40),
        meanwhile(compact, 150),
        meanwhile(read, 30),
        meanwhile(refuse, 50),
        meanwhile(() => follow(), 20),
      ]
      let ended = 0
      try {
        // On a busy machine, the cuts go on until a creation was confirmed in between.
        for (let done = 0; done < CUTS || unconfirmed === 0 || created.length === 0; done += 1) {
          await Promise.race([sleep(Math.random() * LONGEST_CALM_MS), ...work])
          ended += await cut()
        }
      } finally {
        goesOn = false
        relay.judge = () => 'pass'
        await Promise.all(work)
      }
      process.stdout.write(
        `\n${ended} connections ended in ${CUTS} cuts, ${unconfirmed} cut after a commit; answers ${JSON.stringify(answers)}\n`,
      )
      expect(ended).toBeGreaterThan(CUTS)
      expect(unconfirmed).toBeGreaterThan(0)

      const paused = await service.put(`/api/policies/${policyId}`, { ...POLICY, mode: 'shadow' })
      expect(paused.status, JSON.stringify(paused.body)).toBe(200)
      const decisions = db.selectFrom('policy_decisions').selectAll().where('outcome', '=', 'running')
      await until(
        async () => (await decisions.execute()).length === 0,
        async () => `an end of all runs of the policy ${JSON.stringify(await decisions.execute())}\n${service.log}`,
        PATIENCE_MS,
      )
      await until(
        async () => (await operations()).every(({ state }) => state !== 'running'),
        async () => `an end of all operations ${JSON.stringify(await operations())}\n${service.log}`,
        PATIENCE_MS,
      )
      const ledger = await operations()
      for (const name of TABLES) {
        expect(await idsOf(lake, identifier(name)), `rows of ${name}`).toEqual(allOf(name))
        const ofTable = ledger.filter(({ table }) => table === `c.${name}`)
        await expectLedgerIsTrue(lake, identifier(name), ofTable)
      }
      for (const name of COPIED) {
        const copied = (): Promise<number[]> => idsOf(lake, identifier(`copy_of_${name}`))
        await until(
          async () => (await copied()).length >= allOf(name).length,
          async () => `${name} is copied ${JSON.stringify(await service.read('/api/pipelines'))}\n${service.log}`,
          PATIENCE_MS,
        )
        expect(await copied(), `rows copied from ${name}`).toEqual(allOf(name))
      }
      const duringCuts = streamed.length
      const events = await eventsSince(before)
      // On a busy machine, a stream may show its first event only after the time for which the cuts let it be read.
      for (let ms = FOLLOWED_MS; streamed.length < events.length && ms < PATIENCE_MS; ms *= 2) await follow(ms)
      expect(streamed.slice(0, events.length)).toEqual(events)
      await until(
        () => events.every((seq) => delivered.has(seq)),
        () => `a delivery of ${JSON.stringify(events.filter((seq) => !delivered.has(seq)))}\n${service.log}`,
        PATIENCE_MS,
      )
      process.stdout.write(
        `${events.length} events, all delivered and streamed, ${duringCuts} of them during the cuts\n`,
      )
      for (const id of created) expect((await service.get(`/api/pipeline-defs/${id}`)).status).toBe(200)
      expect(created.length).toBeGreaterThan(0)
      const definitions = await service.read<{ name: string }[]>('/api/pipeline-defs')
      expect(new Set(definitions.map(({ name }) => name)).size, 'no creation took effect twice').toBe(
        definitions.length,
      )
      // the last request may have been left without an answer
      expect(definitions.length - created.length - lost).toBeOneOf([0, 1])
      const last = Object.groupBy(ledger, ({ state }) => state)
      process.stdout.write(
        `${created.length} definitions confirmed and found, ${lost} without their answer; operations ${JSON.stringify(
          Object.fromEntries(Object.entries(last).map(([state, of]) => [state, of?.length])),
        )}\n`,
      )
      expect(last['unknown'] ?? []).toEqual([])
      expect(await service.read('/api/audit/verify')).toMatchObject({ ok: true })
    })
  },
)

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import type { TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service } from '../interop/harness/service.ts'
import { postgresPlace, postgresServer } from '../storage/open.ts'
import { LONG, runs } from '../support/effort.ts'
import { sleep, until } from '../support/waiting.ts'
import { QUICK_SERVICE } from './harness/rollouts.ts'
import { expectLedgerIsTrue, idsOf, type LedgerEntry } from './harness/table-checks.ts'

/** How often the service that carries out the policy is lost, for each way to lose it. */
const ROUNDS = Number(process.env['POLICY_REPLICA_ROUNDS'] ?? runs(8, 2))
const TABLES = Array.from({ length: 16 }, (_, at) => `t${at}`)
const ROWS_PER_FILE = 50
/** A fault comes up to this long after an operation was seen to run: most take some hundred milliseconds. */
const LATEST_FAULT_MS = 300
const PATIENCE_MS = 90_000
const POLICY = {
  name: 'all tables',
  tables: ['p.*'],
  operations: [{ operation: 'compact', options: { min_input_files: 2 } }, { operation: 'rewrite_manifests' }],
  when: { small_files_over: 6, commits_since_last_over: 15 },
  budget: { concurrent_operations: 3 },
  cooldown: '1 minute',
  mode: 'shadow',
}

/** A service process and its number in the state database. */
interface Replica {
  readonly service: Service
  readonly id: number
}

interface Operation extends LedgerEntry {
  readonly operation: string
  readonly table: string
  readonly requested_by: string
  readonly request_id: string
  readonly started_at: string | null
  readonly finished_at: string | null
}

describe.skipIf(postgresServer === undefined)(
  'an active policy of two services on one PostgreSQL',
  { timeout: 300_000 + ROUNDS * 120_000, ...LONG },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'policies-replicas-'))
    const identifier = (name: string): TableIdentifier => ({ namespace: ['p'], name })
    const written = new Map<string, number>()
    let lake: Lakehouse
    let database: { place: string; remove: () => Promise<void> }
    let db: Kysely<StateTables>
    let replicas: [Replica, Replica]
    let policyId = ''
    let homes = 0
    let commits = 0

    beforeAll(async () => {
      lake = await openLakehouse(`${folder}/lake`, 'hadoop')
      await lake.catalog.createNamespace(['p'])
      const fields = [{ id: 1, name: 'id', required: false, type: { kind: 'long' as const } }]
      for (const name of TABLES) {
        await lake.catalog.createTable(identifier(name), { schema: { schemaId: 0, identifierFieldIds: [], fields } })
      }
      database = await postgresPlace()
      db = new Kysely<StateTables>({ dialect: postgresDialect(database.place) })
      const first = await startReplica()
      await first.service.configure(lake.settings)
      replicas = [first, await startReplica()]
      const created = await first.service.post('/api/policies', POLICY)
      expect(created.status, JSON.stringify(created.body)).toBe(201)
      policyId = String(created.body['id'])
    })

    async function setMode(mode: string): Promise<void> {
      const { status, body } = await replicas[0].service.put(`/api/policies/${policyId}`, { ...POLICY, mode })
      expect(status, JSON.stringify(body)).toBe(200)
    }

    afterAll(async () => {
      for (const { service } of replicas ?? []) await service.stop()
      await lake?.close()
      await db?.destroy()
      await database?.remove()
      rmSync(folder, { recursive: true, force: true })
    })

    async function startReplica(): Promise<Replica> {
      homes += 1
      const service = await Service.start({
        home: `${folder}/home-${homes}`,
        entry: QUICK_SERVICE,
        env: {
          DATABASE_URL: database.place,
          AUDIT_KEY: 'a key that both replicas know, of 32 characters or more',
          FAULTS_LEASE_MS: '3000',
        },
      })
      const query = db.selectFrom('instances').select('id').orderBy('id', 'desc').limit(1)
      return { service, id: (await query.executeTakeFirstOrThrow()).id }
    }

    /** Appends to all tables in turn until it is stopped. */
    function writeOn(): () => Promise<void> {
      const state = { goesOn: true }
      const done = (async () => {
        for (let next = 0; state.goesOn; next += 1) {
          const name = TABLES[next % TABLES.length] ?? ''
          const first = written.get(name) ?? 0
          await lake.append(identifier(name), `SELECT i AS c1 FROM range(${first}, ${first + ROWS_PER_FILE}) t(i)`)
          written.set(name, first + ROWS_PER_FILE)
          commits += 1
          await sleep(25)
        }
      })()
      return async () => {
        state.goesOn = false
        await done
      }
    }

    /** The replica that runs an operation of the policy on a table that it has to itself. */
    async function busy(): Promise<{ replica: Replica; other: Replica; table: string; operation: string }> {
      const query = db
        .selectFrom('operations')
        .select(['id', 'instance_id', 'table_name'])
        .where('state', '=', 'running')
        .where('started_at', 'is not', null)
      const running = await until(
        async () => {
          const found = await query.execute()
          return found.find(({ instance_id: id }) => replicas.some((replica) => replica.id === id))
        },
        'a running operation',
        PATIENCE_MS,
      )
      const [one, two] = replicas
      const isFirst = running.instance_id === one.id
      const [replica, other] = isFirst ? [one, two] : [two, one]
      return { replica, other, table: running.table_name, operation: running.id }
    }

    async function succeeded(): Promise<number> {
      const query = db.selectFrom('operations').select('id').where('state', '=', 'succeeded')
      return (await query.execute()).length
    }

    async function operations({ service } = replicas[0]): Promise<readonly Operation[]> {
      const found: Operation[] = []
      for (let token = ''; ;) {
        const path = `/api/operations?page_size=1000&page_token=${encodeURIComponent(token)}`
        const page = await service.read<{ operations: Operation[]; next_page_token: string | null }>(path)
        found.push(...page.operations)
        if (page.next_page_token === null) return found
        token = page.next_page_token
      }
    }

    /** Waits until nothing runs any more, and compares the ledger with what the tables say happened. */
    async function judge(): Promise<readonly Operation[]> {
      await setMode('shadow')
      const decisions = db.selectFrom('policy_decisions').select('id').where('outcome', '=', 'running')
      await until(
        async () => (await decisions.execute()).length === 0,
        async () => `an end of all runs of the policy ${JSON.stringify(await decisions.execute())}`,
        PATIENCE_MS,
      )
      await until(
        async () => (await operations()).every(({ state }) => state !== 'running'),
        async () => `an end of all operations ${JSON.stringify(await operations())}`,
        PATIENCE_MS,
      )
      const ledger = await operations()
      expect(ledger.filter(({ state }) => state === 'unknown')).toEqual([])
      for (const name of TABLES) {
        const expected = Array.from({ length: written.get(name) ?? 0 }, (_, id) => id)
        expect(await idsOf(lake, identifier(name)), `rows of ${name}`).toEqual(expected)
        const ofTable = ledger.filter(({ table }) => table === `p.${name}`)
        await expectLedgerIsTrue(lake, identifier(name), ofTable)
      }
      return ledger
    }

    async function summary(ledger: readonly Operation[], losses: number, how: string): Promise<void> {
      const states: Record<string, number> = {}
      for (const { state } of ledger) states[state] = (states[state] ?? 0) + 1
      const rows = [...written.values()].reduce((total, count) => total + count, 0)
      process.stdout.write(
        `\n${how} ${losses} times: ${commits} commits of ${rows} rows, 0 lost; operations ${JSON.stringify(states)}\n`,
      )
    }

    it('is carried on by the other one after a kill: nothing twice, no row lost', async () => {
      await setMode('active')
      const stopWriting = writeOn()
      const killed = new Set<number>()
      try {
        for (let round = 0; round < ROUNDS; round += 1) {
          const { replica, other } = await busy()
          await sleep(Math.random() * LATEST_FAULT_MS)
          await replica.service.kill()
          killed.add(replica.id)
          const done = await succeeded()
          replicas = [other, await startReplica()]
          await until(async () => (await succeeded()) > done, 'an operation that succeeds after a kill', PATIENCE_MS)
        }
      } finally {
        await stopWriting()
      }
      const ledger = await judge()
      await summary(ledger, killed.size, 'killed')
      expect(killed.size).toBe(ROUNDS)
      const ofPolicy = ledger.filter(({ requested_by: by }) => by === 'policy:all tables')
      expect(ofPolicy.filter(({ state }) => state === 'succeeded').length).toBeGreaterThanOrEqual(ROUNDS)
      // each decision has at most one operation
      expect(new Set(ofPolicy.map(({ request_id: id }) => id)).size).toBe(ofPolicy.length)
      for (const name of TABLES) {
        const onTable = ofPolicy.filter(({ table }) => table === `p.${name}`)
        expect(mostAtOnce(onTable), `at once on ${name}`).toBeLessThanOrEqual(1)
      }
    })

    it('does not commit what a paused process had begun, once another one has taken the table', async () => {
      await setMode('active')
      const stopWriting = writeOn()
      const ends: Record<string, number> = {}
      try {
        for (let round = 0; round < ROUNDS; round += 1) {
          const { replica, other, table, operation } = await busy()
          await sleep(Math.random() * LATEST_FAULT_MS)
          replica.service.signal('SIGSTOP')
          // waits until the lock of the paused process has ended
          const taken = await other.service.post('/api/compact', { table, min_input_files: 2 })
          expect(taken.status, JSON.stringify(taken.body)).toBe(200)
          const before = (await lake.catalog.loadTable(identifier(table.slice(2)))).metadata.snapshots
          const isCommitted = before.some(({ summary: of }) => of?.['lockhouse.operation-id'] === operation)
          replica.service.signal('SIGCONT')
          const ended = await until(
            async () => {
              const { state } = await other.service.read<Operation>(`/api/operations/${operation}`)
              return state !== 'running' && state
            },
            async () => `an end of ${operation}: ${JSON.stringify(await operations())}\n${replica.service.log}`,
            PATIENCE_MS,
          )
          ends[ended] = (ends[ended] ?? 0) + 1
          const after = (await lake.catalog.loadTable(identifier(table.slice(2)))).metadata.snapshots
          const commitsOf = after.filter(({ summary: of }) => of?.['lockhouse.operation-id'] === operation)
          expect(commitsOf.length, `${operation}, ${ended}`).toBe(isCommitted ? 1 : 0)
          await sleep(100)
        }
      } finally {
        await stopWriting()
        for (const { service } of replicas) service.signal('SIGCONT')
      }
      process.stdout.write(`\npaused operations ended: ${JSON.stringify(ends)}\n`)
      await summary(await judge(), ROUNDS, 'paused')
    })

    it('settles what a process had begun that stands still without a connection, which then commits nothing', async () => {
      await setMode('active')
      const stopWriting = writeOn()
      const ends: Record<string, number> = {}
      try {
        for (let round = 0; round < ROUNDS / 2; round += 1) {
          const { replica, other, operation } = await busy()
          await sleep(Math.random() * LATEST_FAULT_MS)
          replica.service.signal('SIGSTOP')
          await endRegistration(replica.id)
          const ended = await until(
            async () => {
              const { state } = await other.service.read<Operation>(`/api/operations/${operation}`)
              return state !== 'running' && state
            },
            async () =>
              `a settlement of ${operation}: ${JSON.stringify(await operations(other))}\n${other.service.log}`,
            PATIENCE_MS,
          )
          ends[ended] = (ends[ended] ?? 0) + 1
          replica.service.signal('SIGCONT')
          await until(async () => await isRegistered(replica.id), 'a new registration', PATIENCE_MS)
        }
      } finally {
        await stopWriting()
        for (const { service } of replicas) service.signal('SIGCONT')
      }
      process.stdout.write(`\noperations without a connection ended: ${JSON.stringify(ends)}\n`)
      expect(ends['failed']).toBeGreaterThan(0)
      await summary(await judge(), Math.ceil(ROUNDS / 2), 'paused without a connection')
    })

    /** The connections whose lock shows that a process runs. */
    const registrations = (id: number) =>
      sql<{ pid: number }>`select pid from pg_locks where locktype = 'advisory' and objid = ${id} and granted
        and database = (select oid from pg_database where datname = current_database())`

    async function isRegistered(id: number): Promise<boolean> {
      return (await registrations(id).execute(db)).rows.length > 0
    }

    async function endRegistration(id: number): Promise<void> {
      for (const { pid } of (await registrations(id).execute(db)).rows) {
        await sql`select pg_terminate_backend(${pid})`.execute(db)
      }
    }
  },
)

/** How many operations had a table at the same time, as the ledger says; one that a kill ended ends with its successor. */
function mostAtOnce(operations: readonly Operation[]): number {
  const moments = operations.flatMap(({ started_at: from, finished_at: to }) =>
    from === null || to === null ? [] : [[Date.parse(from), 1] as const, [Date.parse(to), -1] as const],
  )
  moments.sort(([a, first], [b, second]) => a - b || first - second)
  let now = 0
  let most = 0
  for (const [, change] of moments) {
    now += change
    most = Math.max(most, now)
  }
  return most
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import type { Engine } from '../../../src/engines/engine.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { createAuditRecorder } from '../../../src/services/audit/audit-service.ts'
import { createEventWriter } from '../../../src/services/events/event-log.ts'
import { createLogger } from '../../../src/services/logger.ts'
import { createOperationLedger } from '../../../src/services/operations/ledger.ts'
import { createTableLock } from '../../../src/services/tables/table-lock.ts'
import { createAuditStore } from '../../../src/storage/stores/audit-store.ts'
import { createEventStore } from '../../../src/storage/stores/event-store.ts'
import { createLeaseStore, type LeaseStore } from '../../../src/storage/stores/lease-store.ts'
import { createOperationStore } from '../../../src/storage/stores/operations/operation-store.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { postgresDialect } from '../../../src/storage/dialects/postgres.ts'
import { type Lakehouse, openLakehouse } from '../../interop/harness/lakehouse.ts'
import { describeDatabases, postgresPlace, postgresServer } from '../../storage/open.ts'
import { LONG } from '../../support/effort.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { sleep, until } from '../../support/waiting.ts'

const TABLE = { namespace: ['db'], name: 'events' }
const NAME = 'db.events'
const FILES = 6
const ROWS = 10

interface LedgerEntry {
  readonly started_at: string | null
}

/** A service whose rewrites finish only when a test lets them, or when they are cancelled. */
interface Replica {
  readonly service: TestService
  readonly gate: { isOpen: boolean; waiting: number }
}

describeDatabases('locks of two processes', (databases) => {
  it('are taken over only when their time has passed, also from a process that seems to have ended', async () => {
    const leaseMs = 700
    const db = await databases.open()
    const lockOf = (id: number) =>
      createTableLock({
        leases: createLeaseStore(db),
        instance: { id, isShared: true },
        now: () => new Date(),
        log: createLogger('silent', () => undefined),
        times: { leaseMs, renewMs: 3_600_000, pollMs: 20 },
      })
    const [one, other] = [lockOf(1), lockOf(2)]
    const holder = () => ({ signal: new AbortController().signal, abort: () => undefined })
    const going = Promise.withResolvers<void>()
    const confirmed = Promise.withResolvers<number>()
    const first = one.run(NAME, holder(), async (hold) => {
      const before = Date.now() // the answer may be late on a busy machine; the lease is not longer for it
      await hold.confirm()
      confirmed.resolve(before)
      await going.promise // it commits now, and its connection is gone
      return hold.confirm()
    })
    const until = (await confirmed.promise) + leaseMs
    expect(await other.runIfFree(NAME, async () => 'settled')).toBeUndefined()
    const began = await other.run(NAME, holder(), async () => Date.now())
    expect(began).toBeGreaterThanOrEqual(until - 50)
    expect(await other.runIfFree(NAME, async () => 'settled')).toBe('settled')
    going.resolve()
    await expect(first).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('are lost when the database does not answer a renewal before their time has passed', async () => {
    const leases = createLeaseStore(await databases.open())
    let isSilent = false
    const silent: LeaseStore = {
      ...leases,
      renew: (...request) => (isSilent ? new Promise(() => undefined) : leases.renew(...request)),
    }
    const lock = createTableLock({
      leases: silent,
      instance: { id: 1, isShared: true },
      now: () => new Date(),
      log: createLogger('silent', () => undefined),
      times: { leaseMs: 500, renewMs: 50, pollMs: 20 },
    })
    const lost: unknown[] = []
    const holder = { signal: new AbortController().signal, abort: (reason: unknown) => void lost.push(reason) }
    const run = lock.run(NAME, holder, async (hold) => {
      isSilent = true
      await expect(hold.confirm()).rejects.toMatchObject({ code: 'CANCELLED' })
      await until(() => lost.length > 0, 'a cancellation of the work')
    })
    await run
    expect(lost[0]).toMatchObject({ code: 'CANCELLED' })
  })

  it('end work that confirms nothing when the database does not answer a renewal', async () => {
    const leases = createLeaseStore(await databases.open())
    const lock = createTableLock({
      leases: { ...leases, renew: () => new Promise(() => undefined) },
      instance: { id: 1, isShared: true },
      now: () => new Date(),
      log: createLogger('silent', () => undefined),
      times: { leaseMs: 500, renewMs: 50, pollMs: 20 },
    })
    const lost = Promise.withResolvers<unknown>()
    const holder = { signal: new AbortController().signal, abort: lost.resolve }
    await lock.run(NAME, holder, async () => expect(await lost.promise).toMatchObject({ code: 'CANCELLED' }))
  })

  it('are not free while work of the same process waits', async () => {
    const lock = createTableLock({
      leases: createLeaseStore(await databases.open()),
      instance: { id: 1, isShared: true },
      now: () => new Date(),
      log: createLogger('silent', () => undefined),
    })
    const going = Promise.withResolvers<void>()
    const holder = { signal: new AbortController().signal, abort: () => undefined }
    const run = lock.run(NAME, holder, () => going.promise)
    expect(await lock.runIfFree(NAME, async () => 'settled')).toBeUndefined()
    going.resolve()
    await run
    expect(await lock.runIfFree(NAME, async () => 'settled')).toBe('settled')
  })

  it('leave an operation to the process that has taken it over', async () => {
    const db = await databases.open()
    const operations = createOperationStore(db)
    const { inTransaction } = createTransactions(db)
    const audit = createAuditRecorder(createAuditStore(db, new Uint8Array(32)), () => new Date())
    const events = createEventWriter(createEventStore(db), () => new Date())
    const [one, other, third] = [1, 2, 3].map((instanceId) =>
      createOperationLedger({ inTransaction, audit, events, instanceId }),
    )
    const createdAt = new Date().toISOString()
    const context = { caller: { user: 'ada', role: 'DataEngineer', via: 'token' }, requestId: 'req-1' } as const
    await one?.begin({ id: 'op-1', kind: 'compact', table: NAME, request: {}, createdAt }, context)
    const begun = await operations.find('op-1')
    if (begun === undefined) throw new Error('the operation is not in the ledger')
    expect([await other?.adopt(begun), await third?.adopt(begun)]).toEqual([true, false])
    const outcome = { state: 'cancelled', finishedAt: createdAt } as const
    expect(await one?.finish('op-1', outcome, context)).toBe(false)
    expect(await other?.finish('op-1', { ...outcome, state: 'succeeded' }, undefined)).toBe(true)
    expect(await operations.find('op-1')).toMatchObject({ state: 'succeeded', instanceId: 2 })
  })
})

describe.skipIf(postgresServer === undefined)('two services on one PostgreSQL', LONG, () => {
  let folder = ''
  let lake: Lakehouse
  let database: { place: string; remove: () => Promise<void> }
  let replicas: Replica[] = []
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'table-lock-'))
    lake = await openLakehouse(folder, 'hadoop')
    await lake.catalog.createNamespace(TABLE.namespace)
    const fields = [{ id: 1, name: 'id', required: false, type: { kind: 'long' as const } }]
    await lake.catalog.createTable(TABLE, { schema: { schemaId: 0, identifierFieldIds: [], fields } })
    for (let file = 0; file < FILES; file += 1) {
      await lake.append(TABLE, `SELECT i AS c1 FROM range(${file * ROWS}, ${(file + 1) * ROWS}) t(i)`)
    }
    database = await postgresPlace()
  })
  afterEach(async () => {
    for (const { service, gate } of replicas) {
      gate.isOpen = true
      await service.close()
    }
    replicas = []
    await lake.close()
    await database.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  async function start(tableLocks: object): Promise<Replica> {
    const gate = { isOpen: true, waiting: 0 }
    const service = await startTestService({
      env: { DATABASE_URL: database.place, AUDIT_KEY: 'a key that both replicas know, of 32 characters or more' },
      overrides: {
        tableLocks,
        automation: { index: { pollMs: 50, remeasureMs: 0 }, policyTickMs: 100 },
        wrapEngine: (engine): Engine => ({
          ...engine,
          async rewrite(task, options) {
            const files = await engine.rewrite(task, options)
            gate.waiting += 1
            await until(() => gate.isOpen || options?.signal?.aborted, 'an open gate')
            gate.waiting -= 1
            return files
          },
          close: () => engine.close(),
          ping: () => engine.ping(),
        }),
      },
    })
    const replica = { service, gate }
    if (replicas.length === 0)
      expect((await service.call('PUT', '/api/config', { body: lake.settings })).status).toBe(200)
    replicas.push(replica)
    return replica
  }

  const compact = ({ service }: Replica) => service.post('/api/compact', { table: NAME, min_input_files: 2 })
  const expire = ({ service }: Replica) =>
    service.post('/api/expire', { table: NAME, retain_last: 1, older_than: new Date().toISOString() })

  async function operations({ service }: Replica) {
    const { body } = await service.get('/api/operations')
    return new Map<string, LedgerEntry>(body.operations.map((one: { operation: string }) => [one.operation, one]))
  }

  async function endConnections(): Promise<void> {
    const db = new Kysely<unknown>({ dialect: postgresDialect(database.place) })
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(db)
    await db.destroy()
  }

  async function tableNow() {
    const table = await lake.catalog.loadTable(TABLE)
    const tasks = await planFiles(table)
    const rows = tasks.reduce((total, { dataFile }) => total + dataFile.recordCount, 0)
    return { rows, files: tasks.map(({ dataFile }) => dataFile.filePath), snapshots: table.metadata.snapshots.length }
  }

  async function parquetFiles(): Promise<number> {
    const { io, metadata } = await lake.catalog.loadTable(TABLE)
    let found = 0
    for await (const { location } of io.list(metadata.location)) if (location.endsWith('.parquet')) found += 1
    return found
  }

  it('run operations on a table one after the other, also when different people start them on different services', async () => {
    const times = { leaseMs: 1500, renewMs: 100, pollMs: 20 }
    const [one, other] = [await start(times), await start(times)]
    one.gate.isOpen = false
    const compaction = compact(one)
    await until(() => one.gate.waiting > 0, 'a compaction in the engine')
    const expiry = expire(other)
    await until(async () => (await operations(other)).has('expire'))
    await sleep(1.3 * times.leaseMs) // it is renewed
    expect((await operations(other)).get('expire')).toMatchObject({ state: 'running', started_at: null })
    one.gate.isOpen = true
    expect((await compaction).status).toBe(200)
    expect((await expiry).status).toBe(200)
    expect((await operations(other)).get('expire')?.started_at).toEqual(expect.any(String))
    expect(await tableNow()).toMatchObject({ rows: FILES * ROWS, snapshots: 1, files: [expect.any(String)] })
  })

  it('refuse the commit of a service that did not renew its lock, even after the lock was given back', async () => {
    const one = await start({ leaseMs: 400, renewMs: 3_600_000, pollMs: 20 })
    const other = await start({ leaseMs: 5000, renewMs: 100, pollMs: 20 })
    one.gate.isOpen = false
    const compaction = compact(one)
    await until(() => one.gate.waiting > 0, 'a compaction in the engine')
    expect((await expire(other)).status).toBe(200)
    const between = await tableNow()
    expect(between).toMatchObject({ rows: FILES * ROWS, snapshots: 1 })
    one.gate.isOpen = true
    const { status, body } = await compaction
    expect([status, body.code], JSON.stringify(body)).toEqual([409, 'CANCELLED'])
    expect((await operations(other)).get('compact')).toMatchObject({
      state: 'cancelled',
      error: { code: 'CANCELLED', message: expect.stringContaining('did not renew its lock in time') },
    })
    expect(await tableNow()).toEqual(between)
    expect(await parquetFiles()).toBe(FILES)
  })

  it('leave an operation alone whose service has lost its connections for a moment', async () => {
    const times = { leaseMs: 300, renewMs: 3_600_000, pollMs: 20 }
    const [other, one] = [await start(times), await start(times)] // the first one settles what an ended process left
    one.gate.isOpen = false
    const compaction = compact(one)
    await until(() => one.gate.waiting > 0, 'a compaction in the engine')
    await endConnections()
    await sleep(6000) // several looks of the other service at what is not settled
    expect((await operations(other)).get('compact')).toMatchObject({ state: 'running' })
    one.gate.isOpen = true
    const { status, body } = await compaction
    expect(status, JSON.stringify(body)).toBe(200)
    expect(await tableNow()).toMatchObject({ rows: FILES * ROWS, files: [expect.any(String)] })
    expect(await parquetFiles()).toBe(FILES + 1)
  })

  it('let people come before policies, also when the operation of the policy runs in another service', async () => {
    const times = { leaseMs: 5000, renewMs: 100, pollMs: 20 }
    const both = [await start(times), await start(times)] as const
    for (const { gate } of both) gate.isOpen = false
    const policy = {
      name: 'all',
      tables: ['db.*'],
      operations: [{ operation: 'compact', options: { min_input_files: 2 } }],
      when: { small_files_over: 2 },
      mode: 'active',
    }
    expect((await both[0].service.post('/api/policies', policy)).status).toBe(201)
    const busy = await until(() => both.find(({ gate }) => gate.waiting > 0), 'a compaction of the policy')
    const idle = both[0] === busy ? both[1] : both[0]
    expect((await expire(idle)).status).toBe(200)
    expect((await operations(idle)).get('compact')).toMatchObject({
      requested_by: 'policy:all',
      state: 'cancelled',
      error: { code: 'CANCELLED' },
    })
    expect(await tableNow()).toMatchObject({ rows: FILES * ROWS, snapshots: 1 })
  })
})

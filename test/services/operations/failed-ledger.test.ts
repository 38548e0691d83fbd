import { Kysely, sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { createAuditRecorder } from '../../../src/services/audit/audit-service.ts'
import { createEventWriter } from '../../../src/services/events/event-log.ts'
import { createLogger } from '../../../src/services/logger.ts'
import { createOperationLedger } from '../../../src/services/operations/ledger.ts'
import { createOperationService } from '../../../src/services/operations/operation-service.ts'
import { createAuditStore } from '../../../src/storage/stores/audit-store.ts'
import { createEventStore } from '../../../src/storage/stores/event-store.ts'
import { createOperationStore } from '../../../src/storage/stores/operations/operation-store.ts'
import type { StateTables } from '../../../src/storage/schema.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { postgresDialect } from '../../../src/storage/dialects/postgres.ts'
import { openStateDatabase } from '../../../src/storage/state-database.ts'
import { describeDatabases, postgresPlace, postgresServer } from '../../storage/open.ts'
import { LONG } from '../../support/effort.ts'
import { Relay } from '../../support/network/relay.ts'
import { until } from '../../support/waiting.ts'

/** The lock under which all writing transactions run (src/storage/transactions.ts). */
const WRITE_LOCK = 7_281_114

describeDatabases('an operation while the ledger cannot be written', (databases) => {
  async function lab() {
    const db = await databases.open()
    const now = () => new Date()
    const { inTransaction } = createTransactions(db)
    const audit = createAuditRecorder(createAuditStore(db, new Uint8Array(32)), now)
    const events = createEventWriter(createEventStore(db), now)
    const lines: string[] = []
    const service = createOperationService({
      operations: createOperationStore(db),
      ledger: createOperationLedger({ inTransaction, audit, events, instanceId: 1 }),
      newId: () => 'op-1',
      now,
      log: createLogger('warn', (line) => lines.push(line)),
    })
    const work = {
      kind: 'compact',
      table: 's.events',
      context: { caller: { user: 'ada', role: 'DataEngineer', via: 'token' }, requestId: 'req-1' } as const,
      request: {},
    }
    const logged = (message: string) => lines.map((line) => JSON.parse(line)).filter((line) => line.message === message)
    return { db, service, work, logged }
  }

  it('has the reason of its failure in the log', async () => {
    const { db, service, work, logged } = await lab()
    const { done } = await service.start({
      ...work,
      async run() {
        await db.destroy()
        throw new Error('the disk is full')
      },
    })
    await expect(done).rejects.toThrow()
    const reason = { operation_id: 'op-1', request_id: 'req-1', error: { message: 'the disk is full' } }
    expect(logged('operation failed')).toMatchObject([reason])
  })

  it('is given up with one error when repeating cannot help', async () => {
    const { db, service, work, logged } = await lab()
    const { done } = await service.start({
      ...work,
      async run() {
        await db.schema.dropTable('events').execute()
        return { result: { rows: 1 }, details: {} }
      },
    })
    await expect(done).rejects.toThrow()
    await service.shutDown()
    expect(logged('the outcome of an operation was not written; trying again')).toEqual([])
    expect(logged('the outcome of an operation cannot be written')).toMatchObject([{ operation_id: 'op-1' }])
    expect(await createOperationStore(db).find('op-1')).toMatchObject({ state: 'running' })
  })
})

describe.skipIf(postgresServer === undefined)('an operation whose connection to the ledger breaks', () => {
  it('ends in the ledger all the same, once', async () => {
    const { place, remove } = await postgresPlace()
    const db = await openStateDatabase(postgresDialect(place))
    const administrator = new Kysely<Record<string, never>>({ dialect: postgresDialect(place) })
    const now = () => new Date()
    const { inTransaction } = createTransactions(db)
    const audit = createAuditRecorder(createAuditStore(db, new Uint8Array(32)), now)
    const events = createEventWriter(createEventStore(db), now)
    const operations = createOperationStore(db)
    const service = createOperationService({
      operations,
      ledger: createOperationLedger({ inTransaction, audit, events, instanceId: 1 }),
      newId: () => 'op-1',
      now,
      log: createLogger('silent', () => undefined),
    })
    let terminated: Promise<unknown> = Promise.resolve()
    const { done } = await service.start({
      kind: 'compact',
      table: 's.events',
      context: { caller: { user: 'ada', role: 'DataEngineer', via: 'token' }, requestId: 'req-1' },
      request: {},
      async run() {
        const locked = Promise.withResolvers<void>()
        terminated = administrator.transaction().execute(async (tx) => {
          await sql`select pg_advisory_xact_lock(${sql.lit(WRITE_LOCK)})`.execute(tx)
          locked.resolve()
          // ends the connection that waits to write the outcome
          await until(async () => {
            const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and wait_event = 'advisory'`.execute(tx)
            return rows.length > 0
          }, 'a waiting transaction')
        })
        await locked.promise
        return { result: { rows: 1 }, details: {} }
      },
    })
    expect(await done).toEqual({ rows: 1 })
    await terminated
    expect(await operations.find('op-1')).toMatchObject({ state: 'succeeded', result: { rows: 1 } })
    const finished = await db.selectFrom('events').select('type').where('type', '=', 'operation.finished').execute()
    expect(finished).toHaveLength(1)
    await administrator.destroy()
    await db.destroy()
    await remove()
  })

  /** A service whose connections pass a relay. */
  async function behindRelay() {
    const { place, remove } = await postgresPlace()
    const direct = await openStateDatabase(postgresDialect(place))
    const server = new URL(place)
    const relay = await Relay.start({ host: server.hostname, port: Number(server.port) })
    server.port = String(relay.port)
    const db = new Kysely<StateTables>({ dialect: postgresDialect(server.href) })
    const now = () => new Date()
    const { inTransaction } = createTransactions(db)
    const audit = createAuditRecorder(createAuditStore(db, new Uint8Array(32)), now)
    const service = createOperationService({
      operations: createOperationStore(db),
      ledger: createOperationLedger({
        inTransaction,
        audit,
        events: createEventWriter(createEventStore(db), now),
        instanceId: 1,
      }),
      newId: () => 'op-1',
      now,
      log: createLogger('silent', () => undefined),
    })
    let ran = 0
    const work = {
      kind: 'compact',
      table: 's.events',
      context: { caller: { user: 'ada', role: 'DataEngineer', via: 'token' }, requestId: 'req-1' } as const,
      request: {},
      async run() {
        ran += 1
        return { result: { rows: 1 }, details: {} }
      },
    }
    return {
      relay,
      service,
      work,
      ran: () => ran,
      /** As the database has it. */
      stored: () => createOperationStore(direct).find('op-1'),
      eventTypes: async () => {
        const rows = await direct.selectFrom('events').select('type').orderBy('seq').execute()
        return rows.map(({ type }) => type)
      },
      async close() {
        await service.shutDown()
        await db.destroy()
        await direct.destroy()
        await relay.close()
        await remove()
      },
    }
  }

  it('does not stay running when its beginning was stored and not confirmed', async () => {
    const { relay, service, work, ran, stored, eventTypes, close } = await behindRelay()
    relay.judge = (piece, from) => {
      if (from === 'server' || !piece.includes('commit\0')) return 'pass'
      relay.judge = () => 'pass'
      return 'cut after'
    }
    await expect(service.start(work)).rejects.toMatchObject({ name: 'DatabaseError', refused: false })
    const ended = await until(async () => {
      const operation = await stored()
      return operation?.state !== 'running' && operation
    }, 'the end of the operation')
    expect(ended).toMatchObject({ state: 'failed', error: { code: 'INTERRUPTED' } })
    expect(ran()).toBe(0)
    expect(await eventTypes()).toEqual(['operation.started', 'operation.finished', 'operation.failed'])
    await close()
  })

  it('has its outcome in the ledger when the database is back after a long time', LONG, async () => {
    const { relay, service, work, stored, eventTypes, close } = await behindRelay()
    const { done } = await service.start({
      ...work,
      async run() {
        await relay.refuse()
        relay.cut()
        return { result: { rows: 1 }, details: {} }
      },
    })
    await expect(done).rejects.toMatchObject({ name: 'DatabaseError', code: 'CANNOT_OPEN' })
    expect(await stored()).toMatchObject({ state: 'running' })
    await relay.listen()
    const ended = await until(async () => {
      const operation = await stored()
      return operation?.state !== 'running' && operation
    }, 'the end of the operation')
    expect(ended).toMatchObject({ state: 'succeeded', result: { rows: 1 } })
    expect(await eventTypes()).toEqual(['operation.started', 'operation.finished'])
    await close()
  })
})

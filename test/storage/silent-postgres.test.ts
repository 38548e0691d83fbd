import { Kysely, sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'

import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { openStateDatabase } from '../../src/storage/state-database.ts'
import { createTransactions } from '../../src/storage/transactions.ts'
import { Relay } from '../support/network/relay.ts'
import { postgresPlace, postgresServer } from './open.ts'

const closings: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

/** A state database behind a relay that can swallow all traffic and close nothing. */
async function behindRelay() {
  const { place, remove } = await postgresPlace()
  closings.push(remove)
  await (await openStateDatabase(postgresDialect(place))).destroy()
  const server = new URL(place)
  const relay = await Relay.start({ host: server.hostname, port: Number(server.port) })
  closings.push(() => relay.close())
  server.port = String(relay.port)
  const open = (answerMs: number): Kysely<StateTables> => {
    const db = new Kysely<StateTables>({ dialect: postgresDialect(server.href, { answerMs }) })
    closings.push(() => db.destroy())
    return db
  }
  return { relay, open }
}

const LOST = { name: 'DatabaseError', code: 'CANNOT_OPEN', message: expect.stringContaining('did not answer in time') }

describe.skipIf(postgresServer === undefined)('a PostgreSQL that is lost in silence', () => {
  it('fails a query, and the transaction around it, when no answer comes', async () => {
    const { relay, open } = await behindRelay()
    const db = open(300)
    await sql`select 1`.execute(db)
    relay.judge = () => 'stall'
    await expect(sql`select 1`.execute(db)).rejects.toMatchObject(LOST)
    relay.judge = () => 'pass'
    const { inTransaction } = createTransactions(db)
    const statements: string[] = []
    relay.judge = (piece) => {
      statements.push(piece.toString('latin1'))
      return piece.includes('select 42') ? 'stall' : 'pass'
    }
    const work = inTransaction(async (tx) => void (await sql`select 42`.execute(tx)))
    await expect(work).rejects.toMatchObject({ name: 'DatabaseError', code: 'CANNOT_OPEN' })
    relay.judge = (piece) => (piece.includes('commit\0') ? 'stall' : 'pass')
    const committing = inTransaction(async (tx) => void (await sql`select 43`.execute(tx)))
    await expect(committing).rejects.toMatchObject({ ...LOST, refused: false }) // the commit may have arrived
    // a rollback behind a statement without an answer would wait as long again
    expect(statements.filter((piece) => piece.includes('rollback'))).toEqual([])
    relay.judge = () => 'pass'
    expect((await sql<{ n: number }>`select 1 as n`.execute(db)).rows).toEqual([{ n: 1 }])
  })

  it('is told to end statements and connections that nobody waits for any more', async () => {
    const { open } = await behindRelay()
    const names = [
      'statement_timeout',
      'idle_in_transaction_session_timeout',
      'tcp_user_timeout',
      'tcp_keepalives_idle',
    ]
    const { rows } = await sql<{ name: string; setting: string }>`select name, setting from pg_settings
      where name in (${sql.join(names)})`.execute(open(5000))
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, Number(setting)]))).toEqual({
      statement_timeout: 30_000,
      idle_in_transaction_session_timeout: 10_000,
      tcp_user_timeout: 20_000,
      tcp_keepalives_idle: 10,
    })
  })
})

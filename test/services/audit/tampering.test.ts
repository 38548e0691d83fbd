import { createHash } from 'node:crypto'

import { sql } from 'kysely'
import { expect, it } from 'vitest'

import type { RequestContext } from '../../../src/domain/audit.ts'
import { type AuditCheckpoint, createAuditLog } from '../../../src/services/audit/audit-log.ts'
import { createAuditRecorder } from '../../../src/services/audit/audit-service.ts'
import { rowHash } from '../../../src/storage/audit-chain.ts'
import { createAuditStore } from '../../../src/storage/stores/audit-store.ts'
import type { AuditEventsTable, AuditHeadTable } from '../../../src/storage/schema.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { describeDatabases, type TestDatabases } from '../../storage/open.ts'
import { runs } from '../../support/effort.ts'

const KEY = new Uint8Array(createHash('sha256').update('key of the tests').digest())
const ENTRIES = 40
/** The number on SQLite. On PostgreSQL, where a restore is slower, it is a tenth. */
const TAMPERINGS = runs(10_000, 500)

/** Random numbers from 0 to `n`, the same in every run. */
function randomSource(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
}

async function openLog(databases: TestDatabases) {
  const db = await databases.open()
  const { inTransaction } = createTransactions(db)
  const store = createAuditStore(db, KEY)
  const now = (): Date => new Date('2026-01-01T00:00:00.000Z')
  let kept: AuditCheckpoint | undefined
  const checkpoints = {
    read: async () => kept,
    write: async (checkpoint: AuditCheckpoint) => void (kept = checkpoint),
  }
  const log = createAuditLog({ store, inTransaction, key: KEY, checkpoints, now })
  const audit = createAuditRecorder(store, now)
  const context: RequestContext = { caller: { user: 'ada', role: 'DataEngineer', via: 'token' }, requestId: 'req-1' }
  const add = (i: number): Promise<void> =>
    inTransaction((tx) => {
      const details = { note: `entry ${i}`, deep: { n: i } }
      return audit.record(tx, { ...context, action: 'thing.change', objectType: 'thing', objectId: `t-${i}`, details })
    })
  return { db, log, add, setCheckpoint: (checkpoint: AuditCheckpoint | undefined) => void (kept = checkpoint) }
}

type Rows = AuditEventsTable[]
interface Tampered {
  readonly rows: Rows
  readonly head?: AuditHeadTable | undefined
}

/** Possible changes by an attacker who can write to the database but has no key. */
function tamper(rows: Rows, head: AuditHeadTable, random: (n: number) => number): Tampered {
  const copy = rows.map((row) => ({ ...row }))
  const at = random(copy.length)
  const row = copy[at]!
  switch (random(11)) {
    case 0: // change a text
      return { rows: copy.with(at, edited(row, random)), head }
    case 1: // change a text and recompute its hash
      return { rows: copy.with(at, rehashed(edited(row, random))), head }
    case 2: // change a text and recompute all later hashes
      return { rows: rechained(copy.with(at, edited(row, random))), head }
    case 3: // the same, and update the head as far as possible without the key
      return withHead(rechained(copy.with(at, edited(row, random))), head)
    case 4: // delete one entry
      return { rows: copy.toSpliced(at, 1), head }
    case 5: // delete some entries and close the gap
      return withHead(rechained(copy.toSpliced(at, 1 + random(5))), head)
    case 6: // truncate the end
      return { rows: copy.slice(0, at), head }
    case 7: // truncate the end and update the head
      return withHead(copy.slice(0, at), head)
    case 8: {
      // swap two entries
      const other = (at + 1 + random(copy.length - 1)) % copy.length
      const swapped = copy.with(at, { ...copy[other]!, seq: at + 1 }).with(other, { ...row, seq: other + 1 })
      return random(2) === 0 ? { rows: swapped, head } : withHead(rechained(swapped), head)
    }
    case 9: {
      // append one entry with valid links
      const last = copy.at(-1)!
      const added = rehashed({ ...row, seq: last.seq + 1, prev_hash: last.hash })
      return random(2) === 0 ? { rows: [...copy, added], head } : withHead([...copy, added], head)
    }
    default: // delete the head, or everything
      return { rows: random(2) === 0 ? copy : [] }
  }
}

const TEXTS = [
  'at',
  'actor',
  'role',
  'channel',
  'action',
  'object_type',
  'object_id',
  'outcome',
  'request_id',
  'details_json',
] as const

function edited(row: AuditEventsTable, random: (n: number) => number): AuditEventsTable {
  const column = TEXTS[random(TEXTS.length)]!
  const text = row[column] ?? ''
  const place = random(text.length + 1)
  const changes = [
    `${text.slice(0, place)}x${text.slice(place)}`,
    text.slice(0, -1),
    text === '' ? 'y' : '',
    `${text} `,
  ]
  return { ...row, [column]: changes[random(changes.length)]! }
}

function rehashed(row: AuditEventsTable): AuditEventsTable {
  return { ...row, hash: rowHash(row) }
}

function rechained(rows: Rows): Rows {
  let prev = '0'.repeat(64)
  return rows.map((row, i) => {
    const linked = rehashed({ ...row, seq: i + 1, prev_hash: prev })
    prev = linked.hash
    return linked
  })
}

function withHead(rows: Rows, head: AuditHeadTable): Tampered {
  const last = rows.at(-1)
  return { rows, head: last ? { ...head, seq: last.seq, hash: last.hash } : undefined }
}

describeDatabases('audit log tampering', (databases) => {
  const tamperings = databases.kind === 'SQLite' ? TAMPERINGS : TAMPERINGS / 10

  it(`is always detected (${tamperings} times)`, async () => {
    const { db, log, add } = await openLog(databases)
    for (let i = 0; i < ENTRIES; i++) await add(i)
    expect(await log.verify()).toMatchObject({ ok: true, checked: ENTRIES })
    const rows = await db.selectFrom('audit_events').selectAll().orderBy('seq').execute()
    const head = await db.selectFrom('audit_head').selectAll().executeTakeFirstOrThrow()
    await dropGuards(databases, db)
    if (databases.kind === 'SQLite') await sql`pragma synchronous = off`.execute(db) // no data must survive a crash here
    const random = randomSource(42)
    const missed: unknown[] = []
    for (let i = 0; i < tamperings; i++) {
      const changed = tamper(rows, head, random)
      await replace(db, changed)
      const { ok, first_bad: firstBad } = await log.verify()
      if (ok || firstBad === undefined) missed.push(changed)
    }
    expect(missed).toEqual([])
    await replace(db, { rows, head })
    expect(await log.verify()).toMatchObject({ ok: true, checked: ENTRIES })
  }, 600_000)

  it('reports the first invalid entry', async () => {
    const { db, log, add } = await openLog(databases)
    for (let i = 0; i < 10; i++) await add(i)
    await dropGuards(databases, db)
    await db.updateTable('audit_events').set({ actor: 'eve' }).where('seq', '=', 7).execute()
    expect(await log.verify()).toMatchObject({ ok: false, checked: 6, first_bad: 7 })
    await db.updateTable('audit_events').set({ actor: 'ada' }).where('seq', '=', 7).execute()
    await db.deleteFrom('audit_events').where('seq', '>', 8).execute()
    expect(await log.verify()).toMatchObject({ ok: false, checked: 8, first_bad: 9 })
  })

  it('detects a database restored to an earlier state, by the checkpoint beside it', async () => {
    const { db, log, add } = await openLog(databases)
    for (let i = 0; i < 5; i++) await add(i)
    const rows = await db.selectFrom('audit_events').selectAll().orderBy('seq').execute()
    const head = await db.selectFrom('audit_head').selectAll().executeTakeFirstOrThrow()
    await add(5)
    await log.checkpoint()
    await dropGuards(databases, db)
    await replace(db, { rows, head })
    expect(await log.verify()).toMatchObject({ ok: false, checked: 5, first_bad: 6 })
  })

  it('detects a forged checkpoint', async () => {
    const { log, add, setCheckpoint } = await openLog(databases)
    await add(0)
    setCheckpoint({ seq: 1, hash: 'a'.repeat(64), at: '2026-01-01T00:00:00.000Z', mac: 'b'.repeat(64) })
    expect(await log.verify()).toMatchObject({ ok: false, first_bad: 1 })
  })

  it('is refused by the database itself', async () => {
    const { db, log, add } = await openLog(databases)
    for (let i = 0; i < 3; i++) await add(i)
    const attempts = [
      db.updateTable('audit_events').set({ actor: 'eve' }).where('seq', '=', 2),
      db.deleteFrom('audit_events').where('seq', '=', 2),
      db.deleteFrom('audit_events'),
    ]
    for (const attempt of attempts) await expect(attempt.execute()).rejects.toMatchObject({ name: 'DatabaseError' })
    const replacing =
      databases.kind === 'SQLite'
        ? sql`insert or replace into audit_events select * from audit_events where seq = 2`
        : sql`truncate audit_events`
    await expect(replacing.execute(db)).rejects.toMatchObject({ name: 'DatabaseError' })
    expect(await log.verify()).toMatchObject({ ok: true, checked: 3 })
  })
})

type Database = Awaited<ReturnType<TestDatabases['open']>>

/** Actions of a database administrator. */
async function dropGuards({ kind }: TestDatabases, db: Database): Promise<void> {
  const guards =
    kind === 'SQLite'
      ? ['audit_events_no_update', 'audit_events_no_delete', 'audit_events_no_replace'].map(
          (name) => `drop trigger ${name}`,
        )
      : ['drop trigger audit_events_append_only on audit_events']
  for (const guard of guards) await sql.raw(guard).execute(db)
}

async function replace(db: Database, { rows, head }: Tampered): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('audit_events').execute()
    await tx.deleteFrom('audit_head').execute()
    if (rows.length > 0) await tx.insertInto('audit_events').values(rows).execute()
    if (head) await tx.insertInto('audit_head').values(head).execute()
  })
}

import { randomBytes } from 'node:crypto'
import { Kysely, sql } from 'kysely'
import { expect, it } from 'vitest'
import type { RequestContext } from '../../../src/domain/audit.ts'
import { type ClusterPod, readPod } from '../../../src/notebooks/cluster-pod.ts'
import { LABELS } from '../../../src/notebooks/spec.ts'
import { createAuditRecorder } from '../../../src/services/audit/audit-service.ts'
import { createEventWriter } from '../../../src/services/events/event-log.ts'
import { createTokenService, type TokenService } from '../../../src/services/identity/token-service.ts'
import {
  createLakeToken,
  endSession,
  keepLakeToken,
  recordSession,
  type SessionDeps,
} from '../../../src/services/notebooks/sessions.ts'
import { MIGRATIONS } from '../../../src/storage/migrations/all.ts'
import type { StateTables } from '../../../src/storage/schema.ts'
import { migrate } from '../../../src/storage/state-database.ts'
import { createAuditStore } from '../../../src/storage/stores/audit-store.ts'
import { createEventStore } from '../../../src/storage/stores/event-store.ts'
import { createNotebookStore } from '../../../src/storage/stores/notebooks/notebook-store.ts'
import { createTokenStore } from '../../../src/storage/stores/token-store.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { describeDatabases } from '../../storage/open.ts'

const DAY = 24 * 60 * 60 * 1000
const context: RequestContext = { caller: { user: 'ana', role: 'DataEngineer', via: 'token' }, requestId: 'r' }

function podOf(session: string): ClusterPod {
  const labels = { [LABELS.session]: session }
  const pod = readPod({ metadata: { name: 'notebook-ana', uid: `uid-${session}`, labels } })
  if (pod === undefined) throw new Error('the pod has no name')
  return pod
}

describeDatabases('sessions of notebooks', (databases) => {
  let clockMs = Date.parse('2025-06-01T00:00:00Z')

  interface Opened {
    readonly deps: SessionDeps & { readonly tokens: TokenService }
    readonly store: ReturnType<typeof createNotebookStore>
    events(): Promise<string[]>
  }

  async function open(): Promise<Opened> {
    const db = await databases.open()
    const now = (): Date => new Date(clockMs)
    const { inTransaction } = createTransactions(db)
    const eventStore = createEventStore(db)
    const audit = createAuditRecorder(createAuditStore(db, new Uint8Array(32)), now)
    let ids = 0
    const newId = (kind: string): string => `${kind}_${(ids += 1)}`
    const tokens = createTokenService({
      tokens: createTokenStore(db),
      alone: true,
      inTransaction,
      audit,
      newId,
      now,
      randomBytes: (length) => new Uint8Array(randomBytes(length)),
    })
    return {
      deps: { tokens, audit, events: createEventWriter(eventStore, now), now, settings: { tokenMs: DAY } },
      store: createNotebookStore(db),
      events: async () => (await eventStore.after(0, 100)).map((event) => `${event.type} ${event.object_id}`),
    }
  }

  const record = (deps: SessionDeps, session: string) =>
    recordSession(deps, podOf(session), { user: 'ana', activeAt: new Date(clockMs).toISOString(), context })
  const ana = (session: string) => ({ user: 'ana', session })

  it('create tokens only while they are recorded, and end them all at once', async () => {
    const { deps, events } = await open()
    expect(await createLakeToken(deps, ana('one'), context)).toBeUndefined()
    expect(await record(deps, 'one')).toMatchObject(ana('one'))
    const made = [await createLakeToken(deps, ana('one'), context), await createLakeToken(deps, ana('one'), context)]
    for (const token of made) expect(await deps.tokens.check(token?.token ?? '')).toMatchObject({ user: 'ana' })
    await endSession(deps, ana('one'), { why: 'asked', context })
    for (const token of made) expect(await deps.tokens.check(token?.token ?? '')).toBeUndefined()
    expect(await createLakeToken(deps, ana('one'), context)).toBeUndefined()
    expect(await keepLakeToken(deps, ana('one'), { tokenId: 'tok_1', tokenExpiresAt: '', context })).toBe(false)
    await endSession(deps, ana('one'), { why: 'lost' })
    expect(await events()).toEqual(['notebook.started one', 'notebook.stopped one'])
  })

  it('are never recorded after their end, also when the end came first', async () => {
    const { deps, store, events } = await open()
    await endSession(deps, ana('one'), { why: 'asked', context })
    expect(await record(deps, 'one')).toBeUndefined()
    expect(await store.find('ana')).toBeUndefined()
    expect(await events()).toEqual([])
  })

  it('end with their tokens when another session of the user is recorded', async () => {
    const { deps, store, events } = await open()
    await record(deps, 'one')
    const first = await createLakeToken(deps, ana('one'), context)
    await record(deps, 'two')
    expect(await deps.tokens.check(first?.token ?? '')).toBeUndefined()
    expect(await record(deps, 'one')).toBeUndefined()
    expect(await store.find('ana')).toMatchObject(ana('two'))
    expect(await events()).toEqual(['notebook.started one', 'notebook.stopped one', 'notebook.started two'])
  })

  it('keep one token, and leave tokens of other users and of other kinds alone', async () => {
    const { deps } = await open()
    await record(deps, 'one')
    const [first, second] = [
      await createLakeToken(deps, ana('one'), context),
      await createLakeToken(deps, ana('one'), context),
    ]
    const bo: RequestContext = { ...context, caller: { ...context.caller, user: 'bo' } }
    await recordSession(deps, podOf('one'), { user: 'bo', activeAt: new Date(clockMs).toISOString(), context: bo })
    const others = [
      await createLakeToken(deps, { user: 'bo', session: 'one' }, bo),
      await deps.tokens.create({ user: 'ana', role: 'Auditor', name: 'notebook one' }, context),
    ]
    const kept = { tokenId: second?.id ?? '', tokenExpiresAt: second?.expiresAt ?? '', context }
    expect(await keepLakeToken(deps, ana('one'), kept)).toBe(true)
    expect(await deps.tokens.check(first?.token ?? '')).toBeUndefined()
    expect(await deps.tokens.check(second?.token ?? '')).toBeDefined()
    await endSession(deps, ana('one'), { why: 'idle' })
    expect(await deps.tokens.check(second?.token ?? '')).toBeUndefined()
    for (const other of others) expect(await deps.tokens.check(other?.token ?? '')).toBeDefined()
  })

  it('are forgotten a day after their end', async () => {
    const { deps, store } = await open()
    await endSession(deps, ana('one'), { why: 'asked' })
    clockMs += DAY - 1000
    await endSession(deps, ana('two'), { why: 'asked' })
    expect([await store.isEnded(ana('one')), await store.isEnded(ana('two'))]).toEqual([true, true])
    clockMs += 2000
    await endSession(deps, ana('three'), { why: 'asked' })
    expect([await store.isEnded(ana('one')), await store.isEnded(ana('two'))]).toEqual([false, true])
  })
})

describeDatabases('the migration of tokens to sessions of notebooks', (databases) => {
  it('gives all tokens of a running notebook to its session, also such that its record lacks', async () => {
    const place = await databases.place()
    const db = new Kysely<StateTables>({ dialect: databases.dialect(place) })
    const earlier = new Map([...MIGRATIONS].filter(([version]) => version < 20))
    await migrate(db, earlier, new Date())
    for (const [id, name] of [
      ['inside', 'of a notebook'],
      ['unrecorded', 'notebook one'],
      ['laptop', 'laptop'],
      ['earlier', 'notebook zero'],
    ]) {
      await sql`insert into tokens (id, token_sha256, user_id, role, name, created_at)
        values (${id}, ${id}, 'ana', 'DataEngineer', ${name}, 'now')`.execute(db)
    }
    await sql`insert into notebook_sessions (user_id, session, pod_name, pod_uid, token_id, started_at, active_at)
      values ('ana', 'one', 'notebook-ana', 'uid-one', 'inside', 'now', 'now')`.execute(db)
    await db.destroy()
    const newest = await databases.open(place)
    const revoked = await createTokenStore(newest).revokeOfNotebook({ user: 'ana', session: 'one' }, 'later')
    expect(revoked.map(({ id }) => id).toSorted()).toEqual(['inside', 'unrecorded'])
  })
})

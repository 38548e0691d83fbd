import type { Kysely } from 'kysely'
import { expect, it } from 'vitest'

import { createAuditRecorder } from '../../src/services/audit/audit-service.ts'
import { createAuditStore } from '../../src/storage/stores/audit-store.ts'
import { isUniqueViolation } from '../../src/storage/database-error.ts'
import {
  createIdempotencyStore,
  IDEMPOTENCY_LIFETIME_MS,
  type InstanceView,
  type KeyedRequest,
} from '../../src/storage/stores/idempotency-store.ts'
import type { OperationRecord } from '../../src/storage/stores/operations/operation-record.ts'
import { createOperationStore } from '../../src/storage/stores/operations/operation-store.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import type { Cursor } from '../../src/storage/page.ts'
import { createPlanStore, PLAN_LIFETIME_MS } from '../../src/storage/stores/operations/plan-store.ts'
import { createSettingsStore } from '../../src/storage/stores/settings-store.ts'
import { createTokenStore } from '../../src/storage/stores/token-store.ts'
import { createTransactions } from '../../src/storage/transactions.ts'
import { describeDatabases } from './open.ts'

const NOW = new Date('2025-06-01T00:00:00.000Z')
const onlyInstance = { id: 1, isAlive: async (id: number) => id === 1 }

function later(ms: number): Date {
  return new Date(NOW.getTime() + ms)
}

describeDatabases('token store', (databases) => {
  const token = {
    id: 'tok-1',
    tokenSha256: 'ab'.repeat(32),
    user: 'alice',
    role: 'DataEngineer',
    name: 'laptop',
    createdAt: NOW.toISOString(),
  }

  it('finds a token by its hash and returns no hash', async () => {
    const tokens = createTokenStore(await databases.open())
    expect(await tokens.isEmpty()).toBe(true)
    await tokens.insert(token)
    const { tokenSha256, ...shown } = token
    expect(await tokens.findByHash(tokenSha256)).toStrictEqual(shown)
    expect(await tokens.findByHash('00')).toBeUndefined()
    expect(await tokens.isEmpty()).toBe(false)
  })

  it('refuses the same hash twice', async () => {
    const tokens = createTokenStore(await databases.open())
    await tokens.insert(token)
    const error = await tokens.insert({ ...token, id: 'tok-2' }).catch((e: unknown) => e)
    expect(isUniqueViolation(error)).toBe(true)
  })

  it('revokes once', async () => {
    const tokens = createTokenStore(await databases.open())
    await tokens.insert({ ...token, expiresAt: later(1000).toISOString() })
    const revokedAt = later(5).toISOString()
    expect(await tokens.revoke('tok-1', revokedAt)).toBe(true)
    expect(await tokens.revoke('tok-1', later(6).toISOString())).toBe(false)
    expect(await tokens.revoke('tok-none', revokedAt)).toBe(false)
    expect(await tokens.find('tok-1')).toMatchObject({ revokedAt, expiresAt: later(1000).toISOString() })
  })
})

function operation(id: string, more: Partial<OperationRecord> = {}): OperationRecord {
  return {
    id,
    kind: 'compact',
    table: 'db.events',
    state: 'running',
    requestedBy: 'alice',
    request: { table: 'db.events' },
    createdAt: NOW.toISOString(),
    ...more,
  }
}

describeDatabases('operation store', (databases) => {
  it('returns every field as it was stored', async () => {
    const operations = createOperationStore(await databases.open())
    const full: OperationRecord = {
      ...operation('op-1'),
      requestId: 'req-1',
      startedAt: later(1).toISOString(),
      finishedAt: later(9).toISOString(),
      state: 'failed',
      plan: { groups: [{ files: 3 }] },
      progress: { files_done: 1, files_total: 3, bytes_done: 10, bytes_total: 30 },
      baseMetadataLocation: '/w/m/1.json',
      baseSnapshotId: '6816997371555012807',
      staged: { kind: 'file', location: '/w/m/2.json' },
      snapshotId: '8593920101374128463',
      cleanup: { files: ['/w/d/a.parquet'], prefixes: ['/w/d/op-1-'] },
      healthBefore: { score: 10 },
      healthAfter: { score: 100 },
      result: { rewritten_data_files_count: 3 },
      error: { code: 'NO_SPACE', message: 'The disk is full.' },
      bytesRead: 2 ** 52,
      bytesWritten: 0,
      durationMs: 8,
    }
    await operations.insert(full)
    expect(await operations.find('op-1')).toStrictEqual(full)
    await operations.insert(operation('op-2'))
    expect(await operations.find('op-2')).toStrictEqual(operation('op-2'))
    expect(await operations.find('op-3')).toBeUndefined()
  })

  it('updates running operations only, and leaves absent fields unchanged', async () => {
    const operations = createOperationStore(await databases.open())
    await operations.insert(operation('op-1', { plan: { a: 1 } }))
    expect(await operations.update('op-1', { snapshotId: '5' })).toBe(true)
    expect(await operations.update('op-1', {})).toBe(true)
    const progress = { files_done: 1, files_total: 2, bytes_done: 3, bytes_total: 4 }
    expect(await operations.updateProgress('op-1', progress)).toBe(true)
    expect(await operations.find('op-1')).toMatchObject({ plan: { a: 1 }, snapshotId: '5', progress })
    expect(
      await operations.finish('op-1', { state: 'succeeded', finishedAt: later(1).toISOString(), result: {} }),
    ).toBe(true)
    expect(await operations.updateProgress('op-1', progress)).toBe(false)
    expect(await operations.update('op-1', {})).toBe(false)
    expect(await operations.update('op-none', { snapshotId: '5' })).toBe(false)
  })

  it('ends an operation once; an unknown outcome is settled later', async () => {
    const operations = createOperationStore(await databases.open())
    await operations.insert(operation('op-1'))
    const finishedAt = later(1).toISOString()
    const error = { code: 'COMMIT_STATE_UNKNOWN', message: 'Lost the database.' }
    const ends = await Promise.all([
      operations.finish('op-1', { state: 'unknown', finishedAt, error }),
      operations.finish('op-2', { state: 'cancelled', finishedAt }),
    ])
    expect(ends).toEqual([true, false])
    expect((await operations.listUnsettled()).map((o) => o.id)).toEqual(['op-1'])
    expect(await operations.finish('op-1', { state: 'succeeded', finishedAt })).toBe(true)
    expect(await operations.find('op-1')).not.toHaveProperty('error')
    expect(await operations.finish('op-1', { state: 'failed', finishedAt })).toBe(false)
    expect(await operations.listUnsettled()).toEqual([])
  })

  it('pages newest first without gaps or repeats, also with equal times', async () => {
    const operations = createOperationStore(await databases.open())
    const ids = Array.from({ length: 25 }, (_, i) => `op-${String(i).padStart(3, '0')}`)
    for (const [i, id] of ids.entries()) {
      const createdAt = later(Math.floor(i / 10)).toISOString()
      await operations.insert(operation(id, { createdAt, table: i % 2 === 0 ? 'db.even' : 'db.odd' }))
    }
    const seen: string[] = []
    let after: Cursor | undefined
    do {
      const page = await operations.list({}, { limit: 7, ...(after && { after }) })
      seen.push(...page.items.map((item) => item.id))
      after = page.next
    } while (after)
    expect(seen).toEqual(ids.toReversed())
    const even = await operations.list({ table: 'db.even', kind: 'compact', state: 'running' }, { limit: 13 })
    expect(even.items).toHaveLength(13)
    expect(even.next).toBeUndefined()
    expect((await operations.list({ kind: 'expire' }, { limit: 10 })).items).toEqual([])
  })
})

describeDatabases('plan store', (databases) => {
  it('deletes a plan after its lifetime', async () => {
    const plans = createPlanStore(await databases.open())
    const plan = {
      id: 'plan-1',
      kind: 'expire',
      table: 'db.t',
      baseMetadataLocation: '/w/m/1.json',
      request: { retain_last: 2 },
      plan: { snapshot_ids: ['1'] },
      createdBy: 'alice',
      createdAt: NOW.toISOString(),
    }
    await plans.insert(plan)
    expect(await plans.find('plan-1', later(PLAN_LIFETIME_MS - 1))).toStrictEqual(plan)
    expect(await plans.find('plan-1', later(PLAN_LIFETIME_MS))).toBeUndefined()
    expect(await plans.deleteExpired(later(PLAN_LIFETIME_MS - 1))).toBe(0)
    expect(await plans.deleteExpired(later(PLAN_LIFETIME_MS))).toBe(1)
  })
})

describeDatabases('settings store', (databases) => {
  it('sets a value only when the revision is unchanged', async () => {
    const settings = createSettingsStore(await databases.open())
    expect(await settings.get('catalog')).toBeUndefined()
    expect(await settings.set('catalog', { type: 'sql' }, { expectedRevision: 0, now: NOW })).toBe(1)
    expect(await settings.set('catalog', { type: 'x' }, { expectedRevision: 0, now: NOW })).toBeUndefined()
    expect(await settings.set('catalog', { type: 'hadoop' }, { expectedRevision: 1, now: later(5) })).toBe(2)
    expect(await settings.set('catalog', { type: 'x' }, { expectedRevision: 1, now: NOW })).toBeUndefined()
    expect(await settings.get('catalog')).toEqual({
      value: { type: 'hadoop' },
      revision: 2,
      updatedAt: later(5).toISOString(),
    })
    expect(await settings.get('other')).toBeUndefined()
  })
})

const keysIn = (db: Kysely<StateTables>, instance: InstanceView = onlyInstance) =>
  createIdempotencyStore({ db, ...createTransactions(db), instance })

describeDatabases('idempotency store', (databases) => {
  const request: KeyedRequest = {
    user: 'alice',
    key: 'k1',
    method: 'POST',
    path: '/api/compact',
    bodySha256: 'aa',
    requestId: 'req-1',
  }
  const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"success":true}' }

  it('lets one of many requests claim a key, then returns its answer', async () => {
    const keys = keysIn(await databases.open())
    const claims = await Promise.all(Array.from({ length: 10 }, () => keys.claim(request, NOW)))
    expect(claims.filter((claim) => claim.kind === 'claimed')).toHaveLength(1)
    expect(claims.filter((claim) => claim.kind === 'running')).toHaveLength(9)
    await keys.complete(request, answer)
    expect(await keys.claim(request, NOW)).toEqual({ kind: 'answered', answer })
  })

  it('refuses another body, path or method with the same key, and separates users', async () => {
    const keys = keysIn(await databases.open())
    await keys.claim(request, NOW)
    expect(await keys.claim({ ...request, bodySha256: 'bb' }, NOW)).toEqual({ kind: 'mismatch' })
    expect(await keys.claim({ ...request, path: '/api/expire' }, NOW)).toEqual({ kind: 'mismatch' })
    expect(await keys.claim({ ...request, user: 'bob', bodySha256: 'bb' }, NOW)).toEqual({ kind: 'claimed' })
  })

  it('releases a key, but never one that has an answer', async () => {
    const keys = keysIn(await databases.open())
    await keys.claim(request, NOW)
    await keys.release(request)
    expect(await keys.claim(request, NOW)).toEqual({ kind: 'claimed' })
    await keys.complete(request, answer)
    await keys.release(request)
    expect((await keys.claim(request, NOW)).kind).toBe('answered')
  })

  it('releases keys claimed by a dead process, unless the request had its effect', async () => {
    const db = await databases.open()
    const dead = keysIn(db, { id: 1, isAlive: async (id) => id === 1 })
    await dead.claim(request, NOW)
    await dead.claim({ ...request, key: 'k2', requestId: 'req-2' }, NOW)
    await dead.claim({ ...request, key: 'k3', requestId: 'req-3' }, NOW)
    const { inTransaction } = createTransactions(db)
    const audit = createAuditRecorder(createAuditStore(db, new Uint8Array(32)), () => NOW)
    const caller = { user: 'alice', role: 'DataEngineer', via: 'token' } as const
    const entry = { caller, action: 'widget.make', objectType: 'widget', objectId: 'w-1' } as const
    await inTransaction((tx) => audit.record(tx, { ...entry, requestId: 'req-1' }))
    await inTransaction((tx) => audit.record(tx, { ...entry, requestId: 'req-2', outcome: 'refused' }))

    expect(await dead.settleAbandoned()).toBe(0)
    const alive = keysIn(db, { id: 2, isAlive: async (id) => id === 2 })
    expect(await alive.claim({ ...request, key: 'k3', requestId: 'req-4' }, NOW)).toEqual({ kind: 'claimed' })
    expect(await alive.settleAbandoned()).toBe(2)
    expect(await alive.claim(request, NOW)).toEqual({ kind: 'lost', effect: 'widget.make w-1' })
    expect(await alive.claim({ ...request, key: 'k2' }, NOW)).toEqual({ kind: 'claimed' })
  })

  it('ends claims of this process by what the audit log says that they did', async () => {
    const db = await databases.open()
    const keys = keysIn(db)
    const { inTransaction } = createTransactions(db)
    const audit = createAuditRecorder(createAuditStore(db, new Uint8Array(32)), () => NOW)
    const caller = { user: 'alice', role: 'DataEngineer', via: 'token' } as const
    const outcomes = {
      nothing: [],
      refused: ['refused'],
      done: ['done'],
      begun: ['begun'],
      failed: ['begun', 'failed'],
      unknown: ['begun', 'unknown'],
      'of another user': ['done'],
    } as const
    const found: Record<string, string> = {}
    for (const [name, entries] of Object.entries(outcomes)) {
      const claimed = { ...request, key: name, requestId: `req-${name}` }
      await keys.claim(claimed, NOW)
      for (const outcome of entries) {
        const entry = {
          action: 'widget.make',
          objectType: 'widget',
          objectId: 'w-1',
          details: { state: outcome },
        } as const
        await inTransaction((tx) =>
          audit.record(tx, {
            ...entry,
            caller: name === 'of another user' ? { ...caller, user: 'bob' } : caller,
            outcome: outcome === 'unknown' ? 'failed' : outcome,
            requestId: claimed.requestId,
          }),
        )
      }
      await keys.settle({ ...claimed, requestId: 'req-of-another-call' })
      expect(await keys.claim(claimed, NOW)).toEqual({ kind: 'running' })
      await keys.settle(claimed)
      found[name] = (await keys.claim({ ...claimed, requestId: 'req-again' }, NOW)).kind
    }
    expect(found).toEqual({
      nothing: 'claimed',
      refused: 'claimed',
      done: 'lost',
      begun: 'lost',
      failed: 'claimed',
      unknown: 'lost',
      'of another user': 'claimed',
    })
  })

  it('settles a claim of this process whose request runs no more', async () => {
    const keys = keysIn(await databases.open())
    await keys.claim(request, NOW)
    const again = { ...request, requestId: 'req-2' }
    expect(await keys.claim(again, NOW, () => true)).toEqual({ kind: 'running' })
    expect(await keys.claim(again, NOW, () => false)).toEqual({ kind: 'claimed' })
  })

  it('deletes answers after a day', async () => {
    const keys = keysIn(await databases.open())
    await keys.claim(request, NOW)
    await keys.complete(request, answer)
    expect((await keys.claim(request, later(IDEMPOTENCY_LIFETIME_MS - 1))).kind).toBe('answered')
    expect((await keys.claim({ ...request, bodySha256: 'new' }, later(IDEMPOTENCY_LIFETIME_MS))).kind).toBe('claimed')
    expect(await keys.deleteExpired(later(2 * IDEMPOTENCY_LIFETIME_MS))).toBe(1)
  })
})

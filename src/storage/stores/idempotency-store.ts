import type { Kysely, Selectable } from 'kysely'

import type { Instance } from '../instance-registry.ts'
import { fromColumn, toRequiredColumn } from '../json-column.ts'
import type { IdempotencyKeysTable, StateTables } from '../schema.ts'

/** How long a response is stored for its key. */
export const IDEMPOTENCY_LIFETIME_MS = 24 * 60 * 60 * 1000

/** A request that carries an `Idempotency-Key`; keys are per user. */
export interface KeyedRequest {
  readonly user: string
  readonly key: string
  readonly method: string
  readonly path: string
  /** In hex. */
  readonly bodySha256: string
  readonly requestId: string
}

/** This process, and how to check whether another one is alive. */
export type InstanceView = Pick<Instance, 'id' | 'isAlive'>

export interface StoredAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What to do with a keyed request: process it, wait, repeat the response, or refuse. */
export type Claim =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'running' }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }
  | { readonly kind: 'lost'; readonly effect: string } // it had its effect; the answer never came, or has a secret
  | { readonly kind: 'mismatch' } // the key was used for another method, path or body

export interface IdempotencyStore {
  /** Claims the key for this request, or returns its state; exactly one of concurrent callers gets `claimed`. */
  claim(request: KeyedRequest, now: Date): Promise<Claim>
  /** Stores the response of a claimed request. */
  complete(user: string, key: string, answer: StoredAnswer): Promise<void>
  /** Ends a claimed request without a response: repetitions get only its effect, as recorded in the audit log. */
  withhold(user: string, key: string): Promise<void>
  /** Releases a claimed key, so that the request can be sent again. */
  release(user: string, key: string): Promise<void>
  /**
   * Settles claims that dead processes left without a response. A request whose effect is in the audit log is stored as
   * lost, so that it is never repeated; all other keys are released. Returns how many.
   */
  settleAbandoned(): Promise<number>
  /** Deletes keys older than {@link IDEMPOTENCY_LIFETIME_MS} and returns how many. */
  deleteExpired(now: Date): Promise<number>
}

/** Idempotency keys in the state database. */
export function createIdempotencyStore(db: Kysely<StateTables>, instance: InstanceView): IdempotencyStore {
  return {
    async claim(request, now) {
      const found = await claim(db, { request, now, instanceId: instance.id })
      // Its process may have died since this one started.
      if (found.kind !== 'running' || (await settleAbandoned(db, instance, request)) === 0) return found
      return claim(db, { request, now, instanceId: instance.id })
    },
    async complete(user, key, answer) {
      const columns = { status: answer.status, headers_json: toRequiredColumn(answer.headers), body: answer.body }
      const query = db.updateTable('idempotency_keys').set({ state: 'answered', ...columns })
      await query.where('user_id', '=', user).where('idempotency_key', '=', key).execute()
    },
    async withhold(user, key) {
      const claimed = { user_id: user, idempotency_key: key, state: 'running' }
      const query = db
        .selectFrom('idempotency_keys')
        .select('request_id')
        .where((where) => where.and(claimed))
      const row = await query.executeTakeFirst()
      const effect = (await effectOf(db, row?.request_id ?? null)) ?? 'done'
      const update = db.updateTable('idempotency_keys').set({ state: 'lost', body: effect })
      await update.where((where) => where.and(claimed)).execute()
    },
    async release(user, key) {
      const query = db.deleteFrom('idempotency_keys').where('user_id', '=', user).where('idempotency_key', '=', key)
      await query.where('state', '=', 'running').execute()
    },
    settleAbandoned: () => settleAbandoned(db, instance),
    async deleteExpired(now) {
      const query = db.deleteFrom('idempotency_keys').where('created_at', '<=', oldest(now))
      return Number((await query.executeTakeFirst()).numDeletedRows)
    },
  }
}

interface ClaimAttempt {
  readonly request: KeyedRequest
  readonly now: Date
  readonly instanceId: number
}

async function claim(db: Kysely<StateTables>, attempt: ClaimAttempt): Promise<Claim> {
  const { request, now } = attempt
  const expired = db.deleteFrom('idempotency_keys').where('user_id', '=', request.user)
  await expired.where('idempotency_key', '=', request.key).where('created_at', '<=', oldest(now)).execute()
  const insert = db.insertInto('idempotency_keys').values(newRow(attempt))
  const inserted = await insert
    .onConflict((conflict) => conflict.columns(['user_id', 'idempotency_key']).doNothing())
    .executeTakeFirst()
  if (inserted.numInsertedOrUpdatedRows === 1n) return { kind: 'claimed' }
  const query = db.selectFrom('idempotency_keys').selectAll().where('user_id', '=', request.user)
  const row = await query.where('idempotency_key', '=', request.key).executeTakeFirst()
  // Released between the two statements: the sender tries again.
  if (row === undefined) return { kind: 'running' }
  return claimOf(row, request)
}

function newRow({ request, now, instanceId }: ClaimAttempt): IdempotencyKeysTable {
  return {
    user_id: request.user,
    idempotency_key: request.key,
    method: request.method,
    path: request.path,
    body_sha256: request.bodySha256,
    state: 'running',
    status: null,
    headers_json: null,
    body: null,
    created_at: now.toISOString(),
    instance_id: instanceId,
    request_id: request.requestId,
  }
}

function claimOf(row: Selectable<IdempotencyKeysTable>, request: KeyedRequest): Claim {
  const same = row.method === request.method && row.path === request.path && row.body_sha256 === request.bodySha256
  if (!same) return { kind: 'mismatch' }
  if (row.state === 'lost') return { kind: 'lost', effect: row.body ?? '' }
  if (row.state === 'running' || row.status === null) return { kind: 'running' }
  const headers = fromColumn<Readonly<Record<string, string>>>(row.headers_json) ?? {}
  return { kind: 'answered', answer: { status: row.status, headers, body: row.body ?? '' } }
}

/** Settles all keys, or only the one of a request. */
async function settleAbandoned(
  db: Kysely<StateTables>,
  instance: InstanceView,
  only?: Pick<KeyedRequest, 'user' | 'key'>,
): Promise<number> {
  let query = db.selectFrom('idempotency_keys').selectAll().where('state', '=', 'running')
  if (only) query = query.where('user_id', '=', only.user).where('idempotency_key', '=', only.key)
  let settled = 0
  for (const row of await query.execute()) {
    if (row.instance_id !== null && (await instance.isAlive(row.instance_id))) continue
    const effect = await effectOf(db, row.request_id)
    const same = { user_id: row.user_id, idempotency_key: row.idempotency_key, state: 'running' }
    await (effect === undefined
      ? db
          .deleteFrom('idempotency_keys')
          .where((where) => where.and(same))
          .execute()
      : db
          .updateTable('idempotency_keys')
          .set({ state: 'lost', body: effect })
          .where((where) => where.and(same))
          .execute())
    settled += 1
  }
  return settled
}

/** The effect of a request, as recorded in the audit log in the same transaction. */
async function effectOf(db: Kysely<StateTables>, requestId: string | null): Promise<string | undefined> {
  if (requestId === null) return undefined
  const query = db.selectFrom('audit_events').select(['action', 'object_id']).where('request_id', '=', requestId)
  const row = await query.where('outcome', 'in', ['done', 'begun']).orderBy('seq').limit(1).executeTakeFirst()
  return row && `${row.action} ${row.object_id ?? ''}`.trim()
}

function oldest(now: Date): string {
  return new Date(now.getTime() - IDEMPOTENCY_LIFETIME_MS).toISOString()
}

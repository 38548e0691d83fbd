import type { Kysely, Selectable } from 'kysely'

import { fromColumn, toRequiredColumn } from './json-column.ts'
import type { IdempotencyKeysTable, StateTables } from './schema.ts'

/** How long an answer is kept for its key. */
export const IDEMPOTENCY_LIFETIME_MS = 24 * 60 * 60 * 1000

/** A request that carries an `Idempotency-Key`; keys are per user. */
export interface KeyedRequest {
  readonly user: string
  readonly key: string
  readonly method: string
  readonly path: string
  /** In hex. */
  readonly bodySha256: string
}

export interface StoredAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What to do with a keyed request: work, wait, answer again, or refuse. */
export type Claim =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'running' }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }
  | { readonly kind: 'mismatch' } // the key was used for another method, path or body

export interface IdempotencyStore {
  /** Claims the key for this request, or tells what is there; exactly one of concurrent callers gets `claimed`. */
  claim(request: KeyedRequest, now: Date): Promise<Claim>
  /** Keeps the answer of a claimed request. */
  complete(user: string, key: string, answer: StoredAnswer): Promise<void>
  /** Gives a claimed key back, so that the request can be sent again. */
  release(user: string, key: string): Promise<void>
  /** Gives back every claim without an answer; for the start of the only process on the database. */
  releaseAll(): Promise<number>
  /** Removes what is older than {@link IDEMPOTENCY_LIFETIME_MS} and tells how many. */
  deleteExpired(now: Date): Promise<number>
}

/** Idempotency keys in the state database. */
export function createIdempotencyStore(db: Kysely<StateTables>): IdempotencyStore {
  return {
    claim: (request, now) => claim(db, request, now),
    async complete(user, key, answer) {
      const columns = { status: answer.status, headers_json: toRequiredColumn(answer.headers), body: answer.body }
      const query = db.updateTable('idempotency_keys').set({ state: 'answered', ...columns })
      await query.where('user_id', '=', user).where('idempotency_key', '=', key).execute()
    },
    async release(user, key) {
      const query = db.deleteFrom('idempotency_keys').where('user_id', '=', user).where('idempotency_key', '=', key)
      await query.where('state', '=', 'running').execute()
    },
    async releaseAll() {
      const result = await db.deleteFrom('idempotency_keys').where('state', '=', 'running').executeTakeFirst()
      return Number(result.numDeletedRows)
    },
    async deleteExpired(now) {
      const query = db.deleteFrom('idempotency_keys').where('created_at', '<=', oldest(now))
      return Number((await query.executeTakeFirst()).numDeletedRows)
    },
  }
}

async function claim(db: Kysely<StateTables>, request: KeyedRequest, now: Date): Promise<Claim> {
  const expired = db.deleteFrom('idempotency_keys').where('user_id', '=', request.user)
  await expired.where('idempotency_key', '=', request.key).where('created_at', '<=', oldest(now)).execute()
  const insert = db.insertInto('idempotency_keys').values(newRow(request, now))
  const inserted = await insert
    .onConflict((conflict) => conflict.columns(['user_id', 'idempotency_key']).doNothing())
    .executeTakeFirst()
  if (inserted.numInsertedOrUpdatedRows === 1n) return { kind: 'claimed' }
  const query = db.selectFrom('idempotency_keys').selectAll().where('user_id', '=', request.user)
  const row = await query.where('idempotency_key', '=', request.key).executeTakeFirst()
  // Given back between the two statements: the sender tries again.
  if (row === undefined) return { kind: 'running' }
  return claimOf(row, request)
}

function newRow(request: KeyedRequest, now: Date): IdempotencyKeysTable {
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
    instance_id: null,
  }
}

function claimOf(row: Selectable<IdempotencyKeysTable>, request: KeyedRequest): Claim {
  const same = row.method === request.method && row.path === request.path && row.body_sha256 === request.bodySha256
  if (!same) return { kind: 'mismatch' }
  if (row.state === 'running' || row.status === null) return { kind: 'running' }
  const headers = fromColumn<Readonly<Record<string, string>>>(row.headers_json) ?? {}
  return { kind: 'answered', answer: { status: row.status, headers, body: row.body ?? '' } }
}

function oldest(now: Date): string {
  return new Date(now.getTime() - IDEMPOTENCY_LIFETIME_MS).toISOString()
}

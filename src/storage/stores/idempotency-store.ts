import type { Kysely, Selectable } from 'kysely'

import type { Instance } from '../instance-registry.ts'
import { fromColumn, toRequiredColumn } from '../json-column.ts'
import type { AuditEventsTable, IdempotencyKeysTable, StateTables } from '../schema.ts'
import type { InTransaction } from '../transactions.ts'

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

/** The claim that a request has on its key. */
export type KeyClaim = Pick<KeyedRequest, 'user' | 'key' | 'requestId'>

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
  /**
   * Claims the key for this request, or returns its state; exactly one of concurrent callers gets `claimed`. Keys whose
   * request runs nowhere any more are settled before. `isRunningHere`: whether one that this process has claimed runs;
   * default: it does.
   */
  claim(request: KeyedRequest, now: Date, isRunningHere?: () => boolean): Promise<Claim>
  /** Stores the response of a claimed request. */
  complete(claim: KeyClaim, answer: StoredAnswer): Promise<void>
  /** Ends a claimed request without a response: repetitions get only its effect, as recorded in the audit log. */
  withhold(claim: KeyClaim): Promise<void>
  /** Releases a claimed key, so that the request can be sent again. */
  release(claim: KeyClaim): Promise<void>
  /**
   * Ends a claimed request that may have had its effect. If it is in the audit log, the key is stored as lost, so that the
   * request is never repeated; otherwise the key is released.
   */
  settle(claim: KeyClaim): Promise<void>
  /** Settles claims that dead processes left. Returns how many. */
  settleAbandoned(): Promise<number>
  /** Deletes keys older than {@link IDEMPOTENCY_LIFETIME_MS} and returns how many. */
  deleteExpired(now: Date): Promise<number>
}

interface IdempotencyStoreDeps {
  readonly db: Kysely<StateTables>
  readonly inTransaction: InTransaction
  readonly instance: InstanceView
}

/** Idempotency keys in the state database. */
export function createIdempotencyStore({ db, inTransaction, instance }: IdempotencyStoreDeps): IdempotencyStore {
  // in a transaction it waits for one that the server still commits although its connection has ended
  const settleOne = (claimed: StoredClaim): Promise<void> => inTransaction((tx) => settle(tx, claimed))

  return {
    async claim(request, now, isRunningHere = () => true) {
      const attempt = { request, now, instanceId: instance.id }
      const found = await claim(db, attempt)
      if (found.kind !== 'running') return found
      const isRunning = async (id: number): Promise<boolean> =>
        id === instance.id ? isRunningHere() : instance.isAlive(id) // it may have died since this process started
      const abandoned = await abandonedClaims(db, isRunning, request)
      for (const one of abandoned) await settleOne(one)
      return abandoned.length === 0 ? found : claim(db, attempt)
    },
    async complete(claimed, answer) {
      const columns = { status: answer.status, headers_json: toRequiredColumn(answer.headers), body: answer.body }
      const query = db.updateTable('idempotency_keys').set({ state: 'answered', ...columns })
      await query.where((where) => where.and(rowOf(claimed))).execute()
    },
    async withhold(claimed) {
      await lose(db, claimed, (await effectOf(db, claimed)) ?? 'done')
    },
    release: (claimed) => release(db, claimed),
    settle: settleOne,
    async settleAbandoned() {
      const abandoned = await abandonedClaims(db, (id) => instance.isAlive(id))
      for (const one of abandoned) await settleOne(one)
      return abandoned.length
    },
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

/** A claim; rows of earlier releases have no request id. */
type StoredClaim = Pick<KeyedRequest, 'user' | 'key'> & { readonly requestId: string | null }

/** All claims, or only the one on the key of a request, whose process does not run. */
async function abandonedClaims(
  db: Kysely<StateTables>,
  isRunning: (instanceId: number) => Promise<boolean>,
  only?: Pick<KeyedRequest, 'user' | 'key'>,
): Promise<readonly StoredClaim[]> {
  let query = db.selectFrom('idempotency_keys').selectAll().where('state', '=', 'running')
  if (only) query = query.where('user_id', '=', only.user).where('idempotency_key', '=', only.key)
  const found: StoredClaim[] = []
  for (const row of await query.execute()) {
    if (row.instance_id !== null && (await isRunning(row.instance_id))) continue
    found.push({ user: row.user_id, key: row.idempotency_key, requestId: row.request_id })
  }
  return found
}

async function settle(db: Kysely<StateTables>, claimed: StoredClaim): Promise<void> {
  const effect = await effectOf(db, claimed)
  await (effect === undefined ? release(db, claimed) : lose(db, claimed, effect))
}

async function release(db: Kysely<StateTables>, claimed: StoredClaim): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where((where) => where.and({ ...rowOf(claimed), state: 'running' }))
    .execute()
}

async function lose(db: Kysely<StateTables>, claimed: StoredClaim, effect: string): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({ state: 'lost', body: effect })
    .where((where) => where.and({ ...rowOf(claimed), state: 'running' }))
    .execute()
}

/** The row of a claim. A later request with the same key has another id. */
function rowOf({ user, key, requestId }: StoredClaim) {
  return { user_id: user, idempotency_key: key, ...(requestId === null ? {} : { request_id: requestId }) }
}

/**
 * The effect of a request, as recorded in the audit log in the same transaction. What was begun and has failed is none; what
 * may have been committed is one.
 */
async function effectOf(db: Kysely<StateTables>, { user, requestId }: StoredClaim): Promise<string | undefined> {
  if (requestId === null) return undefined
  const query = db.selectFrom('audit_events').select(['action', 'object_id', 'outcome', 'details_json'])
  const ofRequest = query.where('request_id', '=', requestId).where('actor', '=', user)
  const rows = await ofRequest.orderBy('seq').execute()
  const failed = new Set(rows.filter(hasFailed).map(({ object_id: id }) => id))
  const effect = rows.find(
    ({ outcome, object_id: id }) => outcome === 'done' || (outcome === 'begun' && !failed.has(id)),
  )
  return effect && `${effect.action} ${effect.object_id ?? ''}`.trim()
}

function hasFailed({ outcome, details_json: details }: Pick<AuditEventsTable, 'outcome' | 'details_json'>): boolean {
  return outcome === 'failed' && fromColumn<{ readonly state?: string }>(details)?.state !== 'unknown'
}

function oldest(now: Date): string {
  return new Date(now.getTime() - IDEMPOTENCY_LIFETIME_MS).toISOString()
}

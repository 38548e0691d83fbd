import { type Kysely, sql } from 'kysely'
import type { StateTables } from '../../../src/storage/schema.ts'
import { LEGAL_EDGES, type LifecycleModel } from './lifecycle-model.ts'

type Row = Readonly<Record<string, string | number | null>>

/** Definitions, versions and requests in the database, ordered by id. */
export interface Dump {
  readonly definitions: readonly Row[]
  readonly versions: readonly Row[]
  readonly requests: readonly Row[]
  readonly comments: readonly Row[]
  /** The number of entries in the audit log and the event log. */
  readonly audit: number
  readonly events: number
}

/** Reads the database directly, without the service. */
export async function dump(db: Kysely<StateTables>): Promise<Dump> {
  const { rows: definitions } = await sql<Row>`select id, name from pipeline_definitions order by id`.execute(db)
  const { rows: versions } = await sql<Row>`select id, definition_id, version, environment, content_hash
    from pipeline_versions order by id`.execute(db)
  const { rows: requests } =
    await sql<Row>`select id, definition_id, version_id, from_environment, to_environment, status,
    requested_by, decided_by, reason, content_hash, snapshot_json from approval_requests order by id`.execute(db)
  const { rows: comments } = await sql<Row>`select request_id, comment from approval_comments order by id`.execute(db)
  const { rows } = await sql<{ audit: number; events: number }>`select
    (select coalesce(max(seq), 0) from audit_events) as audit,
    (select coalesce(max(seq), 0) from events) as events`.execute(db)
  return { definitions, versions, requests, comments, ...(rows[0] ?? { audit: 0, events: 0 }) }
}

/** Deletes all definitions with everything that belongs to them. */
export async function wipe(db: Kysely<StateTables>): Promise<void> {
  await sql`delete from pipeline_definitions`.execute(db)
}

/** Checks the invariants of one state. Throws. */
export function checkInvariants({ definitions, versions, requests, comments }: Dump): void {
  const environments = new Map(versions.map((version) => [version['id'], version['environment']]))
  for (const version of versions) {
    claim(
      ['development', 'qa', 'uat', 'production', 'retired'].includes(String(version['environment'])),
      'an environment',
      version,
    )
  }
  for (const { id } of definitions) {
    const numbers = versions
      .filter((version) => version['definition_id'] === id)
      .map((version) => Number(version['version']))
    numbers.sort((a, b) => a - b)
    claim(numbers.length > 0 && numbers.every((number, i) => number === i + 1), `versions 1..n of ${id}`, numbers)
  }
  const pending = requests.filter((request) => request['status'] === 'pending')
  claim(
    new Set(pending.map((request) => request['version_id'])).size === pending.length,
    'one pending request per version',
    pending,
  )
  for (const request of pending) {
    claim(environments.get(request['version_id'] ?? null) === request['from_environment'], 'who waits stays', request)
    claim(request['decided_by'] === null && request['reason'] === null, 'pending means undecided', request)
  }
  for (const request of requests) {
    claim(
      ['qa uat', 'uat production'].includes(`${request['from_environment']} ${request['to_environment']}`),
      'a gate',
      request,
    )
    claim(request['status'] === 'pending' || request['decided_by'] !== null, 'decided by somebody', request)
    claim(
      (request['status'] === 'rejected') === (request['reason'] !== null),
      'rejected with a reason, and only then',
      request,
    )
    const version = versions.find(({ id }) => id === request['version_id'])
    claim(
      version?.['content_hash'] === request['content_hash'],
      'the request is for the content of its version',
      request,
    )
  }
  const requestIds = new Set(requests.map(({ id }) => id))
  for (const comment of comments)
    claim(requestIds.has(comment['request_id'] ?? null), 'a comment has its request', comment)
}

/** Checks the invariants of two successive states. Throws. */
export function checkChange(before: Dump, after: Dump): void {
  const old = new Map(before.versions.map((version) => [version['id'], version]))
  for (const version of after.versions) {
    const was = old.get(version['id'] ?? null)
    if (!was) {
      claim(version['environment'] === 'development', 'a version begins in development', version)
      continue
    }
    const edge = `${was['environment']} ${version['environment']}`
    claim(was['environment'] === version['environment'] || LEGAL_EDGES.has(edge), 'a move of the table', edge)
    claim(same({ ...was, environment: '' }, { ...version, environment: '' }), 'versions do not change', version)
  }
  const requests = new Map(after.requests.map((request) => [request['id'], request]))
  for (const was of before.requests) {
    const now = requests.get(was['id'] ?? null)
    if (!now) continue
    claim(now['snapshot_json'] === was['snapshot_json'], 'snapshots do not change', now)
    claim(was['status'] === 'pending' || same(was, now), 'what is decided stays so', now)
  }
}

/** Checks that the database matches the model. Throws. */
export function checkModel(model: LifecycleModel, state: Dump): void {
  const definitions = [...model.definitions.values()].map(({ id, name }) => ({ id, name }))
  claim(same(sorted(definitions), state.definitions), 'definitions as in the model', [definitions, state.definitions])
  const versions = [...model.versions.values()].map(({ id, definitionId, version, environment }) => ({
    id,
    definition_id: definitionId,
    version,
    environment,
  }))
  const storedVersions = state.versions.map((version) => without(version, 'content_hash'))
  claim(same(sorted(versions), storedVersions), 'versions as in the model', [versions, storedVersions])
  const requests = [...model.requests.values()].map((request) => ({
    id: request.id,
    definition_id: request.definitionId,
    version_id: request.versionId,
    from_environment: request.from,
    to_environment: request.to,
    status: request.status,
    requested_by: request.requestedBy,
    decided_by: request.decidedBy,
    reason: request.reason,
  }))
  const storedRequests = state.requests.map((request) => without(request, 'content_hash', 'snapshot_json'))
  claim(same(sorted(requests), storedRequests), 'requests as in the model', [requests, storedRequests])
  for (const request of model.requests.values()) {
    const stored = state.requests.find(({ id }) => id === request.id)
    request.snapshot ??= String(stored?.['snapshot_json'])
    claim(request.snapshot === stored?.['snapshot_json'], 'the snapshot of the day it was made', stored)
    const comments = state.comments
      .filter((comment) => comment['request_id'] === request.id)
      .map(({ comment }) => comment)
    claim(same(request.comments, comments), 'comments as in the model', [request.comments, comments])
  }
}

/** Throws with the expected and the actual value. */
export function claim(holds: boolean, what: string, instead: unknown): void {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(instead)}`)
}

function without(row: Row, ...columns: readonly string[]): Row {
  return Object.fromEntries(Object.entries(row).filter(([column]) => !columns.includes(column)))
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function sorted<T extends { readonly id: string }>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

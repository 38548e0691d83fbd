import { type Kysely, sql } from 'kysely'

import type { ApprovalStatus } from '../../domain/approvals.ts'
import type { Environment } from '../../domain/environments.ts'
import { fromRequiredColumn, toRequiredColumn } from '../json-column.ts'
import type { KeyPageRequest } from '../key-page.ts'
import { decodeOptional } from '../nullable.ts'
import { parameterRow, prepared } from '../prepared-query.ts'
import type { ApprovalRequestsTable, StateTables } from '../schema.ts'
import type { VersionRecord } from './version-store.ts'

/** An approval request without its snapshot. */
export type ApprovalSummary = PendingApproval | DecidedApproval

/** The fields of every approval request. */
interface ApprovalRequest {
  readonly id: string
  readonly definitionId: string
  /** The name at the time of the request. */
  readonly definitionName: string
  readonly versionId: string
  readonly version: number
  readonly fromEnvironment: Environment
  readonly toEnvironment: Environment
  readonly requestedBy: string
  readonly requestedAt: string
  /** Hash of the requested content. */
  readonly contentHash: string
}

export interface PendingApproval extends ApprovalRequest {
  readonly status: 'pending'
}

export interface DecidedApproval extends ApprovalRequest {
  readonly status: Exclude<ApprovalStatus, 'pending'>
  readonly decidedBy: string
  readonly decidedAt: string
  /** Why it was rejected. */
  readonly reason?: string
  /** The newest version in the target environment at the decision; absent when there was none. */
  readonly baseVersionId?: string
}

/** The version at the time of the request. */
interface Snapshot {
  readonly snapshot: VersionRecord
}

export type ApprovalRecord = ApprovalSummary & Snapshot

export type NewApproval = PendingApproval & Snapshot

/** Approval requests: created as pending, decided once, then never changed. */
export interface ApprovalStore {
  /** Throws `DatabaseError` `UNIQUE_VIOLATION` when the version has a pending request. */
  insert(request: NewApproval): Promise<void>
  find(id: string): Promise<ApprovalRecord | undefined>
  findSummary(id: string): Promise<ApprovalSummary | undefined>
  /** The pending request of a version. */
  findPending(versionId: string): Promise<{ readonly id: string } | undefined>
  /** The pending requests of a definition. */
  pendingOf(definitionId: string): Promise<readonly { readonly id: string }[]>
  /** The pending requests of several definitions, oldest first. */
  pendingOfAll(definitionIds: readonly string[]): Promise<readonly ApprovalSummary[]>
  /** Newest first, one more than the limit if there are more. */
  list(status: ApprovalStatus | undefined, page: KeyPageRequest): Promise<readonly ApprovalSummary[]>
  countPending(): Promise<number>
  /** Stores the decision of a pending request; false, with nothing changed, when it was already decided. */
  decide(request: DecidedApproval): Promise<boolean>
}

const SUMMARY_COLUMNS = [
  'id',
  'definition_id',
  'definition_name',
  'version_id',
  'version',
  'from_environment',
  'to_environment',
  'status',
  'requested_by',
  'requested_at',
  'decided_by',
  'decided_at',
  'reason',
  'content_hash',
  'base_version_id',
] as const satisfies readonly (keyof ApprovalRequestsTable)[]

const insertRequest = prepared<ApprovalRequestsTable, unknown>((db, parameter) =>
  db.insertInto('approval_requests').values(parameterRow(parameter, [...SUMMARY_COLUMNS, 'snapshot_json'])),
)

const findRequest = prepared<{ id: string }, ApprovalRequestsTable>((db, parameter) =>
  db.selectFrom('approval_requests').selectAll().where('id', '=', parameter('id')),
)

// The condition is a constant in the query, so that the partial index is used.
const findPending = prepared<{ version_id: string }, { id: string }>((db, parameter) =>
  db
    .selectFrom('approval_requests')
    .select('id')
    .where('version_id', '=', parameter('version_id'))
    .where('status', '=', sql.lit('pending')),
)

type DecisionColumns = 'id' | 'status' | 'decided_by' | 'decided_at' | 'reason' | 'base_version_id'

const decideRequest = prepared<Pick<ApprovalRequestsTable, DecisionColumns>, unknown>((db, parameter) =>
  db
    .updateTable('approval_requests')
    .set({
      status: parameter('status'),
      decided_by: parameter('decided_by'),
      decided_at: parameter('decided_at'),
      reason: parameter('reason'),
      base_version_id: parameter('base_version_id'),
    })
    .where('id', '=', parameter('id'))
    .where('status', '=', 'pending'),
)

/** Approval requests in the state database. */
export function createApprovalStore(db: Kysely<StateTables>): ApprovalStore {
  const pending = () => db.selectFrom('approval_requests').where('status', '=', 'pending')
  return {
    async insert(request) {
      await insertRequest(db, toRow(request))
    },
    async find(id) {
      const [row] = (await findRequest(db, { id })).rows
      return row && { ...fromRow(row), snapshot: fromRequiredColumn<VersionRecord>(row.snapshot_json) }
    },
    async findSummary(id) {
      const query = db.selectFrom('approval_requests').select(SUMMARY_COLUMNS).where('id', '=', id)
      const row = await query.executeTakeFirst()
      return row && fromRow(row)
    },
    async findPending(versionId) {
      return (await findPending(db, { version_id: versionId })).rows[0]
    },
    pendingOf: (definitionId) =>
      pending().select('id').where('definition_id', '=', definitionId).orderBy('id').execute(),
    async pendingOfAll(definitionIds) {
      if (definitionIds.length === 0) return []
      const query = pending().select(SUMMARY_COLUMNS).where('definition_id', 'in', definitionIds).orderBy('id')
      return (await query.execute()).map(fromRow)
    },
    async list(status, { limit, after }) {
      let query = db.selectFrom('approval_requests').select(SUMMARY_COLUMNS).orderBy('id', 'desc')
      if (status !== undefined) query = query.where('status', '=', status)
      if (after !== undefined) query = query.where('id', '<', after)
      return (await query.limit(limit + 1).execute()).map(fromRow)
    },
    async countPending() {
      const query = pending().select((select) => select.fn.countAll<number>().as('count'))
      return (await query.executeTakeFirstOrThrow()).count
    },
    async decide({ id, status, decidedBy, decidedAt, reason, baseVersionId }) {
      const decision = {
        id,
        status,
        decided_by: decidedBy,
        decided_at: decidedAt,
        reason: reason ?? null,
        base_version_id: baseVersionId ?? null,
      }
      return (await decideRequest(db, decision)).numAffectedRows === 1n
    },
  }
}

function toRow(request: NewApproval): ApprovalRequestsTable {
  return {
    id: request.id,
    definition_id: request.definitionId,
    definition_name: request.definitionName,
    version_id: request.versionId,
    version: request.version,
    from_environment: request.fromEnvironment,
    to_environment: request.toEnvironment,
    status: request.status,
    requested_by: request.requestedBy,
    requested_at: request.requestedAt,
    decided_by: null,
    decided_at: null,
    reason: null,
    content_hash: request.contentHash,
    base_version_id: null,
    snapshot_json: toRequiredColumn(request.snapshot),
  }
}

function fromRow(row: Omit<ApprovalRequestsTable, 'snapshot_json'>): ApprovalSummary {
  const request: ApprovalRequest = {
    id: row.id,
    definitionId: row.definition_id,
    definitionName: row.definition_name,
    versionId: row.version_id,
    version: row.version,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written from records only
    fromEnvironment: row.from_environment as Environment,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written from records only
    toEnvironment: row.to_environment as Environment,
    requestedBy: row.requested_by,
    requestedAt: row.requested_at,
    contentHash: row.content_hash,
  }
  const { id, status, decided_by: decidedBy, decided_at: decidedAt } = row
  if (status === 'pending') return { ...request, status }
  if ((status !== 'approved' && status !== 'rejected') || decidedBy === null || decidedAt === null) {
    throw new Error(`approval request ${id} is stored as "${status}" without who decided it and when`)
  }
  const { reason, base_version_id: baseVersionId } = row
  return { ...request, status, decidedBy, decidedAt, ...decodeOptional({ reason, baseVersionId }) }
}

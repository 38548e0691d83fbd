import { type Kysely, sql } from 'kysely'

import type { ApprovalStatus } from '../../../domain/approvals.ts'
import type { Environment } from '../../../domain/environments.ts'
import { fromColumn, fromRequiredColumn, toColumn, toRequiredColumn } from '../../json-column.ts'
import type { KeyPageRequest } from '../../key-page.ts'
import { decodeOptional } from '../../nullable.ts'
import { parameterRow, prepared } from '../../prepared-query.ts'
import type { ApprovalRequestsTable, StateTables } from '../../schema.ts'
import type { VersionRecord } from '../version-store.ts'
import type { WindowOverride } from '../window-override.ts'

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
  /** Since when it has its approvals and waits for a window; absent: it does not wait. */
  readonly waitingSince?: string
}

export interface DecidedApproval extends ApprovalRequest {
  readonly status: 'approved' | 'rejected'
  /** Absent: the service itself. */
  readonly decidedBy?: string
  readonly decidedAt: string
  /** Why it was rejected. */
  readonly reason?: string
  /** Who did not wait for the window. */
  readonly override?: WindowOverride
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
  /** The number of pending requests that do not wait for a window. */
  countPending(): Promise<number>
  /** The open requests for an environment in the order of their ids, at most as many as the limit. */
  listOpen(filter: OpenFilter, page: KeyPageRequest): Promise<readonly PendingApproval[]>
  /** Stores since when a pending request waits for a window, or that it no longer does; false when it was decided. */
  setWaiting(id: string, since: string | null): Promise<boolean>
  /** Stores the decision of a pending request; false, with nothing changed, when it was already decided. */
  decide(request: DecidedApproval): Promise<boolean>
}

/** Selects open requests; without other members, all of an environment. */
export interface OpenFilter {
  readonly environment: Environment
  /** Only those that wait for a window. */
  readonly isWaiting?: boolean
  /** Only those that do not wait, and were made until then. */
  readonly requestedUntil?: string
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
  'waiting_since',
  'override_json',
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

type DecisionColumns = 'id' | 'status' | 'decided_by' | 'decided_at' | 'reason' | 'base_version_id' | 'override_json'

const decideRequest = prepared<Pick<ApprovalRequestsTable, DecisionColumns>, unknown>((db, parameter) =>
  db
    .updateTable('approval_requests')
    .set({
      status: parameter('status'),
      decided_by: parameter('decided_by'),
      decided_at: parameter('decided_at'),
      reason: parameter('reason'),
      base_version_id: parameter('base_version_id'),
      override_json: parameter('override_json'),
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
      if (status !== undefined) query = query.where('status', '=', storedStatus(status))
      if (status === 'pending') query = query.where('waiting_since', 'is', null)
      if (status === 'waiting_for_window') query = query.where('waiting_since', 'is not', null)
      if (after !== undefined) query = query.where('id', '<', after)
      return (await query.limit(limit + 1).execute()).map(fromRow)
    },
    async countPending() {
      const undecided = pending().where('waiting_since', 'is', null)
      const query = undecided.select((select) => select.fn.countAll<number>().as('count'))
      return (await query.executeTakeFirstOrThrow()).count
    },
    listOpen: (filter, page) => listOpen(db, filter, page),
    async setWaiting(id, since) {
      const update = db.updateTable('approval_requests').set({ waiting_since: since })
      const open = update.where('id', '=', id).where('status', '=', 'pending')
      return (await open.executeTakeFirst()).numUpdatedRows === 1n
    },
    async decide({ id, status, decidedBy, decidedAt, reason, baseVersionId, override }) {
      const decision = {
        id,
        status,
        decided_by: decidedBy ?? null,
        decided_at: decidedAt,
        reason: reason ?? null,
        base_version_id: baseVersionId ?? null,
        override_json: toColumn(override),
      }
      return (await decideRequest(db, decision)).numAffectedRows === 1n
    },
  }
}

async function listOpen(
  db: Kysely<StateTables>,
  { environment, isWaiting, requestedUntil }: OpenFilter,
  { limit, after }: KeyPageRequest,
): Promise<readonly PendingApproval[]> {
  let query = db
    .selectFrom('approval_requests')
    .select(SUMMARY_COLUMNS)
    .where('status', '=', 'pending')
    .where('to_environment', '=', environment)
    .orderBy('id')
  if (after !== undefined) query = query.where('id', '>', after)
  if (isWaiting === true) query = query.where('waiting_since', 'is not', null)
  if (requestedUntil !== undefined) {
    query = query.where('waiting_since', 'is', null).where('requested_at', '<=', requestedUntil)
  }
  return (await query.limit(limit).execute()).map(pendingFromRow)
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
    waiting_since: request.waitingSince ?? null,
    override_json: null,
  }
}

/** Requests that wait for a window are stored as pending, so that each version has at most one open request. */
function storedStatus(status: ApprovalStatus): ApprovalSummary['status'] {
  return status === 'waiting_for_window' ? 'pending' : status
}

type SummaryRow = Omit<ApprovalRequestsTable, 'snapshot_json'>

function requestFromRow(row: SummaryRow): ApprovalRequest {
  return {
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
}

function pendingFromRow(row: SummaryRow): PendingApproval {
  return { ...requestFromRow(row), status: 'pending', ...decodeOptional({ waitingSince: row.waiting_since }) }
}

function fromRow(row: SummaryRow): ApprovalSummary {
  const { id, status, decided_by: decidedBy, decided_at: decidedAt } = row
  if (status === 'pending') return pendingFromRow(row)
  if ((status !== 'approved' && status !== 'rejected') || decidedAt === null) {
    throw new Error(`approval request ${id} is stored as "${status}" without the time of the decision`)
  }
  const { reason, base_version_id: baseVersionId } = row
  const override = fromColumn<WindowOverride>(row.override_json)
  return {
    ...requestFromRow(row),
    status,
    decidedAt,
    ...decodeOptional({ decidedBy, reason, baseVersionId, override }),
  }
}

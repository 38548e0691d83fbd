import type { Kysely } from 'kysely'

import { toColumn, toRequiredColumn } from '../../json-column.ts'
import {
  detailColumns,
  type OperationDetails,
  type OperationError,
  operationFromRow,
  type OperationProgress,
  type OperationRecord,
} from './operation-record.ts'
import { afterCursor } from '../../page-query.ts'
import { pageOf, type Page, type PageRequest } from '../../page.ts'
import type { OperationState, StateTables } from '../../schema.ts'

export interface OperationFilter {
  readonly table?: string | undefined
  readonly kind?: string | undefined
  readonly state?: OperationState | undefined
  readonly group?: string | undefined
}

/** How an operation ended. */
export interface OperationOutcome extends OperationDetails {
  readonly state: Exclude<OperationState, 'running'>
  readonly finishedAt: string
  readonly error?: OperationError
}

/** The operation ledger. An operation is inserted, updated while it runs, and finished once. */
export interface OperationStore {
  /** Throws `DatabaseError` `UNIQUE_VIOLATION` when the id exists. */
  insert(operation: OperationRecord): Promise<void>
  find(id: string): Promise<OperationRecord | undefined>
  /** Newest first. */
  list(filter: OperationFilter, page: PageRequest): Promise<Page<OperationRecord>>
  /** Operations without a certain end: running, or with an unknown outcome; oldest first. */
  listUnsettled(): Promise<readonly OperationRecord[]>
  /** Adds details; false, with nothing changed, when the operation is not running. */
  update(id: string, details: OperationDetails): Promise<boolean>
  updateProgress(id: string, progress: OperationProgress): Promise<boolean>
  /** Hands an operation without a certain end to a process, which runs it; false when it has ended, or is another one's. */
  adopt(operation: Pick<OperationRecord, 'id' | 'instanceId'>, instanceId: number): Promise<boolean>
  /**
   * Ends a running operation, or settles an unknown one; false, with nothing changed, when it had already ended, or is not
   * the one of `owner`.
   */
  finish(id: string, outcome: OperationOutcome, owner?: number): Promise<boolean>
}

/** The operation ledger in the state database. */
export function createOperationStore(db: Kysely<StateTables>): OperationStore {
  return {
    insert: (operation) => insert(db, operation),
    async find(id) {
      const row = await db.selectFrom('operations').selectAll().where('id', '=', id).executeTakeFirst()
      return row && operationFromRow(row)
    },
    list: (filter, page) => list(db, filter, page),
    async listUnsettled() {
      const query = db.selectFrom('operations').selectAll().where('state', 'in', ['running', 'unknown'])
      const rows = await query.orderBy('created_at').orderBy('id').execute()
      return rows.map(operationFromRow)
    },
    update: (id, details) => update(db, id, details),
    updateProgress: (id, progress) => update(db, id, { progress }),
    adopt: (operation, instanceId) => adopt(db, operation, instanceId),
    finish: (id, outcome, owner) => finish(db, { id, outcome, owner }),
  }
}

async function insert(db: Kysely<StateTables>, operation: OperationRecord): Promise<void> {
  const row = {
    id: operation.id,
    kind: operation.kind,
    table_name: operation.table,
    state: operation.state,
    requested_by: operation.requestedBy,
    request_id: operation.requestId ?? null,
    request_json: toRequiredColumn(operation.request),
    error_json: toColumn(operation.error),
    created_at: operation.createdAt,
    finished_at: operation.finishedAt ?? null,
    instance_id: operation.instanceId ?? null,
    group_id: operation.group ?? null,
    ...detailColumns(operation),
  }
  await db.insertInto('operations').values(row).execute()
}

async function list(
  db: Kysely<StateTables>,
  filter: OperationFilter,
  page: PageRequest,
): Promise<Page<OperationRecord>> {
  let query = db.selectFrom('operations').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc')
  if (filter.table !== undefined) query = query.where('table_name', '=', filter.table)
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind)
  if (filter.state !== undefined) query = query.where('state', '=', filter.state)
  if (filter.group !== undefined) query = query.where('group_id', '=', filter.group)
  const rows = await afterCursor(query, page).execute()
  return pageOf(rows.map(operationFromRow), page.limit)
}

async function update(db: Kysely<StateTables>, id: string, details: OperationDetails): Promise<boolean> {
  const columns = detailColumns(details)
  if (Object.keys(columns).length === 0) return (await find(db, id, ['running'])) !== undefined
  const query = db.updateTable('operations').set(columns).where('id', '=', id).where('state', '=', 'running')
  return (await query.executeTakeFirst()).numUpdatedRows === 1n
}

async function adopt(
  db: Kysely<StateTables>,
  { id, instanceId: owner }: Pick<OperationRecord, 'id' | 'instanceId'>,
  instanceId: number,
): Promise<boolean> {
  const columns = { state: 'running' as const, instance_id: instanceId, finished_at: null, error_json: null }
  const owned = db.updateTable('operations').set(columns).where('id', '=', id)
  const query = owner === undefined ? owned : owned.where('instance_id', '=', owner)
  return (await query.where('state', 'in', ['running', 'unknown']).executeTakeFirst()).numUpdatedRows === 1n
}

interface Ending {
  readonly id: string
  readonly outcome: OperationOutcome
  readonly owner: number | undefined
}

async function finish(db: Kysely<StateTables>, { id, outcome, owner }: Ending): Promise<boolean> {
  const columns = {
    ...detailColumns(outcome),
    state: outcome.state,
    finished_at: outcome.finishedAt,
    error_json: toColumn(outcome.error),
  }
  const found = db.updateTable('operations').set(columns).where('id', '=', id)
  const query = owner === undefined ? found : found.where('instance_id', '=', owner)
  return (await query.where('state', 'in', ['running', 'unknown']).executeTakeFirst()).numUpdatedRows === 1n
}

async function find(
  db: Kysely<StateTables>,
  id: string,
  states: readonly OperationState[],
): Promise<{ id: string } | undefined> {
  return db.selectFrom('operations').select('id').where('id', '=', id).where('state', 'in', states).executeTakeFirst()
}

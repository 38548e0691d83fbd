import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'

import { type ChainHead, chainRow, EMPTY_CHAIN, headMac, type UnchainedRow } from '../audit-chain.ts'
import { parameterRow, prepared } from '../prepared-query.ts'
import type { AuditEventsTable, AuditHeadTable, StateTables } from '../schema.ts'
import type { Tx } from '../transactions.ts'

export interface AuditFilter {
  readonly actor?: string
  /** The object's id, or a value in the entry's details, such as the table of an operation or the name of a definition. */
  readonly object?: string
  readonly objectType?: string
  readonly action?: string
  /** RFC 3339 in UTC with milliseconds, inclusive. */
  readonly from?: string
  /** RFC 3339 in UTC with milliseconds, exclusive. */
  readonly to?: string
}

export interface AuditPage {
  readonly limit: number
  /** Rows before this one; default: from the newest. */
  readonly beforeSeq?: number
}

/** The audit log. Rows are only appended, in the transaction of the change that they record. */
export interface AuditStore {
  /** Appends a row to the chain; call it in a transaction of `InTransaction`, which keeps other writers out. */
  append(tx: Tx, row: UnchainedRow): Promise<ChainHead>
  /** Newest first; one row more than the limit when there are more. */
  list(filter: AuditFilter, page: AuditPage): Promise<readonly AuditEventsTable[]>
  /** Rows after `seq`, oldest first; with a filter only those that match. */
  after(seq: number, limit: number, filter?: AuditFilter): Promise<readonly AuditEventsTable[]>
  /** The stored head, valid or not. */
  head(): Promise<AuditHeadTable | undefined>
}

const COLUMNS = [
  'seq',
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
  'prev_hash',
  'hash',
] as const satisfies readonly (keyof AuditEventsTable)[]

/** The audit log in the state database; `key` signs its head and must be stored outside of the database. */
export function createAuditStore(db: Kysely<StateTables>, key: Uint8Array): AuditStore {
  return {
    append: (tx, row) => append(tx, key, row),
    list: (filter, page) => list(db, filter, page),
    after: (seq, limit, filter = {}) =>
      matching(db.selectFrom('audit_events').selectAll(), filter)
        .where('seq', '>', seq)
        .orderBy('seq')
        .limit(limit)
        .execute(),
    head: () => db.selectFrom('audit_head').selectAll().where('id', '=', 1).executeTakeFirst(),
  }
}

const findHead = prepared<{ id: number }, AuditHeadTable>((db, parameter) =>
  db.selectFrom('audit_head').selectAll().where('id', '=', parameter('id')),
)

const insertEvent = prepared<AuditEventsTable, unknown>((db, parameter) =>
  db.insertInto('audit_events').values(parameterRow(parameter, COLUMNS)),
)

const moveHead = prepared<AuditHeadTable, unknown>((db, parameter) =>
  db
    .updateTable('audit_head')
    .set({ seq: parameter('seq'), hash: parameter('hash'), mac: parameter('mac') })
    .where('id', '=', parameter('id')),
)

async function append(tx: Tx, key: Uint8Array, row: UnchainedRow): Promise<ChainHead> {
  const [stored] = (await findHead(tx, { id: 1 })).rows
  const next = chainRow(stored ?? EMPTY_CHAIN, row)
  await insertEvent(tx, next)
  const head = { id: 1, seq: next.seq, hash: next.hash, mac: headMac(key, next) }
  if (stored) await moveHead(tx, head)
  else await tx.insertInto('audit_head').values(head).execute()
  return next
}

async function list(
  db: Kysely<StateTables>,
  filter: AuditFilter,
  page: AuditPage,
): Promise<readonly AuditEventsTable[]> {
  const query = matching(db.selectFrom('audit_events').selectAll(), filter)
    .orderBy('seq', 'desc')
    .limit(page.limit + 1)
  return page.beforeSeq === undefined ? query.execute() : query.where('seq', '<', page.beforeSeq).execute()
}

type AuditQuery = SelectQueryBuilder<StateTables, 'audit_events', AuditEventsTable>

function matching(rows: AuditQuery, filter: AuditFilter): AuditQuery {
  let query = rows
  if (filter.actor !== undefined) query = query.where('actor', '=', filter.actor)
  if (filter.object !== undefined) query = aboutObject(query, filter.object)
  if (filter.objectType !== undefined) query = query.where('object_type', '=', filter.objectType)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action)
  if (filter.from !== undefined) query = query.where('at', '>=', filter.from)
  if (filter.to !== undefined) query = query.where('at', '<', filter.to)
  return query
}

/** Entries with this object id, or with a member of this value in their details: the comparison is exact in both databases. */
function aboutObject(rows: AuditQuery, object: string): AuditQuery {
  const member = `:${JSON.stringify(object)}`
  return rows.where((entry) =>
    entry.or([entry('object_id', '=', object), sql<boolean>`replace(details_json, ${member}, '') <> details_json`]),
  )
}

import type { Kysely } from 'kysely'

import { fromColumn, type StoredJson } from '../../json-column.ts'
import type { Cursor } from '../../page.ts'
import type { OperationState, StateTables } from '../../schema.ts'
import type { QuarantineState } from './quarantine-store.ts'
import type { StoredReceipt } from './operation-record.ts'

/** What the ledger has of an operation's cost and gain. */
export interface EndedOperation {
  readonly id: string
  readonly kind: string
  readonly table: string
  readonly state: Exclude<OperationState, 'running'>
  readonly requestedBy: string
  readonly createdAt: string
  /** The snapshot that was current before. */
  readonly baseSnapshotId: string | undefined
  readonly snapshotId: string | undefined
  readonly durationMs: number
  readonly receipt: StoredReceipt | undefined
  readonly result: StoredJson | undefined
}

/** A rollback that moved `main` of a table. */
export interface StoredRollback {
  readonly table: string
  /** The snapshot that was current before. */
  readonly baseSnapshotId: string | undefined
  readonly result: StoredJson | undefined
}

/** What became of the files that an operation put into quarantine. */
export interface QuarantineOutcome {
  readonly operationId: string
  readonly state: QuarantineState
  readonly bytes: number
}

/** Ranges of the ledger for sums; times are RFC 3339 in UTC. */
export interface SavingsStore {
  /** Ended operations that were requested in `[from, until)`, oldest first, in portions. */
  portions(from: string, until: string): AsyncIterable<readonly EndedOperation[]>
  /** How many operations that is, running ones included. */
  count(from: string, until: string): Promise<number>
  /** Rollbacks that were requested from a time on and succeeded. */
  rollbacks(from: string): Promise<readonly StoredRollback[]>
  /** What operations put into quarantine from a time on. */
  quarantined(from: string): Promise<readonly QuarantineOutcome[]>
}

const PORTION = 1000

/** Ranges of the ledger in the state database, read in portions of a number of rows. */
export function createSavingsStore(db: Kysely<StateTables>, size = PORTION): SavingsStore {
  return {
    portions: (from, until) => portions(db, { from, until, size }),
    async count(from, until) {
      const query = db.selectFrom('operations').select((select) => select.fn.countAll().as('count'))
      const row = await query.where('created_at', '>=', from).where('created_at', '<', until).executeTakeFirstOrThrow()
      return Number(row.count)
    },
    async rollbacks(from) {
      const rows = await db
        .selectFrom('operations')
        .select(['table_name', 'base_snapshot_id', 'result_json'])
        .where('created_at', '>=', from)
        .where('kind', '=', 'rollback')
        .where('state', '=', 'succeeded')
        .execute()
      return rows.map((row) => ({
        table: row.table_name,
        baseSnapshotId: row.base_snapshot_id ?? undefined,
        result: fromColumn(row.result_json),
      }))
    },
    async quarantined(from) {
      const query = db.selectFrom('quarantine_entries').select(['operation_id', 'state', 'byte_count'])
      const rows = await query.where('created_at', '>=', from).execute()
      return rows.map((row) => ({ operationId: row.operation_id, state: row.state, bytes: row.byte_count }))
    },
  }
}

interface Range {
  readonly from: string
  readonly until: string
  readonly size: number
}

async function* portions(db: Kysely<StateTables>, range: Range): AsyncGenerator<readonly EndedOperation[]> {
  let after: Cursor | undefined
  for (;;) {
    const rows = await portion(db, range, after)
    yield rows.flatMap(endedFrom)
    const last = rows.at(-1)
    if (last === undefined || rows.length < range.size) return
    after = { createdAt: last.created_at, id: last.id }
  }
}

async function portion(db: Kysely<StateTables>, { from, until, size }: Range, after: Cursor | undefined) {
  const query = db
    .selectFrom('operations')
    .select(['id', 'kind', 'table_name', 'state', 'requested_by', 'created_at', 'snapshot_id', 'duration_ms'])
    .select(['base_snapshot_id', 'receipt_json', 'result_json'])
    .where('created_at', '>=', after?.createdAt ?? from)
    .where('created_at', '<', until)
    .orderBy('created_at')
    .orderBy('id')
    .limit(size)
  if (after === undefined) return query.execute()
  const { createdAt, id } = after
  return query.where((where) => where.or([where('created_at', '>', createdAt), where('id', '>', id)])).execute()
}

function endedFrom(row: Awaited<ReturnType<typeof portion>>[number]): readonly EndedOperation[] {
  if (row.state === 'running') return []
  return [
    {
      id: row.id,
      kind: row.kind,
      table: row.table_name,
      state: row.state,
      requestedBy: row.requested_by,
      createdAt: row.created_at,
      baseSnapshotId: row.base_snapshot_id ?? undefined,
      snapshotId: row.snapshot_id ?? undefined,
      durationMs: row.duration_ms ?? 0,
      receipt: fromColumn<StoredReceipt>(row.receipt_json),
      result: fromColumn(row.result_json),
    },
  ]
}

import type { RequestContext } from '../../domain/audit.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'

/** Where queries are recorded. */
export interface QueryRecorder {
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
}

/** What a query reads. */
export interface RecordedQuery {
  readonly tables: readonly string[]
  readonly sql?: string | undefined
  readonly where?: string | undefined
  /** The snapshots whose changes are read: after the first, up to the last. */
  readonly changes?: { readonly from: bigint | undefined; readonly to: bigint | undefined }
}

/** Records who reads which tables, without rows. */
export async function recordQuery(
  { inTransaction, audit }: QueryRecorder,
  context: RequestContext,
  { tables, sql, where, changes }: RecordedQuery,
): Promise<void> {
  const details = {
    tables: [...tables],
    ...(sql === undefined ? {} : { sql }),
    ...(where === undefined ? {} : { where }),
    ...(changes === undefined
      ? {}
      : { changes: { from: changes.from?.toString() ?? null, to: changes.to?.toString() ?? null } }),
  }
  const [objectId] = tables
  await inTransaction((tx) =>
    audit.record(tx, { ...context, action: 'table.query', objectType: 'table', objectId, details }),
  )
}

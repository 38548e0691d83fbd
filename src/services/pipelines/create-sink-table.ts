import type { Catalog } from '../../catalog/catalog.ts'
import { parseIdentifier } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ResultColumn } from '../../engines/sql-sandbox.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { EventWriter } from '../events/event-log.ts'

export interface SinkTableDeps {
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
}

/** A column in a validation or creation response; a null type: no table can store it. */
export interface SinkColumnView {
  readonly name: string
  readonly type: string | null
}

/** A sink table to create. */
export interface SinkTable {
  readonly catalog: Catalog
  readonly table: string
  readonly columns: readonly ResultColumn[]
}

/** The columns that reach a sink, with Iceberg type names. */
export function sinkColumnViews(columns: readonly ResultColumn[]): SinkColumnView[] {
  return columns.map(({ name, type }) => ({ name, type: type ? formatType(type) : null }))
}

/**
 * Creates a table of the columns that reach a sink, all of them optional, not partitioned. Throws `UNPROCESSABLE` when
 * a column has a type that no table can store, and `TABLE_EXISTS`.
 */
export async function createSinkTable(
  { inTransaction, audit, events }: SinkTableDeps,
  { catalog, table, columns }: SinkTable,
  context: RequestContext,
): Promise<void> {
  const fields = columns.map(toField)
  const identifier = parseIdentifier(table)
  const entry = { ...context, action: 'table.create', objectType: 'table', objectId: table } as const
  await inTransaction((tx) => audit.record(tx, { ...entry, outcome: 'begun' }))
  await catalog.createNamespace(identifier.namespace)
  await catalog.createTable(identifier, {
    schema: { schemaId: 0, identifierFieldIds: [], fields },
    formatVersion: fields.some(({ type }) => formatType(type).includes('_ns')) ? 3 : 2,
  })
  await inTransaction(async (tx) => {
    await audit.record(tx, entry)
    await events.append(tx, { type: 'table.created', objectType: 'table', objectId: table, data: { table } })
  })
}

function toField({ name, engineType, type }: ResultColumn, at: number): NestedField {
  if (type === undefined) {
    throw new DomainError('UNPROCESSABLE', `column ${name} is ${engineType}, which no table can store: CAST it`)
  }
  return { id: at + 1, name, required: false, type }
}

import { memberOf } from '../../catalog/catalog.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { parseIdentifier } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ResultColumn } from '../../engines/sql-sandbox.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { SinkWrite } from '../../domain/pipelines/modes.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'
import { withoutChangeColumns } from '../../streaming/graph/sink-writes.ts'
import { keyLayout } from '../../streaming/sink/key-layout.ts'
import { keyColumns } from '../../streaming/sink/merge-key.ts'
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
  readonly write: SinkWrite
}

/** The columns that reach a sink, with Iceberg type names. */
export function sinkColumnViews(columns: readonly ResultColumn[]): SinkColumnView[] {
  return columns.map(({ name, type }) => ({ name, type: type ? formatType(type) : null }))
}

/**
 * Creates a table of the columns that reach a sink, all of them optional, not partitioned, and sorted by the key of rows that are
 * merged. Throws `UNPROCESSABLE` when a column has a type that no table can store or that cannot be a key, and `TABLE_EXISTS`.
 */
export async function createSinkTable(
  { inTransaction, audit, events }: SinkTableDeps,
  { catalog, table, columns, write }: SinkTable,
  context: RequestContext,
): Promise<void> {
  const fields = withoutChangeColumns(columns, write).map(toField)
  const schema = { schemaId: 0, identifierFieldIds: [], fields }
  const layout = write.mode === 'append' ? {} : keyLayout(schema, requireKey(schema, write.key), 0)
  const identifier = parseIdentifier(table)
  const entry = { ...context, action: 'table.create', objectType: 'table', objectId: table } as const
  await inTransaction((tx) => audit.record(tx, { ...entry, outcome: 'begun' }))
  await memberOf(catalog, identifier).createNamespace(identifier.namespace)
  await catalog.createTable(identifier, {
    schema,
    ...layout,
    formatVersion: fields.some(({ type }) => formatType(type).includes('_ns')) ? 3 : 2,
  })
  await inTransaction(async (tx) => {
    await audit.record(tx, entry)
    await events.append(tx, { type: 'table.created', objectType: 'table', objectId: table, data: { table } })
  })
}

function requireKey(schema: Schema, key: readonly string[]): readonly NestedField[] {
  const { fields, problems } = keyColumns(schema, key)
  if (problems.length > 0) throw new DomainError('UNPROCESSABLE', problems.join('; '))
  return fields
}

function toField({ name, engineType, type }: ResultColumn, at: number): NestedField {
  if (type === undefined) {
    throw new DomainError('UNPROCESSABLE', `column ${name} is ${engineType}, which no table can store: CAST it`)
  }
  return { id: at + 1, name, required: false, type }
}

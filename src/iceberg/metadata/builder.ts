import { IcebergError } from '../errors.ts'
import { assignFreshFieldIds } from '../schema/fresh-ids.ts'
import type { JsonObject } from '../json/lossless-json.ts'
import { checkIdentifierFields, checkPartitionSpec, checkSchemaVersion, checkSortOrder } from './checks.ts'
import { tableMetadataFromJson } from './metadata.ts'
import type { TableMetadata } from './metadata.ts'
import { lastPartitionFieldId, partitionIdBase, partitionSpecToJson } from '../partitioning/partitioning.ts'
import { checkReadableByJava } from './readable-by-java.ts'
import type { PartitionSpec } from '../partitioning/partitioning.ts'
import { schemaToJson } from '../schema/schema.ts'
import { checkSchemaSize } from '../schema/schema-limits.ts'
import type { Schema } from '../schema/schema.ts'
import { sortOrderToJson } from '../partitioning/sort-order.ts'
import type { SortOrder } from '../partitioning/sort-order.ts'

export interface NewTableOptions {
  /** Its field ids only connect partition spec, sort order and identifier fields to columns; the table gets new ids. */
  readonly schema: Schema
  readonly partitionSpec?: PartitionSpec
  readonly sortOrder?: SortOrder
  readonly location: string
  readonly properties?: Readonly<Record<string, string>>
  /** Default 2. */
  readonly formatVersion?: 1 | 2 | 3
  readonly uuid: string
  /** Current time, ms since the epoch. */
  readonly nowMs: number
}

/** Names that look like properties but describe the table; as in the reference implementation, they are not stored. */
const reservedProperties: ReadonlySet<string> = new Set([
  'format-version',
  'uuid',
  'snapshot-count',
  'current-snapshot-summary',
  'current-snapshot-id',
  'current-snapshot-timestamp-ms',
  'current-schema',
  'default-partition-spec',
  'default-sort-order',
])

/**
 * Defaults that the reference implementation stores in new tables (`TableMetadata.persistedProperties`): without this
 * one, engines write gzip, the default of tables that are older than Iceberg 1.4.
 */
const propertiesOfNewTables = { 'write.parquet.compression-codec': 'zstd' }

/**
 * Metadata of a new, empty table. Field ids count from 1 and partition field ids from 1000, in the order of the
 * reference implementation; schema and spec get id 0. `INVALID_ARGUMENT` when the parts do not fit together.
 */
export function createTableMetadata(options: NewTableOptions): TableMetadata {
  const formatVersion = options.formatVersion ?? 2
  const { schema, lastColumnId, newIdOf } = freshSchema(options.schema)
  const partitionSpec = freshPartitionSpec(options.partitionSpec, newIdOf)
  const sortOrder = freshSortOrder(options.sortOrder, newIdOf)
  checkSchemaSize(schema, [])
  checkSchemaVersion(schema, formatVersion)
  checkIdentifierFields(schema)
  checkPartitionSpec(partitionSpec, schema)
  checkSortOrder(sortOrder, schema)
  const json: JsonObject = {
    'format-version': formatVersion,
    'table-uuid': options.uuid,
    location: withoutTrailingSlash(options.location),
    ...(formatVersion >= 2 ? { 'last-sequence-number': 0 } : {}),
    'last-updated-ms': options.nowMs,
    'last-column-id': lastColumnId,
    ...(formatVersion === 1 ? v1Keys(schema, partitionSpec) : {}),
    'current-schema-id': 0,
    schemas: [schemaToJson(schema)],
    'default-spec-id': 0,
    'partition-specs': [partitionSpecToJson(partitionSpec)],
    'last-partition-id': lastPartitionFieldId(partitionSpec),
    'default-sort-order-id': sortOrder.orderId,
    'sort-orders': [sortOrderToJson(sortOrder)],
    properties: {
      ...propertiesOfNewTables,
      ...Object.fromEntries(Object.entries(options.properties ?? {}).filter(([name]) => !reservedProperties.has(name))),
    },
    'current-snapshot-id': formatVersion >= 3 ? null : -1,
    ...(formatVersion >= 3 ? { 'next-row-id': 0 } : {}),
    refs: {},
    snapshots: [],
    statistics: [],
    'partition-statistics': [],
    'snapshot-log': [],
    'metadata-log': [],
  }
  const created = tableMetadataFromJson(json)
  checkReadableByJava(created)
  return created
}

/** v1 readers read only these. */
function v1Keys(schema: Schema, spec: PartitionSpec): JsonObject {
  return { schema: schemaToJson(schema), 'partition-spec': partitionSpecToJson(spec)['fields'] ?? [] }
}

function freshSchema(schema: Schema): {
  readonly schema: Schema
  readonly lastColumnId: number
  readonly newIdOf: (id: number, what: string) => number
} {
  let lastColumnId = 0
  const newIds = new Map<number, number>()
  const ambiguous = new Set<number>()
  const nextId = (): number => (lastColumnId += 1)
  const fields = assignFreshFieldIds(schema.fields, nextId, (oldId, newId) => {
    if (newIds.has(oldId)) ambiguous.add(oldId)
    newIds.set(oldId, newId)
  })
  const newIdOf = (id: number, what: string): number => {
    const newId = newIds.get(id)
    if (newId === undefined) throw refuse(`${what}: the schema has no field with id ${id}`)
    if (ambiguous.has(id)) throw refuse(`${what}: the schema has several fields with id ${id}`)
    return newId
  }
  const identifierFieldIds = schema.identifierFieldIds.map((id) => newIdOf(id, 'identifier fields'))
  return { schema: { schemaId: 0, fields, identifierFieldIds }, lastColumnId, newIdOf }
}

function freshPartitionSpec(
  spec: PartitionSpec | undefined,
  newIdOf: (id: number, what: string) => number,
): PartitionSpec {
  const fields = (spec?.fields ?? []).map((field, index) => {
    if (field.transform.kind === 'unknown') throw refuse(`partition field "${field.name}": unknown transform`)
    return {
      fieldId: partitionIdBase + 1 + index,
      sourceId: newIdOf(field.sourceId, `partition field "${field.name}"`),
      name: field.name,
      transform: field.transform,
    }
  })
  return { specId: 0, fields }
}

function freshSortOrder(order: SortOrder | undefined, newIdOf: (id: number, what: string) => number): SortOrder {
  const fields = (order?.fields ?? []).map((field) => {
    if (field.transform.kind === 'unknown') throw refuse('sort order: unknown transform')
    return {
      sourceId: newIdOf(field.sourceId, 'sort order'),
      transform: field.transform,
      direction: field.direction,
      nullOrder: field.nullOrder,
    }
  })
  return { orderId: fields.length === 0 ? 0 : 1, fields }
}

/** The same folder, written without a slash at its end. */
export function withoutTrailingSlash(location: string): string {
  let end = location.length
  while (end > 1 && location[end - 1] === '/' && !location.slice(0, end).endsWith('://')) end -= 1
  return location.slice(0, end)
}

function refuse(problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', problem)
}

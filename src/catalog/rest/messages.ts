import { IcebergError } from '../../iceberg/errors.ts'
import { asObject, optionalArray, optionalString, requireArray, requireObject } from '../../iceberg/json/json-fields.ts'
import { requireString } from '../../iceberg/json/json-fields.ts'
import type { JsonObject, JsonValue } from '../../iceberg/json/lossless-json.ts'
import { tableMetadataFromJson } from '../../iceberg/metadata/metadata.ts'
import { partitionSpecToJson } from '../../iceberg/partitioning/partitioning.ts'
import { highestFieldId, parseSchema, schemaToJson } from '../../iceberg/schema/schema.ts'
import { sortOrderToJson } from '../../iceberg/partitioning/sort-order.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { isCreation } from '../../iceberg/update/apply/create-from-updates.ts'
import type { TableRequirement, TableUpdate } from '../../iceberg/update/table-update.ts'
import type { CommitRequest, CreateTableOptions } from '../catalog.ts'

const where = 'response of the catalog'

/** A page of a list, and the token of the next one. */
export interface RestPage<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
}

/** `ListNamespacesResponse`. */
export function namespacesPage(json: JsonObject): RestPage<readonly string[]> {
  const items = (optionalArray(json, 'namespaces', where) ?? []).map(levelsOf)
  return { items, next: nextToken(json) }
}

/** `ListTablesResponse`. */
export function tablesPage(json: JsonObject): RestPage<TableIdentifier> {
  const items = (optionalArray(json, 'identifiers', where) ?? []).map((entry) => {
    const object = asObject(entry, where)
    return { namespace: levelsOf(requireArray(object, 'namespace', where)), name: requireString(object, 'name', where) }
  })
  return { items, next: nextToken(json) }
}

/** `LoadTableResult` and `CommitTableResponse`; for their credentials see `vended/`. */
export function tableOf(json: JsonObject, identifier: TableIdentifier): Omit<Table, 'io'> {
  return {
    identifier,
    metadataLocation: metadataLocationOf(json),
    metadata: tableMetadataFromJson(requireObject(json, 'metadata', where)),
  }
}

/** The metadata location in the response; does not parse the metadata, which may be unreadable. */
export function metadataLocationOf(json: JsonObject): string {
  const location = optionalString(json, 'metadata-location', where)
  if (location !== undefined && location !== '') return location
  throw new IcebergError('UNSUPPORTED', 'The response of the catalog has no metadata file for the table.')
}

/** `CreateTableRequest`; the catalog chooses missing values. */
export function createTableBody(name: string, options: CreateTableOptions): JsonObject {
  const { schema, partitionSpec, sortOrder, location, properties, formatVersion = 2 } = options
  return {
    name,
    schema: schemaToJson(schema),
    ...(partitionSpec === undefined ? {} : { 'partition-spec': partitionSpecToJson(partitionSpec) }),
    ...(sortOrder === undefined ? {} : { 'write-order': sortOrderToJson(sortOrder) }),
    ...(location === undefined ? {} : { location }),
    'stage-create': false, // optional, but Nessie needs it
    properties: { ...properties, 'format-version': String(formatVersion) },
  }
}

/** `CommitTableRequest`: our requirements and updates already have this shape, but for what only some servers need. */
export function commitBody({ namespace, name }: TableIdentifier, request: CommitRequest): JsonObject {
  return {
    identifier: { namespace: [...namespace], name },
    requirements: request.requirements.map((requirement): JsonValue => ({ ...requirement })),
    updates: request.updates.map(
      (update) => ({ ...update, ...lastColumnId(update, request.requirements) }) as JsonObject,
    ),
  }
}

/** The highest field id of the table after a new schema: optional and deprecated, but Nessie needs it. */
function lastColumnId(update: TableUpdate, requirements: readonly TableRequirement[]): JsonObject {
  if (update.action !== 'add-schema') return {}
  const required = requirements.find((one) => one.type === 'assert-last-assigned-field-id')
  const assigned = isCreation(requirements) ? 0 : required?.['last-assigned-field-id']
  if (assigned === undefined) return {} // a number that is too low would be refused
  return { 'last-column-id': Math.max(assigned, highestFieldId(parseSchema(update.schema))) }
}

function levelsOf(value: JsonValue | readonly JsonValue[]): readonly string[] {
  if (Array.isArray(value) && value.every((level) => typeof level === 'string')) return value
  throw new IcebergError('IO_FAILED', 'The catalog returned a namespace that is not a list of names.')
}

function nextToken(json: JsonObject): string | undefined {
  const token = optionalString(json, 'next-page-token', where)
  return token === '' ? undefined : token
}

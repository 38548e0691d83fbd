import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { CreateTableOptions } from '../../catalog/catalog.ts'
import type { NamespaceChange, NamespaceProperties } from '../../catalog/names.ts'
import { DomainError } from '../../domain/errors.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { asObject, has, isJsonObject, optionalArray, optionalString } from '../../iceberg/json/json-fields.ts'
import { requireArray, requireObject, requireString, stringMap, toLong } from '../../iceberg/json/json-fields.ts'
import { type JsonObject, type JsonValue, parseUniqueJson, stringifyJson } from '../../iceberg/json/lossless-json.ts'
import { tableMetadataText } from '../../iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { parsePartitionSpec } from '../../iceberg/partitioning/partitioning.ts'
import { parseSortOrder } from '../../iceberg/partitioning/sort-order.ts'
import { parseSchema } from '../../iceberg/schema/schema.ts'
import { readRequirements, readUpdates } from '../../iceberg/update/read-changes.ts'
import type { TableRequirement, TableUpdate } from '../../iceberg/update/table-update.ts'

/** A commit to one table as a client sends it (`CommitTableRequest`). */
export interface TableChange {
  readonly identifier: TableIdentifier
  readonly requirements: readonly TableRequirement[]
  readonly updates: readonly TableUpdate[]
}

/** `CreateTableRequest`. */
export interface CreateRequest {
  readonly identifier: TableIdentifier
  readonly options: CreateTableOptions
  /** Whether the client only wants the metadata, and will commit the table itself. */
  readonly isStaged: boolean
}

const where = 'request body'

/** The body of a request: one JSON object. Throws `INVALID_REQUEST`. */
export function readBody(bytes: Uint8Array): JsonObject {
  return asRequest(() => asObject(parseUniqueJson(bytes), where))
}

/** `CreateNamespaceRequest`. */
export function readNewNamespace(body: JsonObject): {
  readonly namespace: readonly string[]
  readonly properties: NamespaceProperties
} {
  return asRequest(() => ({
    namespace: levels(requireArray(body, 'namespace', where)),
    properties: stringMap(body, 'properties', where),
  }))
}

/** `UpdateNamespacePropertiesRequest`. */
export function readNamespaceChange(body: JsonObject): NamespaceChange {
  return asRequest(() => ({
    removals: [...new Set(levels(optionalArray(body, 'removals', where) ?? []))],
    updates: stringMap(body, 'updates', where),
  }))
}

/** The name of the table that a request creates. */
export function readName(body: JsonObject): string {
  return asRequest(() => requireString(body, 'name', where))
}

/** `CreateTableRequest` in a namespace. */
export function readCreateTable(body: JsonObject, namespace: readonly string[]): CreateRequest {
  return asRequest(() => {
    const { 'format-version': version, ...properties } = stringMap(body, 'properties', where)
    const location = optionalString(body, 'location', where)
    const spec = has(body, 'partition-spec') ? requireObject(body, 'partition-spec', where) : undefined
    const order = has(body, 'write-order') ? requireObject(body, 'write-order', where) : undefined
    return {
      identifier: { namespace, name: requireString(body, 'name', where) },
      isStaged: body['stage-create'] === true,
      options: {
        schema: parseSchema(requireObject(body, 'schema', where), 'schema'),
        ...(spec && { partitionSpec: parsePartitionSpec(withPartitionIds(spec), 'partition-spec') }),
        ...(order && { sortOrder: parseSortOrder(order, 'write-order') }),
        ...(location === undefined ? {} : { location }),
        properties,
        ...(version === undefined ? {} : { formatVersion: readFormatVersion(version) }),
      },
    }
  })
}

function readFormatVersion(text: string): 1 | 2 | 3 {
  if (text === '1') return 1
  if (text === '2') return 2
  if (text === '3') return 3
  throw new DomainError('INVALID_REQUEST', `format-version must be 1, 2 or 3, not "${text.slice(0, 20)}"`)
}

/** Clients may leave the ids out; the table gets new ones in any case. */
function withPartitionIds(spec: JsonObject): JsonObject {
  const fields = optionalArray(spec, 'fields', where) ?? []
  return {
    'spec-id': 0,
    ...spec,
    fields: fields.map((field, at) => (isJsonObject(field) ? { 'field-id': 1000 + at, ...field } : field)),
  }
}

/** `RegisterTableRequest` in a namespace. */
export function readRegistration(
  body: JsonObject,
  namespace: readonly string[],
): { readonly identifier: TableIdentifier; readonly metadataLocation: string } {
  if (body['overwrite'] === true) {
    throw new DomainError('INVALID_REQUEST', 'overwrite is not supported: drop the table first, its files stay')
  }
  return asRequest(() => ({
    identifier: { namespace, name: requireString(body, 'name', where) },
    metadataLocation: requireString(body, 'metadata-location', where),
  }))
}

/** `RenameTableRequest`. */
export function readRename(body: JsonObject): { readonly from: TableIdentifier; readonly to: TableIdentifier } {
  return asRequest(() => ({ from: readIdentifier(body, 'source'), to: readIdentifier(body, 'destination') }))
}

/** `CommitTableRequest` for a table. */
export function readChange(body: JsonObject, identifier: TableIdentifier): TableChange {
  if (has(body, 'identifier')) {
    const named = asRequest(() => readIdentifier(body, 'identifier'))
    if (formatIdentifier(named) !== formatIdentifier(identifier)) {
      throw new DomainError('INVALID_REQUEST', 'the table of the path is not the one of the body')
    }
  }
  return readChangeOf(body, identifier)
}

/** `CommitTransactionRequest`: changes of different tables. */
export function readChanges(body: JsonObject): readonly TableChange[] {
  const entries = asRequest(() => requireArray(body, 'table-changes', where))
  const changes = entries.map((entry, at) => {
    const change = asRequest(() => asObject(entry, `table-changes[${at}]`))
    return readChangeOf(
      change,
      asRequest(() => readIdentifier(change, 'identifier')),
    )
  })
  const names = new Set(changes.map(({ identifier }) => formatIdentifier(identifier)))
  if (names.size < changes.length) throw new DomainError('INVALID_REQUEST', 'a table has several changes')
  if (changes.length === 0) throw new DomainError('INVALID_REQUEST', 'there is no change')
  return changes
}

function readChangeOf(body: JsonObject, identifier: TableIdentifier): TableChange {
  return {
    identifier,
    requirements: readRequirements(asRequest(() => optionalArray(body, 'requirements', where) ?? [])),
    updates: readUpdates(asRequest(() => optionalArray(body, 'updates', where) ?? [])),
  }
}

function readIdentifier(body: JsonObject, key: string): TableIdentifier {
  const object = requireObject(body, key, where)
  return {
    namespace: levels(requireArray(object, 'namespace', where)),
    name: requireString(object, 'name', where),
  }
}

function levels(values: readonly JsonValue[]): readonly string[] {
  if (values.every((value) => typeof value === 'string')) return values
  throw new DomainError('INVALID_REQUEST', 'a list of names must contain only texts')
}

/** What a client sent wrong is its request, not damaged metadata. */
function asRequest<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (!isIcebergError(cause, 'INVALID_METADATA') && !isIcebergError(cause, 'CORRUPT_FILE')) throw cause
    throw new DomainError('INVALID_REQUEST', cause.message, { cause })
  }
}

/** `LoadTableResult` as JSON. With `onlyRefs`, only the snapshots that a branch or tag points to (query `snapshots=refs`). */
export function tableAnswer({ metadataLocation, metadata }: Table, onlyRefs = false): string {
  const text = onlyRefs ? stringifyJson(withReferencedSnapshots(metadata.json)) : tableMetadataText(metadata)
  return `{"metadata-location":${stringifyJson(metadataLocation)},"metadata":${text},"config":{}}`
}

function withReferencedSnapshots(json: JsonObject): JsonObject {
  const { refs, snapshots } = json
  if (!isJsonObject(refs) || !Array.isArray(snapshots)) return json
  const wanted = new Set(Object.values(refs).map((ref) => (isJsonObject(ref) ? toLong(ref['snapshot-id']) : undefined)))
  wanted.add(toLong(json['current-snapshot-id']))
  return {
    ...json,
    snapshots: snapshots.filter((one) => isJsonObject(one) && wanted.has(toLong(one['snapshot-id']))),
  }
}

/** Names in lists, as `ListTablesResponse` has them. */
export function identifierJson({ namespace, name }: TableIdentifier): JsonObject {
  return { namespace: [...namespace], name }
}

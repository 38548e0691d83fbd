import { IcebergError } from '../../errors.ts'
import { has, isJsonObject, jsonInteger, requireInt } from '../../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../../json/lossless-json.ts'
import { tableMetadataFromJson } from '../../metadata/metadata.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import { partitionSpecToJson } from '../../partitioning/partitioning.ts'
import { schemaToJson } from '../../schema/schema.ts'
import { mainBranch, snapshotRefToJson } from '../../metadata/snapshots.ts'
import { sortOrderToJson } from '../../partitioning/sort-order.ts'

/** Keys of a metadata document that hold lists of objects. */
export type ListKey =
  | 'schemas'
  | 'partition-specs'
  | 'sort-orders'
  | 'snapshots'
  | 'snapshot-log'
  | 'metadata-log'
  | 'statistics'
  | 'partition-statistics'

/**
 * A metadata document while it is changed. `json` is a copy of the top level whose inner values are replaced, never mutated,
 * so that the base does not change and unknown keys are kept. v1 documents get their v2 keys.
 */
export interface MetadataDraft {
  readonly json: JsonObject
  readonly nowMs: number
  changed: boolean
  lastUpdatedMs: number
  lastAddedSchemaId?: number
  lastAddedSpecId?: number
  lastAddedSortOrderId?: number
  readonly addedSnapshotIds: Set<bigint>
  removedSnapshots: boolean
}

/** A draft without changes. */
export function openDraft(base: TableMetadata, nowMs: number): MetadataDraft {
  return draftOf(explicitJson(base), { nowMs, lastUpdatedMs: base.lastUpdatedMs })
}

/** A draft of the given document. */
export function draftOf(json: JsonObject, times: Pick<MetadataDraft, 'nowMs' | 'lastUpdatedMs'>): MetadataDraft {
  return { json, ...times, changed: false, addedSnapshotIds: new Set(), removedSnapshots: false }
}

/** A copy of the document with all keys that a change may use. */
function explicitJson(base: TableMetadata): JsonObject {
  const { json, currentSnapshotId: current } = base
  const filled: JsonObject = {
    ...json,
    'current-schema-id': base.currentSchemaId,
    schemas: schemasOf(base),
    'default-spec-id': base.defaultSpecId,
    'partition-specs': json['partition-specs'] ?? base.partitionSpecs.map(partitionSpecToJson),
    'last-partition-id': base.lastPartitionId,
    'default-sort-order-id': base.defaultSortOrderId,
    'sort-orders': json['sort-orders'] ?? base.sortOrders.map(sortOrderToJson),
    properties: json['properties'] ?? {},
    'current-snapshot-id': current === undefined ? noSnapshot(base.formatVersion) : jsonInteger(current),
    refs: refsOf(base),
  }
  for (const key of ['snapshots', 'snapshot-log', 'metadata-log']) if (!has(json, key)) filled[key] = []
  return filled
}

/** The schemas of a document; those of a v1 document are its single schema, unknown keys included. */
function schemasOf(base: TableMetadata): JsonValue {
  const { json } = base
  if (has(json, 'schemas') && has(json, 'current-schema-id')) return json['schemas'] ?? []
  const single = json['schema']
  if (!isJsonObject(single)) return base.schemas.map(schemaToJson)
  return [{ ...single, 'schema-id': base.currentSchemaId }]
}

/** The refs of a document, with `main` also if only the current snapshot implies it. */
function refsOf({ json, refs: { [mainBranch]: main } }: TableMetadata): JsonObject {
  const refs = isJsonObject(json['refs']) ? json['refs'] : {}
  if (main === undefined || Object.hasOwn(refs, mainBranch)) return refs
  return { ...refs, [mainBranch]: snapshotRefToJson(main) }
}

function noSnapshot(formatVersion: number): null | number {
  return formatVersion >= 3 ? null : -1
}

/** The entries of a list of the draft. */
export function draftList(draft: MetadataDraft, key: ListKey): readonly JsonObject[] {
  const value = draft.json[key]
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** Puts a new list into the draft. */
export function setDraftList(draft: MetadataDraft, key: ListKey, entries: readonly JsonObject[]): void {
  draft.json[key] = [...entries]
  draft.changed = true
}

/** Sets a top-level key of the draft. */
export function setDraftKey(draft: MetadataDraft, key: string, value: JsonValue): void {
  draft.json[key] = value
  draft.changed = true
}

/** The integer that the draft has under a key. */
export function draftInt(draft: MetadataDraft, key: string): number {
  return requireInt(draft.json, key, 'table metadata')
}

/** The object that the draft has under a key, such as `refs` and `properties`. */
export function draftObject(draft: MetadataDraft, key: 'refs' | 'properties'): JsonObject {
  const value = draft.json[key]
  return isJsonObject(value) ? value : {}
}

/** Format version of the draft. */
export function draftVersion(draft: MetadataDraft): number {
  return draftInt(draft, 'format-version')
}

/** Marks the table as having no current snapshot. */
export function clearCurrentSnapshot(draft: MetadataDraft): void {
  setDraftKey(draft, 'current-snapshot-id', noSnapshot(draftVersion(draft)))
}

/** The typed view of the current draft; checks the whole document. */
export function viewDraft(draft: MetadataDraft): TableMetadata {
  if (draftVersion(draft) === 1) writeV1Keys(draft)
  return tableMetadataFromJson(draft.json)
}

/** v1 readers read only the keys `schema` and `partition-spec`. */
function writeV1Keys(draft: MetadataDraft): void {
  const schemaId = draftInt(draft, 'current-schema-id')
  const specId = draftInt(draft, 'default-spec-id')
  const schema = draftList(draft, 'schemas').find((entry) => entry['schema-id'] === schemaId)
  const spec = draftList(draft, 'partition-specs').find((entry) => entry['spec-id'] === specId)
  if (schema) draft.json['schema'] = schema
  if (spec) draft.json['partition-spec'] = spec['fields'] ?? []
}

/** The error for an update that is invalid for this table. */
export function refuseUpdate(problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `cannot change the table metadata: ${problem}`)
}

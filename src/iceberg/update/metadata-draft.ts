import { IcebergError } from '../errors.ts'
import { has, isJsonObject, jsonInteger, requireInt } from '../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'
import { tableMetadataFromJson } from '../metadata.ts'
import type { TableMetadata } from '../metadata.ts'
import { partitionSpecToJson } from '../partitioning.ts'
import { schemaToJson } from '../schema.ts'
import { mainBranch, snapshotRefToJson } from '../snapshots.ts'
import { sortOrderToJson } from '../sort-order.ts'

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
 * A metadata document under change. `json` is a copy of the top level whose inner values are replaced, never mutated,
 * so that the base stays as it is and unknown keys survive. v1 documents have their v2 keys filled in.
 */
export interface MetadataDraft {
  readonly base: TableMetadata
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

/** A draft that still says the same as its base. */
export function openDraft(base: TableMetadata, nowMs: number): MetadataDraft {
  return {
    base,
    json: explicitJson(base),
    nowMs,
    changed: false,
    lastUpdatedMs: base.lastUpdatedMs,
    addedSnapshotIds: new Set(),
    removedSnapshots: false,
  }
}

/** A copy of the document with every key present that a change may touch. */
function explicitJson(base: TableMetadata): JsonObject {
  const { json } = base
  const refs = has(json, 'refs') && isJsonObject(json['refs']) ? json['refs'] : {}
  const main = base.refs[mainBranch]
  const current = base.currentSnapshotId
  const filled: JsonObject = {
    ...json,
    'current-schema-id': base.currentSchemaId,
    schemas: has(json, 'schemas') && has(json, 'current-schema-id') ? (json['schemas'] ?? []) : v1Schemas(base),
    'default-spec-id': base.defaultSpecId,
    'partition-specs': has(json, 'partition-specs')
      ? (json['partition-specs'] ?? [])
      : base.partitionSpecs.map(partitionSpecToJson),
    'last-partition-id': base.lastPartitionId,
    'default-sort-order-id': base.defaultSortOrderId,
    'sort-orders': has(json, 'sort-orders') ? (json['sort-orders'] ?? []) : base.sortOrders.map(sortOrderToJson),
    properties: has(json, 'properties') ? (json['properties'] ?? {}) : {},
    'current-snapshot-id': current === undefined ? noSnapshot(base.formatVersion) : jsonInteger(current),
    refs:
      Object.hasOwn(refs, mainBranch) || main === undefined ? refs : { ...refs, [mainBranch]: snapshotRefToJson(main) },
  }
  for (const key of ['snapshots', 'snapshot-log', 'metadata-log']) if (!has(json, key)) filled[key] = []
  return filled
}

/** The single schema of a v1 document, unknown keys included, as an entry of `schemas`. */
function v1Schemas(base: TableMetadata): JsonValue[] {
  const single = base.json['schema']
  if (!isJsonObject(single)) return base.schemas.map(schemaToJson)
  return [{ ...single, 'schema-id': base.currentSchemaId }]
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

/** The typed view of the draft as it stands; checks the whole document. */
export function viewDraft(draft: MetadataDraft): TableMetadata {
  if (draftVersion(draft) === 1) writeV1Keys(draft)
  return tableMetadataFromJson(draft.json)
}

/** v1 readers look only at the keys `schema` and `partition-spec`. */
function writeV1Keys(draft: MetadataDraft): void {
  const schemaId = draftInt(draft, 'current-schema-id')
  const specId = draftInt(draft, 'default-spec-id')
  const schema = draftList(draft, 'schemas').find((entry) => entry['schema-id'] === schemaId)
  const spec = draftList(draft, 'partition-specs').find((entry) => entry['spec-id'] === specId)
  if (schema) draft.json['schema'] = schema
  if (spec) draft.json['partition-spec'] = spec['fields'] ?? []
}

/** The error for an update that makes no sense for this table. */
export function refuseUpdate(problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `cannot change the table metadata: ${problem}`)
}

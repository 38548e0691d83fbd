import { canonicalJson } from '../../json/canonical-json.ts'
import { isJsonObject, normalizeJson } from '../../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../../json/lossless-json.ts'
import { readOnce } from '../../json/read-once.ts'
import { checkIdentifierFields, checkPartitionSpec, checkSchemaVersion } from '../../metadata/checks.ts'
import { checkSortOrder, checkSourcesExist } from '../../metadata/checks.ts'
import { lastPartitionFieldId, parsePartitionSpec, partitionIdBase } from '../../partitioning/partitioning.ts'
import type { PartitionSpec } from '../../partitioning/partitioning.ts'
import { highestFieldId, parseSchema } from '../../schema/schema.ts'
import { checkSchemaSize } from '../../schema/schema-limits.ts'
import type { Schema } from '../../schema/schema.ts'
import { parseSortOrder } from '../../partitioning/sort-order.ts'
import type { SortOrder } from '../../partitioning/sort-order.ts'
import { formatTransform } from '../../partitioning/transforms.ts'
import { draftInt, draftList, draftVersion, refuseUpdate, setDraftKey, setDraftList } from './metadata-draft.ts'
import type { ListKey, MetadataDraft } from './metadata-draft.ts'

// entries of a document are replaced and never changed: a change with many updates reads and prints each of them once
const readSchema = readOnce(parseSchema)
const readSpec = readOnce(parsePartitionSpec)
const specText = readOnce((entry, where) => describeSpec(readSpec(entry, where)))
const schemaText = printOnce((entry) => canonicalJson({ ...entry, 'schema-id': 0 }))
const sortText = printOnce((entry) => canonicalJson(entry['fields'] ?? []))

function printOnce(print: (entry: JsonObject) => string): (entry: JsonObject) => string {
  const once = readOnce(print)
  return (entry) => once(entry, '')
}

/** `add-schema`: a schema equal to one that the table has is not added again; the id in the update is not used. */
export function addSchema(draft: MetadataDraft, update: JsonObject): void {
  const json = normalized(update)
  const schema = parseSchema(json, 'schema to add')
  checkSchemaVersion(schema, draftVersion(draft))
  checkIdentifierFields(schema)
  const existing = draftList(draft, 'schemas')
  const text = canonicalJson({ ...json, 'schema-id': 0 })
  const same = existing.find((entry) => schemaText(entry) === text)
  const lastColumnId = Math.max(draftInt(draft, 'last-column-id'), highestFieldId(schema))
  if (lastColumnId !== draftInt(draft, 'last-column-id')) setDraftKey(draft, 'last-column-id', lastColumnId)
  if (same) {
    draft.lastAddedSchemaId = idOf(same, 'schema-id')
    return
  }
  checkSchemaSize(
    schema,
    existing.map((entry) => readSchema(entry, 'schema')),
  )
  draft.lastAddedSchemaId = highestId(existing, 'schema-id') + 1
  const { type, ...rest } = json
  setDraftList(draft, 'schemas', [
    ...existing,
    { type: type ?? 'struct', ...rest, 'schema-id': draft.lastAddedSchemaId },
  ])
}

/** `set-current-schema`; {@link checkLayout} compares it with the partition spec and sort order at the end of the change. */
export function setCurrentSchema(draft: MetadataDraft, requestedId: number): void {
  const schemaId = resolveId(requestedId, draft.lastAddedSchemaId, 'schema')
  if (schemaId === draftInt(draft, 'current-schema-id')) return
  schemaOfDraft(draft, schemaId)
  setDraftKey(draft, 'current-schema-id', schemaId)
}

/**
 * Refuses a change after which the default partition spec or sort order needs a column that the current schema lacks. Only
 * the end counts: a change that replaces a table sets its schema before its spec and order, as in the reference
 * implementation.
 */
export function checkLayout(draft: MetadataDraft): void {
  checkSourcesExist(
    schemaOfDraft(draft, draftInt(draft, 'current-schema-id')),
    specOfDraft(draft, draftInt(draft, 'default-spec-id')),
    sortOrderOfDraft(draft, draftInt(draft, 'default-sort-order-id')),
  )
}

/** `remove-schemas`: the current schema cannot be removed. */
export function removeSchemas(draft: MetadataDraft, schemaIds: readonly number[]): void {
  if (schemaIds.includes(draftInt(draft, 'current-schema-id')))
    throw refuseUpdate('the current schema cannot be removed')
  removeById(draft, { list: 'schemas', key: 'schema-id', ids: schemaIds })
}

/** `add-spec`: given field ids are kept if valid, others get the next ids; an equal spec is not added again. */
export function addSpec(draft: MetadataDraft, update: JsonObject): void {
  const existing = draftList(draft, 'partition-specs')
  const lastPartitionId = draftInt(draft, 'last-partition-id')
  const json = withPartitionIds(normalized(update), lastPartitionId)
  const spec = parsePartitionSpec(json, 'partition spec to add')
  checkPartitionSpec(spec, layoutSchema(draft))
  if (draftVersion(draft) === 1 && spec.fields.some((field, index) => field.fieldId !== partitionIdBase + 1 + index)) {
    throw refuseUpdate('partition field ids of a version 1 table must count from 1000')
  }
  const described = describeSpec(spec)
  const same = existing.find((entry) => specText(entry, 'partition spec') === described)
  if (same) {
    draft.lastAddedSpecId = idOf(same, 'spec-id')
    return
  }
  draft.lastAddedSpecId = highestId(existing, 'spec-id') + 1
  setDraftList(draft, 'partition-specs', [...existing, { ...json, 'spec-id': draft.lastAddedSpecId }])
  setDraftKey(draft, 'last-partition-id', Math.max(lastPartitionId, lastPartitionFieldId(spec)))
}

function withPartitionIds(json: JsonObject, lastPartitionId: number): JsonObject {
  let lastId = lastPartitionId
  const fields = Array.isArray(json['fields']) ? json['fields'] : []
  return {
    ...json,
    'spec-id': json['spec-id'] ?? 0,
    fields: fields.map((field: JsonValue) => {
      if (!isJsonObject(field) || 'field-id' in field) return field
      lastId += 1
      return { ...field, 'field-id': lastId }
    }),
  }
}

/** Specs are the same when they split rows the same way under the same names; ids do not matter. */
function describeSpec(spec: PartitionSpec): string {
  return JSON.stringify(
    spec.fields.map((field) => [field.sourceIds ?? field.sourceId, formatTransform(field.transform), field.name]),
  )
}

/** `set-default-spec`. */
export function setDefaultSpec(draft: MetadataDraft, requestedId: number): void {
  const specId = resolveId(requestedId, draft.lastAddedSpecId, 'partition spec')
  if (specId === draftInt(draft, 'default-spec-id')) return
  specOfDraft(draft, specId)
  setDraftKey(draft, 'default-spec-id', specId)
}

/** `remove-partition-specs`: the default spec cannot be removed. */
export function removePartitionSpecs(draft: MetadataDraft, specIds: readonly number[]): void {
  if (specIds.includes(draftInt(draft, 'default-spec-id'))) {
    throw refuseUpdate('the default partition spec cannot be removed')
  }
  removeById(draft, { list: 'partition-specs', key: 'spec-id', ids: specIds })
}

/** `add-sort-order`: no fields is order 0, unsorted; an equal order is not added again. */
export function addSortOrder(draft: MetadataDraft, update: JsonObject): void {
  const json: JsonObject = { ...normalized(update), 'order-id': 0 }
  const order = parseSortOrder(json, 'sort order to add')
  checkSortOrder(order, layoutSchema(draft))
  const existing = draftList(draft, 'sort-orders')
  const text = canonicalJson(json['fields'] ?? [])
  const same = existing.find((entry) => sortText(entry) === text)
  if (same) {
    draft.lastAddedSortOrderId = idOf(same, 'order-id')
    return
  }
  draft.lastAddedSortOrderId = order.fields.length === 0 ? 0 : Math.max(1, highestId(existing, 'order-id') + 1)
  setDraftList(draft, 'sort-orders', [...existing, { ...json, 'order-id': draft.lastAddedSortOrderId }])
}

/** `set-default-sort-order`. */
export function setDefaultSortOrder(draft: MetadataDraft, requestedId: number): void {
  const orderId = resolveId(requestedId, draft.lastAddedSortOrderId, 'sort order')
  if (orderId === draftInt(draft, 'default-sort-order-id')) return
  sortOrderOfDraft(draft, orderId)
  setDraftKey(draft, 'default-sort-order-id', orderId)
}

/** The current schema id of a table that is being created, before its schema is set. */
export const NO_SCHEMA = -1

/** What specs and sort orders refer to: clients may set the schema of a new table after them, as DuckDB does. */
function layoutSchema(draft: MetadataDraft): Schema {
  const currentId = draftInt(draft, 'current-schema-id')
  return schemaOfDraft(draft, currentId === NO_SCHEMA ? (draft.lastAddedSchemaId ?? NO_SCHEMA) : currentId)
}

function schemaOfDraft(draft: MetadataDraft, schemaId: number): Schema {
  const json = draftList(draft, 'schemas').find((entry) => idOf(entry, 'schema-id') === schemaId)
  if (json === undefined)
    throw refuseUpdate(schemaId === NO_SCHEMA ? 'there is no schema yet' : `there is no schema ${schemaId}`)
  return readSchema(json, 'schema')
}

/** The default spec id of a table that is being created, before its first spec is set. */
export const NO_SPEC = -1

function specOfDraft(draft: MetadataDraft, specId: number): PartitionSpec {
  if (specId === NO_SPEC) return { specId: 0, fields: [] }
  const json = draftList(draft, 'partition-specs').find((entry) => entry['spec-id'] === specId)
  if (json === undefined) throw refuseUpdate(`there is no partition spec ${specId}`)
  return readSpec(json, 'partition spec')
}

function sortOrderOfDraft(draft: MetadataDraft, orderId: number): SortOrder {
  const json = draftList(draft, 'sort-orders').find((entry) => entry['order-id'] === orderId)
  if (json === undefined && orderId === 0) return { orderId: 0, fields: [] }
  if (json === undefined) throw refuseUpdate(`there is no sort order ${orderId}`)
  return parseSortOrder(json)
}

function removeById(draft: MetadataDraft, what: { list: ListKey; key: string; ids: readonly number[] }): void {
  const ids = new Set(what.ids)
  const entries = draftList(draft, what.list)
  const kept = entries.filter((entry) => !ids.has(idOf(entry, what.key)))
  if (kept.length < entries.length) setDraftList(draft, what.list, kept)
}

/** -1 in an update means the item that an earlier update of the same change added. */
function resolveId(requestedId: number, lastAdded: number | undefined, what: string): number {
  if (requestedId !== -1) return requestedId
  if (lastAdded === undefined) throw refuseUpdate(`no ${what} was added in this change`)
  return lastAdded
}

function highestId(entries: readonly JsonObject[], key: string): number {
  return entries.reduce((highest, entry) => Math.max(highest, idOf(entry, key)), -1)
}

function idOf(entry: JsonObject, key: string): number {
  const id = entry[key]
  return typeof id === 'number' ? id : 0
}

function normalized(json: JsonObject): JsonObject {
  const copy = normalizeJson(json)
  return isJsonObject(copy) ? copy : {}
}

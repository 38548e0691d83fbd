import { asObject, emptyRecord, has, invalid, optionalArray, optionalInt } from '../json/json-fields.ts'
import { optionalLong, requireArray, requireInt, requireObject } from '../json/json-fields.ts'
import type { JsonObject } from '../json/lossless-json.ts'
import { readOnce } from '../json/read-once.ts'
import { lastPartitionFieldId, parsePartitionFields, parsePartitionSpec } from '../partitioning/partitioning.ts'
import type { PartitionSpec } from '../partitioning/partitioning.ts'
import { parseSchema } from '../schema/schema.ts'
import type { Schema } from '../schema/schema.ts'
import { mainBranch, parseSnapshot, parseSnapshotRef } from './snapshots.ts'
import type { Snapshot, SnapshotRef } from './snapshots.ts'
import { parseSortOrder } from '../partitioning/sort-order.ts'
import type { SortOrder } from '../partitioning/sort-order.ts'

const where = 'table metadata'

// most of them stay when a table changes
const readSchema = readOnce(parseSchema)
const readSpec = readOnce(parsePartitionSpec)
const readSortOrder = readOnce(parseSortOrder)

/** Schemas of a metadata document; v1 may have only the single key `schema`. */
export function readSchemas(
  json: JsonObject,
  formatVersion: number,
): { readonly schemas: readonly Schema[]; readonly currentSchemaId: number } {
  const single = formatVersion === 1 && has(json, 'schema')
  if (single && !(has(json, 'schemas') && has(json, 'current-schema-id'))) {
    const schema = parseSchema(requireObject(json, 'schema', where), `${where}: schema`)
    return { schemas: [schema], currentSchemaId: schema.schemaId }
  }
  const schemas = requireArray(json, 'schemas', where).map((entry, index) =>
    readSchema(asObject(entry, `${where}: schemas[${index}]`), `${where}: schemas[${index}]`),
  )
  checkUnique(schemas, (schema) => schema.schemaId, 'schema id')
  const currentSchemaId = requireInt(json, 'current-schema-id', where)
  if (!schemas.some((schema) => schema.schemaId === currentSchemaId)) {
    throw invalid(where, `key "current-schema-id" is ${currentSchemaId}, but "schemas" has no such schema`)
  }
  return { schemas, currentSchemaId }
}

/** Partition specs of a metadata document; v1 may have only the single key `partition-spec`, or none. */
export function readPartitionSpecs(
  json: JsonObject,
  formatVersion: number,
): {
  readonly partitionSpecs: readonly PartitionSpec[]
  readonly defaultSpecId: number
  readonly lastPartitionId: number
} {
  const partitionSpecs = readSpecList(json, formatVersion)
  checkUnique(partitionSpecs, (spec) => spec.specId, 'partition spec id')
  const highestSpec = Math.max(...partitionSpecs.map((spec) => spec.specId))
  const defaultSpecId =
    formatVersion === 1
      ? (optionalInt(json, 'default-spec-id', where) ?? highestSpec)
      : requireInt(json, 'default-spec-id', where)
  if (!partitionSpecs.some((spec) => spec.specId === defaultSpecId)) {
    throw invalid(where, `key "default-spec-id" is ${defaultSpecId}, but "partition-specs" has no such spec`)
  }
  const lastPartitionId =
    formatVersion === 1
      ? (optionalInt(json, 'last-partition-id', where) ?? Math.max(...partitionSpecs.map(lastPartitionFieldId)))
      : requireInt(json, 'last-partition-id', where)
  return { partitionSpecs, defaultSpecId, lastPartitionId }
}

function readSpecList(json: JsonObject, formatVersion: number): readonly PartitionSpec[] {
  if (formatVersion === 1 && !has(json, 'partition-specs')) {
    const fields = optionalArray(json, 'partition-spec', where) ?? []
    return [{ specId: 0, fields: parsePartitionFields(fields, `${where}: partition-spec`) }]
  }
  const specs = requireArray(json, 'partition-specs', where)
  if (specs.length === 0) throw invalid(where, 'key "partition-specs" must not be empty')
  return specs.map((entry, index) => {
    const place = `${where}: partition-specs[${index}]`
    return readSpec(asObject(entry, place), place)
  })
}

/** Sort orders of a metadata document; v1 without any is unsorted. */
export function readSortOrders(
  json: JsonObject,
  formatVersion: number,
): { readonly sortOrders: readonly SortOrder[]; readonly defaultSortOrderId: number } {
  if (formatVersion === 1 && !has(json, 'sort-orders')) {
    return { sortOrders: [{ orderId: 0, fields: [] }], defaultSortOrderId: 0 }
  }
  const sortOrders = requireArray(json, 'sort-orders', where).map((entry, index) => {
    const place = `${where}: sort-orders[${index}]`
    return readSortOrder(asObject(entry, place), place)
  })
  checkUnique(sortOrders, (order) => order.orderId, 'sort order id')
  const defaultSortOrderId = requireInt(json, 'default-sort-order-id', where)
  // Order 0 means unsorted, whether or not it is listed.
  if (defaultSortOrderId !== 0 && !sortOrders.some((order) => order.orderId === defaultSortOrderId)) {
    throw invalid(where, `key "default-sort-order-id" is ${defaultSortOrderId}, but "sort-orders" has no such order`)
  }
  return { sortOrders, defaultSortOrderId }
}

const readSnapshot = readOnce(parseSnapshot)

/** Snapshots, current snapshot and references of a document, consistent with each other. */
export function readHistory(json: JsonObject): {
  readonly snapshots: readonly Snapshot[]
  readonly refs: Record<string, SnapshotRef>
  readonly currentSnapshotId?: bigint
} {
  const snapshots = (optionalArray(json, 'snapshots', where) ?? []).map((entry, index) => {
    const place = `${where}: snapshots[${index}]`
    return readSnapshot(asObject(entry, place), place)
  })
  const ids = checkUnique(snapshots, (snapshot) => snapshot.snapshotId, 'snapshot id')
  const current = optionalLong(json, 'current-snapshot-id', where)
  // v1 and v2 writers use -1 for "none".
  const currentSnapshotId = current === -1n && !ids.has(-1n) ? undefined : current
  if (currentSnapshotId !== undefined && !ids.has(currentSnapshotId)) {
    throw invalid(where, `key "current-snapshot-id" is ${currentSnapshotId}, but "snapshots" has no such snapshot`)
  }
  const refs = readRefs(json, ids, currentSnapshotId)
  return { snapshots, refs, ...(currentSnapshotId === undefined ? {} : { currentSnapshotId }) }
}

function readRefs(
  json: JsonObject,
  ids: ReadonlySet<bigint>,
  current: bigint | undefined,
): Record<string, SnapshotRef> {
  const refs = emptyRecord<SnapshotRef>()
  if (has(json, 'refs')) {
    for (const [name, entry] of Object.entries(requireObject(json, 'refs', where))) {
      const ref = parseSnapshotRef(asObject(entry, `${where}: refs["${name}"]`), `${where}: refs["${name}"]`)
      if (!ids.has(ref.snapshotId)) {
        throw invalid(where, `"refs" entry "${name}" names snapshot ${ref.snapshotId}, which does not exist`)
      }
      refs[name] = ref
    }
  }
  const main = refs[mainBranch]
  if (main === undefined) {
    if (current !== undefined) refs[mainBranch] = { snapshotId: current, type: 'branch' }
  } else if (main.snapshotId !== current) {
    throw invalid(where, `branch "main" is at ${main.snapshotId}, but "current-snapshot-id" is ${current ?? 'not set'}`)
  }
  return refs
}

/** The ids, each of which may be there once. */
function checkUnique<T, Id extends number | bigint>(
  items: readonly T[],
  idOf: (item: T) => Id,
  what: string,
): ReadonlySet<Id> {
  const seen = new Set<Id>()
  for (const item of items) {
    const id = idOf(item)
    if (seen.has(id)) throw invalid(where, `${what} ${id} is used twice`)
    seen.add(id)
  }
  return seen
}

import { IcebergError } from '../errors.ts'
import { asObject, has, intList, optionalLong, optionalString, requireArray } from '../json/json-fields.ts'
import { requireInt, requireLong, requireObject, requireString, stringMap, toLong } from '../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'
import { mergeUpdates } from './apply/merge-updates.ts'
import type { TableRequirement, TableUpdate } from './table-update.ts'

const MAX_ENTRIES = 10_000
/** Each step may copy a list of the document, such as all snapshots. */
const MAX_STEPS = 1000

/**
 * The requirements of a change that a client sent (Iceberg REST spec, `TableRequirement`). `INVALID_ARGUMENT` naming the
 * entry that does not follow the spec, `UNSUPPORTED` for an unknown one.
 */
export function readRequirements(entries: readonly JsonValue[]): readonly TableRequirement[] {
  return readEach(entries, 'requirements', readRequirement)
}

/**
 * The updates of a change that a client sent (`TableUpdate`). Errors as {@link readRequirements}, and `INVALID_ARGUMENT`
 * for too many updates that cannot be applied together.
 */
export function readUpdates(entries: readonly JsonValue[]): readonly TableUpdate[] {
  const updates = readEach(entries, 'updates', readUpdate)
  const steps = mergeUpdates(updates).length
  if (steps <= MAX_STEPS) return updates
  const message =
    `updates: a commit may have at most ${MAX_STEPS} steps, this one has ${steps}. Updates of one kind in a row count as ` +
    'one, for properties and removals; send the others in several commits'
  throw new IcebergError('INVALID_ARGUMENT', message)
}

function readEach<T>(
  entries: readonly JsonValue[],
  name: string,
  read: (entry: JsonObject, where: string) => T,
): readonly T[] {
  if (entries.length > MAX_ENTRIES) {
    throw new IcebergError('INVALID_ARGUMENT', `${name}: at most ${MAX_ENTRIES} are supported in one commit`)
  }
  return entries.map((entry, index) => {
    const where = `${name}[${index}]`
    return asArgument(() => read(asObject(entry, where), where))
  })
}

/** What a client sent wrong is its argument, not damaged metadata. */
function asArgument<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof IcebergError) || cause.code !== 'INVALID_METADATA') throw cause
    throw new IcebergError('INVALID_ARGUMENT', cause.message, { cause })
  }
}

function readRequirement(json: JsonObject, where: string): TableRequirement {
  const type = requireString(json, 'type', where)
  switch (type) {
    case 'assert-create':
      return { type }
    case 'assert-table-uuid':
      return { type, uuid: requireString(json, 'uuid', where) }
    case 'assert-ref-snapshot-id':
      return {
        type,
        ref: requireString(json, 'ref', where),
        'snapshot-id': optionalLong(json, 'snapshot-id', where) ?? null,
      }
    case 'assert-last-assigned-field-id':
      return { type, 'last-assigned-field-id': requireInt(json, 'last-assigned-field-id', where) }
    case 'assert-current-schema-id':
      return { type, 'current-schema-id': requireInt(json, 'current-schema-id', where) }
    case 'assert-last-assigned-partition-id':
      return { type, 'last-assigned-partition-id': requireInt(json, 'last-assigned-partition-id', where) }
    case 'assert-default-spec-id':
      return { type, 'default-spec-id': requireInt(json, 'default-spec-id', where) }
    case 'assert-default-sort-order-id':
      return { type, 'default-sort-order-id': requireInt(json, 'default-sort-order-id', where) }
    default:
      throw new IcebergError('UNSUPPORTED', `${where}: requirement "${type.slice(0, 100)}" is not supported`)
  }
}

function readUpdate(json: JsonObject, where: string): TableUpdate {
  const action = requireString(json, 'action', where)
  switch (action) {
    case 'assign-uuid':
      return { action, uuid: requireUuid(json, where) }
    case 'upgrade-format-version':
      return { action, 'format-version': requireInt(json, 'format-version', where) }
    case 'add-schema':
      return { action, schema: requireObject(json, 'schema', where) }
    case 'set-current-schema':
      return { action, 'schema-id': requireInt(json, 'schema-id', where) }
    case 'remove-schemas':
      return { action, 'schema-ids': intList(requireArray(json, 'schema-ids', where), `${where}: "schema-ids"`) }
    case 'add-spec':
      return { action, spec: requireObject(json, 'spec', where) }
    case 'set-default-spec':
      return { action, 'spec-id': requireInt(json, 'spec-id', where) }
    case 'remove-partition-specs':
      return { action, 'spec-ids': intList(requireArray(json, 'spec-ids', where), `${where}: "spec-ids"`) }
    case 'add-sort-order':
      return { action, 'sort-order': requireObject(json, 'sort-order', where) }
    case 'set-default-sort-order':
      return { action, 'sort-order-id': requireInt(json, 'sort-order-id', where) }
    case 'set-location':
      return { action, location: requireString(json, 'location', where) }
    case 'set-properties':
      return { action, updates: stringMap(json, has(json, 'updates') ? 'updates' : 'updated', where) }
    case 'remove-properties':
      return { action, removals: texts(json, has(json, 'removals') ? 'removals' : 'removed', where) }
    default:
      return readSnapshotUpdate(action, json, where)
  }
}

function readSnapshotUpdate(action: string, json: JsonObject, where: string): TableUpdate {
  switch (action) {
    case 'add-snapshot':
      return { action, snapshot: requireObject(json, 'snapshot', where) }
    case 'set-snapshot-ref':
      return { ...json, action, 'ref-name': requireString(json, 'ref-name', where) }
    case 'remove-snapshots':
      return { action, 'snapshot-ids': longs(json, 'snapshot-ids', where) }
    case 'remove-snapshot-ref':
      return { action, 'ref-name': requireString(json, 'ref-name', where) }
    case 'set-statistics':
      return { action, statistics: statistics(json, 'statistics', where) }
    case 'set-partition-statistics':
      return { action, 'partition-statistics': statistics(json, 'partition-statistics', where) }
    case 'remove-statistics':
    case 'remove-partition-statistics':
      return { action, 'snapshot-id': requireLong(json, 'snapshot-id', where) }
    default:
      throw new IcebergError('UNSUPPORTED', `${where}: update "${action.slice(0, 100)}" is not supported`)
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function requireUuid(json: JsonObject, where: string): string {
  const uuid = requireString(json, 'uuid', where)
  if (UUID.test(uuid)) return uuid
  throw new IcebergError('INVALID_ARGUMENT', `${where}: "uuid" is not a UUID`)
}

/** A statistics file; its snapshot may be named beside it or in it. */
function statistics(json: JsonObject, key: string, where: string): JsonObject {
  const file = requireObject(json, key, where)
  const inside = `${where}: "${key}"`
  requireString(file, 'statistics-path', inside)
  const beside = optionalLong(json, 'snapshot-id', where)
  const snapshotId = requireLong(file, 'snapshot-id', inside)
  if (beside === undefined || beside === snapshotId) return file
  throw new IcebergError('INVALID_ARGUMENT', `${where}: two different snapshot ids, ${beside} and ${snapshotId}`)
}

function longs(json: JsonObject, key: string, where: string): readonly bigint[] {
  return requireArray(json, key, where).map((value) => {
    const long = toLong(value)
    if (long !== undefined) return long
    throw new IcebergError('INVALID_ARGUMENT', `${where}: "${key}" must be a list of 64-bit integers`)
  })
}

function texts(json: JsonObject, key: string, where: string): readonly string[] {
  return requireArray(json, key, where).map((value, index) => {
    const text = optionalString({ [key]: value }, key, `${where}: "${key}"[${index}]`)
    if (text !== undefined) return text
    throw new IcebergError('INVALID_ARGUMENT', `${where}: "${key}" must be a list of texts`)
  })
}

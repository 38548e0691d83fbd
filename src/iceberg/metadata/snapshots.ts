import { asObject, emptyRecord, has, invalid, isJsonObject, jsonInteger, requireObject } from '../json/json-fields.ts'
import { optionalArray, optionalCount, optionalInt, optionalLong, optionalString } from '../json/json-fields.ts'
import { requireLong, requireString, requireTime } from '../json/json-fields.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'

/** A snapshot of a table (Iceberg spec, "Snapshots"); times in ms since the epoch. */
export interface Snapshot {
  readonly snapshotId: bigint
  readonly parentSnapshotId?: bigint
  /** 0 in format version 1. */
  readonly sequenceNumber: number
  readonly timestampMs: number
  /** Location of the manifest list; undefined only in v1 snapshots that list their manifests inline. */
  readonly manifestList?: string
  /** Inline manifest locations of old v1 snapshots. */
  readonly manifests?: readonly string[]
  /** All strings, `operation` among them. */
  readonly summary: Readonly<Record<string, string>>
  readonly schemaId?: number
  readonly firstRowId?: number
  readonly addedRows?: number
}

/** A branch or tag (Iceberg spec, "Snapshot References"). */
export interface SnapshotRef {
  readonly snapshotId: bigint
  readonly type: 'branch' | 'tag'
  readonly minSnapshotsToKeep?: number
  /** {@link FOREVER_MS}: never. */
  readonly maxSnapshotAgeMs?: bigint
  /** {@link FOREVER_MS}: never. */
  readonly maxRefAgeMs?: bigint
}

/** The largest age that metadata can have, 2^63-1 ms; writers use it for "never expires". */
export const FOREVER_MS = 2n ** 63n - 1n

/** Name of the branch that a table's current snapshot belongs to. */
export const mainBranch = 'main'

/**
 * The entry of a snapshot summary with the value `true`: an `overwrite` that changes no row, so that other writers notice its deletes
 * (docs/iceberg-notes.md, "Converted equality deletes").
 */
export const SAME_ROWS = 'lockhouse.same-rows'

/** Whether a snapshot changes files and no row (Iceberg spec, "Snapshots"), as its writer says. */
export function keepsRows({ summary }: Pick<Snapshot, 'summary'>): boolean {
  const { operation } = summary
  return operation === 'replace' || (operation === 'overwrite' && summary[SAME_ROWS] === 'true')
}

/** Reads a snapshot (Iceberg spec, "Snapshots"); a missing sequence number is 0, as for snapshots written by v1. */
export function parseSnapshot(json: JsonValue, where = 'snapshot'): Snapshot {
  const object = asObject(json, where)
  const manifestList = optionalString(object, 'manifest-list', where)
  const manifests = manifestList === undefined ? readInlineManifests(object, where) : undefined
  const parent = optionalLong(object, 'parent-snapshot-id', where)
  const schemaId = optionalInt(object, 'schema-id', where)
  const firstRowId = optionalCount(object, 'first-row-id', where)
  const addedRows = optionalCount(object, 'added-rows', where)
  return {
    snapshotId: requireLong(object, 'snapshot-id', where),
    ...(parent === undefined ? {} : { parentSnapshotId: parent }),
    sequenceNumber: nonNegative(optionalCount(object, 'sequence-number', where) ?? 0, `${where}: "sequence-number"`),
    timestampMs: requireTime(object, 'timestamp-ms', where),
    ...(manifestList === undefined ? {} : { manifestList }),
    ...(manifests === undefined ? {} : { manifests }),
    summary: readSummary(object, where),
    ...(schemaId === undefined ? {} : { schemaId }),
    ...(firstRowId === undefined ? {} : { firstRowId: nonNegative(firstRowId, `${where}: "first-row-id"`) }),
    ...(addedRows === undefined ? {} : { addedRows: nonNegative(addedRows, `${where}: "added-rows"`) }),
  }
}

function readInlineManifests(object: JsonObject, where: string): readonly string[] {
  const manifests = optionalArray(object, 'manifests', where)
  if (manifests === undefined) throw invalid(where, 'key "manifest-list" is missing')
  return manifests.map((location, index) => {
    if (typeof location !== 'string') throw invalid(where, `"manifests" entry ${index} must be a string`)
    return location
  })
}

/** Summaries are informative only, so numbers that some writers do not quote are read as text. */
function readSummary(object: JsonObject, where: string): Record<string, string> {
  const summary = emptyRecord<string>()
  if (!has(object, 'summary')) return summary
  const entries = requireObject(object, 'summary', where)
  for (const key of Object.keys(entries)) {
    const value = entries[key]
    if (value === null || value === undefined) continue
    if (isJsonObject(value) || Array.isArray(value))
      throw invalid(`${where}: "summary"`, `key "${key}" must be a string`)
    summary[key] = String(value)
  }
  return summary
}

/** Writes a snapshot in its JSON form; a sequence number of 0 is left out, as v1 has none. */
export function snapshotToJson(snapshot: Snapshot): JsonObject {
  return {
    ...(snapshot.sequenceNumber > 0 ? { 'sequence-number': snapshot.sequenceNumber } : {}),
    'snapshot-id': jsonInteger(snapshot.snapshotId),
    ...(snapshot.parentSnapshotId === undefined
      ? {}
      : { 'parent-snapshot-id': jsonInteger(snapshot.parentSnapshotId) }),
    'timestamp-ms': snapshot.timestampMs,
    summary: Object.fromEntries(Object.entries(snapshot.summary)),
    ...(snapshot.manifestList === undefined
      ? { manifests: [...(snapshot.manifests ?? [])] }
      : { 'manifest-list': snapshot.manifestList }),
    ...(snapshot.schemaId === undefined ? {} : { 'schema-id': snapshot.schemaId }),
    ...(snapshot.firstRowId === undefined ? {} : { 'first-row-id': snapshot.firstRowId }),
    ...(snapshot.addedRows === undefined ? {} : { 'added-rows': snapshot.addedRows }),
  }
}

/** Reads a snapshot reference (Iceberg spec, "Snapshot References"). */
export function parseSnapshotRef(json: JsonValue, where = 'snapshot reference'): SnapshotRef {
  const object = asObject(json, where)
  const type = requireString(object, 'type', where).toLowerCase()
  if (type !== 'branch' && type !== 'tag') throw invalid(where, `key "type" must be "branch" or "tag"`)
  const minSnapshotsToKeep = optionalInt(object, 'min-snapshots-to-keep', where)
  const maxSnapshotAgeMs = optionalLong(object, 'max-snapshot-age-ms', where)
  const maxRefAgeMs = optionalLong(object, 'max-ref-age-ms', where)
  return {
    snapshotId: requireLong(object, 'snapshot-id', where),
    type,
    ...(minSnapshotsToKeep === undefined ? {} : { minSnapshotsToKeep }),
    ...(maxSnapshotAgeMs === undefined ? {} : { maxSnapshotAgeMs }),
    ...(maxRefAgeMs === undefined ? {} : { maxRefAgeMs }),
  }
}

/** Writes a snapshot reference in its JSON form. */
export function snapshotRefToJson(ref: SnapshotRef): JsonObject {
  return {
    'snapshot-id': jsonInteger(ref.snapshotId),
    type: ref.type,
    ...(ref.minSnapshotsToKeep === undefined ? {} : { 'min-snapshots-to-keep': ref.minSnapshotsToKeep }),
    ...(ref.maxSnapshotAgeMs === undefined ? {} : { 'max-snapshot-age-ms': jsonInteger(ref.maxSnapshotAgeMs) }),
    ...(ref.maxRefAgeMs === undefined ? {} : { 'max-ref-age-ms': jsonInteger(ref.maxRefAgeMs) }),
  }
}

function nonNegative(value: number, where: string): number {
  if (value < 0) throw invalid(where, `must not be negative, found ${value}`)
  return value
}

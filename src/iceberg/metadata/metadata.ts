import { gunzipSync } from 'node:zlib'

import { isEncrypted } from './encryption.ts'
import { IcebergError } from '../errors.ts'
import { asObject, invalid, optionalArray, optionalCount, requireCount, requireInt } from '../json/json-fields.ts'
import { optionalString, requireLong, requireString, requireTime, stringMap } from '../json/json-fields.ts'
import { parseJson, stringifyVersion } from '../json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'
import { readHistory, readPartitionSpecs, readSchemas, readSortOrders } from './parts.ts'
import { readOnce } from '../json/read-once.ts'
import type { PartitionSpec } from '../partitioning/partitioning.ts'
import type { Schema } from '../schema/schema.ts'
import type { Snapshot, SnapshotRef } from './snapshots.ts'
import type { SortOrder } from '../partitioning/sort-order.ts'

const where = 'table metadata'
const maxUncompressedBytes = 512 * 1024 * 1024

export interface SnapshotLogEntry {
  readonly snapshotId: bigint
  readonly timestampMs: number
}

export interface MetadataLogEntry {
  readonly metadataFile: string
  readonly timestampMs: number
}

/** A statistics or partition-statistics file of a snapshot. */
export interface StatisticsFile {
  readonly snapshotId: bigint
  readonly statisticsPath: string
  readonly fileSizeInBytes: number
}

/**
 * Table metadata (Iceberg spec, "Table Metadata"), format versions 1 to 3: a typed view over `json`,
 * the document as it was read, including unknown keys and exact 64-bit integers.
 * v1 documents are presented in v2 terms (one schema becomes `schemas`, and so on).
 */
export interface TableMetadata {
  readonly json: JsonObject
  readonly formatVersion: 1 | 2 | 3
  /** Empty only for v1 documents that have none. */
  readonly tableUuid: string
  readonly location: string
  readonly lastSequenceNumber: number
  readonly lastUpdatedMs: number
  readonly lastColumnId: number
  readonly currentSchemaId: number
  readonly schemas: readonly Schema[]
  readonly defaultSpecId: number
  readonly partitionSpecs: readonly PartitionSpec[]
  readonly lastPartitionId: number
  readonly defaultSortOrderId: number
  readonly sortOrders: readonly SortOrder[]
  readonly properties: Readonly<Record<string, string>>
  readonly currentSnapshotId?: bigint
  readonly snapshots: readonly Snapshot[]
  readonly snapshotLog: readonly SnapshotLogEntry[]
  readonly metadataLog: readonly MetadataLogEntry[]
  /** Has `main` exactly when there is a current snapshot, even if the document omits it. */
  readonly refs: Readonly<Record<string, SnapshotRef>>
  readonly statistics: readonly StatisticsFile[]
  readonly partitionStatistics: readonly StatisticsFile[]
  /** v3 only. */
  readonly nextRowId?: number
  /** Whether the table requires encrypted files, so that nothing may be written to it: see `encryption.ts`. */
  readonly encrypted: boolean
}

/**
 * Reads a metadata file, compressed with gzip or not. `CORRUPT_FILE` when it is not JSON, `INVALID_METADATA` naming the
 * key when it breaks the spec, `UNSUPPORTED` for format versions above 3.
 */
export function parseTableMetadata(bytesOrText: Uint8Array | string): TableMetadata {
  const source = typeof bytesOrText === 'string' ? bytesOrText : gunzipIfNeeded(bytesOrText)
  return tableMetadataFromJson(asObject(parseJson(source), where))
}

function gunzipIfNeeded(bytes: Uint8Array): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes
  try {
    return gunzipSync(bytes, { maxOutputLength: maxUncompressedBytes })
  } catch (cause) {
    throw new IcebergError('CORRUPT_FILE', `${where}: the gzip data is damaged, cut short or too large`, { cause })
  }
}

/** The typed view over a metadata document; `json` is kept, not copied, and must not be changed afterwards. */
export function tableMetadataFromJson(json: JsonObject): TableMetadata {
  const formatVersion = readFormatVersion(json)
  const snapshotHistory = readHistory(json)
  const properties = stringMap(json, 'properties', where)
  const lastSequenceNumber = formatVersion === 1 ? 0 : requireCount(json, 'last-sequence-number', where)
  for (const snapshot of snapshotHistory.snapshots) {
    if (snapshot.sequenceNumber > lastSequenceNumber) {
      throw invalid(
        where,
        `snapshot ${snapshot.snapshotId} has sequence number ${snapshot.sequenceNumber},` +
          ` above "last-sequence-number" ${lastSequenceNumber}`,
      )
    }
  }
  return {
    json,
    formatVersion,
    tableUuid: readUuid(json, formatVersion),
    location: requireString(json, 'location', where),
    lastSequenceNumber,
    lastUpdatedMs: requireTime(json, 'last-updated-ms', where),
    lastColumnId: requireInt(json, 'last-column-id', where),
    ...readSchemas(json, formatVersion),
    ...readPartitionSpecs(json, formatVersion),
    ...readSortOrders(json, formatVersion),
    properties,
    ...snapshotHistory,
    snapshotLog: readList(json, 'snapshot-log', logEntry),
    metadataLog: readList(json, 'metadata-log', readMetadataLogEntry),
    statistics: readList(json, 'statistics', readStatisticsFile),
    partitionStatistics: readList(json, 'partition-statistics', readStatisticsFile),
    ...(formatVersion >= 3 ? { nextRowId: readNextRowId(json) } : {}),
    encrypted: isEncrypted(json, properties),
  }
}

function readFormatVersion(json: JsonObject): 1 | 2 | 3 {
  const version = requireInt(json, 'format-version', where)
  if (version > 3) {
    throw new IcebergError('UNSUPPORTED', `${where}: "format-version" ${version} is not supported, only 1 to 3 are`)
  }
  if (version !== 1 && version !== 2 && version !== 3)
    throw invalid(where, `"format-version" ${version} does not exist`)
  return version
}

function readUuid(json: JsonObject, formatVersion: number): string {
  return formatVersion === 1
    ? (optionalString(json, 'table-uuid', where) ?? '')
    : requireString(json, 'table-uuid', where)
}

function readNextRowId(json: JsonObject): number {
  const nextRowId = requireCount(json, 'next-row-id', where)
  if (nextRowId < 0) throw invalid(where, `key "next-row-id" must not be negative, found ${nextRowId}`)
  return nextRowId
}

function readList<T>(json: JsonObject, key: string, read: (entry: JsonObject, where: string) => T): readonly T[] {
  return (optionalArray(json, key, where) ?? []).map((entry: JsonValue, index) => {
    const place = `${where}: ${key}[${index}]`
    return read(asObject(entry, place), place)
  })
}

function readSnapshotLogEntry(entry: JsonObject, place: string): SnapshotLogEntry {
  return {
    snapshotId: requireLong(entry, 'snapshot-id', place),
    timestampMs: requireTime(entry, 'timestamp-ms', place),
  }
}

const logEntry = readOnce(readSnapshotLogEntry)

function readMetadataLogEntry(entry: JsonObject, place: string): MetadataLogEntry {
  return {
    metadataFile: requireString(entry, 'metadata-file', place),
    timestampMs: requireTime(entry, 'timestamp-ms', place),
  }
}

function readStatisticsFile(entry: JsonObject, place: string): StatisticsFile {
  return {
    snapshotId: requireLong(entry, 'snapshot-id', place),
    statisticsPath: requireString(entry, 'statistics-path', place),
    fileSizeInBytes: optionalCount(entry, 'file-size-in-bytes', place) ?? 0,
  }
}

/** The document as UTF-8 JSON, every key and integer as it was read. */
export function serializeTableMetadata(metadata: TableMetadata): Uint8Array {
  return new TextEncoder().encode(tableMetadataText(metadata))
}

const texts = new WeakMap<TableMetadata, string>()

/** The document as JSON text; printed once, because a commit both stores and answers it. */
export function tableMetadataText(metadata: TableMetadata): string {
  const text = texts.get(metadata) ?? stringifyVersion(metadata.json)
  texts.set(metadata, text)
  return text
}

/** The schema that new data is written with. */
export function currentSchema(metadata: TableMetadata): Schema {
  return schemaById(metadata, metadata.currentSchemaId) ?? missing('schema', metadata.currentSchemaId)
}

/** The schema with an id, or undefined. */
export function schemaById(metadata: TableMetadata, schemaId: number): Schema | undefined {
  return metadata.schemas.find((schema) => schema.schemaId === schemaId)
}

/**
 * The schema of a snapshot: the one it was written with when it says so, else the current one.
 * `NO_SUCH_SNAPSHOT` for an id that is not in the table.
 */
export function schemaOf(metadata: TableMetadata, snapshotId?: bigint): Schema {
  if (snapshotId === undefined) return currentSchema(metadata)
  const snapshot = snapshotById(metadata, snapshotId)
  if (snapshot === undefined) {
    throw new IcebergError('NO_SUCH_SNAPSHOT', `the table ${metadata.location} has no snapshot ${snapshotId}`)
  }
  const schema = snapshot.schemaId === undefined ? undefined : schemaById(metadata, snapshot.schemaId)
  return schema ?? currentSchema(metadata)
}

/** The partition spec that new data is written with. */
export function currentSpec(metadata: TableMetadata): PartitionSpec {
  return specById(metadata, metadata.defaultSpecId) ?? missing('partition spec', metadata.defaultSpecId)
}

/** The partition spec with an id, or undefined. */
export function specById(metadata: TableMetadata, specId: number): PartitionSpec | undefined {
  return metadata.partitionSpecs.find((spec) => spec.specId === specId)
}

/** The sort order that new data should have; order 0 is unsorted. */
export function currentSortOrder(metadata: TableMetadata): SortOrder {
  return (
    metadata.sortOrders.find((order) => order.orderId === metadata.defaultSortOrderId) ?? { orderId: 0, fields: [] }
  )
}

/** The snapshot with an id, or undefined. */
export function snapshotById(metadata: TableMetadata, snapshotId: bigint): Snapshot | undefined {
  return metadata.snapshots.find((snapshot) => snapshot.snapshotId === snapshotId)
}

/** The current snapshot, or undefined for a table without data. */
export function currentSnapshot(metadata: TableMetadata): Snapshot | undefined {
  return metadata.currentSnapshotId === undefined ? undefined : snapshotById(metadata, metadata.currentSnapshotId)
}

type WithProperties = Pick<TableMetadata, 'properties'>

/** A table property as a 64-bit integer; `INVALID_METADATA` naming the property otherwise. */
export function propertyLong(metadata: WithProperties, name: string, defaultValue: bigint): bigint {
  const text = propertyText(metadata, name)
  if (text === undefined) return defaultValue
  const value = /^\s*[+-]?\d{1,19}\s*$/.test(text) ? BigInt(text.trim().replace(/^\+/, '')) : undefined
  if (value === undefined || BigInt.asIntN(64, value) !== value) {
    throw invalid(`table property "${name}"`, `"${text}" is not a 64-bit integer`)
  }
  return value
}

/**
 * A table property that is a count or a size in bytes. Values above 2^53-1 are reduced to that, which no table
 * reaches. Errors as {@link propertyLong}.
 */
export function propertyCount(metadata: WithProperties, name: string, defaultValue: number): number {
  const value = propertyLong(metadata, name, BigInt(defaultValue))
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number(value), Number.MAX_SAFE_INTEGER))
}

/** A table property as a fraction; `INVALID_METADATA` naming the property when it is not a number. */
export function propertyDouble(metadata: TableMetadata, name: string, defaultValue: number): number {
  const text = propertyText(metadata, name)
  if (text === undefined) return defaultValue
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isFinite(value)) throw invalid(`table property "${name}"`, `"${text}" is not a number`)
  return value
}

/** A table property as a boolean: `true` in any case is true, anything else false, as in the reference implementation. */
export function propertyBool(metadata: TableMetadata, name: string, defaultValue: boolean): boolean {
  const text = propertyText(metadata, name)
  return text === undefined ? defaultValue : text.toLowerCase() === 'true'
}

/** A table property, or undefined. */
export function propertyText(metadata: WithProperties, name: string): string | undefined {
  return Object.hasOwn(metadata.properties, name) ? metadata.properties[name] : undefined
}

function missing(what: string, id: number): never {
  throw invalid(where, `${what} ${id} does not exist`)
}

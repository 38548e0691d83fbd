/**
 * The Apache Iceberg table format in TypeScript: metadata, schemas, values, manifests, scans and staged updates,
 * format versions 1 to 3. Imports nothing from the service; engines outside of this folder read and write rows.
 *
 * @module
 */
export { readAvroRecords } from './avro/avro-records.ts'
export { IcebergError, type IcebergErrorCode, isIcebergError } from './errors.ts'
export type { FileIO, FileStatus } from './io/file-io.ts'
export { LocalFileIO } from './io/local.ts'
export { MemoryFileIO } from './io/memory.ts'
export { PrefixFileIO } from './io/prefix.ts'
export { type JsonObject, type JsonValue, parseJson, stringifyJson } from './json/lossless-json.ts'
export { newDataLocation, newMetadataFileLocation } from './metadata/locations.ts'
export { readManifestList } from './manifest/manifest-list.ts'
export { writeManifestList } from './manifest/list-writer.ts'
export { readManifest } from './manifest/reader.ts'
export { readManifestTotals } from './manifest/totals.ts'
export { writeManifest } from './manifest/writer.ts'
export type { DataFile, ManifestEntry, ManifestFile } from './manifest/manifest.ts'
export { createTableMetadata } from './metadata/builder.ts'
export {
  currentSchema,
  currentSnapshot,
  currentSpec,
  parseTableMetadata,
  serializeTableMetadata,
  snapshotById,
  type TableMetadata,
} from './metadata/metadata.ts'
export { nameMappingToJson, parseNameMapping } from './schema/name-mapping.ts'
export {
  parsePartitionSpec,
  partitionKey,
  partitionPath,
  type PartitionSpec,
  partitionSpecToJson,
  type PartitionTuple,
  partitionType,
} from './partitioning/partitioning.ts'
export { decodeDeletionVector, encodeDeletionVector, readDeletionVector } from './puffin/deletion-vector.ts'
export { encodePuffin, readPuffinBlob, readPuffinFooter } from './puffin/puffin.ts'
export type { DeleteFileRef } from './scan/delete-index.ts'
export { type FileScanTask, planFiles } from './scan/scan.ts'
export { fieldById, findField, parseSchema, type Schema, schemaToJson, walkFields } from './schema/schema.ts'
export type { Snapshot, SnapshotRef } from './metadata/snapshots.ts'
export { parseSortOrder, type SortOrder, sortOrderToJson } from './partitioning/sort-order.ts'
export type { Table, TableIdentifier } from './metadata/table.ts'
export {
  applyTransform,
  formatTransform,
  parseTransform,
  type Transform,
  transformResultType,
} from './partitioning/transforms.ts'
export { parseType, typeToJson } from './schema/type-json.ts'
export { formatType } from './schema/type-names.ts'
export { parseTypeText } from './schema/type-text.ts'
export type { NestedField, Type, Value } from './schema/types.ts'
export { applyUpdates } from './update/apply/apply-updates.ts'
export { checkRequirements } from './update/apply/check-requirements.ts'
export { planExpiry, planExpiryOf } from './update/expire-snapshots.ts'
export { filesOnlyReachableFrom } from './update/reachability.ts'
export { addColumn, dropColumn, renameColumn } from './update/apply/schema-update.ts'
export { stageAppend } from './update/stage/stage-append.ts'
export { stageRewrite } from './update/stage/stage-rewrite.ts'
export { stageRowDelta } from './update/stage/stage-row-delta.ts'
export type { StagedChange, TableRequirement, TableUpdate } from './update/table-update.ts'
export { valueFromBytes, valueToBytes } from './values/binary.ts'
export { valueFromJson, valueToJson } from './values/json.ts'
export { compareValues, formatValue } from './values/values.ts'

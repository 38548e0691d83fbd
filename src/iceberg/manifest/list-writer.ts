import { AvroContainerWriter } from '../avro/container-writer.ts'
import {
  arrayType,
  bigLongType,
  booleanType,
  bytesType,
  intType,
  longType,
  recordType,
  stringType,
  writeOptional,
  writeRequired,
} from '../avro/record-writer.ts'
import type { WriteField, WriteType } from '../avro/record-writer.ts'
import { IcebergError } from '../errors.ts'
import type { FieldSummary, ManifestFile } from './manifest.ts'

/** The snapshot that a manifest list is written for. */
export interface ManifestListOptions {
  readonly formatVersion: 1 | 2 | 3
  readonly snapshotId: bigint
  readonly parentSnapshotId?: bigint
  readonly sequenceNumber: number
  /** v3: the table's `next-row-id`, where rows of this snapshot start. */
  readonly nextRowId?: number
  readonly manifests: readonly ManifestFile[]
}

/**
 * Writes a manifest list (Iceberg spec, "Manifest Lists").
 *
 * v3 gives every data manifest that has no first row id the next one, advancing by its existing and added rows;
 * `nextRowId` of the result is where the table continues. v2 and v3 need all counts: `INVALID_ARGUMENT` without.
 */
export function writeManifestList(options: ManifestListOptions): { bytes: Uint8Array; nextRowId?: number } {
  const { formatVersion } = options
  const type = recordType('manifest_file', listFields(formatVersion))
  const writer = new AvroContainerWriter(JSON.stringify(type.json), headerOf(options))
  const { manifests, ...next } = formatVersion === 3 ? assignRowIds(options) : { manifests: options.manifests }
  for (const manifest of manifests) writer.append((sink) => type.write(sink, manifest))
  return { bytes: writer.finish(), ...next }
}

function headerOf(options: ManifestListOptions): Record<string, string> {
  const { formatVersion, snapshotId, parentSnapshotId, sequenceNumber, nextRowId } = options
  return {
    'format-version': String(formatVersion),
    'snapshot-id': String(snapshotId),
    // Java writes the text "null" when there is no parent, and its readers expect the key.
    'parent-snapshot-id': parentSnapshotId === undefined ? 'null' : String(parentSnapshotId),
    ...(formatVersion >= 2 && { 'sequence-number': String(sequenceNumber) }),
    ...(formatVersion === 3 && { 'first-row-id': String(nextRowId ?? 0) }),
  }
}

function assignRowIds({ manifests, nextRowId }: ManifestListOptions): { manifests: ManifestFile[]; nextRowId: number } {
  if (nextRowId === undefined) {
    throw new IcebergError('INVALID_ARGUMENT', 'A format version 3 manifest list needs the next row id of the table.')
  }
  let next = nextRowId
  const assigned = manifests.map((manifest) => {
    if (manifest.content !== 'data' || manifest.firstRowId !== undefined) return manifest
    const withRowId = { ...manifest, firstRowId: next }
    next += known(manifest, 'existingRowsCount') + known(manifest, 'addedRowsCount')
    return withRowId
  })
  return { manifests: assigned, nextRowId: next }
}

type CountKey =
  | 'addedFilesCount'
  | 'existingFilesCount'
  | 'deletedFilesCount'
  | 'addedRowsCount'
  | 'existingRowsCount'
  | 'deletedRowsCount'

function known(manifest: ManifestFile, key: CountKey): number {
  const value = manifest[key]
  if (value !== undefined) return value
  const advice = 'read the manifest and count'
  throw new IcebergError('INVALID_ARGUMENT', `${key} of the manifest ${manifest.manifestPath} is unknown; ${advice}.`)
}

const path = writeRequired<ManifestFile, string>(
  { id: 500, name: 'manifest_path', doc: 'Location URI with FS scheme' },
  stringType,
  (manifest) => manifest.manifestPath,
)
const length = writeRequired<ManifestFile, number>(
  { id: 501, name: 'manifest_length', doc: 'Total file size in bytes' },
  longType,
  (manifest) => manifest.manifestLength,
)
const spec = writeRequired<ManifestFile, number>(
  { id: 502, name: 'partition_spec_id', doc: 'Spec ID used to write' },
  intType,
  (manifest) => manifest.partitionSpecId,
)
const addedSnapshot = writeRequired<ManifestFile, bigint>(
  { id: 503, name: 'added_snapshot_id', doc: 'Snapshot ID that added the manifest' },
  bigLongType,
  (manifest) => manifest.addedSnapshotId,
)

const summaryType: WriteType<FieldSummary> = recordType('r508', [
  writeRequired(
    { id: 509, name: 'contains_null', doc: 'True if any file has a null partition value' },
    booleanType,
    (summary) => summary.containsNull,
  ),
  writeOptional(
    { id: 518, name: 'contains_nan', doc: 'True if any file has a nan partition value' },
    booleanType,
    (summary) => summary.containsNan,
  ),
  writeOptional(
    { id: 510, name: 'lower_bound', doc: 'Partition lower bound for all files' },
    bytesType,
    (summary) => summary.lowerBound,
  ),
  writeOptional(
    { id: 511, name: 'upper_bound', doc: 'Partition upper bound for all files' },
    bytesType,
    (summary) => summary.upperBound,
  ),
])

const summaries = writeOptional<ManifestFile, readonly FieldSummary[]>(
  { id: 507, name: 'partitions', doc: 'Summary for each partition' },
  arrayType(508, summaryType),
  (manifest) => manifest.partitions,
)
const keyMetadata = writeOptional<ManifestFile, Uint8Array>(
  { id: 519, name: 'key_metadata', doc: 'Encryption key metadata blob' },
  bytesType,
  (manifest) => manifest.keyMetadata,
)

const fileCounts = [
  { id: 504, name: 'added_files_count', doc: 'Added entry count', key: 'addedFilesCount' },
  { id: 505, name: 'existing_files_count', doc: 'Existing entry count', key: 'existingFilesCount' },
  { id: 506, name: 'deleted_files_count', doc: 'Deleted entry count', key: 'deletedFilesCount' },
] as const

const rowCounts = [
  { id: 512, name: 'added_rows_count', doc: 'Added rows count', key: 'addedRowsCount' },
  { id: 513, name: 'existing_rows_count', doc: 'Existing rows count', key: 'existingRowsCount' },
  { id: 514, name: 'deleted_rows_count', doc: 'Deleted rows count', key: 'deletedRowsCount' },
] as const

type CountField = (typeof fileCounts)[number] | (typeof rowCounts)[number]

function counts(fields: readonly CountField[], type: WriteType<number>, required: boolean): WriteField<ManifestFile>[] {
  return fields.map(({ key, ...name }) => {
    if (required) return writeRequired(name, type, (manifest: ManifestFile) => known(manifest, key))
    return writeOptional(name, type, (manifest: ManifestFile) => manifest[key])
  })
}

/** Field order as Java writes it in each version, because some readers depend on positions. */
function listFields(formatVersion: 1 | 2 | 3): WriteField<ManifestFile>[] {
  if (formatVersion === 1) {
    const files = counts(fileCounts, intType, false)
    return [path, length, spec, addedSnapshot, ...files, summaries, ...counts(rowCounts, longType, false), keyMetadata]
  }
  const fields = [
    path,
    length,
    spec,
    writeRequired<ManifestFile, number>(
      { id: 517, name: 'content', doc: 'Contents of the manifest: 0=data, 1=deletes' },
      intType,
      (manifest) => (manifest.content === 'data' ? 0 : 1),
    ),
    writeRequired<ManifestFile, number>(
      { id: 515, name: 'sequence_number', doc: 'Sequence number when the manifest was added' },
      longType,
      (manifest) => manifest.sequenceNumber,
    ),
    writeRequired<ManifestFile, number>(
      { id: 516, name: 'min_sequence_number', doc: 'Lowest sequence number in the manifest' },
      longType,
      (manifest) => manifest.minSequenceNumber,
    ),
    addedSnapshot,
    ...counts(fileCounts, intType, true),
    ...counts(rowCounts, longType, true),
    summaries,
    keyMetadata,
  ]
  return formatVersion === 2 ? fields : [...fields, firstRowId]
}

const firstRowId = writeOptional<ManifestFile, number>(
  { id: 520, name: 'first_row_id', doc: 'Starting row ID to assign to new rows in ADDED data files' },
  longType,
  (manifest) => (manifest.content === 'data' ? manifest.firstRowId : undefined),
)

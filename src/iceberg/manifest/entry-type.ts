import { uniqueAvroNames } from '../avro/avro-names.ts'
import {
  arrayType,
  bigLongType,
  bytesType,
  idMapType,
  intType,
  longType,
  recordType,
  stringType,
  writeOptional,
  writeRequired,
} from '../avro/record-writer.ts'
import type { WriteField, WriteType } from '../avro/record-writer.ts'
import { scalarType } from '../avro/scalar-writer.ts'
import type { DataFile, FileContent } from './manifest.ts'
import type { PartitionSpec, PartitionTuple } from '../partitioning/partitioning.ts'
import type { PrimitiveType, Value } from '../schema/types.ts'

/** A manifest entry as stored in the file: undefined is null, to be inherited. */
export interface EntryRow {
  readonly status: 0 | 1 | 2
  readonly snapshotId: bigint | undefined
  readonly sequenceNumber: number | undefined
  readonly fileSequenceNumber: number | undefined
  readonly dataFile: DataFile
}

/**
 * The Avro type of `manifest_entry` in a format version (Iceberg spec, "Manifests"), with its encoder.
 * Names, order, ids and docs are those that Java writes, because some readers depend on them.
 */
export function manifestEntryType(
  formatVersion: 1 | 2 | 3,
  spec: PartitionSpec,
  types: readonly PrimitiveType[],
): WriteType<EntryRow> {
  const sequenceNumbers = [
    writeOptional({ id: 3, name: 'sequence_number' }, longType, (row: EntryRow) => row.sequenceNumber),
    writeOptional({ id: 4, name: 'file_sequence_number' }, longType, (row: EntryRow) => row.fileSequenceNumber),
  ]
  const file = recordType('r2', fileFields(formatVersion, partitionField(spec, types)))
  return recordType('manifest_entry', [
    writeRequired({ id: 0, name: 'status' }, intType, (row: EntryRow) => row.status),
    writeOptional({ id: 1, name: 'snapshot_id' }, bigLongType, (row: EntryRow) => row.snapshotId),
    ...(formatVersion === 1 ? [] : sequenceNumbers),
    writeRequired({ id: 2, name: 'data_file' }, file, (row: EntryRow) => row.dataFile),
  ])
}

type FileField = WriteField<DataFile>

function fileFields(formatVersion: 1 | 2 | 3, partition: FileField): FileField[] {
  switch (formatVersion) {
    case 1:
      return [path, format, partition, ...sizes, blockSize, ...metrics, keyMetadata, splitOffsets, sortOrder]
    case 2:
      return [...v2Fields(partition), referencedDataFile]
    case 3:
      return [...v2Fields(partition), firstRowId, referencedDataFile, ...deletionVectorFields]
  }
}

function v2Fields(partition: FileField): FileField[] {
  return [content, path, format, partition, ...sizes, ...metrics, keyMetadata, splitOffsets, equalityIds, sortOrder]
}

function partitionField(spec: PartitionSpec, types: readonly PrimitiveType[]): FileField {
  const names = uniqueAvroNames(spec.fields.map((field) => field.name))
  const defined = new Set<string>()
  const fields = spec.fields.map((field, index): WriteField<PartitionTuple> => {
    const avroName = names[index] ?? ''
    const name = { id: field.fieldId, name: avroName }
    const written = tupleField(name, types[index] ?? { kind: 'unknown' }, { index, defined })
    return avroName === field.name
      ? written
      : { ...written, json: { ...written.json, 'iceberg-field-name': field.name } }
  })
  const doc = 'Partition data tuple, schema based on the partition spec'
  return writeRequired({ id: 102, name: 'partition', doc }, recordType('r102', fields), (file) => file.partition)
}

function tupleField(
  name: { readonly id: number; readonly name: string },
  type: PrimitiveType,
  { index, defined }: { readonly index: number; readonly defined: Set<string> },
): WriteField<PartitionTuple> {
  const written: WriteType<Value> = type.kind === 'unknown' ? stringFallback : scalarType(type, defined)
  return writeOptional(name, written, (tuple) => tuple[index] ?? undefined)
}

/** Values of a column that is no longer in any schema are null, so any type works; string keeps the schema valid. */
const stringFallback: WriteType<Value> = { json: 'string', write: (sink, value) => sink.writeString(String(value)) }

const CONTENT_IDS: Readonly<Record<FileContent, number>> = { data: 0, 'position-deletes': 1, 'equality-deletes': 2 }

const content = writeRequired<DataFile, number>(
  { id: 134, name: 'content', doc: 'Contents of the file: 0=data, 1=position deletes, 2=equality deletes' },
  intType,
  (file) => CONTENT_IDS[file.content],
)
const path = writeRequired<DataFile, string>(
  { id: 100, name: 'file_path', doc: 'Location URI with FS scheme' },
  stringType,
  (file) => file.filePath,
)
// Java and PyIceberg write upper case, and some readers accept nothing else.
const format = writeRequired<DataFile, string>(
  { id: 101, name: 'file_format', doc: 'File format name: avro, orc, or parquet' },
  stringType,
  (file) => file.fileFormat.toUpperCase(),
)
const sizes: readonly FileField[] = [
  writeRequired(
    { id: 103, name: 'record_count', doc: 'Number of records in the file' },
    longType,
    (file) => file.recordCount,
  ),
  writeRequired(
    { id: 104, name: 'file_size_in_bytes', doc: 'Total file size in bytes' },
    longType,
    (file) => file.fileSizeInBytes,
  ),
]
/** Required in v1 and unused since; Java writes 64 MiB. */
const blockSize = writeRequired<DataFile, number>({ id: 105, name: 'block_size_in_bytes' }, longType, () => 64 << 20)

const metrics: readonly FileField[] = [
  writeOptional(
    { id: 108, name: 'column_sizes', doc: 'Map of column id to total size on disk' },
    idMapType(117, 118, longType),
    (file) => file.columnSizes,
  ),
  writeOptional(
    { id: 109, name: 'value_counts', doc: 'Map of column id to total count, including null and NaN' },
    idMapType(119, 120, longType),
    (file) => file.valueCounts,
  ),
  writeOptional(
    { id: 110, name: 'null_value_counts', doc: 'Map of column id to null value count' },
    idMapType(121, 122, longType),
    (file) => file.nullValueCounts,
  ),
  writeOptional(
    { id: 137, name: 'nan_value_counts', doc: 'Map of column id to number of NaN values in the column' },
    idMapType(138, 139, longType),
    (file) => file.nanValueCounts,
  ),
  writeOptional(
    { id: 125, name: 'lower_bounds', doc: 'Map of column id to lower bound' },
    idMapType(126, 127, bytesType),
    (file) => file.lowerBounds,
  ),
  writeOptional(
    { id: 128, name: 'upper_bounds', doc: 'Map of column id to upper bound' },
    idMapType(129, 130, bytesType),
    (file) => file.upperBounds,
  ),
]
const keyMetadata = writeOptional<DataFile, Uint8Array>(
  { id: 131, name: 'key_metadata', doc: 'Encryption key metadata blob' },
  bytesType,
  (file) => file.keyMetadata,
)
const splitOffsets = writeOptional<DataFile, readonly number[]>(
  { id: 132, name: 'split_offsets', doc: 'Splittable offsets' },
  arrayType(133, longType),
  (file) => file.splitOffsets,
)
const equalityIds = writeOptional<DataFile, readonly number[]>(
  { id: 135, name: 'equality_ids', doc: 'Equality comparison field IDs' },
  arrayType(136, intType),
  (file) => file.equalityIds,
)
const sortOrder = writeOptional<DataFile, number>(
  { id: 140, name: 'sort_order_id', doc: 'Sort order ID' },
  intType,
  (file) => file.sortOrderId,
)
const firstRowId = writeOptional<DataFile, number>(
  { id: 142, name: 'first_row_id', doc: 'The first row ID assigned to the first row in the data file' },
  longType,
  (file) => (file.content === 'data' ? file.firstRowId : undefined),
)
const referencedDataFile = writeOptional<DataFile, string>(
  {
    id: 143,
    name: 'referenced_data_file',
    doc: 'Fully qualified location (URI with FS scheme) of a data file that all deletes reference',
  },
  stringType,
  (file) => file.referencedDataFile,
)
const deletionVectorFields: readonly FileField[] = [
  writeOptional(
    { id: 144, name: 'content_offset', doc: 'The offset in the file where the content starts' },
    longType,
    (file) => file.contentOffset,
  ),
  writeOptional(
    { id: 145, name: 'content_size_in_bytes', doc: 'The length of referenced content stored in the file' },
    longType,
    (file) => file.contentSizeInBytes,
  ),
]

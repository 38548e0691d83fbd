import { uniqueAvroNames } from '../avro/avro-names.ts'
import { longType, recordType, writeOptional, writeRequired } from '../avro/record-writer.ts'
import type { WriteField, WriteType } from '../avro/record-writer.ts'
import { scalarType } from '../avro/scalar-writer.ts'
import { BLOCK_SIZE, DATA_FILE, ENTRY_FIELDS, type EntryRow, FILE_FIELDS, PARTITION } from './entry-fields.ts'
import type { DataFile } from './manifest.ts'
import type { PartitionSpec, PartitionTuple } from '../partitioning/partitioning.ts'
import type { PrimitiveType, Value } from '../schema/types.ts'

/**
 * The Avro type of `manifest_entry` in a format version (Iceberg spec, "Manifests"), with its encoder.
 * The order of its fields is Java's, because some readers depend on it.
 */
export function manifestEntryType(
  formatVersion: 1 | 2 | 3,
  spec: PartitionSpec,
  types: readonly PrimitiveType[],
): WriteType<EntryRow> {
  const { status, snapshotId, sequenceNumber, fileSequenceNumber } = ENTRY_FIELDS
  const file = recordType('r2', fileFields(formatVersion, partitionField(spec, types)))
  return recordType('manifest_entry', [
    status.write,
    snapshotId.write,
    ...(formatVersion === 1 ? [] : [sequenceNumber.write, fileSequenceNumber.write]),
    writeRequired(DATA_FILE, file, (row: EntryRow) => row.dataFile),
  ])
}

type FileField = WriteField<DataFile>
type FileFieldName = keyof typeof FILE_FIELDS

const SIZES: readonly FileFieldName[] = ['recordCount', 'fileSizeInBytes']
const METRICS: readonly FileFieldName[] = [
  'columnSizes',
  'valueCounts',
  'nullValueCounts',
  'nanValueCounts',
  'lowerBounds',
  'upperBounds',
]

function fileFields(formatVersion: 1 | 2 | 3, partition: FileField): FileField[] {
  switch (formatVersion) {
    case 1:
      return [
        ...written('filePath', 'fileFormat'),
        partition,
        ...written(...SIZES),
        writeRequired(BLOCK_SIZE, longType, () => 64 << 20),
        ...written(...METRICS, 'keyMetadata', 'splitOffsets', 'sortOrderId'),
      ]
    case 2:
      return [...v2Fields(partition), ...written('referencedDataFile')]
    case 3:
      return [
        ...v2Fields(partition),
        ...written('firstRowId', 'referencedDataFile', 'contentOffset', 'contentSizeInBytes'),
      ]
  }
}

function v2Fields(partition: FileField): FileField[] {
  return [
    ...written('content', 'filePath', 'fileFormat'),
    partition,
    ...written(...SIZES, ...METRICS, 'keyMetadata', 'splitOffsets', 'equalityIds', 'sortOrderId'),
  ]
}

function written(...names: readonly FileFieldName[]): FileField[] {
  return names.map((name) => FILE_FIELDS[name].write)
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
  return writeRequired(PARTITION, recordType('r102', fields), (file) => file.partition)
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

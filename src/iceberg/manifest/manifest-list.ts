import {
  arrayReader,
  bigIntReader,
  booleanReader,
  bytesReader,
  countReader,
  numberReader,
  stringReader,
} from '../avro/readers.ts'
import type { AvroSchema } from '../avro/avro-schema.ts'
import { openAvroContainer } from '../avro/container-reader.ts'
import { compileRecord, optionalField, requiredField } from '../avro/record-reader.ts'
import type { FieldBinding, Reader } from '../avro/record-reader.ts'
import { IcebergError } from '../errors.ts'
import type { FieldSummary, ManifestFile } from './manifest.ts'

export { writeManifestList } from './list-writer.ts'
export type { ManifestListOptions } from './list-writer.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Reads a manifest list (Iceberg spec, "Manifest Lists", v1 to v3), in file order.
 *
 * Fields are found by id, as their names changed over time. v1 lists have sequence numbers 0 and may lack counts,
 * which are then undefined: unknown, not zero. `label` names the file in errors. Throws `CORRUPT_FILE`, `UNSUPPORTED`.
 */
export function readManifestList(bytes: Uint8Array, label = 'manifest list'): ManifestFile[] {
  const container = openAvroContainer(bytes, label)
  const readLine = compileRecord(container.schema, lineBindings)
  const manifests: ManifestFile[] = []
  container.forEachRecord((cursor) => {
    const line: Line = { ...emptyLine }
    readLine(cursor, line)
    if (line.manifestPath === '') throw cursor.corrupt('a manifest has no path')
    manifests.push(line)
  })
  return manifests
}

type Line = Mutable<ManifestFile>

const emptyLine: Line = {
  manifestPath: '',
  manifestLength: 0,
  partitionSpecId: 0,
  content: 'data',
  sequenceNumber: 0,
  minSequenceNumber: 0,
  // v1 allows null here; no snapshot has this id, and v1 entries have their own.
  addedSnapshotId: -1n,
}

const lineBindings: readonly FieldBinding<Line>[] = [
  requiredField(500, ['manifest_path'], { read: stringReader, set: (line, value) => (line.manifestPath = value) }),
  requiredField(501, ['manifest_length'], { read: countReader, set: (line, value) => (line.manifestLength = value) }),
  requiredField(502, ['partition_spec_id'], {
    read: numberReader,
    set: (line, value) => (line.partitionSpecId = value),
  }),
  optionalField(517, ['content'], { read: manifestContentReader, set: (line, value) => (line.content = value) }),
  optionalField(515, ['sequence_number'], { read: countReader, set: (line, value) => (line.sequenceNumber = value) }),
  optionalField(516, ['min_sequence_number'], {
    read: countReader,
    set: (line, value) => (line.minSequenceNumber = value),
  }),
  optionalField(503, ['added_snapshot_id'], {
    read: bigIntReader,
    set: (line, value) => (line.addedSnapshotId = value),
  }),
  count(504, ['added_files_count', 'added_data_files_count'], (line, value) => (line.addedFilesCount = value)),
  count(505, ['existing_files_count', 'existing_data_files_count'], (line, value) => (line.existingFilesCount = value)),
  count(506, ['deleted_files_count', 'deleted_data_files_count'], (line, value) => (line.deletedFilesCount = value)),
  count(512, ['added_rows_count'], (line, value) => (line.addedRowsCount = value)),
  count(513, ['existing_rows_count'], (line, value) => (line.existingRowsCount = value)),
  count(514, ['deleted_rows_count'], (line, value) => (line.deletedRowsCount = value)),
  optionalField<Line, FieldSummary[]>(507, ['partitions'], {
    read: arrayReader(summaryReader),
    set: (line, value) => (line.partitions = value),
  }),
  optionalField(519, ['key_metadata'], { read: bytesReader, set: (line, value) => (line.keyMetadata = value) }),
  optionalField(520, ['first_row_id'], { read: countReader, set: (line, value) => (line.firstRowId = value) }),
]

/** Some writers use -1 for an unknown count. */
function count(
  fieldId: number,
  names: readonly string[],
  set: (line: Line, value: number) => void,
): FieldBinding<Line> {
  return optionalField<Line, number>(fieldId, names, {
    read: numberReader,
    set: (line, value) => {
      if (value >= 0) set(line, value)
    },
  })
}

const summaryBindings: readonly FieldBinding<Mutable<FieldSummary>>[] = [
  requiredField(509, ['contains_null'], {
    read: booleanReader,
    set: (summary, value) => (summary.containsNull = value),
  }),
  optionalField(518, ['contains_nan'], { read: booleanReader, set: (summary, value) => (summary.containsNan = value) }),
  optionalField(510, ['lower_bound'], { read: bytesReader, set: (summary, value) => (summary.lowerBound = value) }),
  optionalField(511, ['upper_bound'], { read: bytesReader, set: (summary, value) => (summary.upperBound = value) }),
]

function summaryReader(schema: AvroSchema): Reader<FieldSummary> {
  const read = compileRecord(schema, summaryBindings)
  return (cursor) => {
    const summary = { containsNull: false }
    read(cursor, summary)
    return summary
  }
}

function manifestContentReader(schema: AvroSchema): Reader<'data' | 'deletes'> {
  const read = numberReader(schema)
  return (cursor) => {
    const id = read(cursor)
    if (id === 0) return 'data'
    if (id === 1) return 'deletes'
    throw new IcebergError('UNSUPPORTED', `The manifest list has manifests of the unknown content type ${id}.`)
  }
}

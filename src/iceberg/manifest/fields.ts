import {
  bytesReader,
  countReader,
  idMapReader,
  numberReader,
  stringReader,
  arrayReader,
  bigIntReader,
} from '../avro/readers.ts'
import { nestedFields, optionalField, requiredField } from '../avro/record-reader.ts'
import type { FieldBinding, Reader } from '../avro/record-reader.ts'
import type { AvroSchema } from '../avro/avro-schema.ts'
import { IcebergError } from '../errors.ts'
import type { DataFile, EntryStatus, FileContent } from './manifest.ts'
import type { PartitionTuple } from '../partitioning/partitioning.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** A manifest entry while it is read, before inheritance. */
export interface EntryDraft {
  status: EntryStatus
  snapshotId: bigint | undefined
  sequenceNumber: number | undefined
  fileSequenceNumber: number | undefined
  readonly file: Mutable<DataFile>
}

/** An entry with nothing read yet; v1 manifests have no content field and hold data files only. */
export function emptyDraft(specId: number): EntryDraft {
  const file = {
    content: 'data' as FileContent,
    filePath: '',
    fileFormat: '',
    specId,
    partition: [] as PartitionTuple,
    recordCount: 0,
    fileSizeInBytes: 0,
  }
  return { status: 'existing', snapshotId: undefined, sequenceNumber: undefined, fileSequenceNumber: undefined, file }
}

/** Bindings of `manifest_entry` (Iceberg spec, "Manifests") onto a draft. */
export function entryBindings(
  partition: (schema: AvroSchema) => Reader<PartitionTuple>,
  project: 'all' | 'no-metrics',
): FieldBinding<EntryDraft>[] {
  const metrics = project === 'all' ? metricBindings : []
  const fileBindings = [
    ...identityBindings,
    requiredField<EntryDraft, PartitionTuple>(102, ['partition'], {
      read: partition,
      set: ({ file }, value) => (file.partition = value),
    }),
    ...metrics,
    ...detailBindings,
  ]
  return [...stateBindings, nestedFields(2, ['data_file'], fileBindings)]
}

const stateBindings: readonly FieldBinding<EntryDraft>[] = [
  requiredField(0, ['status'], { read: statusReader, set: (draft, value) => (draft.status = value) }),
  optionalField(1, ['snapshot_id'], { read: bigIntReader, set: (draft, value) => (draft.snapshotId = value) }),
  optionalField(3, ['sequence_number', 'data_sequence_number'], {
    read: countReader,
    set: (draft, value) => (draft.sequenceNumber = value),
  }),
  optionalField(4, ['file_sequence_number'], {
    read: countReader,
    set: (draft, value) => (draft.fileSequenceNumber = value),
  }),
]

const identityBindings: readonly FieldBinding<EntryDraft>[] = [
  optionalField(134, ['content'], { read: contentReader, set: ({ file }, value) => (file.content = value) }),
  requiredField(100, ['file_path'], { read: stringReader, set: ({ file }, value) => (file.filePath = value) }),
  requiredField(101, ['file_format'], { read: formatReader, set: ({ file }, value) => (file.fileFormat = value) }),
  requiredField(103, ['record_count'], { read: countReader, set: ({ file }, value) => (file.recordCount = value) }),
  requiredField(104, ['file_size_in_bytes'], {
    read: countReader,
    set: ({ file }, value) => (file.fileSizeInBytes = value),
  }),
]

const readCounts = idMapReader(numberReader)
const readBounds = idMapReader(bytesReader)

const metricBindings: readonly FieldBinding<EntryDraft>[] = [
  optionalField(108, ['column_sizes'], { read: readCounts, set: ({ file }, value) => (file.columnSizes = value) }),
  optionalField(109, ['value_counts'], { read: readCounts, set: ({ file }, value) => (file.valueCounts = value) }),
  optionalField(110, ['null_value_counts'], {
    read: readCounts,
    set: ({ file }, value) => (file.nullValueCounts = value),
  }),
  optionalField(137, ['nan_value_counts'], {
    read: readCounts,
    set: ({ file }, value) => (file.nanValueCounts = value),
  }),
  optionalField(125, ['lower_bounds'], { read: readBounds, set: ({ file }, value) => (file.lowerBounds = value) }),
  optionalField(128, ['upper_bounds'], { read: readBounds, set: ({ file }, value) => (file.upperBounds = value) }),
]

const readNumbers = arrayReader(numberReader)

const detailBindings: readonly FieldBinding<EntryDraft>[] = [
  optionalField(131, ['key_metadata'], { read: bytesReader, set: ({ file }, value) => (file.keyMetadata = value) }),
  optionalField(132, ['split_offsets'], { read: readNumbers, set: ({ file }, value) => (file.splitOffsets = value) }),
  optionalField(135, ['equality_ids'], { read: readNumbers, set: ({ file }, value) => (file.equalityIds = value) }),
  optionalField(140, ['sort_order_id'], { read: numberReader, set: ({ file }, value) => (file.sortOrderId = value) }),
  optionalField(142, ['first_row_id'], { read: countReader, set: ({ file }, value) => (file.firstRowId = value) }),
  optionalField(143, ['referenced_data_file'], {
    read: stringReader,
    set: ({ file }, value) => (file.referencedDataFile = value),
  }),
  optionalField(144, ['content_offset'], {
    read: countReader,
    set: ({ file }, value) => (file.contentOffset = value),
  }),
  optionalField(145, ['content_size_in_bytes'], {
    read: countReader,
    set: ({ file }, value) => (file.contentSizeInBytes = value),
  }),
]

const STATUSES: readonly EntryStatus[] = ['existing', 'added', 'deleted']
const CONTENTS: readonly FileContent[] = ['data', 'position-deletes', 'equality-deletes']

/** Reads an entry status: 0 existing, 1 added, 2 deleted. */
export function statusReader(schema: AvroSchema): Reader<EntryStatus> {
  const read = numberReader(schema)
  return (cursor) => {
    const status = STATUSES[read(cursor)]
    if (status === undefined) throw cursor.corrupt('an entry has an unknown status')
    return status
  }
}

/** Reads the content of a file: 0 data, 1 position deletes, 2 equality deletes; `UNSUPPORTED` for later kinds. */
export function contentReader(schema: AvroSchema): Reader<FileContent> {
  const read = numberReader(schema)
  return (cursor) => {
    const id = read(cursor)
    const content = CONTENTS[id]
    if (content !== undefined) return content
    throw new IcebergError('UNSUPPORTED', `The ${cursor.label} has files of the unknown content type ${id}.`)
  }
}

/** Reads a file format in lower case; consecutive entries with the same format share one string. */
function formatReader(schema: AvroSchema): Reader<string> {
  const read = stringReader(schema)
  let written = ''
  let lower = ''
  return (cursor) => {
    const format = read(cursor)
    if (format !== written) {
      written = format
      lower = format.toLowerCase()
    }
    return lower
  }
}

import type { FieldName } from '../avro/record-writer.ts'
import {
  bytes,
  bytesById,
  count,
  countsById,
  fileContent,
  fileFormat,
  id,
  int,
  ints,
  longs,
  status,
  text,
} from './codecs.ts'
import { describeFields } from './field.ts'
import type { DataFile, EntryStatus } from './manifest.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** A manifest entry as stored in the file: undefined is null, to be inherited. */
export interface EntryRow {
  readonly status: EntryStatus
  readonly snapshotId: bigint | undefined
  readonly sequenceNumber: number | undefined
  readonly fileSequenceNumber: number | undefined
  readonly dataFile: DataFile
}

/** A manifest entry while it is read, before inheritance. */
export interface EntryDraft {
  status: EntryStatus
  snapshotId: bigint | undefined
  sequenceNumber: number | undefined
  fileSequenceNumber: number | undefined
  readonly file: Mutable<DataFile>
}

const entry = describeFields<EntryRow, EntryDraft>()
const file = describeFields<DataFile, EntryDraft>()

/** The fields of `manifest_entry` except its file (Iceberg spec, "Manifests"), with the names that Java writes. */
export const ENTRY_FIELDS = {
  status: entry.required({ id: 0, name: 'status' }, status, {
    get: (row) => row.status,
    set: (draft, value) => (draft.status = value),
  }),
  snapshotId: entry.optional({ id: 1, name: 'snapshot_id' }, id, {
    get: (row) => row.snapshotId,
    set: (draft, value) => (draft.snapshotId = value),
  }),
  sequenceNumber: entry.optional({ id: 3, name: 'sequence_number', alias: 'data_sequence_number' }, count, {
    get: (row) => row.sequenceNumber,
    set: (draft, value) => (draft.sequenceNumber = value),
  }),
  fileSequenceNumber: entry.optional({ id: 4, name: 'file_sequence_number' }, count, {
    get: (row) => row.fileSequenceNumber,
    set: (draft, value) => (draft.fileSequenceNumber = value),
  }),
}

/** The field of an entry that holds the file. */
export const DATA_FILE = { id: 2, name: 'data_file' } as const satisfies FieldName

/** The field of a file whose type depends on the partition spec. */
export const PARTITION = {
  id: 102,
  name: 'partition',
  doc: 'Partition data tuple, schema based on the partition spec',
} as const satisfies FieldName

/** Required in v1 and unused since; Java writes 64 MiB. Nothing reads the field. */
export const BLOCK_SIZE = { id: 105, name: 'block_size_in_bytes' } as const satisfies FieldName

/** The fields of `data_file` except {@link PARTITION} and {@link BLOCK_SIZE}, with the names and docs that Java writes. */
export const FILE_FIELDS = {
  content: file.defaulted(
    { id: 134, name: 'content', doc: 'Contents of the file: 0=data, 1=position deletes, 2=equality deletes' },
    fileContent,
    { get: ({ content }) => content, set: (draft, value) => (draft.file.content = value) },
  ),
  filePath: file.required({ id: 100, name: 'file_path', doc: 'Location URI with FS scheme' }, text, {
    get: ({ filePath }) => filePath,
    set: (draft, value) => (draft.file.filePath = value),
  }),
  fileFormat: file.required(
    { id: 101, name: 'file_format', doc: 'File format name: avro, orc, or parquet' },
    fileFormat,
    { get: (source) => source.fileFormat, set: (draft, value) => (draft.file.fileFormat = value) },
  ),
  recordCount: file.required({ id: 103, name: 'record_count', doc: 'Number of records in the file' }, count, {
    get: ({ recordCount }) => recordCount,
    set: (draft, value) => (draft.file.recordCount = value),
  }),
  fileSizeInBytes: file.required({ id: 104, name: 'file_size_in_bytes', doc: 'Total file size in bytes' }, count, {
    get: ({ fileSizeInBytes }) => fileSizeInBytes,
    set: (draft, value) => (draft.file.fileSizeInBytes = value),
  }),
  columnSizes: file.optional(
    { id: 108, name: 'column_sizes', doc: 'Map of column id to total size on disk' },
    countsById(117, 118),
    { get: ({ columnSizes }) => columnSizes, set: (draft, value) => (draft.file.columnSizes = value) },
  ),
  valueCounts: file.optional(
    { id: 109, name: 'value_counts', doc: 'Map of column id to total count, including null and NaN' },
    countsById(119, 120),
    { get: ({ valueCounts }) => valueCounts, set: (draft, value) => (draft.file.valueCounts = value) },
  ),
  nullValueCounts: file.optional(
    { id: 110, name: 'null_value_counts', doc: 'Map of column id to null value count' },
    countsById(121, 122),
    { get: ({ nullValueCounts }) => nullValueCounts, set: (draft, value) => (draft.file.nullValueCounts = value) },
  ),
  nanValueCounts: file.optional(
    { id: 137, name: 'nan_value_counts', doc: 'Map of column id to number of NaN values in the column' },
    countsById(138, 139),
    { get: ({ nanValueCounts }) => nanValueCounts, set: (draft, value) => (draft.file.nanValueCounts = value) },
  ),
  lowerBounds: file.optional(
    { id: 125, name: 'lower_bounds', doc: 'Map of column id to lower bound' },
    bytesById(126, 127),
    { get: ({ lowerBounds }) => lowerBounds, set: (draft, value) => (draft.file.lowerBounds = value) },
  ),
  upperBounds: file.optional(
    { id: 128, name: 'upper_bounds', doc: 'Map of column id to upper bound' },
    bytesById(129, 130),
    { get: ({ upperBounds }) => upperBounds, set: (draft, value) => (draft.file.upperBounds = value) },
  ),
  keyMetadata: file.optional({ id: 131, name: 'key_metadata', doc: 'Encryption key metadata blob' }, bytes, {
    get: ({ keyMetadata }) => keyMetadata,
    set: (draft, value) => (draft.file.keyMetadata = value),
  }),
  splitOffsets: file.optional({ id: 132, name: 'split_offsets', doc: 'Splittable offsets' }, longs(133), {
    get: ({ splitOffsets }) => splitOffsets,
    set: (draft, value) => (draft.file.splitOffsets = value),
  }),
  equalityIds: file.optional({ id: 135, name: 'equality_ids', doc: 'Equality comparison field IDs' }, ints(136), {
    get: ({ equalityIds }) => equalityIds,
    set: (draft, value) => (draft.file.equalityIds = value),
  }),
  sortOrderId: file.optional({ id: 140, name: 'sort_order_id', doc: 'Sort order ID' }, int, {
    get: ({ sortOrderId }) => sortOrderId,
    set: (draft, value) => (draft.file.sortOrderId = value),
  }),
  firstRowId: file.optional(
    { id: 142, name: 'first_row_id', doc: 'The first row ID assigned to the first row in the data file' },
    count,
    {
      get: ({ content, firstRowId }) => (content === 'data' ? firstRowId : undefined),
      set: (draft, value) => (draft.file.firstRowId = value),
    },
  ),
  referencedDataFile: file.optional(
    {
      id: 143,
      name: 'referenced_data_file',
      doc: 'Fully qualified location (URI with FS scheme) of a data file that all deletes reference',
    },
    text,
    {
      get: ({ referencedDataFile }) => referencedDataFile,
      set: (draft, value) => (draft.file.referencedDataFile = value),
    },
  ),
  contentOffset: file.optional(
    { id: 144, name: 'content_offset', doc: 'The offset in the file where the content starts' },
    count,
    { get: ({ contentOffset }) => contentOffset, set: (draft, value) => (draft.file.contentOffset = value) },
  ),
  contentSizeInBytes: file.optional(
    { id: 145, name: 'content_size_in_bytes', doc: 'The length of referenced content stored in the file' },
    count,
    {
      get: ({ contentSizeInBytes }) => contentSizeInBytes,
      set: (draft, value) => (draft.file.contentSizeInBytes = value),
    },
  ),
}

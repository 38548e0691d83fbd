import { arrayReader } from '../avro/readers.ts'
import { compileRecord } from '../avro/record-reader.ts'
import { arrayType, intType, longType, recordType, writeRequired } from '../avro/record-writer.ts'
import type { WriteField } from '../avro/record-writer.ts'
import { IcebergError } from '../errors.ts'
import { bytes, count, flag, id, int, manifestContent, text } from './codecs.ts'
import { type Codec, describeFields, type ManifestFieldName } from './field.ts'
import type { FieldSummary, ManifestFile } from './manifest.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** A line of a manifest list while it is read. */
export type LineDraft = Mutable<ManifestFile>

const summary = describeFields<FieldSummary, Mutable<FieldSummary>>()
const line = describeFields<ManifestFile, LineDraft>()

const SUMMARY_FIELDS = [
  summary.required({ id: 509, name: 'contains_null', doc: 'True if any file has a null partition value' }, flag, {
    get: ({ containsNull }) => containsNull,
    set: (draft, value) => (draft.containsNull = value),
  }),
  summary.optional({ id: 518, name: 'contains_nan', doc: 'True if any file has a nan partition value' }, flag, {
    get: ({ containsNan }) => containsNan,
    set: (draft, value) => (draft.containsNan = value),
  }),
  summary.optional({ id: 510, name: 'lower_bound', doc: 'Partition lower bound for all files' }, bytes, {
    get: ({ lowerBound }) => lowerBound,
    set: (draft, value) => (draft.lowerBound = value),
  }),
  summary.optional({ id: 511, name: 'upper_bound', doc: 'Partition upper bound for all files' }, bytes, {
    get: ({ upperBound }) => upperBound,
    set: (draft, value) => (draft.upperBound = value),
  }),
]

const summaries: Codec<readonly FieldSummary[]> = {
  type: arrayType(
    508,
    recordType(
      'r508',
      SUMMARY_FIELDS.map(({ write }) => write),
    ),
  ),
  read: arrayReader((schema) => {
    const read = compileRecord(
      schema,
      SUMMARY_FIELDS.map(({ bind }) => bind),
    )
    return (cursor) => {
      const draft = { containsNull: false }
      read(cursor, draft)
      return draft
    }
  }),
}

/** The fields of `manifest_file` without counts (Iceberg spec, "Manifest Lists"), with the names and docs that Java writes. */
export const LINE_FIELDS = {
  manifestPath: line.required({ id: 500, name: 'manifest_path', doc: 'Location URI with FS scheme' }, text, {
    get: ({ manifestPath }) => manifestPath,
    set: (draft, value) => (draft.manifestPath = value),
  }),
  manifestLength: line.required({ id: 501, name: 'manifest_length', doc: 'Total file size in bytes' }, count, {
    get: ({ manifestLength }) => manifestLength,
    set: (draft, value) => (draft.manifestLength = value),
  }),
  partitionSpecId: line.required({ id: 502, name: 'partition_spec_id', doc: 'Spec ID used to write' }, int, {
    get: ({ partitionSpecId }) => partitionSpecId,
    set: (draft, value) => (draft.partitionSpecId = value),
  }),
  content: line.defaulted(
    { id: 517, name: 'content', doc: 'Contents of the manifest: 0=data, 1=deletes' },
    manifestContent,
    { get: ({ content }) => content, set: (draft, value) => (draft.content = value) },
  ),
  sequenceNumber: line.defaulted(
    { id: 515, name: 'sequence_number', doc: 'Sequence number when the manifest was added' },
    count,
    { get: ({ sequenceNumber }) => sequenceNumber, set: (draft, value) => (draft.sequenceNumber = value) },
  ),
  minSequenceNumber: line.defaulted(
    { id: 516, name: 'min_sequence_number', doc: 'Lowest sequence number in the manifest' },
    count,
    { get: ({ minSequenceNumber }) => minSequenceNumber, set: (draft, value) => (draft.minSequenceNumber = value) },
  ),
  addedSnapshotId: line.defaulted(
    { id: 503, name: 'added_snapshot_id', doc: 'Snapshot ID that added the manifest' },
    id,
    { get: ({ addedSnapshotId }) => addedSnapshotId, set: (draft, value) => (draft.addedSnapshotId = value) },
  ),
  partitions: line.optional({ id: 507, name: 'partitions', doc: 'Summary for each partition' }, summaries, {
    get: ({ partitions }) => partitions,
    set: (draft, value) => (draft.partitions = value),
  }),
  keyMetadata: line.optional({ id: 519, name: 'key_metadata', doc: 'Encryption key metadata blob' }, bytes, {
    get: ({ keyMetadata }) => keyMetadata,
    set: (draft, value) => (draft.keyMetadata = value),
  }),
  firstRowId: line.optional(
    { id: 520, name: 'first_row_id', doc: 'Starting row ID to assign to new rows in ADDED data files' },
    count,
    {
      get: ({ content, firstRowId }) => (content === 'data' ? firstRowId : undefined),
      set: (draft, value) => (draft.firstRowId = value),
    },
  ),
}

type CountKey =
  | 'addedFilesCount'
  | 'existingFilesCount'
  | 'deletedFilesCount'
  | 'addedRowsCount'
  | 'existingRowsCount'
  | 'deletedRowsCount'

interface CountFieldName extends ManifestFieldName {
  readonly key: CountKey
}

const FILE_COUNTS: readonly CountFieldName[] = [
  {
    key: 'addedFilesCount',
    id: 504,
    name: 'added_files_count',
    alias: 'added_data_files_count',
    doc: 'Added entry count',
  },
  {
    key: 'existingFilesCount',
    id: 505,
    name: 'existing_files_count',
    alias: 'existing_data_files_count',
    doc: 'Existing entry count',
  },
  {
    key: 'deletedFilesCount',
    id: 506,
    name: 'deleted_files_count',
    alias: 'deleted_data_files_count',
    doc: 'Deleted entry count',
  },
]

const ROW_COUNTS: readonly CountFieldName[] = [
  { key: 'addedRowsCount', id: 512, name: 'added_rows_count', doc: 'Added rows count' },
  { key: 'existingRowsCount', id: 513, name: 'existing_rows_count', doc: 'Existing rows count' },
  { key: 'deletedRowsCount', id: 514, name: 'deleted_rows_count', doc: 'Deleted rows count' },
]

/** The counts of `manifest_file`: optional in v1, required since v2, where an unknown one is `INVALID_ARGUMENT`. */
export const COUNT_FIELDS = {
  files: FILE_COUNTS.map((name) => countField(name, { type: intType, read: int.read })),
  rows: ROW_COUNTS.map((name) => countField(name, { type: longType, read: int.read })),
}

function countField({ key, ...name }: CountFieldName, codec: Codec<number>) {
  const { write, bind } = line.optional(name, codec, {
    get: (manifest) => manifest[key],
    set: (draft, value) => {
      if (value >= 0) draft[key] = value // some writers use -1 for an unknown count
    },
  })
  const writeKnown: WriteField<ManifestFile> = writeRequired(name, codec.type, (manifest) => knownCount(manifest, key))
  return { write, writeKnown, bind }
}

/** A count of a manifest; `INVALID_ARGUMENT` when it is unknown. */
export function knownCount(manifest: ManifestFile, key: CountKey): number {
  const value = manifest[key]
  if (value !== undefined) return value
  const advice = 'read the manifest and count'
  throw new IcebergError('INVALID_ARGUMENT', `${key} of the manifest ${manifest.manifestPath} is unknown; ${advice}.`)
}

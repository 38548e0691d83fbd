import type { AvroSchema } from '../avro/avro-schema.ts'
import { nestedFields, requiredField } from '../avro/record-reader.ts'
import type { FieldBinding, Reader } from '../avro/record-reader.ts'
import { DATA_FILE, ENTRY_FIELDS, type EntryDraft, FILE_FIELDS, PARTITION } from './entry-fields.ts'
import type { FileContent } from './manifest.ts'
import type { PartitionTuple } from '../partitioning/partitioning.ts'

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
  const { columnSizes, valueCounts, nullValueCounts, nanValueCounts, lowerBounds, upperBounds, ...others } = FILE_FIELDS
  const metrics = [columnSizes, valueCounts, nullValueCounts, nanValueCounts, lowerBounds, upperBounds]
  const fields = [...Object.values(others), ...(project === 'all' ? metrics : [])]
  const partitionBinding = requiredField<EntryDraft, PartitionTuple>(PARTITION.id, [PARTITION.name], {
    read: partition,
    set: ({ file }, value) => (file.partition = value),
  })
  return [
    ...Object.values(ENTRY_FIELDS).map(({ bind }) => bind),
    nestedFields(DATA_FILE.id, [DATA_FILE.name], [...fields.map(({ bind }) => bind), partitionBinding]),
  ]
}

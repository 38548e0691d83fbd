import type { RowDeletesOutput } from '../../engines/output-spec.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { newDataLocation } from '../../iceberg/metadata/locations.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { partitionPath, partitionType } from '../../iceberg/partitioning/partitioning.ts'
import { requireSpec } from '../../iceberg/update/stage/snapshot-producer.ts'
import { deleteFileTargetBytes, deleteGranularity } from './delete-properties.ts'

/** What new deletes in a table are. */
export type RowDeletesForm = Omit<RowDeletesOutput, 'newLocation'>

/** Decides what new deletes in a table are, by its format version and its properties `write.delete.*`; errors of {@link deleteFileTargetBytes}. */
export function rowDeletesForm(metadata: TableMetadata): RowDeletesForm {
  const { formatVersion, properties } = metadata
  const perPartition = deleteGranularity(metadata) === 'file' ? 'by-file' : 'by-partition'
  const kind = formatVersion >= 3 ? 'vectors' : perPartition
  return { kind, targetFileSizeBytes: deleteFileTargetBytes(metadata), properties }
}

/** Where and how new deletes of rows of a table are written; the names of the files begin with a prefix that must be unique. */
export function rowDeletesOutput(metadata: TableMetadata, fileNamePrefix: string): RowDeletesOutput {
  const form = rowDeletesForm(metadata)
  return {
    ...form,
    newLocation:
      form.kind === 'vectors'
        ? // vectors of several partitions share a file
          (_, index) => newDataLocation(metadata, '', `${numbered(fileNamePrefix, index)}.puffin`)
        : (file, index) => positionDeletesLocation(metadata, file, { fileNamePrefix, index }),
  }
}

/** The location of the n-th new file with position deletes of a partition. */
export function positionDeletesLocation(
  metadata: TableMetadata,
  { specId, partition }: Pick<DataFile, 'specId' | 'partition'>,
  { fileNamePrefix, index }: { readonly fileNamePrefix: string; readonly index: number },
): string {
  const spec = requireSpec(metadata, specId)
  const folder = partitionPath(spec, partitionType(spec, metadata.schemas), partition)
  return newDataLocation(metadata, folder, `${numbered(fileNamePrefix, index)}.parquet`)
}

function numbered(prefix: string, index: number): string {
  return `${prefix}-${String(index).padStart(5, '0')}-deletes`
}

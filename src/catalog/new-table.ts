import type { FileIO } from '../iceberg/io/file-io.ts'
import { newMetadataFileLocation } from '../iceberg/metadata/locations.ts'
import { createTableMetadata } from '../iceberg/metadata/builder.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import type { CreateTableOptions } from './names.ts'
import { deleteQuietly, metadataFileBytes, metadataFileSuffix, nextMetastoreFileName } from './metadata-file.ts'

/** A table whose files exist but that is not in a catalog yet. */
export interface NewTable {
  readonly table: Table
  /** Deletes the files again when the table is certainly not in the catalog. */
  discard(): Promise<void>
}

/** The first metadata of a table. */
export function newTableMetadata(options: CreateTableOptions & { readonly location: string }): TableMetadata {
  return createTableMetadata({
    ...options,
    formatVersion: options.formatVersion ?? 2,
    properties: options.properties ?? {},
    uuid: crypto.randomUUID(),
    nowMs: Date.now(),
  })
}

/** A table as it would be created, for checks before anything is written. */
export function draftOf(io: FileIO, identifier: TableIdentifier, metadata: TableMetadata): Table {
  return { identifier, metadataLocation: newMetadataFileLocation(metadata, 'draft.metadata.json'), metadata, io }
}

/** Writes the first metadata file of a table of a metastore catalog. */
export async function stageTable(io: FileIO, identifier: TableIdentifier, metadata: TableMetadata): Promise<NewTable> {
  const suffix = metadataFileSuffix(metadata)
  const metadataLocation = newMetadataFileLocation(metadata, nextMetastoreFileName(undefined, suffix))
  await io.create(metadataLocation, metadataFileBytes(metadata, suffix))
  return {
    table: { identifier, metadataLocation, metadata, io },
    discard: () => deleteQuietly(io, [metadataLocation]),
  }
}

import type { ManifestEntryInput, ManifestOptions } from '../../../src/iceberg/manifest/writer.ts'
import type { DataFile, ManifestFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { createTableMetadata } from '../../../src/iceberg/metadata/builder.ts'
import type { PartitionField, PartitionSpec } from '../../../src/iceberg/partitioning/partitioning.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import type { NestedField, PrimitiveType } from '../../../src/iceberg/schema/types.ts'

/** A schema of optional columns with ids from 1. */
export function schemaOf(...types: readonly PrimitiveType[]): Schema {
  const fields = types.map((type, index): NestedField => ({
    id: index + 1,
    name: `c${index + 1}`,
    required: false,
    type,
  }))
  return { schemaId: 0, fields, identifierFieldIds: [] }
}

/** A spec that takes columns as they are, with fields from id 1000. */
export function identitySpec(schema: Schema, names?: readonly string[]): PartitionSpec {
  const fields = schema.fields.map((field, index): PartitionField => ({
    fieldId: 1000 + index,
    sourceId: field.id,
    name: names?.[index] ?? field.name,
    transform: { kind: 'identity' },
  }))
  return { specId: 0, fields }
}

/** Metadata of a table with these schemas and specs. */
export function metadataOf(schemas: readonly Schema[], specs: readonly PartitionSpec[]): TableMetadata {
  const [schema] = schemas
  if (schema === undefined) throw new Error('a table needs a schema')
  const made = createTableMetadata({ schema, location: '/t', formatVersion: 2, uuid: crypto.randomUUID(), nowMs: 0 })
  return { ...made, schemas, partitionSpecs: specs }
}

/** A data file; overrides win. */
export function dataFile(overrides: Partial<DataFile> = {}): DataFile {
  return {
    content: 'data',
    filePath: '/t/data/a.parquet',
    fileFormat: 'parquet',
    specId: 0,
    partition: [],
    recordCount: 10,
    fileSizeInBytes: 1000,
    ...overrides,
  }
}

export const added = (file: DataFile): ManifestEntryInput => ({ status: 'added', dataFile: file })

/** An entry that was there before. */
export function existing(file: DataFile, numbers: { snapshotId: bigint; sequenceNumber: number }): ManifestEntryInput {
  return { status: 'existing', ...numbers, fileSequenceNumber: numbers.sequenceNumber, dataFile: file }
}

const unpartitioned: PartitionSpec = { specId: 0, fields: [] }

/** Options of an unpartitioned v2 data manifest; overrides win. */
export function manifestOptions(overrides: Partial<ManifestOptions> = {}): ManifestOptions {
  return {
    formatVersion: 2,
    schema: schemaOf({ kind: 'long' }),
    spec: unpartitioned,
    snapshotId: 6838723292707092922n,
    content: 'data',
    sequenceNumber: 7,
    path: '/t/metadata/m0.avro',
    entries: [added(dataFile())],
    ...overrides,
  }
}

/** A line of a manifest list as another writer may have made it; overrides win. */
export function manifestLine(overrides: Partial<ManifestFile> = {}): ManifestFile {
  return {
    manifestPath: '/t/metadata/m0.avro',
    manifestLength: 1,
    partitionSpecId: 0,
    content: 'data',
    sequenceNumber: 7,
    minSequenceNumber: 7,
    addedSnapshotId: 6838723292707092922n,
    ...overrides,
  }
}

import { AvroContainerWriter } from '../avro/container-writer.ts'
import { IcebergError } from '../errors.ts'
import { stringifyJson } from '../json/lossless-json.ts'
import { manifestEntryType } from './entry-type.ts'
import type { EntryRow } from './entry-fields.ts'
import { summarizePartitions } from './summaries.ts'
import type { DataFile, EntryStatus, ManifestFile } from './manifest.ts'
import { partitionSpecToJson, partitionType } from '../partitioning/partitioning.ts'
import type { PartitionSpec } from '../partitioning/partitioning.ts'
import { schemaToJson } from '../schema/schema.ts'
import type { Schema } from '../schema/schema.ts'

/** One entry to write. */
export interface ManifestEntryInput {
  readonly status: EntryStatus
  /** Added: left null to be inherited when not given. Existing: required. Deleted: default the committing snapshot. */
  readonly snapshotId?: bigint
  /** Data sequence number. Added: inherited when not given. Existing and deleted: required from v2 on. */
  readonly sequenceNumber?: number
  /** Existing and deleted: required from v2 on. Added: always inherited. */
  readonly fileSequenceNumber?: number
  readonly dataFile: DataFile
}

/** The table and snapshot that a manifest is written for. */
export interface ManifestOptions {
  readonly formatVersion: 1 | 2 | 3
  readonly schema: Schema
  /** All schemas of the table, for partition fields whose column is no longer in `schema`. */
  readonly schemas?: readonly Schema[]
  readonly spec: PartitionSpec
  /** The snapshot that adds the manifest. */
  readonly snapshotId: bigint
  readonly content: 'data' | 'deletes'
  /** Sequence number of that snapshot; ignored in v1, where all are 0. */
  readonly sequenceNumber: number
  /** Where the manifest will be stored. */
  readonly path: string
  readonly entries: readonly ManifestEntryInput[]
}

/**
 * Writes a manifest (Iceberg spec, "Manifests") and describes it for the manifest list.
 *
 * Added entries leave snapshot id and sequence numbers null, to be inherited, unless they are given: a rewritten file
 * keeps the data sequence number of the snapshot it was planned on, and `minSequenceNumber` reflects that.
 * Throws `INVALID_ARGUMENT` for entries of other content or spec and for missing sequence numbers.
 */
export function writeManifest(options: ManifestOptions): { bytes: Uint8Array; manifest: ManifestFile } {
  const { schema, schemas = [], spec, entries } = options
  const types = partitionType(spec, [schema, ...schemas])
  const type = manifestEntryType(options.formatVersion, spec, types)
  const writer = new AvroContainerWriter(JSON.stringify(type.json), headerOf(options))
  for (const entry of entries) {
    const row = toRow(entry, options)
    writer.append((sink) => type.write(sink, row))
  }
  const bytes = writer.finish()
  const partitions = summarizePartitions(
    spec,
    types,
    entries.map((entry) => entry.dataFile.partition),
  )
  const manifest = { ...describe(options), ...countEntries(entries), manifestLength: bytes.length }
  return { bytes, manifest: partitions === undefined ? manifest : { ...manifest, partitions } }
}

function headerOf({ formatVersion, schema, spec, content }: ManifestOptions): Record<string, string> {
  return {
    schema: stringifyJson(schemaToJson(schema)),
    'schema-id': String(schema.schemaId),
    'partition-spec': stringifyJson(partitionSpecToJson(spec)['fields'] ?? []),
    'partition-spec-id': String(spec.specId),
    'format-version': String(formatVersion),
    ...(formatVersion >= 2 && { content }),
  }
}

function toRow(entry: ManifestEntryInput, options: ManifestOptions): EntryRow {
  const { dataFile } = entry
  assertFits(entry, options)
  if (entry.status === 'added') {
    const snapshotId = entry.snapshotId ?? (options.formatVersion === 1 ? options.snapshotId : undefined)
    const { sequenceNumber } = entry
    return { status: 'added', snapshotId, sequenceNumber, fileSequenceNumber: undefined, dataFile }
  }
  const { sequenceNumber, fileSequenceNumber } = entry
  const snapshotId = entry.snapshotId ?? (entry.status === 'deleted' ? options.snapshotId : undefined)
  if (snapshotId === undefined) throw lacking(entry, 'snapshot id')
  if (options.formatVersion >= 2 && (sequenceNumber === undefined || fileSequenceNumber === undefined)) {
    throw lacking(entry, 'sequence number')
  }
  return { status: entry.status, snapshotId, sequenceNumber, fileSequenceNumber, dataFile }
}

function assertFits({ dataFile }: ManifestEntryInput, { content, spec, formatVersion }: ManifestOptions): void {
  const { filePath } = dataFile
  if ((dataFile.content === 'data') !== (content === 'data')) {
    throw new IcebergError(
      'INVALID_ARGUMENT',
      `${filePath} is of content ${dataFile.content}, but the manifest is for ${content}.`,
    )
  }
  if (content === 'deletes' && formatVersion === 1) {
    throw new IcebergError('INVALID_ARGUMENT', `Format version 1 has no delete files such as ${filePath}.`)
  }
  if (dataFile.specId !== spec.specId || dataFile.partition.length !== spec.fields.length) {
    const specs = `partition spec ${dataFile.specId}, the manifest to ${spec.specId}`
    throw new IcebergError('INVALID_ARGUMENT', `${filePath} belongs to ${specs}.`)
  }
}

function lacking({ status, dataFile }: ManifestEntryInput, what: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `The ${status} entry of ${dataFile.filePath} needs its ${what}.`)
}

function describe(options: ManifestOptions): Omit<ManifestFile, 'manifestLength'> {
  const { path, spec, content, formatVersion, snapshotId } = options
  const sequenceNumber = formatVersion === 1 ? 0 : options.sequenceNumber
  return {
    manifestPath: path,
    partitionSpecId: spec.specId,
    content,
    sequenceNumber,
    minSequenceNumber: formatVersion === 1 ? 0 : lowestSequenceNumber(options),
    addedSnapshotId: snapshotId,
  }
}

/** The minimum over live entries; entries that inherit have the snapshot's own number, the highest one. */
function lowestSequenceNumber({ entries, sequenceNumber }: ManifestOptions): number {
  let lowest = sequenceNumber
  for (const entry of entries) {
    if (entry.status !== 'deleted') lowest = Math.min(lowest, entry.sequenceNumber ?? sequenceNumber)
  }
  return lowest
}

function countEntries(entries: readonly ManifestEntryInput[]) {
  const files = { existing: 0, added: 0, deleted: 0 }
  const rows = { existing: 0, added: 0, deleted: 0 }
  for (const { status, dataFile } of entries) {
    files[status]++
    rows[status] += dataFile.recordCount
  }
  return {
    addedFilesCount: files.added,
    existingFilesCount: files.existing,
    deletedFilesCount: files.deleted,
    addedRowsCount: rows.added,
    existingRowsCount: rows.existing,
    deletedRowsCount: rows.deleted,
  }
}

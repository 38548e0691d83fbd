import { requirePlain } from '../../metadata/encryption.ts'
import { IcebergError } from '../../errors.ts'
import { newMetadataFileLocation } from '../../metadata/locations.ts'
import { loadManifests } from '../../manifest/cache.ts'
import { writeManifestList } from '../../manifest/manifest-list.ts'
import { writeManifest } from '../../manifest/writer.ts'
import type { ManifestEntryInput } from '../../manifest/writer.ts'
import type { ManifestFile } from '../../manifest/manifest.ts'
import { currentSchema, currentSnapshot, propertyCount, snapshotById } from '../../metadata/metadata.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import { sourceIdsOf } from '../../partitioning/partitioning.ts'
import type { PartitionSpec } from '../../partitioning/partitioning.ts'
import { fieldById } from '../../schema/schema.ts'
import type { Schema } from '../../schema/schema.ts'
import { mainBranch, snapshotRefToJson, snapshotToJson } from '../../metadata/snapshots.ts'
import type { Snapshot } from '../../metadata/snapshots.ts'
import type { Table } from '../../metadata/table.ts'
import type { StagedChange, TableRequirement, TableUpdate } from '../table-update.ts'

/** How a snapshot changed the table's contents (Iceberg spec, "Snapshots", `operation`). */
export type SnapshotOperation = 'append' | 'replace' | 'overwrite' | 'delete'

/** Options of every staged snapshot. */
export interface StageOptions {
  /** Prefix of the names of all new files, recorded in the summary as `lockhouse.operation-id`. */
  readonly operationId: string
  /** Further summary entries. */
  readonly summary?: Readonly<Record<string, string>>
  /** Clock, in ms since the epoch. */
  readonly now?: () => number
}

/** A staged snapshot of the `main` branch; nothing is visible before it is committed. */
export interface StagedSnapshot extends StagedChange {
  readonly snapshotId: bigint
  readonly summary: Readonly<Record<string, string>>
  /** Delete files that the snapshot drops because no live data file needs them. */
  readonly removedDeleteFiles: number
}

/** The manifests and the summary of a new snapshot. */
export interface SnapshotContents {
  readonly operation: SnapshotOperation
  readonly manifests: readonly ManifestFile[]
  /** Without `operation`. */
  readonly summary: Readonly<Record<string, string>>
  readonly removedDeleteFiles: number
}

const OPERATION_ID = /^[A-Za-z0-9._-]{1,128}$/
const DEFAULT_MANIFEST_BYTES = 8_388_608
/** Entries that are encoded to estimate the size of one. */
const SAMPLE_ENTRIES = 500

/**
 * Stages a snapshot on top of a table: runs `build`, writes the manifest list and creates the updates. When anything
 * fails, the files written so far are deleted. `UNSUPPORTED` for encrypted tables.
 */
export async function produceSnapshot(
  table: Table,
  options: StageOptions,
  build: (producer: SnapshotProducer) => Promise<SnapshotContents>,
): Promise<StagedSnapshot> {
  requirePlain(table.metadata)
  const producer = new SnapshotProducer(table, options)
  try {
    return await producer.finish(await build(producer))
  } catch (error) {
    await producer.discard()
    throw error
  }
}

/** One attempt to create a snapshot of `main`; ids and sequence number belong to this attempt. */
export class SnapshotProducer {
  readonly table: Table
  readonly snapshotId: bigint
  /** 0 in format version 1. */
  readonly sequenceNumber: number
  /** The head of `main`, if there is one. */
  readonly parent: Snapshot | undefined
  readonly #options: StageOptions
  readonly #attemptId = crypto.randomUUID()
  readonly #written: string[] = []
  #manifests = 0

  constructor(table: Table, options: StageOptions) {
    if (!OPERATION_ID.test(options.operationId)) {
      throw new IcebergError(
        'INVALID_ARGUMENT',
        `"${options.operationId}" cannot be a prefix of file names: use A-Z a-z 0-9 . _ -`,
      )
    }
    const { metadata } = table
    this.table = table
    this.snapshotId = newSnapshotId(metadata)
    this.sequenceNumber = metadata.formatVersion === 1 ? 0 : metadata.lastSequenceNumber + 1
    this.parent = currentSnapshot(metadata)
    this.#options = options
  }

  /** The manifests of the head of `main`. */
  async parentManifests(): Promise<readonly ManifestFile[]> {
    const manifests = this.parent === undefined ? [] : await loadManifests(this.table, this.parent)
    const encrypted = manifests.find(({ keyMetadata }) => keyMetadata !== undefined)
    if (encrypted === undefined) return manifests
    throw new IcebergError('UNSUPPORTED', `The manifest ${encrypted.manifestPath} is encrypted, so nothing was changed`)
  }

  /** Writes one manifest. */
  async writeManifest(
    specId: number,
    content: ManifestFile['content'],
    entries: readonly ManifestEntryInput[],
  ): Promise<ManifestFile> {
    const { metadata, io } = this.table
    const spec = requireSpec(metadata, specId)
    const name = `${this.#options.operationId}-${this.#attemptId}-m${this.#manifests++}.avro`
    const path = newMetadataFileLocation(metadata, name)
    const { bytes, manifest } = writeManifest({
      formatVersion: metadata.formatVersion,
      schema: schemaForSpec(metadata, spec),
      schemas: metadata.schemas,
      spec,
      snapshotId: this.snapshotId,
      content,
      sequenceNumber: this.sequenceNumber,
      path,
      entries,
    })
    this.#written.push(path)
    await io.create(path, bytes)
    return manifest
  }

  /** Writes manifests of about the table's target size (`commit.manifest.target-size-bytes`). */
  async writeManifests(
    specId: number,
    content: ManifestFile['content'],
    entries: readonly ManifestEntryInput[],
  ): Promise<readonly ManifestFile[]> {
    const size = this.#entriesPerManifest(specId, content, entries)
    const manifests: ManifestFile[] = []
    for (let start = 0; start < entries.length; start += size) {
      manifests.push(await this.writeManifest(specId, content, entries.slice(start, start + size)))
    }
    return manifests
  }

  /** Writes the manifest list and creates requirements and updates. */
  async finish(contents: SnapshotContents): Promise<StagedSnapshot> {
    const { metadata } = this.table
    const { path, rowIds } = await this.#writeManifestList(contents.manifests)
    const summary = {
      operation: contents.operation,
      ...contents.summary,
      ...this.#options.summary,
      'lockhouse.operation-id': this.#options.operationId,
    }
    const snapshot: Snapshot = {
      snapshotId: this.snapshotId,
      ...(this.parent === undefined ? {} : { parentSnapshotId: this.parent.snapshotId }),
      sequenceNumber: this.sequenceNumber,
      timestampMs: Math.max((this.#options.now ?? Date.now)(), metadata.lastUpdatedMs),
      manifestList: path,
      summary,
      schemaId: metadata.currentSchemaId,
      ...rowIds,
    }
    return {
      requirements: requirementsFor(metadata, this.parent),
      updates: updatesFor(metadata, snapshot),
      writtenFiles: [...this.#written],
      snapshotId: this.snapshotId,
      summary,
      removedDeleteFiles: contents.removedDeleteFiles,
    }
  }

  /** Deletes the files written so far, as far as possible. */
  async discard(): Promise<void> {
    await Promise.allSettled(this.#written.map((location) => this.table.io.delete(location)))
  }

  async #writeManifestList(manifests: readonly ManifestFile[]): Promise<{
    readonly path: string
    readonly rowIds: Pick<Snapshot, 'firstRowId' | 'addedRows'>
  }> {
    const { metadata, io } = this.table
    const firstRowId = metadata.formatVersion === 3 ? (metadata.nextRowId ?? 0) : undefined
    const { bytes, nextRowId } = writeManifestList({
      formatVersion: metadata.formatVersion,
      snapshotId: this.snapshotId,
      ...(this.parent === undefined ? {} : { parentSnapshotId: this.parent.snapshotId }),
      sequenceNumber: this.sequenceNumber,
      ...(firstRowId === undefined ? {} : { nextRowId: firstRowId }),
      manifests,
    })
    const name = `${this.#options.operationId}-${this.#attemptId}-snap-${this.snapshotId}.avro`
    const path = newMetadataFileLocation(metadata, name)
    this.#written.push(path)
    await io.create(path, bytes)
    if (firstRowId === undefined) return { path, rowIds: {} }
    return { path, rowIds: { firstRowId, addedRows: (nextRowId ?? firstRowId) - firstRowId } }
  }

  #entriesPerManifest(
    specId: number,
    content: ManifestFile['content'],
    entries: readonly ManifestEntryInput[],
  ): number {
    if (entries.length <= SAMPLE_ENTRIES) return SAMPLE_ENTRIES
    const { metadata } = this.table
    const spec = requireSpec(metadata, specId)
    const sample = writeManifest({
      formatVersion: metadata.formatVersion,
      schema: schemaForSpec(metadata, spec),
      schemas: metadata.schemas,
      spec,
      snapshotId: this.snapshotId,
      content,
      sequenceNumber: this.sequenceNumber,
      path: metadata.location,
      entries: entries.slice(0, SAMPLE_ENTRIES),
    })
    const target = propertyCount(metadata, 'commit.manifest.target-size-bytes', DEFAULT_MANIFEST_BYTES)
    const fitting = Math.floor((target / sample.bytes.length) * SAMPLE_ENTRIES)
    return Math.max(SAMPLE_ENTRIES, fitting)
  }
}

/** The spec with an id; `INVALID_ARGUMENT` when the table has none. */
export function requireSpec(metadata: TableMetadata, specId: number): PartitionSpec {
  const spec = metadata.partitionSpecs.find((candidate) => candidate.specId === specId)
  if (spec === undefined) throw new IcebergError('INVALID_ARGUMENT', `The table has no partition spec ${specId}`)
  return spec
}

/** The current schema or, if it lacks a source column of an old spec, the newest schema that has them all. */
function schemaForSpec(metadata: TableMetadata, spec: PartitionSpec): Schema {
  const sources = spec.fields.filter((field) => field.transform.kind !== 'void').flatMap(sourceIdsOf)
  const hasAll = (schema: Schema): boolean => sources.every((id) => fieldById(schema, id) !== undefined)
  const current = currentSchema(metadata)
  if (hasAll(current)) return current
  return metadata.schemas.toSorted((a, b) => b.schemaId - a.schemaId).find(hasAll) ?? current
}

/** A random positive 63-bit id that the table does not use yet. */
function newSnapshotId(metadata: TableMetadata): bigint {
  for (;;) {
    const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1))
    const id = BigInt.asUintN(63, random)
    if (id > 0n && snapshotById(metadata, id) === undefined) return id
  }
}

function requirementsFor(metadata: TableMetadata, parent: Snapshot | undefined): readonly TableRequirement[] {
  return [
    // v1 tables may have no uuid to assert
    ...(metadata.tableUuid === '' ? [] : [{ type: 'assert-table-uuid' as const, uuid: metadata.tableUuid }]),
    { type: 'assert-ref-snapshot-id', ref: mainBranch, 'snapshot-id': parent?.snapshotId ?? null },
  ]
}

function updatesFor(metadata: TableMetadata, snapshot: Snapshot): readonly TableUpdate[] {
  const main = metadata.refs[mainBranch]
  const ref = snapshotRefToJson({ ...main, type: 'branch', snapshotId: snapshot.snapshotId })
  return [
    { action: 'add-snapshot', snapshot: snapshotToJson(snapshot) },
    { action: 'set-snapshot-ref', 'ref-name': mainBranch, ...ref },
  ]
}

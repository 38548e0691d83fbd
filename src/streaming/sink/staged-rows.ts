import { deleteQuietly } from '../../catalog/metadata-file.ts'
import { STAGED_SUFFIX, type StagedRows } from '../../catalog/ownership/staged-rows.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { loadEntries } from '../../iceberg/manifest/cache.ts'
import type { DataFile, ManifestFile } from '../../iceberg/manifest/manifest.ts'
import { writeManifest } from '../../iceberg/manifest/writer.ts'
import { newMetadataFileLocation } from '../../iceberg/metadata/locations.ts'
import { currentSchema, currentSpec } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { DivertedRowsPending, mismatch } from '../pipeline-errors.ts'
import type { WrittenRows } from './batch-writer.ts'
import type { SinkProgress } from './progress.ts'

/** Of a manifest that no snapshot has yet. */
const NO_SNAPSHOT = 0n

/** Diverted rows of one table that are written, but not committed. */
export interface Staged extends WrittenRows {
  readonly staged: StagedRows
}

/**
 * Writes a manifest of the diverted rows of each table that gets some, so that any process can commit them after the batch. When one
 * fails, all files of all tables are deleted. `filePrefix` begins with pipeline and batch.
 */
export async function stageRows(all: readonly WrittenRows[], filePrefix: string): Promise<readonly Staged[]> {
  const staged: Staged[] = []
  try {
    for (const [at, rows] of all.entries()) {
      if (rows.files.length > 0)
        staged.push({ ...rows, staged: await stage(rows, `${filePrefix}-${at}${STAGED_SUFFIX}`) })
    }
    return staged
  } catch (error) {
    await discardRows(all)
    await discardStaged(staged)
    throw error
  }
}

async function stage({ table, files, rows }: WrittenRows, manifest: string): Promise<StagedRows> {
  const { metadata, io, identifier } = table
  const spec = currentSpec(metadata)
  const path = newMetadataFileLocation(metadata, manifest)
  const { bytes } = writeManifest({
    formatVersion: metadata.formatVersion,
    schema: currentSchema(metadata),
    schemas: metadata.schemas,
    spec,
    snapshotId: NO_SNAPSHOT,
    content: 'data',
    sequenceNumber: 0,
    path,
    entries: files.map((dataFile) => ({ status: 'added', dataFile })),
  })
  await io.create(path, bytes)
  const { tableUuid: uuid } = metadata
  return { table: formatIdentifier(identifier), uuid, manifest, location: path, specId: spec.specId, rows }
}

/** Deletes rows that are not committed, with their manifests. */
export async function discardStaged(all: readonly Staged[]): Promise<void> {
  await discardRows(all)
  for (const { table, staged } of all) await deleteQuietly(table.io, [manifestLocation(table, staged)])
}

/** Deletes the files of diverted rows that are not committed. */
export async function discardRows(all: readonly WrittenRows[]): Promise<void> {
  for (const { table, files } of all) {
    const paths = files.map(({ filePath }) => filePath)
    await deleteQuietly(table.io, paths)
  }
}

/** Where the manifest of diverted rows is. */
export function manifestLocation({ metadata }: Table, { manifest }: Pick<StagedRows, 'manifest'>): string {
  return newMetadataFileLocation(metadata, manifest)
}

/** The error of rows that cannot be committed as long as they have no table, with where they are. */
export function stillPending({ batchId }: SinkProgress, { table, location, rows }: StagedRows, why: string): Error {
  return new DivertedRowsPending(
    `the ${rows} rows that batch ${batchId} diverted into ${table} are not committed, because ${why}. Their files are ` +
      `listed in ${location}. Register ${table} again, or create it with the same location, columns and partitions: then they are committed`,
  )
}

/**
 * The files of the diverted rows of a batch. Anybody who may write the sink can change what it says: only a manifest that a pipeline has written
 * for this batch is read. Throws `CHECKPOINT_MISMATCH` when a file is missing, and errors of the manifest and FileIO.
 */
export async function readStaged(
  table: Table,
  { pipelineId, batchId }: Pick<SinkProgress, 'pipelineId' | 'batchId'>,
  { manifest, specId, rows }: StagedRows,
): Promise<readonly DataFile[]> {
  const name = formatIdentifier(table.identifier)
  const lost = (why: string): Error =>
    mismatch(
      `the ${rows} rows that batch ${batchId} diverted into ${name} cannot be committed, because ${why}; to write the rows again, ` +
        'start a pipeline with a new checkpoint',
    )
  const isOwn =
    manifest.startsWith(`${pipelineId}-${batchId}-`) && manifest.endsWith(STAGED_SUFFIX) && !manifest.includes('/')
  if (!isOwn) throw lost(`"${manifest}" is not a name of a manifest of this batch`)
  const manifestPath = manifestLocation(table, { manifest })
  const found = await table.io.stat(manifestPath)
  if (found === undefined) throw lost('their manifest was deleted')
  const file: ManifestFile = {
    manifestPath,
    manifestLength: found.sizeBytes,
    partitionSpecId: specId,
    content: 'data',
    sequenceNumber: 0,
    minSequenceNumber: 0,
    addedSnapshotId: NO_SNAPSHOT,
  }
  const files = (await loadEntries(table, file)).map(({ dataFile }) => dataFile)
  for (const { filePath } of files) {
    if ((await table.io.stat(filePath)) === undefined) throw lost('a file with some of them was deleted')
  }
  const total = files.reduce((sum, { recordCount }) => sum + recordCount, 0)
  if (total !== rows)
    throw new IcebergError('CORRUPT_FILE', `the manifest ${manifest} of ${name} has ${total} rows, not ${rows}`)
  return files
}

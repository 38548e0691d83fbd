import { DeleteIndex } from '../../scan/delete-index.ts'
import { IcebergError } from '../../errors.ts'
import { fileKey, PartitionScopes, referencedDataFile } from '../../scan/file-scope.ts'
import { locationKey } from '../../io/location-identity.ts'
import type { DataFile, ManifestEntry, ManifestFile } from '../../manifest/manifest.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import { isDeletionVector } from '../../puffin/deletion-vector.ts'
import { fieldById } from '../../schema/schema.ts'
import { SnapshotSummaryBuilder } from './snapshot-summary.ts'
import type { Table } from '../../metadata/table.ts'
import { readDeleteManifests } from './live-deletes.ts'
import type { DeleteManifest } from './live-deletes.ts'
import { searchLiveData } from './live-data.ts'
import { removeFromManifest } from './manifest-filter.ts'
import { produceSnapshot } from './snapshot-producer.ts'
import type { SnapshotOperation, SnapshotProducer, StagedSnapshot, StageOptions } from './snapshot-producer.ts'
import { checkNewFiles, parentSummary, writeAddedFiles } from './stage-append.ts'

export interface RowDeltaOptions extends StageOptions {
  readonly dataFiles: readonly DataFile[]
  /** Position deletes (v2), equality deletes, deletion vectors (v3). */
  readonly deleteFiles: readonly DataFile[]
  /** Live delete files that the new ones include and replace: older deletion vectors, position deletes of one file. */
  readonly replacedDeleteFiles?: readonly DataFile[]
  /** Live position deletes of several files whose rows in their data files the new deletion vectors include. */
  readonly mergedDeleteFiles?: readonly DataFile[]
  /** Data files that position deletes of several files reference; those of single files are known. */
  readonly referencedDataFiles?: readonly string[]
}

/**
 * Stages new data files together with deletes of existing rows: equality deletes do not apply to the rows that are added
 * with them.
 *
 * Errors: `COMMIT_CONFLICT` when a referenced data file was removed (for example by a compaction: find the rows again),
 * or when a new deletion vector would hide other deletes of its data file that it does not include;
 * `INVALID_ARGUMENT` for files that do not
 * fit the table or its format version; those of manifests and FileIO.
 */
export async function stageRowDelta(table: Table, options: RowDeltaOptions): Promise<StagedSnapshot> {
  checkNewFiles(table, options.dataFiles, ['data'])
  checkNewFiles(table, options.deleteFiles, ['position-deletes', 'equality-deletes'])
  for (const file of options.deleteFiles) checkDeleteFile(table.metadata, file)
  return produceSnapshot(table, options, async (producer) => {
    const manifests = await producer.parentManifests()
    const deletes = await readDeleteManifests(table, manifests)
    const replaced = new Set((options.replacedDeleteFiles ?? []).map(fileKey))
    const named = await findNamedFiles(table, manifests, options)
    refuseHiddenDeletes({ table, options, deletes, named })
    const remaining = await writeRemainingDeletes(producer, deletes, replaced)
    if (remaining.removed.length < replaced.size) {
      throw new IcebergError('COMMIT_CONFLICT', 'A delete file that would be replaced is no longer in the table')
    }
    const scopes = new PartitionScopes(table.metadata)
    const summary = new SnapshotSummaryBuilder()
    for (const file of [...options.dataFiles, ...options.deleteFiles]) summary.add(file, scopes.keyOf(file))
    for (const file of remaining.removed) summary.remove(file, scopes.keyOf(file))
    return {
      operation: operationOf(options),
      manifests: [
        ...(await writeAddedFiles(producer, { content: 'data', files: options.dataFiles })),
        ...manifests.filter((manifest) => manifest.content === 'data'),
        ...(await writeAddedFiles(producer, { content: 'deletes', files: options.deleteFiles })),
        ...remaining.manifests,
      ],
      summary: summary.build(parentSummary(producer), {}),
      removedDeleteFiles: remaining.removed.length,
    }
  })
}

function operationOf({ dataFiles, deleteFiles }: RowDeltaOptions): SnapshotOperation {
  if (deleteFiles.length === 0) return 'append'
  return dataFiles.length === 0 ? 'delete' : 'overwrite'
}

function checkDeleteFile(metadata: TableMetadata, file: DataFile): void {
  if (metadata.formatVersion === 1) throw refuse(file, 'format version 1 has no row deletes')
  if (file.content === 'equality-deletes') return checkEqualityIds(metadata, file)
  if (isDeletionVector(file)) {
    if (metadata.formatVersion < 3) throw refuse(file, 'deletion vectors need format version 3')
    const { contentOffset, contentSizeInBytes, referencedDataFile: of } = file
    if (contentOffset !== undefined && contentSizeInBytes !== undefined && of !== undefined) return
    throw refuse(file, 'a deletion vector needs offset, size and data file')
  }
  if (metadata.formatVersion >= 3) throw refuse(file, 'format version 3 takes deletion vectors, not position deletes')
}

function checkEqualityIds({ schemas }: TableMetadata, file: DataFile): void {
  const ids = file.equalityIds ?? []
  const isKnown = (id: number): boolean => schemas.some((schema) => fieldById(schema, id) !== undefined)
  if (ids.length === 0 || !ids.every(isKnown)) throw refuse(file, 'its equality ids are not columns of the table')
}

function refuse(file: DataFile, why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `The delete file ${file.filePath} cannot be added: ${why}`)
}

/**
 * Finds the data files that deletes reference, by key of their location. A removed one is a conflict: the delete would
 * never apply, and its rows would come back.
 */
async function findNamedFiles(
  table: Table,
  manifests: readonly ManifestFile[],
  { dataFiles, deleteFiles, referencedDataFiles = [] }: RowDeltaOptions,
): Promise<ReadonlyMap<string, ManifestEntry>> {
  const named = [...deleteFiles.map(referencedDataFile).filter((path) => path !== undefined), ...referencedDataFiles]
  if (named.length === 0) return new Map()
  const live = await searchLiveData(table, manifests, {
    wanted: new Set(),
    forbidden: new Set(dataFiles.map((file) => file.filePath)),
    referenced: new Set(named.map(locationKey)),
    scopes: undefined,
  })
  const fresh = new Set(dataFiles.map((file) => locationKey(file.filePath)))
  for (const path of named) {
    const key = locationKey(path)
    if (live.referenced.has(key) || fresh.has(key)) continue
    throw new IcebergError('COMMIT_CONFLICT', `A delete references ${path}, which is no longer in the table`)
  }
  return live.referenced
}

interface VectorCheck {
  readonly table: Table
  readonly options: RowDeltaOptions
  readonly deletes: readonly DeleteManifest[]
  readonly named: ReadonlyMap<string, ManifestEntry>
}

/** Readers ignore position deletes of a file that has a deletion vector, so the vector must include them all. */
function refuseHiddenDeletes({ table, options, deletes, named }: VectorCheck): void {
  const vectors = new Map<string, DataFile>()
  for (const file of options.deleteFiles.filter(isDeletionVector)) {
    const key = locationKey(file.referencedDataFile ?? '')
    if (vectors.has(key)) throw refuse(file, 'a data file can have only one deletion vector')
    vectors.set(key, file)
  }
  if (vectors.size === 0) return
  const known = [...(options.replacedDeleteFiles ?? []), ...(options.mergedDeleteFiles ?? [])]
  const contained = new Set(known.map(fileKey))
  const refs = deletes.flatMap(({ entries }) => entries).map((entry) => ({ ...entry, file: entry.dataFile }))
  const index = new DeleteIndex(table.metadata, refs)
  for (const key of vectors.keys()) {
    const entry = named.get(key)
    if (entry === undefined) continue
    const hidden = index
      .deletesFor(entry.dataFile, entry.sequenceNumber)
      .find(({ file }) => file.content === 'position-deletes' && !contained.has(fileKey(file)))
    if (hidden === undefined) continue
    throw new IcebergError(
      'COMMIT_CONFLICT',
      `The new deletion vector of ${entry.dataFile.filePath} would hide its deletes in ${hidden.file.filePath}: ` +
        'merge them into it',
    )
  }
}

/** The delete manifests without the replaced files, by key. */
export async function writeRemainingDeletes(
  producer: SnapshotProducer,
  deletes: readonly DeleteManifest[],
  replaced: ReadonlySet<string>,
): Promise<{ readonly manifests: readonly ManifestFile[]; readonly removed: readonly DataFile[] }> {
  const manifests: ManifestFile[] = []
  const removed: DataFile[] = []
  for (const { manifest, entries } of deletes) {
    if (entries.length === 0) continue
    if (entries.some(({ dataFile }) => replaced.has(fileKey(dataFile)))) {
      const filtered = await removeFromManifest(producer, manifest, (file) => replaced.has(fileKey(file)))
      manifests.push(filtered.manifest)
      for (const file of filtered.removed) removed.push(file)
    } else manifests.push(manifest)
  }
  return { manifests, removed }
}

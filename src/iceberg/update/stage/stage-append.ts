import { IcebergError } from '../../errors.ts'
import { fileKey, PartitionScopes } from '../../scan/file-scope.ts'
import type { DataFile, ManifestFile } from '../../manifest/manifest.ts'
import { SnapshotSummaryBuilder } from './snapshot-summary.ts'
import type { Table } from '../../metadata/table.ts'
import { produceSnapshot } from './snapshot-producer.ts'
import type { SnapshotProducer, StagedSnapshot, StageOptions } from './snapshot-producer.ts'

export interface AppendOptions extends StageOptions {
  /** New data files, which have been written. */
  readonly files: readonly DataFile[]
}

/**
 * Stages a fast append: a snapshot with new manifests for the new data files, and all manifests of the parent.
 * `INVALID_ARGUMENT` for files that are not data files, are repeated, or do not match their partition spec.
 */
export async function stageAppend(table: Table, options: AppendOptions): Promise<StagedSnapshot> {
  checkNewFiles(table, options.files, ['data'])
  return produceSnapshot(table, options, async (producer) => {
    const summary = new SnapshotSummaryBuilder()
    const scopes = new PartitionScopes(table.metadata)
    for (const file of options.files) summary.add(file, scopes.keyOf(file))
    const added = await writeAddedFiles(producer, { content: 'data', files: options.files })
    return {
      operation: 'append',
      manifests: [...added, ...(await producer.parentManifests())],
      summary: summary.build(parentSummary(producer), {}),
      removedDeleteFiles: 0,
    }
  })
}

/** The parent's summary, whose totals are continued; undefined for a first snapshot, which starts from zero. */
export function parentSummary({ parent }: SnapshotProducer): Readonly<Record<string, string>> | undefined {
  return parent?.summary
}

/** New files for manifests of one content. */
export interface AddedFiles {
  readonly content: ManifestFile['content']
  readonly files: readonly DataFile[]
  /** Of every file, or of each; inherited from the snapshot when it is undefined. */
  readonly sequenceNumber?: number | ((file: DataFile) => number) | undefined
}

/** Writes manifests for new files, one set per partition spec. */
export async function writeAddedFiles(
  producer: SnapshotProducer,
  { content, files, sequenceNumber }: AddedFiles,
): Promise<readonly ManifestFile[]> {
  const manifests: ManifestFile[] = []
  for (const [specId, ofSpec] of bySpec(files)) {
    const entries = ofSpec.map((dataFile) => ({
      status: 'added' as const,
      ...(sequenceNumber === undefined
        ? {}
        : { sequenceNumber: typeof sequenceNumber === 'number' ? sequenceNumber : sequenceNumber(dataFile) }),
      dataFile: withoutRowId(dataFile),
    }))
    manifests.push(...(await producer.writeManifests(specId, content, entries)))
  }
  return manifests
}

/** Throws `INVALID_ARGUMENT` for files of other contents than allowed, repeated files, and unknown specs or tuples. */
export function checkNewFiles(
  { metadata }: Table,
  files: readonly DataFile[],
  contents: readonly DataFile['content'][],
): void {
  const seen = new Set<string>()
  for (const file of files) {
    if (!contents.includes(file.content)) throw refuse(file, `has the unexpected content ${file.content}`)
    const spec = metadata.partitionSpecs.find((candidate) => candidate.specId === file.specId)
    if (spec === undefined) throw refuse(file, `has partition spec ${file.specId}, which the table does not have`)
    if (spec.fields.length !== file.partition.length) {
      throw refuse(file, `has ${file.partition.length} partition values, spec ${spec.specId} has ${spec.fields.length}`)
    }
    if (!isCount(file.recordCount) || !isCount(file.fileSizeInBytes)) throw refuse(file, 'lacks record count or size')
    const key = fileKey(file)
    if (file.filePath === '' || seen.has(key)) throw refuse(file, 'is given twice or has no path')
    seen.add(key)
  }
}

/** Row ids of added files are assigned by the commit (Iceberg spec, "First Row ID Inheritance"). */
function withoutRowId(file: DataFile): DataFile {
  if (file.firstRowId === undefined) return file
  const { firstRowId: _, ...rest } = file
  return rest
}

function bySpec(files: readonly DataFile[]): ReadonlyMap<number, readonly DataFile[]> {
  const groups = new Map<number, DataFile[]>()
  for (const file of files) {
    const group = groups.get(file.specId)
    if (group === undefined) groups.set(file.specId, [file])
    else group.push(file)
  }
  return groups
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function refuse(file: DataFile, why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `The new file ${file.filePath} ${why}`)
}

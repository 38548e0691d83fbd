import { IcebergError } from '../errors.ts'
import { fileKey, PartitionScopes } from '../file-scope.ts'
import type { DataFile, ManifestFile } from '../manifest.ts'
import { SnapshotSummaryBuilder } from '../snapshot-summary.ts'
import type { Table } from '../table.ts'
import { produceSnapshot } from './snapshot-producer.ts'
import type { SnapshotProducer, StagedSnapshot, StageOptions } from './snapshot-producer.ts'

export interface AppendOptions extends StageOptions {
  /** Data files that are written and new to the table. */
  readonly files: readonly DataFile[]
}

/**
 * Stages a fast append: a snapshot with new data files in manifests of their own beside all those of the parent.
 * `INVALID_ARGUMENT` for files that are not data files, come twice, or do not fit their partition spec.
 */
export async function stageAppend(table: Table, options: AppendOptions): Promise<StagedSnapshot> {
  checkNewFiles(table, options.files, ['data'])
  return produceSnapshot(table, options, async (producer) => {
    const summary = new SnapshotSummaryBuilder()
    const scopes = new PartitionScopes(table.metadata)
    for (const file of options.files) summary.add(file, scopes.keyOf(file))
    const added = await writeAddedFiles(producer, 'data', options.files)
    return {
      operation: 'append',
      manifests: [...added, ...(await producer.parentManifests())],
      summary: summary.build(parentSummary(producer), {}),
      removedDeleteFiles: 0,
    }
  })
}

/** The parent's summary, to carry totals on from; undefined for a first snapshot, which starts from zero. */
export function parentSummary({ parent }: SnapshotProducer): Readonly<Record<string, string>> | undefined {
  return parent?.summary
}

/** Writes manifests for new files, one set per partition spec; sequence numbers are inherited unless one is given. */
export async function writeAddedFiles(
  producer: SnapshotProducer,
  content: ManifestFile['content'],
  files: readonly DataFile[],
  sequenceNumber?: number,
): Promise<readonly ManifestFile[]> {
  const manifests: ManifestFile[] = []
  for (const [specId, ofSpec] of bySpec(files)) {
    const entries = ofSpec.map((dataFile) => ({
      status: 'added' as const,
      ...(sequenceNumber === undefined ? {} : { sequenceNumber }),
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
    if (!contents.includes(file.content)) throw refuse(file, `is not expected here, as its content is ${file.content}`)
    const spec = metadata.partitionSpecs.find((candidate) => candidate.specId === file.specId)
    if (spec === undefined) throw refuse(file, `is of partition spec ${file.specId}, which the table does not have`)
    if (spec.fields.length !== file.partition.length) {
      throw refuse(file, `has ${file.partition.length} partition values, spec ${spec.specId} has ${spec.fields.length}`)
    }
    if (!isCount(file.recordCount) || !isCount(file.fileSizeInBytes)) throw refuse(file, 'lacks record count or size')
    const key = fileKey(file)
    if (file.filePath === '' || seen.has(key)) throw refuse(file, 'comes twice')
    seen.add(key)
  }
}

/** Row ids of added files are assigned by the commit (spec, "First Row ID Inheritance"). */
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

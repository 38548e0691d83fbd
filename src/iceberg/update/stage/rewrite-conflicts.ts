import { DeleteComparison } from '../../scan/delete-comparison.ts'
import { DeleteIndex } from '../../scan/delete-index.ts'
import { IcebergError } from '../../errors.ts'
import { PartitionScopes } from '../../scan/file-scope.ts'
import type { DataFile, ManifestEntry } from '../../manifest/manifest.ts'
import { currentSchema } from '../../metadata/metadata.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import type { DeleteFileRef } from '../../scan/delete-index.ts'
import { fieldById } from '../../schema/schema.ts'
import type { DeleteChanges, DeleteManifest } from './live-deletes.ts'

/** A rewrite to check against the commits since the files were read. */
export interface RewriteCheck {
  readonly metadata: TableMetadata
  readonly startingSequenceNumber: number
  /** Entries of the replaced files as they are now. */
  readonly replaced: readonly ManifestEntry[]
  readonly added: readonly DataFile[]
  /** What happened to delete files since the starting snapshot. */
  readonly changes: DeleteChanges
}

/**
 * Refuses with `COMMIT_CONFLICT` a rewrite whose new files no longer have the right rows, because deletes of the
 * replaced files were added or removed since these were read. Position deletes of files in `included` are left to
 * {@link refuseOtherPositionDeletes}.
 *
 * New equality deletes are allowed: the new files have the starting sequence number, so these deletes apply to them as
 * they did to the replaced files. That holds only while rows stay in their partition and spec, and while the columns
 * they compare still exist, so that the new files have them.
 */
export function refuseChangedDeletes(check: RewriteCheck, included?: IncludedLists): void {
  const { metadata, replaced, changes } = check
  const added = new DeleteIndex(metadata, changes.added)
  const removed = new DeleteIndex(metadata, changes.removed)
  if (added.isEmpty && removed.isEmpty) return
  const scopes = new PartitionScopes(metadata)
  const keepsPartitions = rowsKeepPartition(check, scopes)
  for (const { dataFile, sequenceNumber } of replaced) {
    const isIncluded = included?.has(dataFile.filePath) === true
    const isChecked = ({ file }: DeleteFileRef): boolean => file.content !== 'position-deletes' || !isIncluded
    const withdrawn = removed.deletesFor(dataFile, sequenceNumber).find(isChecked)
    if (withdrawn !== undefined) throw conflict(dataFile, `lost the delete file ${withdrawn.file.filePath}`)
    for (const ref of added.deletesFor(dataFile, sequenceNumber).filter(isChecked)) {
      refuseNewDelete(check, { dataFile, ref, survives: keepsPartitions || scopes.isGlobal(ref.file) })
    }
  }
  if (!keepsPartitions) refuseForeignDeletes(check, added, scopes)
}

interface NewDelete {
  readonly dataFile: DataFile
  readonly ref: DeleteFileRef
  /** Whether the delete, if it is an equality delete, applies to the new files just as well. */
  readonly survives: boolean
}

function refuseNewDelete(check: RewriteCheck, { dataFile, ref, survives }: NewDelete): void {
  const { file, sequenceNumber } = ref
  if (file.content === 'position-deletes') throw conflict(dataFile, `got the position deletes ${file.filePath}`)
  const isLater = sequenceNumber > check.startingSequenceNumber
  const schema = currentSchema(check.metadata)
  const hasColumns = file.equalityIds?.every((id) => fieldById(schema, id) !== undefined) === true
  if (!isLater || !survives || !hasColumns) throw conflict(dataFile, `got the equality deletes ${file.filePath}`)
}

/** Deletes whose rows the new files take account of, by location of a replaced file. */
type IncludedLists = ReadonlyMap<string, readonly DeleteFileRef[]>

/** Delete files of the table, and those that a rewrite includes. */
export interface LiveAndIncluded {
  readonly included: IncludedLists
  readonly deletes: readonly DeleteManifest[]
}

/**
 * Refuses with `COMMIT_CONFLICT` a rewrite that includes other position deletes and deletion vectors than those that apply to
 * the replaced files now. Files are immutable, so equal files delete equal positions.
 */
export function refuseOtherPositionDeletes(check: RewriteCheck, { included, deletes }: LiveAndIncluded): void {
  const refs = deletes.flatMap(({ entries }) => entries).map((entry) => ({ ...entry, file: entry.dataFile }))
  const index = new DeleteIndex(check.metadata, refs)
  const comparison = new DeleteComparison('position-deletes')
  for (const { dataFile, sequenceNumber } of check.replaced) {
    const expected = included.get(dataFile.filePath)
    if (expected === undefined) continue
    const { added, removed } = comparison.compare(expected, index.deletesFor(dataFile, sequenceNumber))
    if (added[0] !== undefined) throw conflict(dataFile, `got the position deletes ${added[0].file.filePath}`)
    if (removed.length > 0) throw conflict(dataFile, 'lost position deletes')
  }
}

/** Rows that move to another partition must not match new deletes there. */
function refuseForeignDeletes(check: RewriteCheck, added: DeleteIndex, scopes: PartitionScopes): void {
  for (const file of check.added) {
    const foreign = added
      .deletesFor(file, check.startingSequenceNumber)
      .find((ref) => ref.file.content === 'equality-deletes' && !scopes.isGlobal(ref.file))
    if (foreign !== undefined) throw conflict(file, `got the equality deletes ${foreign.file.filePath}`)
  }
}

function rowsKeepPartition({ replaced, added }: RewriteCheck, scopes: PartitionScopes): boolean {
  const specIds = new Set([...replaced.map(({ dataFile }) => dataFile.specId), ...added.map((file) => file.specId)])
  if (specIds.size > 1) return false
  const from = new Set(replaced.map(({ dataFile }) => scopes.keyOf(dataFile)))
  return added.every((file) => from.has(scopes.keyOf(file)))
}

function conflict(file: DataFile, what: string): IcebergError {
  return new IcebergError('COMMIT_CONFLICT', `The rewrite is out of date: since it began, ${file.filePath} ${what}`)
}

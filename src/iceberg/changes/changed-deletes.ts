import { locationKey } from '../io/location-identity.ts'
import type { ManifestFile } from '../manifest/manifest.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { DeleteComparison } from '../scan/delete-comparison.ts'
import type { DeleteFileRef, DeleteIndex } from '../scan/delete-index.ts'
import { PartitionScopes, referencedDataFile } from '../scan/file-scope.ts'
import type { ManifestEntry } from '../manifest/manifest.ts'

/** Whether a delete file of one of two lists may apply to a data file: a quick answer, which may be wrongly `true`. */
export class ChangedDeletes {
  readonly isEmpty: boolean
  readonly #partitions: PartitionScopes
  readonly #paths = new Set<string>()
  readonly #scopes = new Set<string>()
  readonly #specs = new Set<number>()
  #isGlobal = false
  #newest = Number.NEGATIVE_INFINITY

  /** `deletes`: those that only one of the two snapshots has. */
  constructor(metadata: TableMetadata, deletes: readonly DeleteFileRef[]) {
    this.isEmpty = deletes.length === 0
    this.#partitions = new PartitionScopes(metadata)
    for (const { file, sequenceNumber } of deletes) {
      this.#newest = Math.max(this.#newest, sequenceNumber)
      const path = referencedDataFile(file)
      if (path !== undefined) this.#paths.add(locationKey(path))
      else if (this.#partitions.isGlobal(file)) this.#isGlobal = true
      else {
        this.#scopes.add(this.#partitions.keyOf(file))
        this.#specs.add(file.specId)
      }
    }
  }

  mayApplyIn({ minSequenceNumber, partitionSpecId }: ManifestFile): boolean {
    if (minSequenceNumber > this.#newest) return false
    return this.#isGlobal || this.#paths.size > 0 || this.#specs.has(partitionSpecId)
  }

  mayApplyTo({ dataFile, sequenceNumber }: ManifestEntry): boolean {
    if (sequenceNumber > this.#newest) return false
    if (this.#isGlobal || this.#paths.has(locationKey(dataFile.filePath))) return true
    return this.#scopes.size > 0 && this.#scopes.has(this.#partitions.keyOf(dataFile))
  }
}

/** The deletes of two snapshots. */
export interface DeleteIndexes {
  readonly before: DeleteIndex
  readonly after: DeleteIndex
}

/** Compares the deletes that apply to a data file before and after a snapshot. */
export class AppliedDeletes {
  readonly #indexes: DeleteIndexes
  readonly #comparisons = [new DeleteComparison('position-deletes'), new DeleteComparison('equality-deletes')]

  constructor(indexes: DeleteIndexes) {
    this.#indexes = indexes
  }

  /** The deletes on both sides; undefined if they are the same. `INVALID_METADATA` as {@link DeleteIndex.deletesFor}. */
  changesOf({
    dataFile,
    sequenceNumber,
  }: ManifestEntry):
    | { readonly before: readonly DeleteFileRef[]; readonly after: readonly DeleteFileRef[] }
    | undefined {
    const before = this.#indexes.before.deletesFor(dataFile, sequenceNumber)
    const after = this.#indexes.after.deletesFor(dataFile, sequenceNumber)
    const isSame = this.#comparisons.every((comparison) => {
      const { added, removed } = comparison.compare(before, after)
      return added.length === 0 && removed.length === 0
    })
    return isSame ? undefined : { before, after }
  }
}

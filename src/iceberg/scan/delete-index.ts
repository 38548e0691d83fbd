import { IcebergError } from '../errors.ts'
import { PartitionScopes, referencedDataFile } from './file-scope.ts'
import { locationKey, sameLocation } from '../io/location-identity.ts'
import type { DataFile } from '../manifest/manifest.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { isDeletionVector } from '../puffin/deletion-vector.ts'

/** A delete file that applies to a data file. */
export interface DeleteFileRef {
  readonly file: DataFile
  readonly sequenceNumber: number
}

const NONE: readonly DeleteFileRef[] = []

/** A deletion vector, or position deletes, of one data file. */
interface ScopedDelete extends DeleteFileRef {
  readonly dataFilePath: string
}

/**
 * Finds the deletes that apply to a data file (Iceberg spec, "Scan Planning"):
 * a deletion vector or position deletes when the data sequence number is at most theirs, equality deletes when it is
 * below theirs. Partition and spec must be the same, except for equality deletes of an unpartitioned spec, which are
 * global, and for deletes that name their data file. A deletion vector replaces all position deletes of its file.
 *
 * Lists that many files share are shared in memory.
 */
export class DeleteIndex {
  readonly isEmpty: boolean
  readonly #scopes: PartitionScopes
  readonly #global = new SequencedDeletes()
  readonly #equality = new Map<string, SequencedDeletes>()
  readonly #position = new Map<string, SequencedDeletes>()
  readonly #byPath = new Map<string, ScopedDelete[]>()
  readonly #vectors = new Map<string, ScopedDelete[]>()
  readonly #combined = new Map<string, readonly DeleteFileRef[]>()

  /**
   * Indexes the live delete files of a snapshot. `INVALID_METADATA` for two deletion vectors of one data file,
   * and for equality deletes without columns.
   */
  constructor(metadata: TableMetadata, deletes: readonly DeleteFileRef[]) {
    this.isEmpty = deletes.length === 0
    this.#scopes = new PartitionScopes(metadata)
    for (const ref of deletes) this.#add(ref)
  }

  /**
   * Deletes that apply to a data file: equality deletes first, each kind by ascending sequence number.
   * `INVALID_METADATA` for a deletion vector that is older than its data file.
   */
  deletesFor(dataFile: DataFile, sequenceNumber: number): readonly DeleteFileRef[] {
    if (this.isEmpty) return NONE
    const key = locationKey(dataFile.filePath)
    const vector = this.#vectorFor(key, dataFile, sequenceNumber)
    const scope = this.#scopes.keyOf(dataFile)
    const global = this.#global.from(sequenceNumber + 1)
    const equality = this.#equality.get(scope)?.from(sequenceNumber + 1) ?? NONE
    if (vector !== undefined) return [...global, ...equality, vector]
    const position = this.#position.get(scope)?.from(sequenceNumber) ?? NONE
    const own = this.#ownPositionDeletes(key, dataFile, sequenceNumber)
    const shared = this.#combine([global, equality, position], `${sequenceNumber}/${scope}`)
    return own.length === 0 ? shared : [...shared, ...own]
  }

  #add(ref: DeleteFileRef): void {
    const { file } = ref
    if (file.content === 'equality-deletes') return this.#addEquality(ref)
    if (file.content !== 'position-deletes') {
      throw new IcebergError('INVALID_METADATA', `${file.filePath} is a data file in a delete manifest`)
    }
    const path = referencedDataFile(file)
    if (isDeletionVector(file)) return this.#addVector(ref, path)
    if (path === undefined) addTo(this.#position, this.#scopes.keyOf(file), ref)
    else pushTo(this.#byPath, locationKey(path), { ...ref, dataFilePath: path })
  }

  #addEquality(ref: DeleteFileRef): void {
    const { file } = ref
    if (file.equalityIds === undefined || file.equalityIds.length === 0) {
      throw new IcebergError('INVALID_METADATA', `The equality delete file ${file.filePath} has no equality ids`)
    }
    if (this.#scopes.isGlobal(file)) this.#global.add(ref)
    else addTo(this.#equality, this.#scopes.keyOf(file), ref)
  }

  #addVector(ref: DeleteFileRef, path: string | undefined): void {
    if (path === undefined) {
      throw new IcebergError(
        'INVALID_METADATA',
        `A deletion vector in ${ref.file.filePath} has no referenced data file`,
      )
    }
    const key = locationKey(path)
    if (this.#vectors.get(key)?.some((other) => sameLocation(other.dataFilePath, path)) === true) {
      throw new IcebergError('INVALID_METADATA', `There are two deletion vectors for ${path}; the format allows one`)
    }
    pushTo(this.#vectors, key, { ...ref, dataFilePath: path })
  }

  #vectorFor(key: string, dataFile: DataFile, sequenceNumber: number): DeleteFileRef | undefined {
    const vector = this.#vectors.get(key)?.find((other) => sameLocation(other.dataFilePath, dataFile.filePath))
    if (vector === undefined) return undefined
    if (vector.sequenceNumber < sequenceNumber) {
      throw new IcebergError(
        'INVALID_METADATA',
        `The deletion vector of ${dataFile.filePath} (sequence number ${vector.sequenceNumber}) is older than the ` +
          `file itself (${sequenceNumber})`,
      )
    }
    return { file: vector.file, sequenceNumber: vector.sequenceNumber }
  }

  #ownPositionDeletes(key: string, dataFile: DataFile, sequenceNumber: number): readonly DeleteFileRef[] {
    const candidates = this.#byPath.get(key)
    if (candidates === undefined) return NONE
    return candidates
      .filter((ref) => ref.sequenceNumber >= sequenceNumber && sameLocation(ref.dataFilePath, dataFile.filePath))
      .sort((a, b) => a.sequenceNumber - b.sequenceNumber)
      .map(({ file, sequenceNumber: of }) => ({ file, sequenceNumber: of }))
  }

  #combine(lists: readonly (readonly DeleteFileRef[])[], key: string): readonly DeleteFileRef[] {
    const filled = lists.filter((list) => list.length > 0)
    if (filled.length <= 1) return filled[0] ?? NONE
    const known = this.#combined.get(key)
    if (known !== undefined) return known
    const combined = filled.flat()
    this.#combined.set(key, combined)
    return combined
  }
}

/** Deletes of one scope by sequence number; equal results share one array. */
class SequencedDeletes {
  readonly #refs: DeleteFileRef[] = []
  readonly #tails = new Map<number, readonly DeleteFileRef[]>()
  #sorted = true

  add(ref: DeleteFileRef): void {
    this.#refs.push(ref)
    this.#sorted = false
  }

  /** Deletes of a sequence number that is at least `sequenceNumber`, ascending. */
  from(sequenceNumber: number): readonly DeleteFileRef[] {
    if (!this.#sorted) this.#refs.sort((a, b) => a.sequenceNumber - b.sequenceNumber)
    this.#sorted = true
    const start = this.#firstAtLeast(sequenceNumber)
    if (start >= this.#refs.length) return NONE
    const known = this.#tails.get(start)
    if (known !== undefined) return known
    const tail = this.#refs.slice(start)
    this.#tails.set(start, tail)
    return tail
  }

  #firstAtLeast(sequenceNumber: number): number {
    let low = 0
    let high = this.#refs.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const found = this.#refs[middle]
      if (found !== undefined && found.sequenceNumber < sequenceNumber) low = middle + 1
      else high = middle
    }
    return low
  }
}

function addTo(map: Map<string, SequencedDeletes>, key: string, ref: DeleteFileRef): void {
  const known = map.get(key)
  const deletes = known ?? new SequencedDeletes()
  if (known === undefined) map.set(key, deletes)
  deletes.add(ref)
}

function pushTo<T>(map: Map<string, T[]>, key: string, value: T): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [value])
  else known.push(value)
}

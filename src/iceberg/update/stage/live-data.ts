import { mapBounded } from '../../../lib/bounded-map.ts'
import { IcebergError } from '../../errors.ts'
import type { PartitionScopes } from '../../scan/file-scope.ts'
import { locationKey } from '../../io/location-identity.ts'
import { loadEntries } from '../../manifest/cache.ts'
import type { ManifestEntry, ManifestFile } from '../../manifest/manifest.ts'
import { isLive } from '../../scan/scan.ts'
import type { Table } from '../../metadata/table.ts'

const CONCURRENCY = 8

/** What to look for among the live data files of a snapshot. */
export interface DataSearch {
  /** Exact locations of files that are about to be replaced. */
  readonly wanted: ReadonlySet<string>
  /** Exact locations that must not be live yet. */
  readonly forbidden: ReadonlySet<string>
  /** Keys of locations that deletes reference ({@link locationKey}). */
  readonly referenced: ReadonlySet<string>
  /** Resolves partitions; undefined when there are no deletes, so that ages by partition are not needed. */
  readonly scopes: PartitionScopes | undefined
}

/** What is live in a snapshot, apart from the wanted files. */
export interface LiveData {
  /** Entries of the wanted files; each location once. */
  readonly found: readonly ManifestEntry[]
  /** Manifests that hold wanted files. */
  readonly affected: ReadonlySet<ManifestFile>
  /** Manifests without live entries. */
  readonly empty: ReadonlySet<ManifestFile>
  /** Those of `referenced` that are live and remain, with their entries. */
  readonly referenced: ReadonlyMap<string, ManifestEntry>
  /** Lowest data sequence number of the remaining files; Infinity when none remains. */
  readonly oldest: number
  /** The same by partition. */
  readonly oldestByScope: ReadonlyMap<string, number>
}

/**
 * Reads all live data files of a snapshot once. `INVALID_METADATA` when a wanted file is listed twice,
 * `INVALID_ARGUMENT` when a forbidden location is in use.
 */
export async function searchLiveData(
  table: Table,
  manifests: readonly ManifestFile[],
  search: DataSearch,
): Promise<LiveData> {
  const state = new LiveDataState(search)
  const wanted = manifests.filter((manifest) => manifest.content === 'data')
  await mapBounded(wanted, CONCURRENCY, async (manifest) => {
    const entries = await loadEntries(table, manifest, { project: 'no-metrics' })
    state.visit(manifest, entries.filter(isLive))
  })
  return state
}

class LiveDataState implements LiveData {
  readonly found: ManifestEntry[] = []
  readonly affected = new Set<ManifestFile>()
  readonly empty = new Set<ManifestFile>()
  readonly referenced = new Map<string, ManifestEntry>()
  readonly oldestByScope = new Map<string, number>()
  oldest = Infinity
  readonly #search: DataSearch
  readonly #foundPaths = new Set<string>()

  constructor(search: DataSearch) {
    this.#search = search
  }

  visit(manifest: ManifestFile, entries: readonly ManifestEntry[]): void {
    if (entries.length === 0) this.empty.add(manifest)
    for (const entry of entries) {
      const { filePath } = entry.dataFile
      if (this.#search.forbidden.has(filePath)) {
        throw new IcebergError('INVALID_ARGUMENT', `The new file ${filePath} is already in the table`)
      }
      if (this.#search.wanted.has(filePath)) this.#find(manifest, entry)
      else this.#stay(entry)
    }
  }

  #find(manifest: ManifestFile, entry: ManifestEntry): void {
    const { filePath } = entry.dataFile
    if (this.#foundPaths.has(filePath)) {
      throw new IcebergError(
        'INVALID_METADATA',
        `The table lists ${filePath} twice, so its rows cannot be distinguished`,
      )
    }
    this.#foundPaths.add(filePath)
    this.found.push(entry)
    this.affected.add(manifest)
  }

  #stay(entry: ManifestEntry): void {
    const { dataFile, sequenceNumber } = entry
    const { scopes, referenced } = this.#search
    this.oldest = Math.min(this.oldest, sequenceNumber)
    if (scopes !== undefined) {
      const scope = scopes.keyOf(dataFile)
      this.oldestByScope.set(scope, Math.min(this.oldestByScope.get(scope) ?? Infinity, sequenceNumber))
    }
    if (referenced.size === 0) return
    const key = locationKey(dataFile.filePath)
    if (referenced.has(key)) this.referenced.set(key, entry)
  }
}

import { mapBounded } from '../../lib/bounded-map.ts'
import { IcebergError } from '../errors.ts'
import { loadEntries, readManifests } from '../manifest/cache.ts'
import type { ManifestEntry, ManifestFile } from '../manifest/manifest.ts'
import type { Snapshot } from '../metadata/snapshots.ts'
import type { Table } from '../metadata/table.ts'
import { isLive } from '../scan/scan.ts'
import { throwIfCancelled } from '../throw-if-cancelled.ts'

/** Limits of {@link EntryReader}. */
export interface EntryReaderOptions {
  /** Entries of manifests and manifest lists that are read, together; `LIMIT_EXCEEDED` for more. */
  readonly maxEntries: number
  /** Stops before the next file is read, with `CANCELLED`. */
  readonly signal?: AbortSignal | undefined
}

/** Entries that are kept for the next snapshot, because most manifests belong to both. */
const KEPT_ENTRIES = 50_000
/** Entries that are in memory together, of the manifests that one of two snapshots has alone. */
const ENTRIES_TOGETHER = 200_000
/** Manifests that are read at the same time. */
const AT_ONCE = 8

/** Reads manifests of several snapshots with one limit for all, and keeps the entries of some of them. */
export class EntryReader {
  readonly #table: Table
  readonly #options: EntryReaderOptions
  /** By path; the one that was used last is the last. */
  readonly #kept = new Map<string, readonly ManifestEntry[]>()
  #keptEntries = 0
  #read = 0

  constructor(table: Table, options: EntryReaderOptions) {
    this.#table = table
    this.#options = options
  }

  /** The manifests of a snapshot; undefined has none. */
  async manifests(snapshot: Snapshot | undefined): Promise<readonly ManifestFile[]> {
    if (snapshot === undefined) return []
    throwIfCancelled(this.#options.signal, 'the scan')
    const manifests = await readManifests(this.#table, snapshot)
    this.#count(manifests.length)
    return manifests
  }

  /** The live entries of manifests, in their order. */
  async entries(manifests: readonly ManifestFile[]): Promise<readonly ManifestEntry[]> {
    let together = 0
    const perManifest = await mapBounded(manifests, AT_ONCE, async (manifest) => {
      const entries = await this.#entriesOf(manifest)
      together += entries.length
      if (together > ENTRIES_TOGETHER) throw tooMany(ENTRIES_TOGETHER)
      return entries
    })
    return perManifest.flat()
  }

  /** The live entries of manifests, one manifest after the other. */
  async *steps(manifests: readonly ManifestFile[]): AsyncGenerator<readonly ManifestEntry[]> {
    for (const manifest of manifests) yield await this.#entriesOf(manifest)
  }

  async #entriesOf(manifest: ManifestFile): Promise<readonly ManifestEntry[]> {
    throwIfCancelled(this.#options.signal, 'the scan')
    const { manifestPath: path, content } = manifest
    const kept = this.#kept.get(path)
    if (kept !== undefined) {
      this.#kept.delete(path)
      this.#kept.set(path, kept)
      return kept
    }
    // bounds of delete files tell which data file they are about
    const all = await loadEntries(this.#table, manifest, { project: content === 'data' ? 'no-metrics' : 'all' })
    this.#count(all.length)
    const live = all.filter(isLive)
    this.#keep(path, live)
    return live
  }

  #keep(path: string, entries: readonly ManifestEntry[]): void {
    if (entries.length > KEPT_ENTRIES || this.#kept.has(path)) return
    this.#kept.set(path, entries)
    this.#keptEntries += entries.length
    for (const [oldest, dropped] of this.#kept) {
      if (this.#keptEntries <= KEPT_ENTRIES) return
      this.#kept.delete(oldest)
      this.#keptEntries -= dropped.length
    }
  }

  #count(entries: number): void {
    this.#read += entries
    const { maxEntries } = this.#options
    if (this.#read > maxEntries) throw tooMany(maxEntries)
  }
}

function tooMany(entries: number): IcebergError {
  return new IcebergError('LIMIT_EXCEEDED', `the manifests of these snapshots have more than ${entries} entries`)
}

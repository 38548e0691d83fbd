import { LRUCache } from 'lru-cache'

import { mapBounded } from '../../lib/bounded-map.ts'
import { FilePlaces, isInside, parentPlace } from '../../iceberg/io/place.ts'
import { loadEntries, readManifests } from '../../iceberg/manifest/cache.ts'
import type { ManifestFile } from '../../iceberg/manifest/manifest.ts'
import { isLive } from '../../iceberg/scan/scan.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog } from '../catalog.ts'
import { isLasting, type Neighbour } from './neighbours.ts'

const CONCURRENT_READS = 8
const MAX_CACHED_BYTES = 64 << 20

/** The files outside its own folders that the snapshots of a table reference. */
interface OutsideReach {
  /** Places of folders with such files, without duplicates. */
  readonly folders: ReadonlySet<string>
  /** Readable reason why not all of its manifests could be read. */
  readonly problem?: string
}

/** Folders by manifest, manifest list and metadata file: these files never change. Most lists are empty. */
interface ReachCache {
  readonly tables: LRUCache<string, OutsideReach>
  readonly parts: LRUCache<string, readonly string[]>
}

const caches = new WeakMap<Catalog, ReachCache>()

function cacheOf(catalog: Catalog): ReachCache {
  const limit = { maxSize: MAX_CACHED_BYTES }
  const cache = caches.get(catalog) ?? { tables: new LRUCache(limit), parts: new LRUCache(limit) }
  caches.set(catalog, cache)
  return cache
}

export interface References {
  /** Which of the files the table references, by place. */
  readonly found: ReadonlySet<string>
  readonly problem?: string
}

/**
 * Which of the given files, by place, a snapshot of a neighbour references outside its folders, as after an import.
 * Manifests are read once per catalog and process; only the outside folders are cached. Throws temporary errors of
 * FileIO; missing and damaged manifests are a `problem` of the neighbour.
 */
export async function referencesOf(
  catalog: Catalog,
  neighbour: Neighbour,
  files: ReadonlySet<string>,
): Promise<References> {
  const { folders, problem } = await outsideReach(catalog, neighbour)
  const near = new Set([...files].filter((file) => folders.has(parentPlace(file))))
  const found = near.size === 0 ? near : await exactReferences(await neighbour.entry.load(), near)
  return { found, ...(problem === undefined ? {} : { problem }) }
}

async function outsideReach(catalog: Catalog, { entry, footprint, state }: Neighbour): Promise<OutsideReach> {
  const { tables, parts } = cacheOf(catalog)
  const own = footprint.folders
  const key = state === undefined ? undefined : `${state}\n${own.join('\n')}`
  const known = key === undefined ? undefined : tables.get(key)
  if (known !== undefined) return known
  const table = await entry.load()
  const walk = new OutsideWalk(table, own, parts)
  const reach = await walk.run()
  const isFinal = reach.problem === undefined && table.metadataLocation === entry.metadataLocation
  if (key !== undefined && isFinal) tables.set(key, reach, { size: key.length * 2 + weightOf(reach.folders) })
  return reach
}

function weightOf(folders: Iterable<string>): number {
  let weight = 100
  for (const folder of folders) weight += 2 * folder.length + 50
  return weight
}

/** One traversal of everything that the snapshots of a table reference. */
class OutsideWalk {
  readonly #table: Table
  readonly #own: readonly string[]
  readonly #parts: LRUCache<string, readonly string[]>
  readonly #places: FilePlaces
  /** Whether a folder belongs to the table, by place. */
  readonly #isOwn = new Map<string, boolean>()
  readonly #folders = new Set<string>()
  readonly #begun = new Set<string>()
  #problem: string | undefined

  constructor(table: Table, own: readonly string[], parts: LRUCache<string, readonly string[]>) {
    this.#table = table
    this.#own = own
    this.#parts = parts
    this.#places = new FilePlaces(table.io)
  }

  async run(): Promise<OutsideReach> {
    const { snapshots } = this.#table.metadata
    await mapBounded(snapshots, CONCURRENT_READS, async (snapshot) => {
      const { manifestList } = snapshot
      if (manifestList !== undefined && this.#begun.has(manifestList)) return
      if (manifestList !== undefined) this.#begun.add(manifestList)
      await this.#part(manifestList, async () => {
        const folders = new Set<string>()
        for (const manifest of await readManifests(this.#table, snapshot)) {
          await this.#addFolder(folders, manifest.manifestPath)
          for (const folder of await this.#manifest(manifest)) folders.add(folder)
        }
        return [...folders]
      })
    })
    return { folders: this.#folders, ...(this.#problem === undefined ? {} : { problem: this.#problem }) }
  }

  #manifest(manifest: ManifestFile): Promise<readonly string[]> {
    return this.#part(manifest.manifestPath, async () => {
      const folders = new Set<string>()
      for (const { dataFile } of (await loadEntries(this.#table, manifest, { project: 'no-metrics' })).filter(isLive)) {
        await this.#addFolder(folders, dataFile.filePath)
      }
      return [...folders]
    })
  }

  /** The folders of one file of the table's metadata: cached, or read. */
  async #part(location: string | undefined, read: () => Promise<readonly string[]>): Promise<readonly string[]> {
    const key = location === undefined ? undefined : `${location}\n${this.#own.join('\n')}`
    const known = key === undefined ? undefined : this.#parts.get(key)
    const folders = known ?? (await this.#tried(read))
    if (key !== undefined && known === undefined && this.#problem === undefined) {
      this.#parts.set(key, folders, { size: key.length * 2 + weightOf(folders) })
    }
    for (const folder of folders) this.#folders.add(folder)
    return folders
  }

  async #tried(read: () => Promise<readonly string[]>): Promise<readonly string[]> {
    try {
      return await read()
    } catch (error) {
      if (!isLasting(error)) throw error
      this.#problem = error.message
      return []
    }
  }

  async #addFolder(folders: Set<string>, location: string): Promise<void> {
    const folder = parentPlace(await this.#places.of(location))
    const isOwn = this.#isOwn.get(folder) ?? this.#own.some((own) => isInside(folder, own))
    this.#isOwn.set(folder, isOwn)
    if (!isOwn) folders.add(folder)
  }
}

/** The files, by place, that a snapshot of the table references. Unreadable manifests were reported before. */
async function exactReferences(table: Table, files: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const places = new FilePlaces(table.io)
  const reach = async (location: string): Promise<void> => {
    const place = await places.of(location)
    if (files.has(place)) found.add(place)
  }
  const manifests = new Map<string, ManifestFile>()
  await mapBounded(table.metadata.snapshots, CONCURRENT_READS, async (snapshot) => {
    const listed = await readManifests(table, snapshot).catch(noneIfLasting)
    for (const manifest of listed) manifests.set(manifest.manifestPath, manifest)
  })
  await mapBounded([...manifests.values()], CONCURRENT_READS, async (manifest) => {
    await reach(manifest.manifestPath)
    const entries = await loadEntries(table, manifest, { project: 'no-metrics' }).catch(noneIfLasting)
    for (const { dataFile } of entries.filter(isLive)) await reach(dataFile.filePath)
  })
  return found
}

function noneIfLasting(error: unknown): readonly never[] {
  if (!isLasting(error)) throw error
  return []
}

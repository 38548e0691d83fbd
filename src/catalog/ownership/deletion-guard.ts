import { mayOverlap } from './registration-guard.ts'
import { rootsOf } from './allowed-locations.ts'
import { memberOf } from '../catalog.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { FilePlaces, isInside, parentPlace, placeOf } from '../../iceberg/io/place.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog, CatalogEntry } from '../catalog.ts'
import { formatIdentifier } from '../table-identifier.ts'
import { type Footprint, footprintOf, overlapOf } from './footprint.ts'
import { type Neighbour, neighboursOf, unknownTable } from './neighbours.ts'
import { referencesOf } from './references.ts'
import { areCommitted, stagedPrefix } from './staged-rows.ts'

/** Why a file must stay. */
export type KeptReason =
  | 'same_table' // the catalog has the table under another name, which may still need the file
  | 'in_other_table' // it is in a folder of another table
  | 'used_by_other_table' // another table references it
  | 'outside_table' // it is outside the table's folders: imported files may belong to another system
  | 'outside_allowed_locations'
  | 'may_be_needed' // an unreadable snapshot that stays, or an unreadable sink of a pipeline, may need it

export interface KeptFile {
  readonly location: string
  readonly reason: KeptReason
  /** The other table, if any. */
  readonly table: string | null
}

/** Another table that was only partly checked because its metadata cannot be read. */
export interface UnreadTable {
  readonly table: string
  readonly reason: string
}

export interface DeletionVerdict {
  /** In the given order. */
  readonly deletable: readonly string[]
  readonly kept: readonly KeptFile[]
  readonly unreadTables: readonly UnreadTable[]
}

export interface DeletionRequest {
  /** Files that the table no longer needs. */
  readonly files: readonly string[]
  /** Files outside the table's folders that may be deleted too, inside the locations that the catalog allows. */
  readonly foreignFiles?: readonly string[]
}

/**
 * Which files a table may delete: those in its own folders and others named by the request, unless they are in a folder
 * of another table of the catalog or referenced by one. Paths are compared as the storage resolves them, with links
 * followed. Call it right before deleting.
 *
 * For a table whose metadata cannot be read, the folder of its metadata file is used, and the table is listed. Errors:
 * those of {@link neighboursOf}; then nothing may be deleted.
 */
export async function judgeDeletion(
  catalog: Catalog,
  table: Table,
  request: DeletionRequest,
): Promise<DeletionVerdict> {
  if (request.files.length + (request.foreignFiles?.length ?? 0) === 0) return NOTHING
  const judge = await judgeByFolders(catalog, table, request)
  await judge.askNeighbours(catalog)
  return judge.verdict()
}

/**
 * The same for metadata files, which only other metadata can reference: no manifest is read. Returns the deletable files.
 */
export async function judgeTrimming(
  catalog: Catalog,
  table: Table,
  files: readonly string[],
): Promise<readonly string[]> {
  if (files.length === 0) return []
  const judge = await judgeByFolders(catalog, table, { files })
  return judge.verdict().deletable
}

const NOTHING: DeletionVerdict = { deletable: [], kept: [], unreadTables: [] }

async function judgeByFolders(catalog: Catalog, table: Table, request: DeletionRequest): Promise<Judge> {
  const { files, foreignFiles = [] } = request
  const own = await footprintOf(table)
  const judge = new Judge(table, own, await neighboursOf(catalog, table))
  const places = new FilePlaces(table.io)
  const inTable: Bounds = { folders: own.folders, otherwise: 'outside_table' }
  for (const location of files) judge.add(location, await places.of(location), inTable)
  const roots = await Promise.all(rootsOf(memberOf(catalog, table.identifier)).map((root) => placeOf(table.io, root)))
  const allowed: Bounds = { folders: roots, otherwise: 'outside_allowed_locations' }
  for (const location of foreignFiles) judge.add(location, await places.of(location), allowed)
  return judge
}

/** Throws `TABLES_OVERLAP` when the catalog also has the table under another name: then both names share its files. */
export async function requireOnlyName(catalog: Catalog, table: Table, action: string): Promise<void> {
  const own = await footprintOf(table)
  for (const { entry, footprint } of await neighboursOf(catalog, table)) {
    if (overlapOf(own, footprint) === 'same-table') throw sameTable(table, entry, action)
  }
}

/** Throws `TABLES_OVERLAP` also when another table keeps files in the same folders, which this table does not reference. */
export async function requireOwnFolders(catalog: Catalog, table: Table, action: string): Promise<void> {
  const own = await footprintOf(table)
  for (const { entry, footprint, problem } of await neighboursOf(catalog, table)) {
    const overlap = overlapOf(own, footprint)
    if (overlap === 'same-table') throw sameTable(table, entry, action)
    if (overlap === undefined) continue
    const refused = `Cannot ${action} of ${formatIdentifier(table.identifier)}`
    if (entry.unknownCatalog !== undefined) throw mayOverlap(refused, entry.unknownCatalog)
    const unread = problem === undefined ? '' : ` The metadata of ${entry.name} cannot be read: ${problem}`
    const message =
      `${refused}: table ${entry.name} keeps files in the same folders. ` +
      `Use separate folders for each table, or remove ${entry.name} from the catalog.${unread}`
    throw new IcebergError('TABLES_OVERLAP', message)
  }
}

function sameTable(table: Table, twin: CatalogEntry, action: string): IcebergError {
  const name = formatIdentifier(table.identifier)
  return new IcebergError(
    'TABLES_OVERLAP',
    `Cannot ${action} of ${name}: ${twin.name} is the same table under another name and would lose files. ` +
      'Remove one of the two names from the catalog without deleting files (drop the table, do not purge it), then try again.',
  )
}

const CONCURRENT_NEIGHBOURS = 8

interface Bounds {
  readonly folders: readonly string[]
  readonly otherwise: KeptReason
}

class Judge {
  readonly #neighbours: readonly Neighbour[]
  readonly #twin: string | undefined
  /** Tables by the place of each of their folders, and of each file outside them that their metadata references. */
  readonly #folders = new Map<string, string>()
  readonly #files = new Map<string, string>()
  readonly #ownerOfFolder = new Map<string, string | undefined>()
  /** Locations by place, of files that no table is known to need so far. */
  readonly #free = new Map<string, string[]>()
  readonly #kept: KeptFile[] = []
  readonly #unread: UnreadTable[]
  /** Tables by the beginning of the names of files with rows that their batches divert into this one. */
  readonly #staged = new Map<string, string>()
  /** A table that may name such files, but cannot be read. */
  readonly #mayStage: string | undefined

  constructor({ metadata }: Table, own: Footprint, neighbours: readonly Neighbour[]) {
    this.#neighbours = neighbours
    this.#twin = neighbours.find(({ footprint }) => overlapOf(own, footprint) === 'same-table')?.entry.name
    for (const { entry, footprint } of neighbours) {
      for (const folder of footprint.folders) this.#folders.set(folder, entry.name)
      for (const file of [footprint.metadataFile, ...footprint.outside]) this.#files.set(file, entry.name)
    }
    for (const { entry, footprint } of neighbours) {
      if (footprint.staged === 'unknown') continue
      const due = footprint.staged.filter((staged) => !areCommitted(metadata, staged))
      for (const { namePrefix } of due) this.#staged.set(namePrefix, entry.name)
    }
    this.#mayStage = neighbours.find(({ footprint }) => footprint.staged === 'unknown')?.entry.name
    this.#unread = neighbours.flatMap(({ entry, problem }) =>
      problem === undefined ? [] : [{ table: entry.name, reason: problem }],
    )
  }

  add(location: string, place: string, { folders, otherwise }: Bounds): void {
    const keep = (reason: KeptReason, table: string | null): void => void this.#kept.push({ location, reason, table })
    if (this.#twin !== undefined) return keep('same_table', this.#twin)
    const owner = this.#ownerOf(place)
    if (owner !== undefined) return keep('in_other_table', owner)
    if (!folders.some((folder) => isInside(place, folder))) return keep(otherwise, null)
    const user = this.#files.get(place)
    if (user !== undefined) return keep('used_by_other_table', user)
    const prefix = stagedPrefix(location.slice(location.lastIndexOf('/') + 1))
    const sink = prefix === undefined ? undefined : this.#staged.get(prefix)
    if (sink !== undefined) return keep('used_by_other_table', sink)
    if (prefix !== undefined && this.#mayStage !== undefined) return keep('may_be_needed', this.#mayStage)
    this.#free.set(place, [...(this.#free.get(place) ?? []), location])
  }

  /** Searches the manifests of all other tables for the remaining files. */
  async askNeighbours(catalog: Catalog): Promise<void> {
    const readable = this.#neighbours.filter(({ problem }) => problem === undefined)
    await mapBounded(readable, CONCURRENT_NEIGHBOURS, async (neighbour) => {
      if (this.#free.size === 0) return
      const { name } = neighbour.entry
      const { found, problem } = await this.#references(catalog, neighbour)
      if (problem !== undefined) this.#unread.push({ table: name, reason: problem })
      for (const place of found) {
        for (const location of this.#free.get(place) ?? []) {
          this.#kept.push({ location, reason: 'used_by_other_table', table: name })
        }
        this.#free.delete(place)
      }
    })
  }

  verdict(): DeletionVerdict {
    return { deletable: [...this.#free.values()].flat(), kept: this.#kept, unreadTables: this.#unread }
  }

  async #references(catalog: Catalog, neighbour: Neighbour): ReturnType<typeof referencesOf> {
    try {
      return await referencesOf(catalog, neighbour, new Set(this.#free.keys()))
    } catch (error) {
      throw unknownTable(neighbour.entry, error)
    }
  }

  /** The table that has a file in one of its folders. */
  #ownerOf(place: string): string | undefined {
    const parent = parentPlace(place)
    if (parent === place) return this.#folders.get(place)
    if (!this.#ownerOfFolder.has(parent)) {
      this.#ownerOfFolder.set(parent, this.#folders.get(parent) ?? this.#ownerOf(parent))
    }
    return this.#ownerOfFolder.get(parent)
  }
}

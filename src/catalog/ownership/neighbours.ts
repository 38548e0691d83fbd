import { LRUCache } from 'lru-cache'

import { mapBounded } from '../../lib/bounded-map.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import { errnoCode } from '../../iceberg/io/io-error.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { placeOf } from '../../iceberg/io/place.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog, CatalogEntry } from '../catalog.ts'
import { isVersionFile } from './version-name.ts'
import { fileState } from '../file-state.ts'
import { isTableMissing } from '../load-if-present.ts'
import { otherEntries } from './entries.ts'
import { type Footprint, footprintOfPointer, traceFootprint, type TracedFootprint } from './footprint.ts'

/** Another table of a catalog. */
export interface Neighbour {
  readonly entry: CatalogEntry
  readonly footprint: Footprint
  /** Names the content of its metadata file, which is the same as long as this is; undefined when it is not known. */
  readonly state?: string
  /** Readable reason why its metadata cannot be read; then the footprint comes from its metadata file's path only. */
  readonly problem?: string
}

const CONCURRENT_LOADS = 16
/** Enough for more than 50,000 tables: with fewer than a run looks at, none would be found again. */
const MAX_CACHED_BYTES = 128 << 20
/** Folders may become links, or links may change, so places are looked up again after this long. */
const MAX_AGE_MS = 300_000
/** A file that was written this short before it was read may be written again without a new time: stores may have seconds. */
const SETTLED_AFTER_MS = 60_000

interface Seen extends TracedFootprint {
  /** That of the table, which resolved its places. */
  readonly io: FileIO
  readonly atMs: number
}

/** By catalog and state of a metadata file. */
const caches = new WeakMap<Catalog, LRUCache<string, Seen>>()

/**
 * All other tables of a catalog, with their footprints. The list is fresh; only metadata that has not been read before is
 * read. A table dropped meanwhile is left out; one whose metadata is missing, damaged or not permitted has a `problem`. A
 * temporary failure, such as a store that does not respond, is an error that names the table, and so is a table of
 * unknown location.
 */
export async function neighboursOf(catalog: Catalog, table: Table): Promise<readonly Neighbour[]> {
  const entries = await otherEntries(catalog, table.identifier)
  const cache = caches.get(catalog) ?? new LRUCache<string, Seen>({ maxSize: MAX_CACHED_BYTES })
  caches.set(catalog, cache)
  const found = await mapBounded(entries, CONCURRENT_LOADS, (entry) => look(cache, table.io, entry))
  return found.filter((neighbour) => neighbour !== 'gone')
}

async function look(cache: LRUCache<string, Seen>, io: FileIO, entry: CatalogEntry): Promise<Neighbour | 'gone'> {
  const { metadataLocation } = entry
  const state = metadataLocation === undefined ? undefined : await stateOf(io, metadataLocation)
  const known = state === undefined ? undefined : await recall(cache, state)
  if (state !== undefined && known !== undefined) return { entry, footprint: known, state }
  try {
    const table = await entry.load()
    const traced = await traceFootprint(table)
    const isListed = state !== undefined && table.metadataLocation === metadataLocation
    if (!isListed) return { entry, footprint: traced.footprint }
    cache.set(state, { ...traced, io: table.io, atMs: Date.now() }, { size: weightOf(state, traced) })
    return { entry, footprint: traced.footprint, state }
  } catch (error) {
    if (isTableMissing(error)) return 'gone'
    if (!isLasting(error) || metadataLocation === undefined) throw unknownTable(entry, error)
    return { entry, footprint: await footprintOfPointer(io, metadataLocation), problem: error.message }
  }
}

/** A footprint that is known, unless a link has changed what its locations lead to. */
async function recall(cache: LRUCache<string, Seen>, state: string): Promise<Footprint | undefined> {
  const seen = cache.get(state)
  if (seen === undefined) return undefined
  const atMs = Date.now()
  if (Math.abs(atMs - seen.atMs) < MAX_AGE_MS) return seen.footprint
  for (const [location, place] of seen.resolved) {
    if ((await placeOf(seen.io, location)) !== place) return undefined
  }
  cache.set(state, { ...seen, atMs }, { size: weightOf(state, seen) })
  return seen.footprint
}

/**
 * A text that is the same as long as the content of a metadata file is. Names of a metastore catalog are used once. The
 * name of a version may be used again after the table was dropped, so the state of the file is added.
 */
async function stateOf(io: FileIO, metadataLocation: string): Promise<string | undefined> {
  if (!isVersionFile(metadataLocation)) return metadataLocation
  try {
    const status = await io.stat(metadataLocation)
    if (status === undefined || Date.now() - status.modifiedAtMs < SETTLED_AFTER_MS) return undefined
    return `${metadataLocation}\n${fileState(status)}`
  } catch (error) {
    if (isIcebergError(error)) return undefined // reading it reports the problem
    throw error
  }
}

function weightOf(state: string, { footprint: { folders, outside, staged }, resolved }: TracedFootprint): number {
  const names = staged === 'unknown' ? [] : staged.flatMap(({ property, namePrefix }) => [property, namePrefix])
  const texts = [state, ...folders, ...outside, ...names, ...[...resolved].flat()]
  return texts.reduce((total, text) => total + 2 * text.length + 50, 300)
}

const LASTING = new Set(['FILE_NOT_FOUND', 'CORRUPT_FILE', 'INVALID_METADATA', 'INVALID_ARGUMENT', 'UNSUPPORTED'])

/** Not permitted, or not a readable file. */
const LASTING_ERRNO: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EISDIR', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'])

/** Whether a retry would fail again: waiting for it would block everything else. */
export function isLasting(error: unknown): error is IcebergError {
  if (!isIcebergError(error)) return false
  if (LASTING.has(error.code)) return true
  const { cause } = error
  const isLastingIo = LASTING_ERRNO.has(errnoCode(cause) ?? '') || statusOf(cause) === 403
  return error.code === 'IO_FAILED' && isLastingIo
}

/** The status of an object store's response, from the SDK's error. */
function statusOf(cause: unknown): unknown {
  if (!(cause instanceof Error) || !('$metadata' in cause)) return undefined
  const metadata: unknown = cause.$metadata
  return typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata
    ? metadata.httpStatusCode
    : undefined
}

/** The error of reading another table, naming it; anything but an `IcebergError` is an internal error. */
export function unknownTable({ name }: CatalogEntry, error: unknown): unknown {
  if (!isIcebergError(error)) return error
  const message = `Table ${name} could not be read, so it is not known which files it needs: ${error.message}`
  return new IcebergError(error.code === 'IO_FAILED' ? 'IO_FAILED' : 'TABLES_OVERLAP', message, { cause: error })
}

import { LRUCache } from 'lru-cache'

import { mapBounded } from '../../iceberg/bounded-map.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import { errnoCode } from '../../iceberg/io/io-error.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog, CatalogEntry } from '../catalog.ts'
import { isVersionFile } from '../hadoop/version.ts'
import { otherEntries } from './entries.ts'
import { type Footprint, footprintOf, footprintOfPointer } from './footprint.ts'

/** Another table of a catalog. */
export interface Neighbour {
  readonly entry: CatalogEntry
  readonly footprint: Footprint
  /** Readable reason why its metadata cannot be read; then the footprint comes from its metadata file's path only. */
  readonly problem?: string
}

const CONCURRENT_LOADS = 16
const MAX_CACHED_BYTES = 32 << 20
/** Folders may become links, or links may change, so results are cached for this long. */
const MAX_AGE_MS = 300_000

interface Seen {
  readonly footprint: Footprint
  readonly atMs: number
}

/** By catalog and metadata file, whose content never changes. */
const caches = new WeakMap<Catalog, LRUCache<string, Seen>>()

/**
 * All other tables of a catalog, with their footprints. A table dropped meanwhile is left out; one whose metadata is
 * missing, damaged or not permitted has a `problem`. A temporary failure, such as a store that does not respond, is an
 * error that names the table, and so is a table of unknown location.
 */
export async function neighboursOf(catalog: Catalog, table: Table): Promise<readonly Neighbour[]> {
  const entries = await otherEntries(catalog, table.identifier)
  const found = await mapBounded(entries, CONCURRENT_LOADS, (entry) => look(catalog, table.io, entry))
  return found.filter((neighbour) => neighbour !== 'gone')
}

async function look(catalog: Catalog, io: FileIO, entry: CatalogEntry): Promise<Neighbour | 'gone'> {
  const cache = caches.get(catalog) ?? new LRUCache<string, Seen>({ maxSize: MAX_CACHED_BYTES })
  caches.set(catalog, cache)
  const key = isCacheable(entry.metadataLocation) ? entry.metadataLocation : undefined
  const seen = key === undefined ? undefined : cache.get(key)
  if (seen !== undefined && Date.now() - seen.atMs < MAX_AGE_MS) return { entry, footprint: seen.footprint }
  try {
    const footprint = await footprintOf(await entry.load())
    if (key !== undefined) cache.set(key, { footprint, atMs: Date.now() }, { size: weightOf(key, footprint) })
    return { entry, footprint }
  } catch (error) {
    if (isIcebergError(error, 'NO_SUCH_TABLE') || isIcebergError(error, 'NO_SUCH_NAMESPACE')) return 'gone'
    if (!isLasting(error) || entry.metadataLocation === undefined) throw unknownTable(entry, error)
    return { entry, footprint: await footprintOfPointer(io, entry.metadataLocation), problem: error.message }
  }
}

/** The name of a version may be reused by another table. */
function isCacheable(metadataLocation: string | undefined): metadataLocation is string {
  return metadataLocation !== undefined && !isVersionFile(metadataLocation)
}

function weightOf(key: string, { folders, outside }: Footprint): number {
  return [key, ...folders, ...outside].reduce((total, text) => total + 2 * text.length + 50, 200)
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

import { gzipSync } from 'node:zlib'

import { IcebergError, isIcebergError } from '../iceberg/errors.ts'
import type { FileIO } from '../iceberg/io/file-io.ts'
import { errnoCode } from '../iceberg/io/io-error.ts'
import { serializeTableMetadata, type TableMetadata } from '../iceberg/metadata/metadata.ts'
import { checkReadableByJava } from '../iceberg/metadata/readable-by-java.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import { readMetadata } from './kept-metadata/shared-metadata.ts'
import { formatIdentifier } from './table-identifier.ts'

/** Loads the table whose pointer is `metadataLocation`. Throws `FILE_NOT_FOUND` naming the table when the file does not exist. */
export async function loadTableAt(io: FileIO, identifier: TableIdentifier, metadataLocation: string): Promise<Table> {
  try {
    return { identifier, metadataLocation, metadata: await readMetadata(io, metadataLocation), io }
  } catch (cause) {
    if (!isIcebergError(cause, 'FILE_NOT_FOUND')) throw cause
    const message = `The catalog says that ${formatIdentifier(identifier)} is at ${metadataLocation}, which does not exist.`
    throw new IcebergError('FILE_NOT_FOUND', message, { cause })
  }
}

/**
 * Loads a table that is about to be registered. Like {@link loadTableAt}, but also throws `INVALID_ARGUMENT` when the location is
 * a folder or for a layout that other engines do not load, and `INVALID_METADATA` when the table names its files by relative paths, which cannot be resolved.
 */
export async function loadNewTableAt(
  io: FileIO,
  identifier: TableIdentifier,
  metadataLocation: string,
): Promise<Table> {
  const table = await loadUnlessFolder(io, identifier, metadataLocation)
  checkReadableByJava(table.metadata)
  const { location, snapshots } = table.metadata
  const named = [
    location,
    ...snapshots.flatMap(({ manifestList, manifests = [] }) => [manifestList ?? [], manifests].flat()),
  ]
  const relative = named.find((one) => !/^(\/|[a-z][a-z0-9+.-]*:)/i.test(one))
  if (relative === undefined) return table
  const message = `the table names its files by relative paths, such as "${relative}"; register metadata with absolute ones`
  throw new IcebergError('INVALID_METADATA', message)
}

async function loadUnlessFolder(io: FileIO, identifier: TableIdentifier, location: string): Promise<Table> {
  try {
    return await loadTableAt(io, identifier, location)
  } catch (error) {
    if (!isIcebergError(error, 'IO_FAILED') || errnoCode(error.cause) !== 'EISDIR') throw error
    const message = `metadata_location: ${location} is a folder; give the metadata file in it (….metadata.json)`
    throw new IcebergError('INVALID_ARGUMENT', message, { cause: error })
  }
}

/** Bytes of a metadata file under a name with the given suffix (`.metadata.json`, or `.gz.metadata.json`: compressed). */
export function metadataFileBytes(metadata: TableMetadata, suffix: string): Uint8Array {
  const bytes = serializeTableMetadata(metadata)
  return suffix.includes('.gz') ? gzipSync(bytes) : bytes
}

/** Extension of the metadata files of a table, by `write.metadata.compression-codec` (`none` or `gzip`). */
export function metadataFileSuffix(metadata: TableMetadata): string {
  const codec = (metadata.properties['write.metadata.compression-codec'] ?? 'none').toLowerCase()
  if (codec === 'none') return '.metadata.json'
  if (codec === 'gzip') return '.gz.metadata.json'
  throw new IcebergError(
    'UNSUPPORTED',
    `write.metadata.compression-codec is "${codec}": only none and gzip are supported.`,
  )
}

/**
 * Name of the metadata file after the one at `location` in a metastore catalog: `<NNNNN>-<uuid>` and the suffix
 * (Iceberg spec, "Metastore Tables"). After a name without a version comes 0.
 */
export function nextMetastoreFileName(location: string | undefined, suffix: string): string {
  const fileName = location?.slice(location.lastIndexOf('/') + 1) ?? ''
  const version = /^v?(\d{1,9})[-.]/.exec(fileName)?.[1]
  const next = version === undefined ? 0 : Number(version) + 1
  return `${String(next).padStart(5, '0')}-${crypto.randomUUID()}${suffix}`
}

/** Deletes files that nothing needs; a remaining file is only garbage, so errors are ignored. */
export async function deleteQuietly(io: FileIO, locations: Iterable<string>): Promise<void> {
  for (const location of locations) {
    try {
      await io.delete(location)
    } catch {
      // Orphan removal finds it later.
    }
  }
}

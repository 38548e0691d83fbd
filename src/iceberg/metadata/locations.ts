import type { TableMetadata } from './metadata.ts'
import { murmur3 } from '../partitioning/murmur3.ts'

/** Bits of the hash that spread data files over an object store's key space. */
const ENTROPY_BITS = 20
/** The first three groups of four bits become a folder each, the other eight bits the last folder. */
const ENTROPY_FOLDER = /^(.{4})(.{4})(.{4})(.{8})$/

/**
 * The location of a new data file, chosen as other writers do (`write.data.path`, `write.object-storage.*`).
 * `partitionPath` is that of `partitionPath()`, empty when unpartitioned; `fileName` must be unique in the table.
 */
export function newDataLocation(metadata: TableMetadata, partitionPath: string, fileName: string): string {
  const { properties } = metadata
  const hashed = properties['write.object-storage.enabled']?.toLowerCase() === 'true'
  if (!hashed) return join(dataFolder(metadata), partitionPath, fileName)
  const folder = objectStorageFolder(metadata)
  const context = isInTable(folder, metadata) ? '' : tableContext(metadata.location)
  if (properties['write.object-storage.partitioned-paths']?.toLowerCase() === 'false') {
    const entropy = entropyFolders(fileName)
    return context === '' ? `${folder}/${entropy}-${fileName}` : join(folder, entropy, context, fileName)
  }
  const name = join(partitionPath, fileName)
  return join(folder, entropyFolders(name), context, name)
}

/** The location of a new manifest, manifest list or metadata file (`write.metadata.path`). */
export function newMetadataFileLocation(metadata: TableMetadata, name: string): string {
  return join(metadataFolder(metadata), name)
}

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}[^/]*$/i

/** Whether no other metadata file has this location, ever; `v3.metadata.json` can be that of one table after another. */
export function isNamedOnce(metadataLocation: string): boolean {
  return UUID.test(metadataLocation)
}

/** Folders whose files belong to the table; files elsewhere may also belong to another table. */
export function ownedFolders(metadata: TableMetadata): readonly string[] {
  const folders = [metadata.location, dataFolder(metadata), objectStorageFolder(metadata), metadataFolder(metadata)]
  return [...new Set(folders.map(withoutSlash))]
}

function dataFolder({ location, properties }: TableMetadata): string {
  const folder = properties['write.data.path'] ?? properties['write.folder-storage.path']
  return withoutSlash(folder ?? `${withoutSlash(location)}/data`)
}

function objectStorageFolder(metadata: TableMetadata): string {
  const { properties } = metadata
  const folder = properties['write.data.path'] ?? properties['write.object-storage.path']
  return folder === undefined ? dataFolder(metadata) : withoutSlash(folder)
}

function metadataFolder({ location, properties }: TableMetadata): string {
  return withoutSlash(properties['write.metadata.path'] ?? `${withoutSlash(location)}/metadata`)
}

function isInTable(folder: string, metadata: TableMetadata): boolean {
  return folder.startsWith(withoutSlash(metadata.location))
}

/** Last two parts of a table location, which keep tables apart in a shared data folder. */
function tableContext(location: string): string {
  return withoutSlash(location).split('/').filter(Boolean).slice(-2).join('/')
}

function entropyFolders(name: string): string {
  const hash = murmur3(new TextEncoder().encode(name)) >>> 0
  const bits = hash.toString(2).padStart(32, '0').slice(-ENTROPY_BITS)
  return bits.replace(ENTROPY_FOLDER, '$1/$2/$3/$4')
}

function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('/')
}

function withoutSlash(location: string): string {
  return location.length > 1 ? location.replace(/\/+$/, '') : location
}

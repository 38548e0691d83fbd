import type { FileStatus } from '../../iceberg/io/file-io.ts'
import { isBelow, sameLocation } from '../../iceberg/io/location-identity.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import { isHeld } from '../quarantine/held-files.ts'

/** Files below a table's location, without those of tables inside it. */
export interface ListedFiles {
  /** Old enough to be removed, reachable or not. */
  readonly files: readonly FileStatus[]
  /** Of any age. */
  readonly metadataFiles: readonly string[]
}

/** Lists what may be removed: files last changed before `cutoffMs`. */
export type OldFileLister = (table: Table, cutoffMs: number, signal: AbortSignal | undefined) => Promise<ListedFiles>

/** Lists all files of a table's location. */
export const listOldFiles: OldFileLister = async (table, cutoffMs, signal) => {
  const { location } = table.metadata
  const files: FileStatus[] = []
  const metadataFiles: string[] = []
  const nestedTables = new Set<string>()
  for await (const file of table.io.list(location)) {
    throwIfCancelled(signal)
    if (isHeld(file.location)) continue
    const nested = nestedTableFolder(file.location, location)
    if (nested !== undefined) nestedTables.add(nested)
    else if (file.location.includes('.metadata.json')) metadataFiles.push(file.location)
    if (file.modifiedAtMs < cutoffMs && !isKept(file.location, location)) files.push(file)
  }
  const folders = [...nestedTables]
  const isOwn = (file: string): boolean => !folders.some((folder) => isBelow(file, folder))
  return { files: files.filter(({ location: file }) => isOwn(file)), metadataFiles: metadataFiles.filter(isOwn) }
}

const METADATA_FILE = /^(.*)\/metadata\/(?:[^/]*\.metadata\.json(?:\.gz)?|version-hint\.text)$/

/** Whether a location is that of a table's metadata file or version hint. */
export function isMetadataFile(file: string): boolean {
  return METADATA_FILE.test(file)
}

/** The folder of a table inside this one's location, recognised by a metadata file outside our own metadata folder. */
function nestedTableFolder(file: string, tableLocation: string): string | undefined {
  const folder = METADATA_FILE.exec(file)?.[1]
  return folder === undefined || sameLocation(folder, tableLocation.replace(/\/+$/, '')) ? undefined : folder
}

/** Hidden files and folders belong to other systems, and the version hint to a Hadoop catalog. */
export function isKept(file: string, tableLocation: string): boolean {
  const relative = file.slice(tableLocation.length).split('/')
  const hidden = relative.some((segment) => /^[._]/.test(segment) && !segment.includes('='))
  return hidden || file.endsWith('/metadata/version-hint.text')
}

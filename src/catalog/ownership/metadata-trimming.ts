import { parentPlace, placeOf } from '../../iceberg/io/place.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog } from '../catalog.ts'
import { deleteQuietly } from '../metadata-file.ts'
import { judgeTrimming } from './deletion-guard.ts'

const METADATA_NAME = /\.metadata\.json(?:\.gz)?$/

/**
 * Deletes the metadata files that a commit removed from a table's log, if the table enables it
 * (`write.metadata.delete-after-commit.enabled`). Deletes only files that are named like metadata files and are in the
 * folder of the current one, and none that a table of `catalog` needs. Never fails: the commit has happened, and a
 * remaining file is only garbage.
 */
export async function trimMetadata(base: Table, committed: Table, catalog?: Catalog): Promise<void> {
  const { metadata, metadataLocation, io } = committed
  if (metadata.properties['write.metadata.delete-after-commit.enabled']?.toLowerCase() !== 'true') return
  const keptFiles = [
    metadataLocation,
    base.metadataLocation,
    ...metadata.metadataLog.map((entry) => entry.metadataFile),
  ]
  const trimmed = base.metadata.metadataLog.map((entry) => entry.metadataFile)
  const keptNames = new Set(keptFiles)
  const dropped = trimmed.filter((file) => !keptNames.has(file) && METADATA_NAME.test(file))
  if (dropped.length === 0) return
  try {
    const kept = new Set(await Promise.all(keptFiles.map((file) => placeOf(io, file))))
    const folder = parentPlace(await placeOf(io, metadataLocation))
    const own: string[] = []
    for (const file of dropped) {
      const place = await placeOf(io, file)
      if (parentPlace(place) === folder && !kept.has(place)) own.push(file)
    }
    await deleteQuietly(io, catalog === undefined ? own : await judgeTrimming(catalog, committed, own))
  } catch {
    // Unknown whether other tables need them: they stay.
  }
}

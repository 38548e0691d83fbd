import { isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { loadTableAt } from '../metadata-file.ts'
import { hintLocation, readHint } from './hint.ts'
import { listVersions } from './version.ts'

/**
 * Removes a table that was just created, if its only metadata file is still that of the creation. Nothing can delete a file
 * only while no other exists: if a commit created the next version meanwhile, the first version is created again. Folders
 * are removed if they are empty. Other files stay.
 */
export async function undoCreation(io: FileIO, created: Table): Promise<void> {
  const { identifier, metadataLocation, metadata } = created
  const folder = metadataLocation.slice(0, metadataLocation.lastIndexOf('/'))
  if ((await listVersions(io, folder)).length !== 1) return
  const bytes = await io.read(metadataLocation)
  const { metadata: stored } = await loadTableAt(io, identifier, metadataLocation)
  if (stored.tableUuid !== metadata.tableUuid) return // somebody replaced the table
  await io.delete(metadataLocation)
  if ((await listVersions(io, folder)).length > 0) return restore(io, metadataLocation, bytes)
  if ((await readHint(io, folder)) === '1') await io.delete(hintLocation(folder))
  await io.deleteFolder?.(folder)
  await io.deleteFolder?.(folder.slice(0, folder.lastIndexOf('/')))
}

async function restore(io: FileIO, location: string, bytes: Uint8Array): Promise<void> {
  try {
    await io.create(location, bytes)
  } catch (error) {
    if (!isIcebergError(error, 'FILE_EXISTS')) throw error // somebody created another table there
  }
}

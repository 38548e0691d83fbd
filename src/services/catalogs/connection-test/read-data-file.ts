import { plural } from '../../../lib/text.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import { loadEntries, loadManifests } from '../../../iceberg/manifest/cache.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import { currentSnapshot } from '../../../iceberg/metadata/metadata.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'
import { isLive, liveFiles } from '../../../iceberg/scan/scan.ts'

/** The first data file of a table's current snapshot; undefined when it has none. Reads as few manifests as possible. */
export async function firstDataFile(table: Table): Promise<DataFile | undefined> {
  const snapshot = currentSnapshot(table.metadata)
  if (snapshot === undefined) return undefined
  for (const manifest of await loadManifests(table, snapshot)) {
    if (manifest.content !== 'data' || liveFiles(manifest) === 0) continue
    const entries = await loadEntries(table, manifest, { project: 'no-metrics' })
    const first = entries.find(isLive)
    if (first !== undefined) return first.dataFile
  }
  return undefined
}

/** The last bytes of a Parquet file: the length of the footer, and the magic (Parquet format, "File format"). */
const END_BYTES = 8
const MAX_FOOTER_BYTES = 32 * 1_048_576

/**
 * Reads the footer of a Parquet file, or the first bytes of another file, and returns a sentence about it. Throws
 * `CORRUPT_FILE` for a file that ends otherwise than its format, and the errors of the FileIO.
 */
export async function readEndOf(io: FileIO, { filePath, fileFormat }: DataFile): Promise<string> {
  const status = await io.stat(filePath)
  if (status === undefined) throw new IcebergError('FILE_NOT_FOUND', `There is no file ${filePath}.`)
  const { sizeBytes } = status
  if (fileFormat.toUpperCase() !== 'PARQUET') {
    await io.readRange(filePath, 0, Math.min(sizeBytes, END_BYTES))
    return `The first bytes of ${filePath} were read.`
  }
  if (sizeBytes < 2 * END_BYTES) throw noFooter(filePath)
  const end = await io.readRange(filePath, sizeBytes - END_BYTES, END_BYTES)
  const magic = new TextDecoder('latin1').decode(end.subarray(-4))
  const length = new DataView(end.buffer, end.byteOffset).getUint32(0, true)
  if (!['PAR1', 'PARE'].includes(magic) || length > Math.min(sizeBytes - END_BYTES, MAX_FOOTER_BYTES)) {
    throw noFooter(filePath)
  }
  await io.readRange(filePath, sizeBytes - END_BYTES - length, length)
  return `The footer of ${filePath} was read (${plural(length, 'byte')}).`
}

function noFooter(location: string): IcebergError {
  return new IcebergError('CORRUPT_FILE', `${location} does not end with the footer of a Parquet file.`)
}

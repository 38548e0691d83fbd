import { IcebergError, isIcebergError } from '../errors.ts'
import { deleteFrom } from '../io/delete-files.ts'
import type { FileIO } from '../io/file-io.ts'
import type { DataFile } from '../manifest/manifest.ts'
import { encodeDeletionVectorFile, readDeletionVector } from './deletion-vector.ts'
import type { PositionBitmap } from './position-bitmap.ts'

/** Deleted rows of a data file. */
export interface FilePositions {
  readonly file: Pick<DataFile, 'filePath' | 'specId' | 'partition'>
  readonly positions: PositionBitmap
}

/**
 * Writes one Puffin file with a deletion vector for each data file, and reads every vector back. Returns the manifest entries, in the
 * order of the data files. `ROWS_NOT_CONSERVED` when a vector has other positions than were written; on an error, no file remains.
 */
export async function writeDeletionVectors(
  io: FileIO,
  location: string,
  vectors: readonly FilePositions[],
): Promise<readonly DataFile[]> {
  const { bytes, written } = encodeDeletionVectorFile(
    vectors.map(({ file, positions }) => ({ referencedDataFile: file.filePath, positions })),
  )
  const entries = written.map(({ cardinality, ...place }, at): DataFile => {
    const { specId = 0, partition = [] } = vectors[at]?.file ?? {}
    return {
      content: 'position-deletes',
      filePath: location,
      fileFormat: 'puffin',
      specId,
      partition,
      fileSizeInBytes: bytes.length,
      recordCount: cardinality,
      ...place,
    }
  })
  try {
    await io.create(location, bytes)
    for (const [at, entry] of entries.entries()) {
      requireSamePositions(await readDeletionVector(io, entry), vectors[at]?.positions)
    }
    return entries
  } catch (error) {
    // a file that exists already is somebody else's
    if (!isIcebergError(error, 'FILE_EXISTS')) await deleteFrom(io, [location])
    throw error
  }
}

function requireSamePositions(read: PositionBitmap, written: PositionBitmap | undefined): void {
  const positions = read.toArray()
  const isSame = positions.length === written?.cardinality && positions.every((position) => written.has(position))
  if (!isSame)
    throw new IcebergError('ROWS_NOT_CONSERVED', 'a new deletion vector has other positions than were written')
}

import { crc32 } from 'node:zlib'

import { IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'

import type { StoredStruct } from '../parquet/compact-struct.ts'
import type { JoinedFile } from './join-files.ts'
import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import { readStoredFooter } from '../parquet/stored-footer.ts'
import type { StoredChunk, StoredFooter } from '../parquet/stored-footer.ts'
import { WindowReader } from './window-reader.ts'

/** Fields of `ColumnMetaData` that say where something is. */
const POSITIONS: ReadonlySet<number> = new Set([9, 11, 14, 15])

export interface JoinedCheck {
  readonly io: FileIO
  /** Where the new file is now. */
  readonly location: string
  readonly check: () => void
}

/**
 * Reads the footer of a new file back through the FileIO, and compares it with those of the replaced files: rows, and for each column
 * chunk everything but positions. Chunks that were written come last, and are compared with what was written. `ROWS_NOT_CONSERVED` when they
 * differ.
 */
export async function verifyJoinedFooter(
  inputs: readonly StoredFooter[],
  { sizeBytes, rowGroups }: JoinedFile,
  { io, location }: JoinedCheck,
): Promise<void> {
  const found = await readStoredFooter(io, location).catch((error: unknown) => {
    throw error instanceof NotCopyableError ? notConserved(location, error.message) : error
  })
  const groups = inputs.flatMap((input) => input.rowGroups)
  if (found.fileSize !== sizeBytes) throw notConserved(location, `it has ${found.fileSize} bytes, not ${sizeBytes}`)
  if (found.rowGroups.length !== groups.length) throw notConserved(location, 'it has another number of row groups')
  for (const [at, { rows, chunks }] of found.rowGroups.entries()) {
    const source = groups[at]
    const copied = source?.chunks ?? []
    const expected = [...copied, ...(rowGroups[at]?.source.chunks.slice(copied.length) ?? [])]
    const isSame =
      source?.rows === rows &&
      expected.length === chunks.length &&
      chunks.every((chunk, leaf) => isSameChunk(chunk, expected[leaf]))
    if (!isSame) throw notConserved(location, `row group ${at} differs from the one that was copied`)
  }
}

/** Reads what was copied into a new file back through the FileIO, and compares checksums. `ROWS_NOT_CONSERVED` when one differs. */
export async function verifyCopiedBytes(file: JoinedFile, { io, location, check }: JoinedCheck): Promise<void> {
  const reader = new WindowReader(io, { location, fileSize: file.sizeBytes })
  for (const range of file.copied) {
    check()
    let checksum = 0
    for await (const part of reader.read(range)) checksum = crc32(part, checksum)
    if (checksum === range.checksum) continue
    throw notConserved(location, `the bytes from ${range.start} to ${range.end} are not those that were copied`)
  }
}

function isSameChunk(found: StoredChunk, source: StoredChunk | undefined): boolean {
  if (source === undefined || found.pages.end - found.pages.start !== source.pages.end - source.pages.start)
    return false
  return (
    found.values === source.values &&
    (found.columnIndex === undefined) === (source.columnIndex === undefined) &&
    (found.offsetIndex === undefined) === (source.offsetIndex === undefined) &&
    (found.bloomFilter === undefined) === (source.bloomFilter === undefined) &&
    isSameStruct(found.meta, source.meta)
  )
}

function isSameStruct(found: StoredStruct, source: StoredStruct): boolean {
  const ids = [...new Set([...found.keys(), ...source.keys()])].filter((id) => !POSITIONS.has(id))
  return ids.every((id) => {
    const [a, b] = [found.get(id), source.get(id)]
    return a?.type === b?.type && a !== undefined && b !== undefined && Buffer.compare(a.bytes, b.bytes) === 0
  })
}

function notConserved(location: string, what: string): IcebergError {
  return new IcebergError(
    'ROWS_NOT_CONSERVED',
    `the copy was abandoned and nothing was changed: new file ${location} is wrong: ${what}`,
  )
}

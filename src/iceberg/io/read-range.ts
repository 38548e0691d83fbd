import { IcebergError } from '../errors.ts'

/** A part of a file, in bytes. */
export interface ByteRange {
  readonly location: string
  readonly offset: number
  readonly length: number
}

/**
 * Checks a range: `INVALID_ARGUMENT` when it is invalid, `CORRUPT_FILE` when it ends after `sizeBytes`.
 */
export function assertRange({ location, offset, length }: ByteRange, sizeBytes?: number): void {
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
    throw new IcebergError('INVALID_ARGUMENT', `Cannot read ${length} bytes at ${offset} of ${location}.`)
  }
  if (sizeBytes !== undefined && offset + length > sizeBytes) {
    const wanted = `bytes ${offset} to ${offset + length}`
    throw new IcebergError('CORRUPT_FILE', `${location} has ${sizeBytes} bytes, but ${wanted} were requested.`)
  }
}

import { isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'

const MAX_HINT_BYTES = 256

/** Location of the hint that a finished commit writes; readers do not depend on it. */
export function hintLocation(metadataFolder: string): string {
  return `${metadataFolder}/version-hint.text`
}

/** The text of the hint; undefined when there is none, or a file that is too large to be one. */
export async function readHint(io: FileIO, metadataFolder: string): Promise<string | undefined> {
  try {
    const status = await io.stat(hintLocation(metadataFolder))
    if (status === undefined || status.sizeBytes > MAX_HINT_BYTES) return undefined
    return new TextDecoder().decode(await io.read(hintLocation(metadataFolder))).trim()
  } catch (error) {
    // Replaced or removed between the two calls.
    if (isIcebergError(error, 'FILE_NOT_FOUND')) return undefined
    throw error
  }
}

/** The version that a hint names by its number; undefined for other texts. */
export function hintedVersion(hint: string | undefined): number | undefined {
  return hint !== undefined && /^\d{1,15}$/.test(hint) ? Number(hint) : undefined
}

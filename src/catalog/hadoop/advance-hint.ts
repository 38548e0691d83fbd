import type { FileIO } from '../../iceberg/io/file-io.ts'
import { hintedVersion, hintLocation, readHint } from './hint.ts'
import { findHadoopVersion } from './version.ts'

/** Writes at most: each further one follows a commit that came in between. */
const MAX_WRITES = 5

/**
 * Writes the hint of a committed version. A hint that names a newer version stays. Other commits may come between the
 * look at the hint and its write, so the current version is looked up afterwards and written instead.
 */
export async function advanceHint(io: FileIO, folder: string, version: number): Promise<void> {
  let current = version
  try {
    for (let writes = 0; writes < MAX_WRITES; writes++) {
      if ((hintedVersion(await readHint(io, folder)) ?? 0) >= current) return
      await io.write(hintLocation(folder), new TextEncoder().encode(String(current)))
      const found = await findHadoopVersion(io, folder)
      if (found?.version === undefined || found.version <= current) return
      current = found.version
    }
  } catch {
    // Readers find newer versions than an old hint.
  }
}

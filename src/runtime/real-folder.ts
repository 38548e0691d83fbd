import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Where a path really leads when every link on the way is followed; the part that does not exist yet stays as it is. */
export async function realFolder(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!isMissing || dirname(path) === path) throw error
    return join(await realFolder(dirname(path)), basename(path))
  }
}

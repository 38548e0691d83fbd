import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Where a path really leads when every link on the way is followed; the part that does not exist yet stays as it is.
 * Throws when a link leads to what does not exist: nobody can say what will be there.
 */
export async function realFolder(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!isMissing || dirname(path) === path || (await isLink(path))) throw error
    return join(await realFolder(dirname(path)), basename(path))
  }
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch {
    return false
  }
}

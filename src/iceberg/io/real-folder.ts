import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * A path with all links resolved; the part that does not exist yet stays unchanged.
 * Throws when a link points to a path that does not exist, because its target may be created later.
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

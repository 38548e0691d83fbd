import { link, lstat, rename } from 'node:fs/promises'

import { errnoCode } from './io-error.ts'

/** A system call that gives a file a name, as `link` and `rename` of `node:fs/promises`. */
export type NameFile = (source: string, target: string) => Promise<void>

/**
 * Links `source` to the free name `target`. An NFS client repeats a call whose reply was lost, and the repeated call fails
 * with EEXIST although the first one took effect. The inodes of both names therefore decide whose file `target` is.
 *
 * Throws EEXIST when `target` is another file; {@link UncertainPlaceError} when that cannot be found out.
 */
export async function linkOnce(source: string, target: string, linkFile: NameFile = link): Promise<void> {
  try {
    await linkFile(source, target)
  } catch (error) {
    if (errnoCode(error) !== 'EEXIST') throw error
    const [own, found] = await Promise.all([inodeAt(source), inodeAt(target)])
    if (own === undefined || found === undefined) throw new UncertainPlaceError(target, error)
    if (own !== found) throw error
  }
}

/**
 * Renames `source` to `target`, which may exist. A call that an NFS client repeated fails with ENOENT after the first one
 * took effect; then `target` has the inode that `source` had.
 */
export async function renameOnce(source: string, target: string, renameFile: NameFile = rename): Promise<void> {
  const own = await inodeAt(source)
  try {
    await renameFile(source, target)
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT' || own === undefined || (await inodeAt(target)) !== own) throw error
  }
}

/** The file system said that a name exists, and then did not show which file has the name. */
class UncertainPlaceError extends Error {
  override readonly name = 'UncertainPlaceError'

  constructor(target: string, cause: unknown) {
    super(`the file system does not show which file is at ${target}`, { cause })
  }
}

/** Device and inode of a name; undefined when the file system does not show them. */
async function inodeAt(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await lstat(path, { bigint: true })
    return `${dev} ${ino}`
  } catch {
    return undefined
  }
}

import { constants } from 'node:fs'
import { copyFile, mkdir, open, readdir, readFile, realpath, rm, rmdir, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

import { IcebergError } from '../errors.ts'
import type { FileIO, FileStatus } from './file-io.ts'
import { attempt, errnoCode, toIoError } from './io-error.ts'
import { isWithin, pathOfLocation } from './local-location.ts'
import { linkOnce, renameOnce } from './place-once.ts'
import { textualPlace } from './place.ts'
import { assertRange } from './read-range.ts'

/** Characters of a file's name that its temporary name repeats: names have at most 255 bytes. */
const MAX_NAME_PART = 60

export interface LocalFileIOOptions {
  /** Folders that may be accessed, as locations; default: all. Compares the path's text; links are followed. */
  readonly roots?: readonly string[]
}

/**
 * Files of this machine: absolute paths, `file:/p` and `file:///p`.
 *
 * New files are written under a hidden temporary name in the target folder, flushed to the disk, and only then
 * linked (`create`) or renamed (`write`) to their name, so that a crash leaves at most a `.tmp-<name>-…` file behind.
 * `link()` makes `create` exclusive between processes; file systems without hard links get `IO_FAILED`.
 */
export class LocalFileIO implements FileIO {
  readonly #roots: readonly string[] | undefined

  constructor(options: LocalFileIOOptions = {}) {
    this.#roots = options.roots?.map(pathOfLocation)
  }

  async read(location: string): Promise<Uint8Array> {
    const path = this.#path(location)
    const bytes = await attempt({ action: 'read', location }, readFile(path))
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  async readRange(location: string, offset: number, length: number): Promise<Uint8Array> {
    const path = this.#path(location)
    return attempt({ action: 'read', location }, readPart(path, { location, offset, length }))
  }

  async create(location: string, bytes: Uint8Array): Promise<void> {
    const path = this.#path(location)
    await attempt({ action: 'write', location }, placeBytes(path, bytes, linkInto))
  }

  async write(location: string, bytes: Uint8Array): Promise<void> {
    const path = this.#path(location)
    await attempt({ action: 'write', location }, placeBytes(path, bytes, renameOnce))
  }

  async stat(location: string): Promise<FileStatus | undefined> {
    const found = await statFile(this.#path(location), location)
    return found
  }

  async *list(location: string): AsyncGenerator<FileStatus> {
    const path = this.#path(location)
    yield* listBelow(path, location.replace(/\/+$/, ''))
  }

  async listFolders(location: string): Promise<readonly string[]> {
    const entries = await readFolder(this.#path(location), location)
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  }

  async listNames(location: string): Promise<readonly string[]> {
    const entries = await readFolder(this.#path(location), location)
    return entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name)
  }

  /** Links are followed as far as the path exists. */
  async place(location: string): Promise<string> {
    const path = textualPlace(location)
    return path.startsWith(LOCAL_PLACE) ? LOCAL_PLACE + (await realPath(path.slice(LOCAL_PLACE.length))) : path
  }

  async delete(location: string): Promise<void> {
    const path = this.#path(location)
    await attempt({ action: 'delete', location }, ignoring(['ENOENT', 'ENOTDIR'], unlink(path)))
  }

  async move(from: string, to: string): Promise<boolean> {
    const [source, target] = [this.#path(from), this.#path(to)]
    return attempt({ action: 'write', location: to }, renameInto(source, target))
  }

  async deleteFolder(location: string): Promise<void> {
    const path = this.#path(location)
    await attempt({ action: 'delete', location }, ignoring(['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'], rmdir(path)))
  }

  localPath(location: string): string {
    return this.#path(location)
  }

  async moveIn(localPath: string, location: string): Promise<void> {
    const path = this.#path(location)
    await attempt({ action: 'read', location: localPath }, syncFile(localPath))
    await attempt({ action: 'write', location }, placeFile(localPath, path))
    await attempt({ action: 'delete', location: localPath }, ignoring(['ENOENT'], unlink(localPath)))
  }

  #path(location: string): string {
    const path = pathOfLocation(location)
    if (this.#roots !== undefined && !this.#roots.some((root) => isWithin(path, root))) {
      throw new IcebergError(
        'INVALID_ARGUMENT',
        `The location "${location}" is outside of the folders that this catalog may use.`,
      )
    }
    return path
  }
}

const LOCAL_PLACE = 'file://'

/** The path without links; the part that does not exist or cannot be read stays unchanged. */
async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await realPath(parent), basename(path))
  }
}

async function ignoring(codes: readonly string[], work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!codes.includes(errnoCode(error) ?? '')) throw error
  }
}

interface Part {
  readonly location: string
  readonly offset: number
  readonly length: number
}

async function readPart(path: string, part: Part): Promise<Uint8Array> {
  assertRange(part)
  const handle = await open(path, 'r')
  try {
    // The size is checked first because a length from a broken footer may be larger than the memory.
    assertRange(part, (await handle.stat()).size)
    const bytes = new Uint8Array(part.length)
    let done = 0
    while (done < part.length) {
      const { bytesRead } = await handle.read(bytes, done, part.length - done, part.offset + done)
      if (bytesRead === 0) assertRange(part, part.offset + done)
      done += bytesRead
    }
    return bytes
  } finally {
    await handle.close()
  }
}

async function statFile(path: string, location: string): Promise<FileStatus | undefined> {
  try {
    const found = await stat(path)
    if (!found.isFile()) return undefined
    const { size: sizeBytes, mtimeMs: modifiedAtMs, ino, ctimeMs } = found
    return { location, sizeBytes, modifiedAtMs, revision: `${ino} ${ctimeMs}` }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoCode(error) ?? '')) return undefined
    throw toIoError(error, { action: 'look up', location })
  }
}

/** Files below `path`, named below `location` as the caller wrote it. Links to folders are not followed: they may loop. */
async function* listBelow(path: string, location: string): AsyncGenerator<FileStatus> {
  for (const entry of await readFolder(path, location)) {
    const childPath = join(path, entry.name)
    const childLocation = `${location}/${entry.name}`
    if (entry.isDirectory()) {
      yield* listBelow(childPath, childLocation)
    } else {
      const status = await statFile(childPath, childLocation)
      if (status !== undefined) yield status
    }
  }
}

async function readFolder(path: string, location: string) {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoCode(error) ?? '')) return []
    throw toIoError(error, { action: 'list', location })
  }
}

type Place = (temporary: string, path: string) => Promise<void>

async function placeBytes(path: string, bytes: Uint8Array, place: Place): Promise<void> {
  const folder = dirname(path)
  await makeFolder(folder)
  const temporary = join(folder, temporaryName(path))
  try {
    await writeDurably(temporary, bytes)
    await place(temporary, path)
  } finally {
    await removeQuietly(temporary)
  }
  await syncFolder(folder)
}

/** A temporary file that stays is only garbage: its removal must not hide whether the final name was given. */
async function removeQuietly(temporary: string): Promise<void> {
  try {
    await rm(temporary, { force: true })
  } catch {
    // Orphan removal finds it later.
  }
}

async function placeFile(source: string, path: string): Promise<void> {
  const folder = dirname(path)
  await makeFolder(folder)
  try {
    await linkOnce(source, path)
  } catch (error) {
    // Another file system, or one that refuses to link files of other owners: copy next to the target first.
    if (!['EXDEV', 'EPERM'].includes(errnoCode(error) ?? '')) throw error
    await copyInto(source, path)
  }
  await syncFolder(folder)
}

async function copyInto(source: string, path: string): Promise<void> {
  const temporary = join(dirname(path), temporaryName(path))
  try {
    await copyFile(source, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    await syncFile(temporary)
    await linkInto(temporary, path)
  } finally {
    await removeQuietly(temporary)
  }
}

/** Links are exclusive; a file system that refuses to link a file of another owner may still rename it. */
async function renameInto(source: string, path: string): Promise<boolean> {
  await makeFolder(dirname(path))
  try {
    await linkOnce(source, path)
    await ignoring(['ENOENT'], unlink(source))
  } catch (error) {
    if (errnoCode(error) === 'EXDEV') return false
    if (!NO_LINKS.includes(errnoCode(error) ?? '')) throw error
    if ((await statFile(path, path)) !== undefined)
      throw new IcebergError('FILE_EXISTS', `The file ${path} already exists.`)
    await renameOnce(source, path)
  }
  return true
}

/** Errors of file systems that cannot link this file. */
const NO_LINKS: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']

async function linkInto(temporary: string, path: string): Promise<void> {
  try {
    await linkOnce(temporary, path)
  } catch (error) {
    if (!NO_LINKS.includes(errnoCode(error) ?? '')) throw error
    const advice = 'its file system has no hard links, which are needed to create a file exactly once'
    throw new IcebergError('IO_FAILED', `Could not write ${path}: ${advice}.`, { cause: error })
  }
}

/** Contains the final name, so that a clean-up after a crash can tell which file it belonged to. */
function temporaryName(path: string): string {
  return `.tmp-${basename(path).slice(0, MAX_NAME_PART)}-${crypto.randomUUID()}`
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, 'wx')
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** A new name is durable only when its folder is flushed; some file systems refuse to flush folders. */
async function syncFolder(path: string): Promise<void> {
  await ignoring(['EINVAL', 'ENOTSUP', 'EISDIR', 'EPERM'], syncFile(path))
}

async function makeFolder(folder: string): Promise<void> {
  const firstMade = await mkdir(folder, { recursive: true })
  if (firstMade === undefined) return
  const parents = []
  for (let made = folder; isWithin(made, firstMade); made = dirname(made)) parents.push(dirname(made))
  for (const parent of parents) await syncFolder(parent)
}

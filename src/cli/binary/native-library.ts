import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isProcessAlive } from '../../lib/is-process-alive.ts'

/** Unpacking a file takes about a second. */
const ABANDONED_AFTER_MS = 10 * 60_000

/** A file of the engine's native library inside the executable. */
export interface NativeFile {
  readonly name: string
  /** Where the runtime finds its bytes. */
  readonly path: string
  /** {@link contentHash} of its content. */
  readonly hash: string
  readonly bytes: number
}

export interface UnpackOptions {
  /** Whether files of the right size are trusted without reading them; they must belong to this user anyway. */
  readonly isQuick: boolean
}

/** A hash of content, as hex. */
export function contentHash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/**
 * Puts the files of a native library into a folder below `root` that is named after their content, and returns it.
 * Complete files are kept; damaged ones, and ones that other users could have written, are replaced. Processes that do
 * this at the same time do not disturb each other.
 */
export function unpackNative(root: string, files: readonly NativeFile[], options: UnpackOptions): string {
  const folder = join(root, contentHash(Buffer.from(files.map(({ hash }) => hash).join(' '))).slice(0, 32))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  requireOwn(folder)
  removeAbandoned(folder)
  for (const file of files) {
    const target = join(folder, file.name)
    if (isComplete(target, file, options)) continue
    const unfinished = `${target}.${process.pid}`
    try {
      writeFileSync(unfinished, readFileSync(file.path), { mode: 0o600, flush: true })
      renameSync(unfinished, target)
    } catch (error) {
      rmSync(unfinished, { force: true })
      throw error
    }
  }
  return folder
}

function isComplete(path: string, { hash, bytes }: NativeFile, { isQuick }: UnpackOptions): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isFile() !== true || !isOwn(found) || found.size !== bytes) return false
  return isQuick || contentHash(readFileSync(path)) === hash
}

/** Removes what processes left behind that ended while they unpacked. */
function removeAbandoned(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, writer] = /\.(\d+)$/.exec(name) ?? []
    if (writer === undefined) continue
    const path = join(folder, name)
    if (!isProcessAlive(Number(writer)) || isOld(path)) rmSync(path, { force: true })
  }
}

/** An ended process that nobody waited for counts as running, and so does another one with its number. */
function isOld(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS
}

/** Nobody else may replace files in the folder. */
function requireOwn(folder: string): void {
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== ownUser()) throw new Error(`${folder} belongs to another user: remove it`)
  if (!isOwn(found)) chmodSync(folder, 0o700)
}

function isOwn({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  return uid === ownUser() && (mode & 0o022) === 0
}

/** Undefined users, as on Windows, count as 0, as `stat` does. */
function ownUser(): number {
  return process.getuid?.() ?? 0
}

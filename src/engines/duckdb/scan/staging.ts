import { copyFile, link, open, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'

import { mapBounded } from '../../../lib/bounded-map.ts'
import { IcebergError, isIcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'

import type { DuckDbRun } from '../session/session.ts'

const COPY_CHUNK = 8 * 1_048_576
const LINKS_AT_ONCE = 32
/** Parallel copies; each has a chunk in memory. */
const COPIES_AT_ONCE = 8

/**
 * Makes table files readable for the engine under generated names (docs/iceberg-notes.md#file-names-in-duckdb): as links if
 * they are on this machine, else as copies. Returns the staged paths in the order of `locations`.
 * `FILE_NOT_FOUND` names the missing file.
 */
export async function stageFiles(
  run: DuckDbRun,
  io: FileIO,
  { locations, prefix }: { readonly locations: readonly string[]; readonly prefix: string },
): Promise<readonly string[]> {
  const jobs = locations.map((location, at) => ({ location, path: join(run.folder, `${prefix}${at}.parquet`) }))
  const isLocal = locations.every((location) => io.localPath(location) !== undefined)
  await mapBounded(jobs, isLocal ? LINKS_AT_ONCE : COPIES_AT_ONCE, async ({ location, path }) => {
    run.check()
    run.nameStaged(path, location)
    const local = io.localPath(location)
    if (local === undefined) await copyOut(io, { location, path, check: () => run.check() })
    else await linkIn(local, path, location)
  })
  return jobs.map(({ path }) => path)
}

async function linkIn(source: string, path: string, location: string): Promise<void> {
  try {
    if (!(await stat(source)).isFile()) throw new IcebergError('CORRUPT_FILE', `${location} is not a file`)
    // symbolic links work across file systems; where they are not allowed, hard links may work
    await symlink(source, path)
      .catch(() => link(source, path))
      .catch(() => copyFile(source, path))
  } catch (cause) {
    throw readFailure(cause, location)
  }
}

function readFailure(cause: unknown, location: string): IcebergError {
  if (isIcebergError(cause)) return cause
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new IcebergError('FILE_NOT_FOUND', `the data file ${location} does not exist`, { cause })
  }
  if (code === 'ENOSPC') return new IcebergError('NO_SPACE', `no space left to stage ${location}`, { cause })
  return new IcebergError('IO_FAILED', `${location} cannot be read (${String(code)})`, { cause })
}

interface CopyOut {
  readonly location: string
  /** A new file. */
  readonly path: string
  /** Throws when the copy is cancelled. */
  readonly check: () => void
}

/** Copies a file of a store to this machine. `FILE_NOT_FOUND` names the missing file. */
export async function copyOut(io: FileIO, { location, path, check }: CopyOut): Promise<void> {
  const status = await io.stat(location)
  if (status === undefined) throw new IcebergError('FILE_NOT_FOUND', `the data file ${location} does not exist`)
  try {
    const file = await open(path, 'wx')
    try {
      for (let offset = 0; offset < status.sizeBytes; offset += COPY_CHUNK) {
        check()
        const length = Math.min(COPY_CHUNK, status.sizeBytes - offset)
        await file.writeFile(await io.readRange(location, offset, length))
      }
    } finally {
      await file.close()
    }
  } catch (cause) {
    throw readFailure(cause, location)
  }
}

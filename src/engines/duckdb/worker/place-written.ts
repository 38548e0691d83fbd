import { lstat, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'

import { IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { AppendFromTask } from '../../engine.ts'
import { cancelled } from '../../fair-slots.ts'

import type { WrittenFile } from './messages.ts'

interface Placing {
  /** Where each list of files goes. */
  readonly places: readonly Pick<AppendFromTask, 'io' | 'output'>[]
  readonly work: string
  readonly signal: AbortSignal
}

/** Moves new files to their final locations; if anything fails, none is left there. */
export async function placeWritten(
  written: readonly (readonly WrittenFile[])[],
  { places, work, signal }: Placing,
): Promise<readonly (readonly DataFile[])[]> {
  const placed: { readonly io: FileIO; readonly location: string }[] = []
  const all: DataFile[][] = []
  try {
    for (const [at, list] of written.entries()) {
      const place = places[at]
      if (place === undefined) throw new IcebergError('ENGINE_FAILED', 'the query returned files of no table')
      const files: DataFile[] = []
      for (const { name, index, file } of list) {
        if (signal.aborted) throw cancelled(signal)
        const path = await ownFile(work, name)
        const location = place.output.newDataLocation(file.partition, index)
        await place.io.moveIn(path, location)
        placed.push({ io: place.io, location })
        files.push({ ...file, filePath: location })
      }
      all.push(files)
    }
    if (signal.aborted) throw cancelled(signal)
    return all
  } catch (error) {
    // one that cannot be deleted is an orphan, which the clean-up of orphans finds; the error matters more
    await Promise.allSettled(placed.map(({ io, location }) => io.delete(location)))
    throw error
  }
}

/** The path of a file directly in the folder, because a worker must not name other files. */
async function ownFile(folder: string, name: string): Promise<string> {
  const path = join(folder, name)
  const real = await realpath(path).catch(() => '')
  const isOwn = real.startsWith((await realpath(folder)) + sep) && (await lstat(path)).isFile()
  if (isOwn) return path
  throw new IcebergError('ENGINE_FAILED', 'the query returned a file that it did not write')
}

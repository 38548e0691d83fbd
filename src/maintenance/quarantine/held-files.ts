import { withoutPaths } from '../../domain/without-paths.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { DeletionFailure, FileIO } from '../../iceberg/io/file-io.ts'

/** A file in quarantine. It is at one of its two locations, or at both after a crash. */
export interface HeldFile {
  readonly location: string
  /** Where it was moved to; undefined where the store cannot move files. */
  readonly heldAt: string | undefined
  readonly sizeBytes: number
  readonly modifiedAtMs: number
}

/** Hidden, so that no engine lists it as part of a table. */
const FOLDER = '.lockhouse-quarantine'

const CONCURRENT_MOVES = 8

/** Whether a location is in a quarantine. */
export function isHeld(location: string): boolean {
  return location.includes(`/${FOLDER}/`)
}

/** Where a file waits: in a hidden folder next to it, which is on the same file system and keeps its name. */
export function heldLocation(location: string, entryId: string): string {
  const slash = location.lastIndexOf('/')
  return `${location.slice(0, slash)}/${FOLDER}/${entryId}${location.slice(slash)}`
}

/** Looks at files that go to quarantine; those that no longer exist are left out. */
export async function describeFiles(
  io: FileIO,
  locations: readonly string[],
  entryId: string,
): Promise<readonly HeldFile[]> {
  const found = await mapBounded(locations, CONCURRENT_MOVES, async (location) => {
    const status = await io.stat(location)
    if (status === undefined) return undefined
    const heldAt = io.localPath(location) === undefined ? undefined : heldLocation(location, entryId)
    return { location, heldAt, sizeBytes: status.sizeBytes, modifiedAtMs: Math.floor(status.modifiedAtMs) }
  })
  return found.filter((file) => file !== undefined)
}

/** Moves files into quarantine. Returns those that stay where they are because of an error; missing ones are ignored. */
export async function moveAway(io: FileIO, files: readonly HeldFile[]): Promise<readonly DeletionFailure[]> {
  return eachFile(files, async ({ location, heldAt }) => {
    if (heldAt === undefined || io.move === undefined) return
    try {
      await io.move(location, heldAt)
    } catch (error) {
      if (isIcebergError(error, 'FILE_NOT_FOUND') && (await io.stat(heldAt)) !== undefined) return
      if (isIcebergError(error, 'FILE_EXISTS') && (await io.stat(location)) === undefined) return
      throw error
    }
  })
}

/** Where the files of a quarantine are now. */
export interface FoundFiles {
  /** In quarantine, and free to go back. */
  readonly held: readonly HeldFile[]
  /** Already, or still, where the table needs them. */
  readonly inPlace: readonly HeldFile[]
  readonly missing: readonly HeldFile[]
  /** In quarantine, while another file has their location. */
  readonly taken: readonly HeldFile[]
}

/**
 * The files that are not at their locations, by size: a backup or a person may have changed the time of a file while the
 * file was in quarantine.
 */
export async function findGone(io: FileIO, files: readonly HeldFile[]): Promise<readonly HeldFile[]> {
  const sizes = await mapBounded(files, CONCURRENT_MOVES, async ({ location }) => (await io.stat(location))?.sizeBytes)
  return files.filter(({ sizeBytes }, at) => sizes[at] !== sizeBytes)
}

/** Finds files of a quarantine. */
export async function findHeld(io: FileIO, files: readonly HeldFile[]): Promise<FoundFiles> {
  const found = { held: new Array<HeldFile>(), inPlace: new Array<HeldFile>() }
  const others = { missing: new Array<HeldFile>(), taken: new Array<HeldFile>() }
  await mapBounded(files, CONCURRENT_MOVES, async (file) => {
    const held = file.heldAt !== undefined && (await io.stat(file.heldAt)) !== undefined
    const isThere = await isUnchanged(io, file)
    if (isThere === true) found.inPlace.push(file)
    else if (isThere === false) others.taken.push(file)
    else if (held) found.held.push(file)
    else others.missing.push(file)
  })
  return { ...found, ...others }
}

/** Moves files back to where they were. Returns those that could not be. */
export async function putBack(io: FileIO, files: readonly HeldFile[]): Promise<readonly DeletionFailure[]> {
  return eachFile(files, async ({ location, heldAt }) => {
    if (heldAt !== undefined) await io.move?.(heldAt, location)
  })
}

/** Deletes the hidden folders that files were in, as far as they are empty. */
export async function deleteEmptyFolders(io: FileIO, files: readonly HeldFile[]): Promise<void> {
  if (io.deleteFolder === undefined) return
  const entries = new Set(files.flatMap(({ heldAt }) => (heldAt === undefined ? [] : [parentOf(heldAt)])))
  for (const folder of entries) {
    await io.deleteFolder(folder)
    await io.deleteFolder(parentOf(folder))
  }
}

function parentOf(location: string): string {
  return location.slice(0, location.lastIndexOf('/'))
}

/** Locations that a purge deletes: in quarantine, and at the old location if that is still the same file. */
export async function locationsOf(io: FileIO, files: readonly HeldFile[]): Promise<ReadonlyMap<string, HeldFile>> {
  const locations = new Map<string, HeldFile>()
  await mapBounded(files, CONCURRENT_MOVES, async (file) => {
    if (file.heldAt !== undefined) locations.set(file.heldAt, file)
    if ((await isUnchanged(io, file)) === true) locations.set(file.location, file)
  })
  return locations
}

/** Whether the file at the old location is the same; undefined when there is none. */
async function isUnchanged(io: FileIO, file: HeldFile): Promise<boolean | undefined> {
  const status = await io.stat(file.location)
  if (status === undefined) return undefined
  return status.sizeBytes === file.sizeBytes && Math.floor(status.modifiedAtMs) === file.modifiedAtMs
}

async function eachFile(
  files: readonly HeldFile[],
  work: (file: HeldFile) => Promise<void>,
): Promise<readonly DeletionFailure[]> {
  const failures: DeletionFailure[] = []
  await mapBounded(files, CONCURRENT_MOVES, async (file) => {
    try {
      await work(file)
    } catch (error) {
      const reason = withoutPaths(error instanceof Error ? error.message : String(error))
      failures.push({ location: file.location, reason })
    }
  })
  return failures
}

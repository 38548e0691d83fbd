import { IcebergError, isIcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import { mayTakeEffect } from '../../../iceberg/io/io-error.ts'

/** How the name of each probe begins; a random UUID follows. */
export const PROBE_PREFIX = 'lockhouse-probe-'

/** The location of a new probe directly in a folder. */
export function newProbeLocation(folder: string): string {
  return `${folder.replace(/\/+$/, '')}/${PROBE_PREFIX}${crypto.randomUUID()}.txt`
}

/**
 * Creates a file that must not exist, reads it and deletes it. Only the file that this call created is deleted: one of the
 * same name with other bytes stays. Throws the error of the first step that failed, after the file was deleted again; the
 * message has the location if the file remains or may remain.
 */
export async function probeFile(io: FileIO, location: string): Promise<void> {
  const bytes = new TextEncoder().encode(
    `Lockhouse created this file to test the connection of a catalog, and deletes it. ${crypto.randomUUID()}\n`,
  )
  try {
    await io.create(location, bytes)
  } catch (error) {
    // an existing file is another one: stores compare it with what was sent
    if (isIcebergError(error, 'FILE_EXISTS')) throw error
    throw withRemains(error, await removeIfCreated(io, { location, bytes, isLikely: mayTakeEffect(error) }))
  }
  let failure: unknown
  try {
    if (!isSame(await io.read(location), bytes)) failure = new IcebergError('CORRUPT_FILE', differs(location))
  } catch (error) {
    failure = error
  }
  const remains = await remove(io, location)
  if (failure !== undefined) throw withRemains(failure, remains)
  if (remains !== undefined) throw new IcebergError('IO_FAILED', `The probe was created and read. ${remains}`)
}

function differs(location: string): string {
  return `The bytes of ${location} differ from those that were written.`
}

interface FailedCreation {
  readonly location: string
  readonly bytes: Uint8Array
  /** Whether the file may exist, or may be created later by a request that is under way. */
  readonly isLikely: boolean
}

/** Deletes the file of a creation that failed, if it is there with these bytes. Returns what may remain, see {@link remove}. */
async function removeIfCreated(io: FileIO, { location, bytes, isLikely }: FailedCreation): Promise<string | undefined> {
  const advice = `The file ${location} may remain or appear later: delete it.`
  try {
    if (!isSame(await io.read(location), bytes)) return advice
  } catch (error) {
    if (!isLikely) return undefined
    if (isIcebergError(error, 'FILE_NOT_FOUND')) return advice
    // the name is random, so an unreadable file of this name is the probe
  }
  return remove(io, location)
}

/** Deletes the probe. Returns a sentence about the file if it remains; undefined: nothing remains. */
async function remove(io: FileIO, location: string): Promise<string | undefined> {
  try {
    await io.delete(location)
    return (await io.stat(location)) === undefined ? undefined : `The file ${location} remains: delete it.`
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return `The file ${location} may remain, so delete it: ${reason}`
  }
}

function withRemains(error: unknown, remains: string | undefined): unknown {
  if (remains === undefined || !isIcebergError(error)) return error
  return new IcebergError(error.code, `${error.message} ${remains}`, { cause: error })
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}

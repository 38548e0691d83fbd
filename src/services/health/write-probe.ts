import { IcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'

/** Why a folder takes no files; undefined when it does. */
export type WriteProblem = 'NO_SPACE' | 'NOT_WRITABLE'

export interface WriteProbeOptions {
  readonly io: Pick<FileIO, 'write' | 'delete'>
  readonly nowMs: () => number
}

/** Finds out whether a folder takes files; see {@link createWriteProbe}. */
export type WriteProbe = (folder: string) => Promise<WriteProblem | undefined>

const FILE_NAME = '.lockhouse-write-probe'
/** More than what may be left of a block that is not full. */
const PROBE = new Uint8Array(64 * 1024).fill(0x2e)
const FRESH_MS = 10_000

/**
 * Writes a file of 64 KiB into a folder of this machine and deletes it; the name is its own, so it replaces nothing of
 * others. An outcome serves for 10 s, and callers at the same time share one write.
 */
export function createWriteProbe({ io, nowMs }: WriteProbeOptions): WriteProbe {
  const known = new Map<string, { readonly at: number; readonly outcome: Promise<WriteProblem | undefined> }>()
  return (folder) => {
    const last = known.get(folder)
    if (last !== undefined && nowMs() - last.at < FRESH_MS) return last.outcome
    const outcome = probe(io, `${folder.replace(/\/+$/, '')}/${FILE_NAME}`)
    known.clear() // one folder is asked for, and another one only after a new configuration
    known.set(folder, { at: nowMs(), outcome })
    return outcome
  }
}

async function probe(io: WriteProbeOptions['io'], location: string): Promise<WriteProblem | undefined> {
  try {
    await io.write(location, PROBE)
    await io.delete(location)
    return undefined
  } catch (error) {
    return error instanceof IcebergError && error.code === 'NO_SPACE' ? 'NO_SPACE' : 'NOT_WRITABLE'
  }
}

/** Whether a location is a folder of this machine. */
export function isLocalFolder(location: string): boolean {
  return /^(file:|\/)/.test(location)
}

import { IcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'

/** Why a folder cannot be written. */
export type WriteProblem = 'NO_SPACE' | 'NOT_WRITABLE'

export interface WriteProbeOptions {
  readonly io: Pick<FileIO, 'write' | 'delete'>
  readonly nowMs: () => number
}

/** Checks whether a folder can be written; see {@link createWriteProbe}. Undefined when it can. */
export type WriteProbe = (folder: string) => Promise<WriteProblem | undefined>

const FILE_NAME = '.lockhouse-write-probe'
/** Larger than the free space in a partly used block. */
const PROBE = new Uint8Array(64 * 1024).fill(0x2e)
const FRESH_MS = 10_000

/**
 * Writes a file of 64 KiB into a local folder and deletes it; the name is reserved, so it replaces no other file.
 * A result is cached for 10 s, and concurrent callers share one write.
 */
export function createWriteProbe({ io, nowMs }: WriteProbeOptions): WriteProbe {
  const known = new Map<string, { readonly at: number; readonly outcome: Promise<WriteProblem | undefined> }>()
  return (folder) => {
    const last = known.get(folder)
    if (last !== undefined && nowMs() - last.at < FRESH_MS) return last.outcome
    const outcome = probe(io, `${folder.replace(/\/+$/, '')}/${FILE_NAME}`)
    known.clear() // only one folder is checked, and another one only after a new configuration
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

/** Whether a location is a local folder. */
export function isLocalFolder(location: string): boolean {
  return /^(file:|\/)/.test(location)
}

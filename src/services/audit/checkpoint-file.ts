import { open, readFile, rename } from 'node:fs/promises'
import type { AuditCheckpoint, CheckpointFile } from './audit-log.ts'

/** The last checkpoint of the audit log, stored in a file that is replaced atomically. */
export function checkpointFile(path: string): CheckpointFile {
  let writing: Promise<void> = Promise.resolve()
  return {
    async read() {
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      })
      return text === undefined ? undefined : parse(text)
    },
    write(checkpoint) {
      // One write at a time: all writes use the same temporary file name.
      const turn = writing.then(() => replace(path, checkpoint))
      writing = turn.catch(() => undefined)
      return turn
    },
  }
}

async function replace(path: string, checkpoint: AuditCheckpoint): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(checkpoint))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

/** Text that is not a checkpoint becomes one whose signature is invalid, so that verification reports it. */
function parse(text: string): AuditCheckpoint {
  const unsigned = { seq: 0, hash: '', at: '', mac: '' }
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...unsigned, ...value } : unsigned
  } catch {
    return unsigned
  }
}

import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** What the tests of all workers keep at the same time, with room to spare. */
const NEEDED_BYTES = 4 * 1024 ** 3

/**
 * A folder in memory for the temporary files of tests, which wait for the disk otherwise: each commit is synced. Returns
 * its environment, and what removes it. Not used when TMPDIR is set, and where there is no memory for files.
 */
export function makeMemoryFolder() {
  if (process.env.TMPDIR || freeBytes() < NEEDED_BYTES) return { env: {}, remove() {} }
  const folder = mkdtempSync(join(MEMORY, 'lockhouse-test-'))
  return { env: { TMPDIR: folder }, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

function freeBytes() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize
  } catch {
    return 0
  }
}

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whether this process may mount a small file system; logs `what` is skipped when it may not. */
export function canMount(what: string): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', probe], { stdio: 'pipe' })
    execFileSync('umount', [probe])
    return true
  } catch (error) {
    process.stderr.write(`\nSKIPPED: ${what}: mounting is not allowed here (${String(error)})\n`)
    return false
  } finally {
    rmSync(probe, { recursive: true, force: true })
  }
}

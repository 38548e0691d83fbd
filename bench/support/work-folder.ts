import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs `work` in a folder of its own (below BENCH_DIR or the system's folder), which is removed afterwards. */
export async function withWorkFolder(name: string, work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(process.env['BENCH_DIR'] ?? tmpdir(), `bench-${name}-`))
  try {
    await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

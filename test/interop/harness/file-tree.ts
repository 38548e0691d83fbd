import { createHash } from 'node:crypto'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** SHA-256 of every file below a folder, by path relative to it; equal trees give equal maps. */
export async function hashTree(root: string): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {}
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) continue
    const info = await lstat(path)
    const bytes = info.isFile() ? await readFile(path) : Buffer.from(`special ${info.mode}`)
    hashes[path.slice(root.length + 1)] = createHash('sha256').update(bytes).digest('hex')
  }
  return hashes
}

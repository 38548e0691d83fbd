import type { FileIO } from './file-io.ts'

/** Names of the files directly below a location; lists all files if the FileIO has no faster way. */
export async function fileNames(io: FileIO, location: string): Promise<readonly string[]> {
  const folder = location.replace(/\/+$/, '')
  if (io.listNames !== undefined) return io.listNames(folder)
  const names: string[] = []
  for await (const file of io.list(folder)) {
    const name = file.location.slice(folder.length + 1)
    if (!name.includes('/')) names.push(name)
  }
  return names
}

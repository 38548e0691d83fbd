import type { FileIO } from './file-io.ts'

/** Names of the folders directly below a location, sorted; lists all files if the FileIO has no faster way. */
export async function folderNames(io: FileIO, location: string): Promise<readonly string[]> {
  const folder = location.replace(/\/+$/, '')
  if (io.listFolders !== undefined) return [...(await io.listFolders(folder))].sort()
  const names = new Set<string>()
  for await (const file of io.list(folder)) {
    const below = file.location.slice(folder.length + 1)
    const end = below.indexOf('/')
    if (end > 0) names.add(below.slice(0, end))
  }
  return [...names].sort()
}

import type { FileIO } from '../iceberg/io/file-io.ts'

/** Whether a folder is that of a table, in the catalog or not: it has table metadata below `metadata`. */
export async function isTableFolder(io: FileIO, folder: string): Promise<boolean> {
  for await (const { location } of io.list(`${folder}/metadata`)) if (location.endsWith('.metadata.json')) return true
  return false
}

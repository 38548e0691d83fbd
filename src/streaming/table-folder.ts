import type { FileIO } from '../iceberg/io/file-io.ts'

/** Whether a folder belongs to a table, in the catalog or not: it has table metadata in `metadata`. */
export async function isTableFolder(io: FileIO, folder: string): Promise<boolean> {
  for await (const { location } of io.list(`${folder}/metadata`)) if (location.endsWith('.metadata.json')) return true
  return false
}

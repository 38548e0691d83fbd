import type { FileStatus } from '../iceberg/io/file-io.ts'

/** Whether a location still has the file that it had before; one that was replaced has another size or time. */
export function isSameFile(now: FileStatus | undefined, before: FileStatus | undefined): boolean {
  if (now === undefined || before === undefined) return false
  return now.sizeBytes === before.sizeBytes && now.modifiedAtMs === before.modifiedAtMs
}

import type { FileStatus } from '../iceberg/io/file-io.ts'

/** A text that changes when the file at a location is replaced. */
export function fileState({ sizeBytes, modifiedAtMs, revision = '' }: FileStatus): string {
  return `${sizeBytes} ${modifiedAtMs} ${revision}`
}

/** Whether a location still has the file that it had before. */
export function isSameFile(now: FileStatus | undefined, before: FileStatus | undefined): boolean {
  if (now === undefined || before === undefined) return false
  return fileState(now) === fileState(before)
}

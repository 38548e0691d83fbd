import { IcebergError } from '../../iceberg/errors.ts'
import { asObject, requireBoolean, requireCount, requireInt, requireLong } from '../../iceberg/json/json-fields.ts'
import { jsonInteger } from '../../iceberg/json/json-fields.ts'
import { parseJson, stringifyJson } from '../../iceberg/json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../../iceberg/json/lossless-json.ts'

/**
 * How far a source has been read: everything before the snapshot, and its first `position` files. With `scanAllFiles`
 * these are all live files of the snapshot, else the files that it added; both in the order of its manifests.
 * The same as Iceberg's `StreamingOffset` for Spark.
 */
export interface StreamingOffset {
  readonly snapshotId: bigint
  readonly position: number
  readonly scanAllFiles: boolean
}

/** What Spark writes when a source had no snapshot yet. */
export const START_OFFSET: StreamingOffset = { snapshotId: -1n, position: -1, scanAllFiles: false }

/** Whether two offsets are equal. */
export function sameOffset(a: StreamingOffset, b: StreamingOffset): boolean {
  return a.snapshotId === b.snapshotId && a.position === b.position && a.scanAllFiles === b.scanAllFiles
}

/** Whether an offset is {@link START_OFFSET}. */
export function isStart(offset: StreamingOffset): boolean {
  return sameOffset(offset, START_OFFSET)
}

/** The offset as Iceberg's source for Spark writes it into checkpoints. */
export function formatOffset(offset: StreamingOffset): string {
  return stringifyJson(offsetToJson(offset))
}

/** The JSON form of an offset; the snapshot id is an integer, as in Iceberg. */
export function offsetToJson({ snapshotId, position, scanAllFiles }: StreamingOffset): JsonObject {
  return { version: 1, snapshot_id: jsonInteger(snapshotId), position, scan_all_files: scanAllFiles }
}

/** Reads an offset from a checkpoint; `CORRUPT_FILE` for anything else, `UNSUPPORTED` for another version of it. */
export function parseOffset(text: string, where: string): StreamingOffset {
  return offsetFromJson(parseJson(text), where)
}

/** Reads the JSON form of an offset; errors as {@link parseOffset}. */
export function offsetFromJson(json: JsonValue, where: string): StreamingOffset {
  try {
    const object = asObject(json, where)
    const version = requireInt(object, 'version', where)
    if (version !== 1)
      throw new IcebergError('UNSUPPORTED', `${where}: unknown offset version ${version}; only version 1 is supported`)
    return {
      snapshotId: requireLong(object, 'snapshot_id', where),
      position: requireCount(object, 'position', where),
      scanAllFiles: requireBoolean(object, 'scan_all_files', where),
    }
  } catch (cause) {
    if (cause instanceof IcebergError && cause.code === 'UNSUPPORTED') throw cause
    throw new IcebergError('CORRUPT_FILE', `${where} is not a streaming offset`, { cause })
  }
}

/** An offset as the HTTP interface shows it: 64-bit ids are strings. */
export function describeOffset({ snapshotId, position, scanAllFiles }: StreamingOffset): OffsetView {
  return { snapshot_id: snapshotId.toString(), position, scan_all_files: scanAllFiles }
}

/** See {@link describeOffset}. */
export interface OffsetView {
  readonly snapshot_id: string
  readonly position: number
  readonly scan_all_files: boolean
}

import { fileState } from '../../catalog/file-state.ts'
import type { FileStatus } from '../../iceberg/io/file-io.ts'
import { isNamedOnce } from '../../iceberg/metadata/locations.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import { tableAnswer } from './messages.ts'

/** An answer with a table: JSON text, and the entity tag of the table's state. */
export interface TableAnswer {
  readonly json: string
  /** Undefined for a table that is only staged. */
  readonly entityTag: string | undefined
}

/** The answer with a table as it was loaded. */
export function answerOf(table: Table, onlyRefs = false): TableAnswer {
  return {
    json: tableAnswer(table, onlyRefs),
    entityTag: entityTagOf(table.metadataLocation, { onlyRefs }),
  }
}

interface TaggedFile {
  readonly onlyRefs: boolean
  readonly file?: FileStatus | undefined
}

/**
 * The location of the metadata file is the state, if it is used once; otherwise together with the state of the file, or
 * without a tag. Hashed, because tags are plain ASCII.
 */
export function entityTagOf(metadataLocation: string, { onlyRefs, file }: TaggedFile): string | undefined {
  const isReused = !isNamedOnce(metadataLocation)
  if (isReused && file === undefined) return undefined
  const state = isReused && file !== undefined ? ` ${fileState(file)}` : ''
  return `"${sha256Hex(metadataLocation + state).slice(0, 32)}${onlyRefs ? '-refs' : ''}"`
}

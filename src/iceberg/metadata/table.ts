import type { FileIO } from '../io/file-io.ts'
import type { TableMetadata } from './metadata.ts'

/** Namespace levels and name of a table, and its catalog. */
export interface TableIdentifier {
  /** The name of its catalog; absent for the default catalog. */
  readonly catalog?: string
  readonly namespace: readonly string[]
  readonly name: string
}

/** A table as loaded at one moment; a commit requires the pointer to still be `metadataLocation`. */
export interface Table {
  readonly identifier: TableIdentifier
  readonly metadataLocation: string
  readonly metadata: TableMetadata
  readonly io: FileIO
}

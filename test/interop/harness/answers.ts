/** The parts of the service's answers that the interop tests read. */
export interface Health {
  readonly snapshot_count: number
  readonly data_file_count: number
  readonly total_size_bytes: number
  readonly record_count: number
  readonly manifest_count: number
  readonly partition_count: number
  readonly delete_file_count: number
  readonly delete_files: { readonly position: number; readonly equality: number; readonly deletion_vectors: number }
}

export interface Column {
  readonly id: number
  readonly name: string
  readonly path: string
  readonly type: string
  readonly nullable: boolean
  readonly comment: string | null
}

export interface FileRow {
  readonly content: 'data' | 'position-deletes' | 'equality-deletes'
  readonly file_path: string
  readonly file_format: string
  readonly spec_id: number
  readonly record_count: number
  readonly file_size_in_bytes: number
  readonly sequence_number: number
}

export interface SchemaAnswer {
  readonly columns: readonly Column[]
}

export interface FilesAnswer {
  readonly files: readonly FileRow[]
}

export interface SnapshotsAnswer {
  readonly snapshots: readonly { readonly snapshot_id: string; readonly operation: string | null }[]
}

/** Snapshots as sorted lines of text, to compare two lists. */
export function snapshotLines(list: SnapshotsAnswer['snapshots']): string[] {
  return list.map((snapshot) => `${snapshot.snapshot_id} ${snapshot.operation}`).sort()
}

export interface RefsAnswer {
  readonly refs: readonly { readonly name: string; readonly type: string; readonly snapshot_id: string }[]
}

export interface OperationsAnswer {
  readonly operations: readonly {
    readonly id: string
    readonly operation: string
    readonly table: string
    readonly state: string
    readonly error: { readonly code: string; readonly message: string } | null
  }[]
}

import type { FileIO } from '../../../iceberg/io/file-io.ts'
import type { TableMetadata } from '../../../iceberg/metadata/metadata.ts'

import type { DuckDbRun } from '../session/session.ts'

/** What reading the files of one table needs: the run of the engine, the storage and the table's metadata. */
export interface StageContext {
  readonly run: DuckDbRun
  readonly io: FileIO
  readonly metadata: TableMetadata
}

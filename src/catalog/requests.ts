import type { PartitionSpec } from '../iceberg/partitioning/partitioning.ts'
import type { SortOrder } from '../iceberg/partitioning/sort-order.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import type { Schema } from '../iceberg/schema/schema.ts'
import type { StagedCommit } from '../iceberg/update/staged-commit.ts'
import type { TableRequirement, TableUpdate } from '../iceberg/update/table-update.ts'

export interface CreateTableOptions {
  readonly schema: Schema
  readonly partitionSpec?: PartitionSpec
  readonly sortOrder?: SortOrder
  /** Default: `<warehouse>/<namespace levels>/<name>`. */
  readonly location?: string
  readonly properties?: Readonly<Record<string, string>>
  /** Default 2. */
  readonly formatVersion?: 1 | 2 | 3
}

export interface CommitRequest {
  readonly requirements: readonly TableRequirement[]
  readonly updates: readonly TableUpdate[]
  /**
   * Called before the commit is sent, so that after a crash the table shows whether it happened, and its files can be
   * cleaned up. Where the file is the pointer (hadoop), another commit may get its name: look for the snapshot.
   */
  readonly onStaged?: (staged: StagedCommit) => Promise<void>
  /**
   * Called right before the commit takes effect, after every file of the commit is written; throws to refuse the commit.
   * A slow store may take longer for the files than a lock is valid.
   */
  readonly confirm?: () => Promise<void>
  /**
   * Commits a new metadata file although the updates change nothing. A commit that began on an earlier metadata file
   * then fails for ever. `UNSUPPORTED` where a server applies commits: the server would apply the earlier commit too.
   */
  readonly isFence?: boolean
  /**
   * Called before anything is written, with the table that the commit is based on (undefined: it is created) and the
   * result; throws to refuse the commit. Behind a REST server, another commit may come in between.
   */
  readonly check?: (base: Table | undefined, next: Table) => Promise<void>
}

/** A commit to one of several tables. */
export interface TableCommit {
  readonly identifier: TableIdentifier
  readonly request: CommitRequest
}

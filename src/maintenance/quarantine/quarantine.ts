import type { DeletionFailure } from '../../iceberg/io/file-io.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { deleteFiles, totalSizeBytes } from '../file-deletion.ts'
import type { ExpiredHistory } from './removed-history.ts'

/** Which operation took the files away. */
export type QuarantineReason = 'expire' | 'remove_orphans'

export interface HoldRequest {
  readonly table: Table
  readonly reason: QuarantineReason
  /** Files that the table no longer needs and that the deletion guard released. */
  readonly files: readonly string[]
  /** What an expiry removed from the metadata. */
  readonly history?: ExpiredHistory | undefined
  /** Called right before the first file is moved or deleted; throws when another process may work on the table. */
  readonly confirm?: (() => Promise<void>) | undefined
}

/** An entry of the quarantine, as an operation shows it. */
export interface HeldEntry {
  readonly id: string
  /** RFC 3339; the files are deleted after it. */
  readonly until: string
  readonly files_count: number
  readonly bytes: number
}

export interface HoldReport {
  /** Files that are no longer the table's: quarantined or deleted. */
  readonly removed: readonly string[]
  readonly failures: readonly DeletionFailure[]
  /** Bytes of the removed files; undefined when there are too many to look at. */
  readonly bytes: number | undefined
  /** Undefined when the files were deleted. */
  readonly entry: HeldEntry | undefined
}

/** Where an operation puts files that a table no longer needs, instead of deleting them. */
export interface Quarantine {
  /** Records files, and moves them where the store can. Calling it again for the same operation continues. */
  hold(request: HoldRequest): Promise<HoldReport>
  /** Files of a table that wait for their deletion where they are. */
  waitingIn(table: Table): Promise<ReadonlySet<string>>
}

const MAX_SIZED_FILES = 20_000

/** Deletes files at once: for tables without a quarantine. */
export async function deleteNow({ table: { io }, files, confirm }: HoldRequest): Promise<HoldReport> {
  const bytes = await totalSizeBytes(io, files, MAX_SIZED_FILES)
  await confirm?.()
  const { deleted, failures } = await deleteFiles(io, files)
  return { removed: deleted, failures, bytes, entry: undefined }
}

import { formatIdentifier } from '../catalog/table-identifier.ts'
import { DomainError } from '../domain/errors.ts'
import type { Table } from '../iceberg/metadata/table.ts'
import type { StagedCommit } from '../iceberg/update/staged-commit.ts'

/** What the ledger must remember before an operation changes anything, so that a crash can be cleaned up. */
export interface OperationCleanup {
  /** Files that the commit makes unreachable; they are deleted after it. */
  readonly files?: readonly string[]
  /** Prefix of all files that the operation writes; they are left over if it dies before its commit. */
  readonly prefixes?: readonly string[]
}

/** Moments at which the caller of an operation records what is about to happen; each is awaited. */
export interface OperationHooks {
  /** Before the first file is written, or before the commit that makes files unreachable. */
  readonly onCleanup?: (cleanup: OperationCleanup) => Promise<void>
  /** Before a commit is sent; called again for every attempt. */
  readonly onStaged?: (staged: StagedCommit) => Promise<void>
  /**
   * Right before a commit takes effect, and right before files are deleted or moved; throws when another process may work
   * on the table by now. A write or a listing may take longer than a lock is valid.
   */
  readonly confirm?: () => Promise<void>
  /** After each commit, with the new table; not awaited. */
  readonly onCommitted?: (table: Table) => void
}

/** The table has changed since the plan was made. */
export class PlanStaleError extends DomainError {
  constructor(table: Table) {
    const name = formatIdentifier(table.identifier)
    super('PLAN_STALE', `table ${name} has changed since the plan was made; make a new plan`)
  }
}

/** Throws {@link PlanStaleError} when `expected` is given and is not the table's current metadata file. */
export function requireUnchanged(table: Table, expected: string | undefined): void {
  if (expected !== undefined && table.metadataLocation !== expected) throw new PlanStaleError(table)
}

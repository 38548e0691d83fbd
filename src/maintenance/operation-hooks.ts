import { formatIdentifier } from '../catalog/table-identifier.ts'
import { DomainError } from '../domain/errors.ts'
import type { Table } from '../iceberg/table.ts'

/** What the ledger must remember before an operation changes anything, so that a crash can be cleaned up. */
export interface OperationCleanup {
  /** Files that the commit makes unreachable; they are deleted after it. */
  readonly files?: readonly string[]
  /** How the names of all files that the operation writes begin; left over when it dies before its commit. */
  readonly prefixes?: readonly string[]
}

/** Moments at which the caller of an operation records what is about to happen; each is awaited. */
export interface OperationHooks {
  /** Before the first file is written, or before the commit that makes files unreachable. */
  readonly onCleanup?: (cleanup: OperationCleanup) => Promise<void>
  /** Before the new metadata file is written; called again for every attempt. */
  readonly onStaged?: (metadataLocation: string) => Promise<void>
}

/** The table is not the one that a plan was made from. */
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

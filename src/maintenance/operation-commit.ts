import type { Catalog } from '../catalog/catalog.ts'
import { type ChangeOutcome, type CommittedChange, type Stage, tryCommitTable } from '../catalog/commit-table.ts'
import { type IcebergError, isIcebergError } from '../iceberg/errors.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import type { StagedChange } from '../iceberg/update/table-update.ts'
import { type OperationHooks, requireUnchanged } from './operation-hooks.ts'

/** The table that an operation changes. */
export interface OperationTarget {
  readonly catalog: Catalog
  readonly identifier: TableIdentifier
  /** The table as the caller has just loaded it, to save a load. */
  readonly loaded?: Table
  /** From the dry run whose plan is applied; `PLAN_STALE` when the table has moved since. */
  readonly expectedMetadataLocation?: string
}

/** A target, with the hooks and the signal of its commits. */
export interface OperationRun extends OperationTarget {
  readonly hooks?: OperationHooks
  /** Aborting stops before the next commit. */
  readonly signal?: AbortSignal
}

/** The table of an operation: as the caller loaded it, else loaded now. `PLAN_STALE` when it is not the expected one. */
export async function loadTarget(target: OperationTarget): Promise<Table> {
  const { catalog, identifier, loaded, expectedMetadataLocation } = target
  const table = loaded ?? (await catalog.loadTable(identifier))
  requireUnchanged(table, expectedMetadataLocation)
  return table
}

/** Commits a change of an operation as {@link tryCommitChange}; throws the error of one that was not committed. */
export async function commitChange<S extends StagedChange>(
  run: OperationRun,
  stage: Stage<S>,
): Promise<CommittedChange<S>> {
  const outcome = await tryCommitChange(run, stage)
  if (outcome.kind === 'committed') return outcome
  throw outcome.error
}

/**
 * A pipeline may commit to the same table ten times a second, and a rewrite that gives up after Iceberg's five attempts has read and written
 * everything for nothing.
 */
const RETRIES = { count: 60, minWaitMs: 50, maxWaitMs: 1000 }

/** Commits a change of an operation: the hooks are called before every attempt, and after it with the new table. */
export async function tryCommitChange<S extends StagedChange>(
  { catalog, identifier, loaded, hooks, signal }: OperationRun,
  stage: Stage<S>,
): Promise<ChangeOutcome<S>> {
  const outcome = await tryCommitTable(catalog, identifier, stage, {
    defaultRetries: RETRIES,
    ...(signal && { signal }),
    ...(loaded && { loaded }),
    ...(hooks?.onStaged && { onStaged: hooks.onStaged }),
    ...(hooks?.confirm && { confirm: hooks.confirm }),
  })
  if (outcome.kind === 'committed') hooks?.onCommitted?.(outcome.table)
  return outcome
}

/** What a commit became whose stage may find that its files are out of date. */
export type ChecksOutcome<S> =
  | { readonly kind: 'committed'; readonly staged: S }
  /** Nothing was committed: with the conflict, the operation can plan again. */
  | { readonly kind: 'refused'; readonly error: unknown; readonly conflict: IcebergError | undefined }
  /** Every file must be kept. */
  | { readonly kind: 'unknown'; readonly error: unknown }

/** Wraps a refusal by the stage: staging the same files again cannot help, so the commit must not retry it. */
class StageRefusedError extends Error {
  readonly conflict: IcebergError

  constructor(conflict: IcebergError) {
    super(conflict.message, { cause: conflict })
    this.conflict = conflict
  }
}

/** Commits as {@link tryCommitChange}, but does not stage again what the stage itself refused with `COMMIT_CONFLICT`. */
export async function commitChecked<S extends StagedChange>(
  run: OperationRun,
  stage: (fresh: Table) => Promise<S>,
): Promise<ChecksOutcome<S>> {
  const outcome = await tryCommitChange(run, async (fresh) => {
    try {
      return await stage(fresh)
    } catch (error) {
      throw isIcebergError(error, 'COMMIT_CONFLICT') ? new StageRefusedError(error) : error
    }
  })
  if (outcome.kind === 'committed') return { kind: 'committed', staged: outcome.staged }
  const { kind, error } = outcome
  if (kind === 'unknown') return { kind, error }
  return { kind, error, conflict: error instanceof StageRefusedError ? error.conflict : undefined }
}

import { backOffMs } from '../lib/back-off.ts'
import { isIcebergError } from '../iceberg/errors.ts'
import { requirePlain } from '../iceberg/metadata/encryption.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import { sleep } from '../lib/sleep.ts'
import { throwIfCancelled } from '../iceberg/throw-if-cancelled.ts'
import type { StagedCommit } from '../iceberg/update/staged-commit.ts'
import type { StagedChange } from '../iceberg/update/table-update.ts'
import type { Catalog } from './catalog.ts'
import { type CommitOutcome, refused, type Unknown, unknown } from './commit-outcome.ts'
import { deleteQuietly } from './metadata-file.ts'
import { formatIdentifier } from './table-identifier.ts'

/** Default: the table's `commit.retry.*` properties, and without them `defaultRetries` or Iceberg's defaults. */
export interface CommitRetries {
  /** Attempts after the first. */
  readonly count?: number
  readonly minWaitMs?: number
  readonly maxWaitMs?: number
  readonly totalTimeoutMs?: number
}

export interface CommitTableOptions {
  /** Aborting stops before the next attempt or right before a swap, never within a swap; rejects with `CANCELLED`. */
  readonly signal?: AbortSignal
  /** See `CommitRequest.onStaged`. */
  readonly onStaged?: (staged: StagedCommit) => Promise<void>
  /** See `CommitRequest.confirm`. */
  readonly confirm?: () => Promise<void>
  readonly retries?: CommitRetries
  /** In place of Iceberg's defaults, where the table's properties say nothing. */
  readonly defaultRetries?: CommitRetries
  /** The table as loaded by the caller; saves a load when the catalog can check that it is still current. */
  readonly loaded?: Table
}

/** A committed change: the table after it, and what was staged in the attempt that was committed. */
export interface CommittedChange<S extends StagedChange> {
  readonly table: Table
  readonly staged: S
  readonly attempts: number
}

/**
 * The outcome of a change. Files that the caller wrote for it may be deleted only after `refused`.
 * `refused` has the error of `stage`, or why the catalog did not commit; `unknown` has `COMMIT_STATE_UNKNOWN`.
 */
export type ChangeOutcome<S extends StagedChange> =
  | ({ readonly kind: 'committed' } & CommittedChange<S>)
  | RefusedChange
  | Unknown

/** A change that was not committed, with the error of whoever refused the change. */
interface RefusedChange {
  readonly kind: 'refused'
  readonly error: unknown
}

/** Stages a change on the table it is given. Called once per attempt, and validates each time; throws to abort. */
export type Stage<S extends StagedChange> = (table: Table) => Promise<S>

/**
 * Commits a change as {@link tryCommitTable} does, and throws the error of one that was not committed. For changes
 * that only need the files written by `stage` to be deleted.
 */
export async function commitTable<S extends StagedChange>(
  catalog: Catalog,
  identifier: TableIdentifier,
  stage: Stage<S>,
  options: CommitTableOptions = {},
): Promise<CommittedChange<S>> {
  const outcome = await tryCommitTable(catalog, identifier, stage, options)
  if (outcome.kind !== 'committed') throw outcome.error
  const { table, staged, attempts } = outcome
  return { table, staged, attempts }
}

/**
 * Stages a change on the current table and commits it; when another commit came first, does both again. Files that `stage`
 * wrote for an attempt (`writtenFiles`) are deleted when the attempt was refused, and never when its outcome is unknown.
 * Encrypted tables are refused with `UNSUPPORTED`.
 */
export async function tryCommitTable<S extends StagedChange>(
  catalog: Catalog,
  identifier: TableIdentifier,
  stage: Stage<S>,
  options: CommitTableOptions = {},
): Promise<ChangeOutcome<S>> {
  const started = Date.now()
  for (let attempts = 1; ; attempts++) {
    const prepared = await prepare(catalog, identifier, { stage, options, isFirst: attempts === 1 })
    if ('error' in prepared) return prepared
    const { base, staged } = prepared
    const outcome = await commitOnce(catalog, prepared, options)
    if (outcome.kind === 'committed') return { ...outcome, staged, attempts }
    if (outcome.kind === 'unknown') return outcome
    await deleteQuietly(base.io, staged.writtenFiles)
    if (!(await mayRetry(catalog, base, outcome.error))) return outcome
    const retry = retryPolicy(base.metadata.properties, options)
    const waitMs = backOffMs({ firstMs: retry.minWaitMs, maxMs: retry.maxWaitMs }, attempts)
    if (attempts > retry.count || Date.now() - started + waitMs > retry.totalTimeoutMs) return outcome
    try {
      await sleep(waitMs, options.signal)
    } catch (error) {
      return { kind: 'refused', error }
    }
  }
}

/** After a conflict; or when the table was upgraded, whose catalog then refuses a snapshot of the version before as invalid. */
async function mayRetry(catalog: Catalog, { identifier, metadata }: Table, error: unknown): Promise<boolean> {
  if (isIcebergError(error, 'COMMIT_CONFLICT')) return true
  if (!isIcebergError(error, 'INVALID_ARGUMENT')) return false
  const fresh = await catalog.loadTable(identifier).catch(() => undefined)
  return fresh !== undefined && fresh.metadata.formatVersion !== metadata.formatVersion
}

interface Preparation<S> {
  readonly stage: Stage<S & StagedChange>
  readonly options: CommitTableOptions
  readonly isFirst: boolean
}

interface Prepared<S> {
  readonly base: Table
  readonly staged: S
}

/** Everything before the commit is sent: if this fails, nothing was committed. */
async function prepare<S extends StagedChange>(
  catalog: Catalog,
  identifier: TableIdentifier,
  { stage, options, isFirst }: Preparation<S>,
): Promise<Prepared<S> | RefusedChange> {
  try {
    throwIfCancelled(options.signal, workOn(identifier))
    const base = await currentTable(catalog, identifier, isFirst ? options.loaded : undefined)
    requirePlain(base.metadata)
    return { base, staged: await stage(base) }
  } catch (error) {
    return { kind: 'refused', error }
  }
}

/** The current table; `loaded` when the catalog can cheaply check that it is still current. */
async function currentTable(catalog: Catalog, identifier: TableIdentifier, loaded: Table | undefined): Promise<Table> {
  const current = loaded && (await catalog.locateTable?.(identifier, loaded.metadataLocation))
  return loaded !== undefined && loaded.metadataLocation === current ? loaded : catalog.loadTable(identifier)
}

async function commitOnce(
  catalog: Catalog,
  { base, staged }: Prepared<StagedChange>,
  { signal, onStaged, confirm }: CommitTableOptions,
): Promise<CommitOutcome | RefusedChange> {
  const { identifier } = base
  try {
    throwIfCancelled(signal, workOn(identifier))
  } catch (error) {
    return refused(identifier, error)
  }
  let unconfirmed: RefusedChange | undefined
  const confirmed = async (): Promise<void> => {
    try {
      throwIfCancelled(signal, workOn(identifier))
      await confirm?.()
    } catch (error) {
      unconfirmed = { kind: 'refused', error }
      throw error
    }
  }
  try {
    const { requirements, updates } = staged
    const request = { requirements, updates, confirm: confirmed, ...(onStaged && { onStaged }) }
    const outcome = await catalog.commit(identifier, request)
    return outcome.kind === 'refused' ? (unconfirmed ?? outcome) : outcome
  } catch (error) {
    return unknown(identifier, error) // a catalog that throws may have swapped the pointer before
  }
}

function workOn(identifier: TableIdentifier): string {
  return `the change to ${formatIdentifier(identifier)}`
}

type RetryPolicy = Required<CommitRetries>

const RETRY_DEFAULTS: RetryPolicy = { count: 4, minWaitMs: 100, maxWaitMs: 60_000, totalTimeoutMs: 1_800_000 }

function retryPolicy(
  properties: Readonly<Record<string, string>>,
  { retries = {}, defaultRetries }: Pick<CommitTableOptions, 'retries' | 'defaultRetries'>,
): RetryPolicy {
  const defaults = { ...RETRY_DEFAULTS, ...defaultRetries }
  return {
    count: retries.count ?? numberProperty(properties, 'commit.retry.num-retries') ?? defaults.count,
    minWaitMs: retries.minWaitMs ?? numberProperty(properties, 'commit.retry.min-wait-ms') ?? defaults.minWaitMs,
    maxWaitMs: retries.maxWaitMs ?? numberProperty(properties, 'commit.retry.max-wait-ms') ?? defaults.maxWaitMs,
    totalTimeoutMs:
      retries.totalTimeoutMs ?? numberProperty(properties, 'commit.retry.total-timeout-ms') ?? defaults.totalTimeoutMs,
  }
}

/** An invalid number counts as unset: it must not block commits to a table. */
function numberProperty(properties: Readonly<Record<string, string>>, key: string): number | undefined {
  const text = properties[key]
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

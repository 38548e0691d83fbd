import { requirePlain } from '../iceberg/encryption.ts'
import { IcebergError, isIcebergError } from '../iceberg/errors.ts'
import type { Table, TableIdentifier } from '../iceberg/table.ts'
import type { StagedChange } from '../iceberg/update/table-update.ts'
import type { Catalog } from './catalog.ts'
import { deleteQuietly } from './metadata-file.ts'
import { formatIdentifier } from './table-identifier.ts'

/** Default: the table's `commit.retry.*` properties, and Iceberg's defaults without them. */
export interface CommitRetries {
  /** Attempts after the first. */
  readonly count?: number
  readonly minWaitMs?: number
  readonly maxWaitMs?: number
  readonly totalTimeoutMs?: number
}

export interface CommitTableOptions {
  /** Aborting stops before the next attempt, never within a swap; rejects with `CANCELLED`. */
  readonly signal?: AbortSignal
  /** See `CommitRequest.onStaged`. */
  readonly onStaged?: (metadataLocation: string) => Promise<void>
  readonly retries?: CommitRetries
}

export interface CommitResult {
  readonly table: Table
  readonly attempts: number
}

/**
 * Stages a change on the fresh table and commits it; when somebody else committed first, does both again.
 * `stage` validates against what it is given: it is called once per attempt and throws to give up. `UNSUPPORTED` for
 * encrypted tables.
 *
 * Files that a failed attempt wrote are deleted, but never after `COMMIT_STATE_UNKNOWN` or an error that is not an
 * `IcebergError`: the commit may have happened.
 */
export async function commitTable(
  catalog: Catalog,
  identifier: TableIdentifier,
  stage: (table: Table) => Promise<StagedChange>,
  options: CommitTableOptions = {},
): Promise<CommitResult> {
  const started = Date.now()
  for (let attempts = 1; ; attempts++) {
    throwIfCancelled(identifier, options.signal)
    const base = await catalog.loadTable(identifier)
    requirePlain(base.metadata)
    const change = await stage(base)
    try {
      return { table: await commitOnce(catalog, base, change, options), attempts }
    } catch (error) {
      if (!isIcebergError(error, 'COMMIT_CONFLICT')) throw error
      const retry = retryPolicy(base.metadata.properties, options.retries)
      const waitMs = backoffMs(retry, attempts)
      if (attempts > retry.count || Date.now() - started + waitMs > retry.totalTimeoutMs) throw error
      await wait(waitMs, options.signal)
    }
  }
}

async function commitOnce(
  catalog: Catalog,
  base: Table,
  change: StagedChange,
  options: CommitTableOptions,
): Promise<Table> {
  try {
    throwIfCancelled(base.identifier, options.signal)
    const { requirements, updates } = change
    const request = { requirements, updates, ...(options.onStaged && { onStaged: options.onStaged }) }
    return await catalog.commit(base.identifier, request)
  } catch (error) {
    const certainlyFailed = isIcebergError(error) && error.code !== 'COMMIT_STATE_UNKNOWN'
    if (certainlyFailed) await deleteQuietly(base.io, change.writtenFiles)
    throw error
  }
}

/** A timer for longer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

type RetryPolicy = Required<CommitRetries>

const RETRY_DEFAULTS: RetryPolicy = { count: 4, minWaitMs: 100, maxWaitMs: 60_000, totalTimeoutMs: 1_800_000 }

function retryPolicy(properties: Readonly<Record<string, string>>, given: CommitRetries = {}): RetryPolicy {
  return {
    count: given.count ?? numberProperty(properties, 'commit.retry.num-retries') ?? RETRY_DEFAULTS.count,
    minWaitMs: given.minWaitMs ?? numberProperty(properties, 'commit.retry.min-wait-ms') ?? RETRY_DEFAULTS.minWaitMs,
    maxWaitMs: given.maxWaitMs ?? numberProperty(properties, 'commit.retry.max-wait-ms') ?? RETRY_DEFAULTS.maxWaitMs,
    totalTimeoutMs:
      given.totalTimeoutMs ??
      numberProperty(properties, 'commit.retry.total-timeout-ms') ??
      RETRY_DEFAULTS.totalTimeoutMs,
  }
}

/** A property that is no number is as good as none: it must not keep a table from being committed to. */
function numberProperty(properties: Readonly<Record<string, string>>, key: string): number | undefined {
  const text = properties[key]
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/** Doubles with every attempt; at random in the upper half, so that rivals do not meet again. */
function backoffMs(retry: RetryPolicy, attempts: number): number {
  const full = Math.min(retry.maxWaitMs, retry.minWaitMs * 2 ** (attempts - 1))
  return full * (0.5 + Math.random() / 2)
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, Math.min(ms, MAX_TIMER_MS))
    signal?.addEventListener('abort', done)
    if (signal?.aborted === true) done()
  })
}

function throwIfCancelled(identifier: TableIdentifier, signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return
  throw new IcebergError(
    'CANCELLED',
    `The change to ${formatIdentifier(identifier)} was cancelled; nothing was changed.`,
  )
}

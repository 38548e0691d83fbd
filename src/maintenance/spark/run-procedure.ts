import type { Catalog } from '../../catalog/catalog.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { SparkProgress, SparkRow, SparkSession } from '../../engines/spark/connect/spark-client.ts'
import type { SparkSql } from '../../engines/spark/connect/spark-plan.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { SparkTable } from './open-table.ts'
import { SPARK_USER, type SparkEngine } from './spark-engine.ts'
import { sparkProblem } from './spark-problem.ts'
import {
  type CheckedSnapshot,
  checkSnapshot,
  type RowCounter,
  type SparkKind,
  snapshotsOfRun,
} from './spark-snapshots.ts'

/** What the ledger keeps of a run, so that another process can attach to it or judge it by the table. Plain JSON. */
export interface StoredSparkRun {
  readonly kind: SparkKind
  readonly session_id: string
  readonly server_session_id: string | null
  readonly operation_id: string
  readonly app_id: string
  /** The server's name for the catalog. */
  readonly catalog: string
  readonly query: string
}

/** Where a run happens and what it reports. */
export interface SparkRunContext extends RowCounter {
  readonly catalog: Catalog
  readonly identifier: TableIdentifier
  readonly spark: SparkEngine
  /** The current snapshot when the run began. */
  readonly baseSnapshotId: bigint | undefined
  readonly onProgress?: ((progress: SparkProgress) => void) | undefined
  readonly hooks: SparkRunHooks
}

/** Moments at which the caller records what happens; each is awaited. */
export interface SparkRunHooks {
  /** Before the procedure is sent. */
  readonly onStart: (run: StoredSparkRun) => Promise<void>
  /** When Spark has committed, before the rows are checked: with the last snapshot. */
  readonly onCommitted: (table: Table, snapshotId: bigint) => Promise<void>
  /** When a snapshot does not keep its rows: how to undo it. */
  readonly onViolation: (undo: { readonly table: string; readonly snapshot_id: string }) => Promise<void>
}

/** What a run did. */
export interface SparkOutcome {
  /** The row that the procedure returned; undefined when only the table tells that it committed. */
  readonly row: SparkRow | undefined
  readonly snapshots: readonly CheckedSnapshot[]
}

/** A procedure to run. */
export interface SparkProcedure {
  readonly kind: SparkKind
  readonly sql: SparkSql
}

/**
 * Runs a procedure that commits, and checks from the new snapshots that no row was lost. Nothing is ever deleted.
 * Errors: `ROWS_NOT_CONSERVED` names the snapshot to roll back to; `COMMIT_STATE_UNKNOWN`, `CANCELLED`, `ENGINE_FAILED`.
 */
export async function runProcedure(
  { session, name, appId }: SparkTable,
  { kind, sql }: SparkProcedure,
  context: SparkRunContext,
): Promise<SparkOutcome> {
  const stored: StoredSparkRun = {
    kind,
    session_id: session.sessionId,
    server_session_id: session.serverSideSessionId ?? null,
    operation_id: context.spark.newUuid(),
    app_id: appId,
    catalog: name.catalog,
    query: sql.query,
  }
  await context.hooks.onStart(stored)
  return finish({ session, isAttach: false }, stored, context)
}

/** Attaches to a run of an earlier process while Spark has it; otherwise the table tells what became of it. */
export async function resumeProcedure(stored: StoredSparkRun, context: SparkRunContext): Promise<SparkOutcome> {
  const session = context.spark.reopen({
    sessionId: stored.session_id,
    userId: SPARK_USER,
    serverSideSessionId: stored.server_session_id ?? undefined,
  })
  return finish({ session, isAttach: true }, stored, context)
}

interface Following {
  readonly session: SparkSession
  /** Whether the procedure was sent before: then it is never sent again. */
  readonly isAttach: boolean
}

async function finish(
  { session, isAttach }: Following,
  stored: StoredSparkRun,
  context: SparkRunContext,
): Promise<SparkOutcome> {
  const place = { address: context.spark.address, catalog: stored.catalog }
  const { signal, onProgress } = context
  let row: SparkRow | undefined
  let problem: unknown
  try {
    const options = { operationId: stored.operation_id, signal, onProgress, isAttach, keepsResult: true }
    row = (await session.sql({ query: stored.query }, options))[0]
  } catch (error) {
    problem = sparkProblem(error, place)
  }
  const snapshots = await checkedSnapshots(stored, context)
  const isDone = problem === undefined || (snapshots.length > 0 && mayHaveCommitted(stored, problem))
  if (!isDone) throw withCommits(problem, snapshots)
  return { row, snapshots }
}

/** Whether the table settles a run whose end is not known: with one commit, its snapshot is all of it. */
function mayHaveCommitted({ query }: StoredSparkRun, problem: unknown): boolean {
  const isPartial = query.includes('partial-progress.enabled')
  return !isPartial && isIcebergError(problem) && problem.code !== 'CANCELLED'
}

function withCommits(problem: unknown, snapshots: readonly CheckedSnapshot[]): unknown {
  const last = snapshots.at(-1)
  if (last === undefined || !isIcebergError(problem)) return problem
  const message = `${problem.message}; before that, it committed snapshot ${last.snapshot.snapshotId}, which keeps all rows`
  return new IcebergError(problem.code, message, { cause: problem })
}

async function checkedSnapshots(stored: StoredSparkRun, context: SparkRunContext): Promise<readonly CheckedSnapshot[]> {
  const { catalog, identifier, baseSnapshotId, hooks } = context
  const table = await catalog.loadTable(identifier)
  const found = snapshotsOfRun(table.metadata, { kind: stored.kind, appId: stored.app_id, baseSnapshotId })
  if (found === undefined) {
    const message = `the history of ${formatIdentifier(identifier)} was replaced while Spark worked on it; no file was deleted`
    throw new IcebergError('COMMIT_STATE_UNKNOWN', message)
  }
  const newest = found.at(-1)
  if (newest === undefined) return []
  await hooks.onCommitted(table, newest.snapshotId)
  const checked: CheckedSnapshot[] = []
  for (const snapshot of found) {
    const one = await checkSnapshot(table, snapshot, context)
    if (one.violation !== undefined) throw await violated(context, one)
    checked.push(one)
  }
  return checked
}

async function violated({ identifier, hooks }: SparkRunContext, checked: CheckedSnapshot): Promise<IcebergError> {
  const { snapshot, violation, rowsRead, rowsWritten } = checked
  const table = formatIdentifier(identifier)
  const undo = { table, snapshot_id: String(snapshot.parentSnapshotId) }
  await hooks.onViolation(undo)
  return new IcebergError(
    'ROWS_NOT_CONSERVED',
    `snapshot ${snapshot.snapshotId} that Spark committed to ${table} does not keep its rows: ${violation} (rows read ` +
      `${rowsRead}, written ${rowsWritten}). Nothing was deleted: roll ${table} back to snapshot ${undo.snapshot_id}`,
  )
}

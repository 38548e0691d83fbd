import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { withoutPaths } from '../../domain/without-paths.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { reconcileOperation, type ReconcileResult } from '../../maintenance/recovery/reconcile.ts'
import type { OperationRecord } from '../../storage/stores/operations/operation-record.ts'
import type { OperationOutcome, OperationStore } from '../../storage/stores/operations/operation-store.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { Logger } from '../logger.ts'
import type { QuarantineService } from './quarantine/quarantine-service.ts'
import type { OperationLedger } from './ledger.ts'
import { sparkRunOf } from './spark-hooks.ts'
import type { TableHold, TableLock } from '../tables/table-lock.ts'

export interface ReconcilerDeps {
  readonly catalog: CatalogService
  readonly operations: OperationStore
  readonly ledger: OperationLedger
  readonly quarantine: QuarantineService
  /** Whether the process that ran it is alive; operations of a live process are left alone. */
  readonly isAlive: (instanceId: number) => Promise<boolean>
  /** A process that lost its connection may still commit while it has its lease of the table. */
  readonly lock: TableLock
  /** Continues an operation that may still run elsewhere; false when it cannot. */
  readonly resume: (operation: OperationRecord) => Promise<boolean>
  readonly now: () => Date
  readonly log: Logger
}

/** Settles the operations that an ended process left unsettled: before the first ones start, and again where processes share the state. */
export interface Reconciler {
  /**
   * Compares each with its table, cleans up after it, and writes the outcome to the ledger. Those whose tables are in use
   * are left for the next time.
   */
  run(): Promise<void>
}

/** A reconciler over the ledger and the catalog. Undeterminable outcomes stay `unknown` until the next start. */
export function createReconciler(deps: ReconcilerDeps): Reconciler {
  return {
    async run() {
      for (const operation of await deps.operations.listUnsettled()) {
        const { id, table, instanceId } = operation
        if (instanceId !== undefined && (await deps.isAlive(instanceId))) continue
        if (await deps.resume(operation)) {
          deps.log.warn('continues an operation that the last process left', { operation_id: id })
          continue
        }
        const settling = deps.lock.runIfFree(table, async (hold) => {
          const now = await deps.operations.find(id)
          if (now !== undefined && isUnsettled(now) && now.instanceId === instanceId) {
            await settleInLedger(deps, now, hold)
          }
        })
        await settling.catch((error: unknown) => {
          if (!isIcebergError(error, 'CANCELLED')) throw error
          deps.log.warn('another process may settle the operation', { operation_id: id, error })
        })
      }
    },
  }
}

function isUnsettled({ state }: OperationRecord): boolean {
  return state === 'running' || state === 'unknown'
}

async function settleInLedger(deps: ReconcilerDeps, operation: OperationRecord, hold: TableHold): Promise<void> {
  const outcome = isOnSpark(operation) ? unsettled(NO_SPARK) : await settle(deps, operation, hold)
  if (outcome.state === 'unknown' && operation.state === 'unknown') return // nothing has changed
  await hold.confirm()
  const fields = { operation_id: operation.id, kind: operation.kind, table: operation.table, ...outcome }
  deps.log.warn('settled an operation that the last process left', fields)
  await deps.ledger.settle(operation.id, { ...outcome, finishedAt: deps.now().toISOString() })
}

/** Whether an operation was handed to Spark, so that the files here do not tell its end. */
function isOnSpark(operation: OperationRecord): boolean {
  return sparkRunOf(operation) !== undefined
}

const NO_SPARK =
  'the service stopped while Spark worked on it, and SPARK_REMOTE is not set, so that Spark cannot be asked'

type Settled = Omit<OperationOutcome, 'finishedAt'>

async function settle(deps: ReconcilerDeps, operation: OperationRecord, hold: TableHold): Promise<Settled> {
  try {
    return describeOutcome(await reconcile(deps, operation, hold))
  } catch (error) {
    if (isIcebergError(error, 'CANCELLED')) throw error
    const reason = withoutPaths(error instanceof Error ? error.message : String(error))
    return unsettled(`the service stopped while it ran, and the table could not be read (${reason})`)
  }
}

function reconcile(
  { catalog, quarantine }: ReconcilerDeps,
  operation: OperationRecord,
  hold: TableHold,
): Promise<ReconcileResult> {
  const { id, requestedBy, staged, cleanup, baseMetadataLocation } = operation
  return reconcileOperation({
    catalog: catalog.current(),
    identifier: parseIdentifier(operation.table),
    operationId: id,
    confirm: () => hold.confirm(),
    quarantine: quarantine.of({ id, user: requestedBy }),
    ...(baseMetadataLocation === undefined ? {} : { baseMetadataLocation }),
    ...(staged === undefined ? {} : { staged }),
    ...(cleanup === undefined ? {} : { cleanup }),
  })
}

function describeOutcome({ outcome, snapshotId, deletedFiles, failedDeletions }: ReconcileResult): Settled {
  const cleaned = { recovered: true, removed_files_count: deletedFiles.length, failed_deletions: [...failedDeletions] }
  const result = JSON.parse(JSON.stringify(cleaned))
  switch (outcome) {
    case 'committed':
      return { state: 'succeeded', result, ...(snapshotId === undefined ? {} : { snapshotId: snapshotId.toString() }) }
    case 'not-committed':
      return { state: 'failed', result, error: interrupted('nothing of it is visible in the table') }
    case 'no-such-table':
      return { state: 'failed', result, error: interrupted('the table is no longer in the catalog') }
    case 'unknown':
      return unsettled('the service stopped while it ran, and the table does not show whether it was committed')
  }
}

function interrupted(what: string) {
  return { code: 'INTERRUPTED', message: `the service stopped while it ran; ${what}` }
}

function unsettled(message: string): Settled {
  return { state: 'unknown', error: { code: 'COMMIT_STATE_UNKNOWN', message: `${message}; no file was deleted` } }
}

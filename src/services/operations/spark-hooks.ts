import type { SparkRunHooks, StoredSparkRun } from '../../maintenance/spark/run-procedure.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { OperationRecord } from '../../storage/stores/operations/operation-record.ts'
import type { ActionHandle } from './action.ts'

/** Records in the ledger what Spark does, before it may take effect. */
export function sparkHooks(handle: ActionHandle): SparkRunHooks {
  return {
    async onStart(run) {
      await handle.record({ plan: { spark: { ...run } } })
      await handle.confirm()
    },
    async onCommitted(table, snapshotId) {
      handle.onCommitted(table)
      await handle.record({ snapshotId: snapshotId.toString() })
    },
    onViolation: (undo) => handle.record({ result: { rollback: { ...undo } } }),
  }
}

/** What {@link sparkHooks} recorded of an operation; undefined when it did not get to Spark. */
export function sparkRunOf({ plan }: OperationRecord): StoredSparkRun | undefined {
  const spark = isObject(plan) ? plan['spark'] : undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the hooks
  return isObject(spark) ? (spark as unknown as StoredSparkRun) : undefined
}

function isObject(value: StoredJson | undefined): value is { readonly [key: string]: StoredJson } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

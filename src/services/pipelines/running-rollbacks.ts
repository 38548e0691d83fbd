import { mayBeSameTable } from '../../catalog/table-identifier.ts'
import type { OperationRecord } from '../../storage/stores/operations/operation-record.ts'
import type { OperationStore } from '../../storage/stores/operations/operation-store.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import { refuse } from '../../streaming/run/start-checks.ts'

/** The rollbacks that have begun and not ended. */
export async function runningRollbacks(
  operations: Pick<OperationStore, 'listUnsettled'>,
): Promise<readonly OperationRecord[]> {
  const unsettled = await operations.listUnsettled()
  return unsettled.filter(({ kind, state }) => kind === 'rollback' && state === 'running')
}

/**
 * Throws `CONFLICT` when a table of a pipeline is being rolled back. Call it in the transaction that records the start:
 * a rollback first begins in the ledger and then looks for pipelines, so at least one of the two sees the other. One whose
 * process has ended may still commit until it is settled.
 */
export function requireNoRollback(
  rollbacks: readonly OperationRecord[],
  { sources, sinkTable, options }: PipelineRecord,
): void {
  const tables = [...sources, sinkTable, ...(options.diverts ?? [])]
  const blocking = rollbacks.find(({ table }) => tables.some((name) => mayBeSameTable(name, table)))
  if (blocking === undefined) return
  const field = mayBeSameTable(sinkTable, blocking.table) ? 'sink_table' : 'source_table'
  const what = `operation ${blocking.id} is rolling back ${blocking.table}: start again when it has ended`
  throw refuse('CONFLICT', field, what)
}

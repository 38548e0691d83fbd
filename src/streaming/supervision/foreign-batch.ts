import { minRoleIn } from '../../domain/environments.ts'
import { hasRole } from '../../domain/roles.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { ForeignBatch } from '../../maintenance/table-guard.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import { Checkpoint } from '../checkpoint/checkpoint.ts'
import { isLiveState } from './rollback-effects.ts'

/**
 * Why another system must not commit a batch with the query id of a pipeline; undefined if it may. Spark and recovery
 * skip a batch that the sink has, so a false one would lose the rows of the true one. A stream logs each batch in its
 * checkpoint first: only the batch that is logged and not done may come.
 */
export async function foreignBatchProblem(
  io: FileIO,
  records: readonly PipelineRecord[],
  batch: ForeignBatch,
): Promise<string | undefined> {
  for (const record of records) {
    if (record.queryId !== batch.queryId) continue
    const problem = callerProblem(record, batch) ?? (await checkpointProblem(io, record, batch.batchId))
    if (problem !== undefined) return `batch ${batch.batchId} of pipeline ${record.id}: ${problem}`
  }
  return undefined
}

function callerProblem(record: PipelineRecord, { caller }: ForeignBatch): string | undefined {
  const { environment, engine, createdBy, state } = record
  const minimum = environment === undefined ? 'DataEngineer' : minRoleIn(environment)
  if (!hasRole(caller.role, minimum)) return `it runs in ${environment}, and its batches need the role ${minimum}`
  if (engine === 'spark') return undefined
  if (isLiveState(record)) return `it is ${state} in this service, which commits its batches`
  if (caller.user === createdBy || hasRole(caller.role, 'LeadDataEngineer')) return undefined
  return `only ${createdBy}, who started it, and LeadDataEngineers may continue it in another system`
}

async function checkpointProblem(io: FileIO, record: PipelineRecord, batchId: number): Promise<string | undefined> {
  const logged = await loggedBatch(io, record)
  if (logged === 'unreadable') return 'its checkpoint cannot be read, so it is unknown which batch comes next'
  if (logged === batchId) return undefined
  return logged === undefined
    ? 'no batch is logged in its checkpoint that is not done'
    : `the batch that its checkpoint has logged is ${logged}`
}

/** The batch that was logged and is not done; undefined when there is none. */
async function loggedBatch(
  io: FileIO,
  { checkpointLocation, sources }: PipelineRecord,
): Promise<number | 'unreadable' | undefined> {
  try {
    const { latest, lastCommit = -1 } = await new Checkpoint(io, checkpointLocation).read(sources.length)
    return latest === undefined || lastCommit >= latest.batchId ? undefined : latest.batchId
  } catch (error) {
    if (isIcebergError(error)) return 'unreadable'
    throw error
  }
}

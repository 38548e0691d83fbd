import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Role } from '../../../src/domain/roles.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import type { PipelineRecord } from '../../../src/storage/stores/pipelines/pipeline-store.ts'
import { Checkpoint } from '../../../src/streaming/checkpoint/checkpoint.ts'
import { foreignBatchProblem } from '../../../src/streaming/supervision/foreign-batch.ts'

const io = new LocalFileIO()
const QUERY = '55080374-1bf1-4eac-aa60-0109670f48f1'

/** A pipeline whose checkpoint has batches up to `logged`, of which those up to `done` are done. */
async function pipeline(logged: number, done: number, more: Partial<PipelineRecord> = {}): Promise<PipelineRecord> {
  const location = mkdtempSync(join(tmpdir(), 'foreign-batch-'))
  const checkpoint = new Checkpoint(io, location)
  await checkpoint.begin(QUERY)
  for (let batchId = 0; batchId <= logged; batchId += 1) {
    const offsets = [{ snapshotId: BigInt(batchId + 1), position: 0, scanAllFiles: false }]
    await checkpoint.logBatch({ batchId, offsets }, 0)
    if (batchId <= done) await checkpoint.commitBatch(batchId)
  }
  const record = { id: 'pipe-1', queryId: QUERY, sources: ['s.a'], checkpointLocation: location, createdBy: 'lea' }
  return { ...record, engine: 'embedded', state: 'stopped', ...more } as PipelineRecord
}

const problemOf = (record: PipelineRecord, batchId: number, user = 'ed', role: Role = 'DataEngineer') =>
  foreignBatchProblem(io, [record], { queryId: QUERY, batchId, caller: { user, role, via: 'token' } })

it('lets Spark commit the batch that its checkpoint has logged and no other', async () => {
  const spark = await pipeline(3, 2, { engine: 'spark', state: 'running' })
  expect(await problemOf(spark, 3)).toBeUndefined()
  for (const batchId of [2, 4, 900]) expect(await problemOf(spark, batchId)).toContain('has logged is 3')
  expect(await problemOf(await pipeline(3, 3, { engine: 'spark', state: 'running' }), 4)).toContain(
    'no batch is logged',
  )
})

it('asks for the role of the environment that a pipeline runs in', async () => {
  const spark = await pipeline(3, 2, { engine: 'spark', state: 'running', environment: 'production' })
  expect(await problemOf(spark, 3)).toContain('need the role LeadDataEngineer')
  expect(await problemOf(spark, 3, 'kim', 'LeadDataEngineer')).toBeUndefined()
})

it('lets who started a stopped pipeline, and leads, continue it in another system', async () => {
  const stopped = await pipeline(3, 2)
  expect(await problemOf(stopped, 3)).toContain('only lea, who started it')
  expect(await problemOf(stopped, 3, 'lea')).toBeUndefined()
  expect(await problemOf(stopped, 3, 'kim', 'LeadDataEngineer')).toBeUndefined()
})

it('refuses every batch while the embedded engine runs the pipeline', async () => {
  const running = await pipeline(3, 2, { state: 'running' })
  expect(await problemOf(running, 3, 'kim', 'LeadDataEngineer')).toContain('it is running in this service')
})

it('refuses a batch when the checkpoint cannot be read, and knows nothing of other queries', async () => {
  const broken = await pipeline(3, 2, { engine: 'spark' })
  await io.write(`${broken.checkpointLocation}/offsets/4`, new TextEncoder().encode('v1'))
  expect(await problemOf(broken, 3)).toContain('cannot be read')
  const other = { queryId: 'other', batchId: 3, caller: { user: 'ed', role: 'DataEngineer', via: 'token' } } as const
  expect(await foreignBatchProblem(io, [broken], other)).toBeUndefined()
})

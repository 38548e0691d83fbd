import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createHadoopCatalog } from '../../../src/catalog/hadoop/catalog.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import type { PipelineSpec } from '../../../src/streaming/pipeline-spec.ts'
import { prepareStream } from '../../../src/streaming/spark/prepare.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { createEvents, EVENTS } from '../../catalog/support-files.ts'
import { temporaryFolders } from '../../catalog/support.ts'

const newFolder = temporaryFolders()
const OURS = '11111111-1111-4111-8111-111111111111'
const UNFINISHED = '.0.897eb718-ed32-421a-9852-d8c6715f403d.tmp'

/** Prepares a pipeline that has this query id, on a checkpoint with an unfinished batch of query `OURS`. */
async function prepare(queryId: string, checkLease: () => void): Promise<{ error: unknown; offsets: string[] }> {
  const folder = newFolder()
  const checkpointIo = new LocalFileIO()
  const catalog = createHadoopCatalog({ warehouse: join(folder, 'lake'), io: checkpointIo, name: 'test' })
  await createEvents(catalog)
  const offsets = join(folder, 'checkpoint/offsets')
  await mkdir(offsets, { recursive: true })
  await writeFile(join(folder, 'checkpoint/metadata'), JSON.stringify({ id: OURS }))
  await writeFile(join(offsets, UNFINISHED), '')
  const spec = {
    pipelineId: 'pipe',
    runId: 'run',
    queryId,
    sources: [EVENTS],
    sink: EVENTS,
    checkpointLocation: join(folder, 'checkpoint'),
    triggerMs: 1,
    onDelete: 'fail',
    query: {},
    limits: { maxFiles: 1, maxBytes: 1 },
  } as unknown as PipelineSpec
  const tables = createTableWatch(() => catalog)
  const now = () => new Date()
  const error = await prepareStream({ catalog: () => catalog, tables, checkpointIo, now, checkLease }, spec, {
    sparkCatalog: 'lake',
  }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return { error, offsets: await readdir(offsets) }
}

it('leaves a checkpoint of another query as it is', async () => {
  const { error, offsets } = await prepare('22222222-2222-4222-8222-222222222222', () => undefined)
  expect(error).toMatchObject({ code: 'CHECKPOINT_MISMATCH' })
  expect(offsets).toEqual([UNFINISHED])
})

it('removes nothing when another process runs the pipeline now', async () => {
  const lost = new Error('the lease is lost')
  const { error, offsets } = await prepare(OURS, () => {
    throw lost
  })
  expect(error).toBe(lost)
  expect(offsets).toEqual([UNFINISHED])
})

it('removes what its own query left unfinished', async () => {
  const { error, offsets } = await prepare(OURS, () => undefined)
  expect(error).not.toMatchObject({ code: 'CHECKPOINT_MISMATCH' })
  expect(offsets).not.toContain(UNFINISHED)
})

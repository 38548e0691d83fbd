import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { batchOf } from '../../../src/streaming/sink/progress.ts'
import { until } from '../../support/waiting.ts'
import { numbered, openLab, type StreamLab } from '../support.ts'

let lab: StreamLab
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

const begin = (name: string) =>
  lab.service.post('/api/pipeline/start', {
    source_table: `s.${name}`,
    sink_table: `s.${name}_sink`,
    create_sink_table: true,
    checkpoint_location: `cp/${name}`,
    trigger_interval: '100 ms',
    max_files_per_batch: 1,
  })

const statusOf = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
const stop = (id: string) => lab.service.post(`/api/pipeline/${id}/stop`, {})

/** A pipeline that was stopped after three batches, and a source with two more appends of ten rows each. */
async function stoppedBehind(name: string): Promise<string> {
  await lab.createTable(`s.${name}`, [
    ['id', 'long'],
    ['name', 'string'],
  ])
  for (let at = 0; at < 3; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
  const { body } = await begin(name)
  await until(async () => (await lab.rows(`s.${name}_sink`).catch(() => [])).length === 30)
  await stop(body.pipeline.id)
  for (let at = 3; at < 5; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
  return body.pipeline.id
}

/** Changes the progress of the pipeline in the sink, as a client of the same database could. Returns the old value. */
async function changeProgress(name: string, edit: (text: string) => string): Promise<string> {
  let before = ''
  await commitTable(lab.catalog(), parseIdentifier(`s.${name}_sink`), async ({ metadata }) => {
    const [key = ''] = Object.keys(metadata.properties).filter((one) => one.startsWith('lockhouse.pipeline.'))
    before = metadata.properties[key] ?? ''
    const updates = { [key]: edit(before) }
    return { updates: [{ action: 'set-properties', updates }], requirements: [], writtenFiles: [] }
  })
  return before
}

/** The progress with the source read up to its newest snapshot. */
async function readToEnd(name: string): Promise<(text: string) => string> {
  const newest = (await lab.load(`s.${name}`)).metadata.currentSnapshotId
  return (text) => text.replace(/"snapshot_id": ?\d+/, `"snapshot_id":${newest}`)
}

async function expectStopped(id: string, ...words: string[]): Promise<void> {
  await until(async () => (await statusOf(id)).state === 'failed')
  const { error } = await statusOf(id)
  expect(error.code).toBe('CHECKPOINT_MISMATCH')
  for (const word of words) expect(error.message).toContain(word)
}

async function expectAllRows(name: string, id: string): Promise<void> {
  expect((await begin(name)).status).toBe(200)
  await until(async () => (await lab.rows(`s.${name}_sink`)).length >= 50)
  expect(await lab.rows(`s.${name}_sink`)).toEqual(await lab.rows(`s.${name}`))
  await stop(id)
}

describe('a pipeline stops and skips no row', () => {
  it('when its sink claims a batch that nothing has written', async () => {
    const id = await stoppedBehind('ahead')
    const toEnd = await readToEnd('ahead')
    const before = await changeProgress('ahead', (text) => toEnd(text).replace(/"batch_id": ?2/, '"batch_id":3'))
    expect((await begin('ahead')).status).toBe(200)
    await expectStopped(id, 'batch 3', 'ends with batch 2')
    expect(await lab.rows('s.ahead_sink')).toHaveLength(30)
    await changeProgress('ahead', () => before)
    await expectAllRows('ahead', id)
  })

  it('when its sink claims other offsets than the checkpoint has logged for the batch', async () => {
    const id = await stoppedBehind('other')
    const toEnd = await readToEnd('other')
    const before = await changeProgress('other', toEnd)
    expect((await begin('other')).status).toBe(200)
    await expectStopped(id, 'batch 2', 'logged')
    await changeProgress('other', () => before)
    await expectAllRows('other', id)
  })

  it('when its checkpoint is lost and its sink claims a batch that nothing has written', async () => {
    const id = await stoppedBehind('lost')
    const toEnd = await readToEnd('lost')
    const before = await changeProgress('lost', (text) => toEnd(text).replace(/"batch_id": ?2/, '"batch_id":3'))
    rmSync(fileURLToPath((await statusOf(id)).checkpoint_location), { recursive: true })
    expect((await begin('lost')).status).toBe(200)
    await expectStopped(id, 'batch 3', 'has none')
    await changeProgress('lost', () => before)
    await expectAllRows('lost', id)
  })

  it('when a snapshot of its sink is stamped like a later batch of Spark', async () => {
    const id = await stoppedBehind('spark')
    const batch = (await lab.load('s.spark_sink')).metadata.snapshots.map(batchOf).at(-1)
    const summary = {
      'spark.sql.streaming.queryId': batch?.queryId ?? '',
      'spark.sql.streaming.epochId': '3',
    }
    const sink = parseIdentifier('s.spark_sink')
    await commitTable(lab.catalog(), sink, (fresh) => stageAppend(fresh, { files: [], operationId: 'stamp', summary }))
    expect((await begin('spark')).status).toBe(200)
    await expectStopped(id, 'batch 3', 'written by Spark')
    expect(await lab.rows('s.spark_sink')).toHaveLength(30)
  })

  it('when the offsets in its checkpoint were changed', async () => {
    const id = await stoppedBehind('log')
    const file = `${fileURLToPath((await statusOf(id)).checkpoint_location)}/offsets/2`
    const text = readFileSync(file, 'utf8')
    const newest = (await lab.load('s.log')).metadata.currentSnapshotId
    writeFileSync(file, text.replace(/"snapshot_id": ?\d+/, `"snapshot_id":${newest}`))
    expect((await begin('log')).status).toBe(200)
    await expectStopped(id, 'batch 2', 'logged')
    writeFileSync(file, text)
    await expectAllRows('log', id)
  })
})

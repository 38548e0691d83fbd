import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { carryOffsets } from '../../../src/services/deployments/handover.ts'
import type { PipelineRecord } from '../../../src/storage/stores/pipelines/pipeline-store.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'
import { until } from '../../support/waiting.ts'
import { numbered } from '../support.ts'
import {
  COLUMNS,
  DIVERTED_COLUMNS,
  type DivertLab,
  drain,
  FAULTS,
  graphOf,
  ids,
  openDivertLab,
  signal,
} from './divert-lab.ts'

let lab: DivertLab
/** Runs once, after the engine of the service has written a batch. */
let afterWrite: (() => Promise<void>) | undefined
beforeAll(async () => {
  lab = await openDivertLab({
    overrides: {
      wrapEngine: (engine) =>
        overriddenEngine(engine, {
          async appendFrom(...task) {
            const written = await engine.appendFrom(...task)
            const once = afterWrite
            afterWrite = undefined
            await once?.()
            return written
          },
        }),
    },
  })
})
afterAll(() => lab.close())

const PENDING = { code: 'DIVERTED_ROWS_PENDING' }

/** Leaves a batch in the sink whose rows 0 to 3 are not in their table. Returns that table. */
async function endBetweenCommits(name: string): Promise<Table> {
  await lab.makeTables(name)
  await lab.append(`s.${name}`, numbered(0, 10))
  const catalog = lab.faulty(`s.${name}_bad`, FAULTS.killed)
  await expect((await lab.openSession(name, 'id >= 4', { catalog })).step(signal)).rejects.toMatchObject({
    code: 'COMMIT_STATE_UNKNOWN',
  })
  return lab.load(`s.${name}_bad`)
}

const drop = (table: string): Promise<void> => lab.catalog().dropTable(parseIdentifier(table))

/** Checks that a further batch diverts, too, and that each row is in exactly one table. */
async function expectOnceAfterMore(name: string): Promise<void> {
  await lab.append(`s.${name}`, numbered(10, 20))
  await drain(await lab.openSession(name, 'id < 18'))
  await lab.openSession(name, 'true')
  expect(await lab.idsOf(`s.${name}_bad`)).toEqual([...ids(0, 4), '18', '19'])
  expect(await lab.idsOf(`s.${name}_sink`)).toEqual(ids(4, 18))
}

describe('rows that a batch diverted into a table that was dropped before their commit', () => {
  it('keep the pipeline waiting with the table, the number of rows and their manifest', async () => {
    const { metadata } = await endBetweenCommits('gone')
    await drop('s.gone_bad')
    const opening = lab.openSession('gone', 'id >= 4')
    await expect(opening).rejects.toMatchObject(PENDING)
    const folder = metadata.location.slice('file://'.length)
    await expect(opening).rejects.toThrow(
      new RegExp(
        `4 rows that batch 0 diverted into s\\.gone_bad .*${folder}/metadata/pipe-gone-0-\\w+-0-diverted\\.avro`,
      ),
    )
  })

  it('arrive once when the table is registered again', async () => {
    const { metadataLocation } = await endBetweenCommits('back')
    await drop('s.back_bad')
    await expect(lab.openSession('back', 'id >= 4')).rejects.toMatchObject(PENDING)
    await lab.catalog().registerTable(parseIdentifier('s.back_bad'), metadataLocation)
    await expectOnceAfterMore('back')
  })

  it('arrive once when the table is created again', async () => {
    const { metadata } = await endBetweenCommits('again')
    await drop('s.again_bad')
    await expect(lab.openSession('again', 'id >= 4')).rejects.toMatchObject(PENDING)
    const again = await lab.createTable('s.again_bad', DIVERTED_COLUMNS)
    expect(again.metadata.tableUuid).not.toBe(metadata.tableUuid)
    await Promise.allSettled([lab.openSession('again', 'id >= 4'), lab.openSession('again', 'id >= 2')])
    await expectOnceAfterMore('again')
  })

  it('wait while another table with the name has other columns or another location', async () => {
    const { metadata } = await endBetweenCommits('other')
    const bad = parseIdentifier('s.other_bad')
    await drop('s.other_bad')
    await lab.createTable('s.other_bad', [COLUMNS[1], COLUMNS[0], ...DIVERTED_COLUMNS.slice(2)])
    await expect(lab.openSession('other', 'id >= 4')).rejects.toMatchObject(PENDING)
    await drop('s.other_bad')
    const [schema] = metadata.schemas
    await lab.catalog().createTable(bad, { schema: schema!, location: `${metadata.location}-2` })
    await expect(lab.openSession('other', 'id >= 4')).rejects.toMatchObject(PENDING)
    expect(await lab.rows('s.other_bad')).toEqual([])
    await drop('s.other_bad')
    await lab.createTable('s.other_bad', DIVERTED_COLUMNS)
    await expectOnceAfterMore('other')
  })

  it('go to the same table under its new name, also if another table has the old name', async () => {
    await endBetweenCommits('named')
    await lab.catalog().names?.rename(parseIdentifier('s.named_bad'), parseIdentifier('s.named_old'))
    await lab.createTable('s.named_bad', DIVERTED_COLUMNS)
    await drain(await lab.openSession('named', 'id >= 4'))
    await lab.openSession('named', 'id >= 4')
    expect(await lab.idsOf('s.named_old')).toEqual(ids(0, 4))
    expect(await lab.rows('s.named_bad')).toEqual([])
  })

  it('stop the pipeline when their files were deleted with the table', async () => {
    const { metadata } = await endBetweenCommits('purged')
    await drop('s.purged_bad')
    await rm(metadata.location.slice('file://'.length), { recursive: true })
    await expect(lab.openSession('purged', 'id >= 4')).rejects.toMatchObject(PENDING)
    await lab.createTable('s.purged_bad', DIVERTED_COLUMNS)
    await expect(lab.openSession('purged', 'id >= 4')).rejects.toMatchObject({ code: 'CHECKPOINT_MISMATCH' })
  })

  it('keep a deployment that reads on from beginning until they are committed', async () => {
    await endBetweenCommits('handed')
    await drop('s.handed_bad')
    const source = await lab.load('s.handed')
    const sink = await lab.load('s.handed_sink')
    const planned = {
      pipeline: {
        sinkTable: 's.handed_sink',
        checkpointLocation: `file://${lab.service.folder}/cp/handed-2`,
      } as PipelineRecord,
      isSameCheckpoint: false,
      sources: [{ table: 's.handed', uuid: source.metadata.tableUuid, resumedFrom: 'query-handed' }],
      sinkUuid: sink.metadata.tableUuid,
    }
    const deps = { catalog: lab.service.context.app.catalog, checkpointIo: new LocalFileIO() }
    await expect(carryOffsets(deps, { id: 'rollout', planned })).rejects.toMatchObject(PENDING)
    await lab.createTable('s.handed_bad', DIVERTED_COLUMNS)
    await carryOffsets(deps, { id: 'rollout', planned })
    await carryOffsets(deps, { id: 'rollout', planned })
    expect(await lab.idsOf('s.handed_bad')).toEqual(ids(0, 4))
  })
})

describe('rows that were committed before their table was dropped', () => {
  it('are not written again, whether the table is missing or new', async () => {
    await lab.makeTables('done')
    await lab.append('s.done', numbered(0, 10))
    await drain(await lab.openSession('done', 'id >= 4'))
    await drop('s.done_bad')
    await lab.openSession('done', 'id >= 4')
    await lab.createTable('s.done_bad', DIVERTED_COLUMNS)
    await drain(await lab.openSession('done', 'id >= 4'))
    expect(await lab.rows('s.done_bad')).toEqual([])
    expect(await lab.idsOf('s.done_sink')).toEqual(ids(4, 10))
  })

  it('are not written again if the session that repeated their commit has ended', async () => {
    await endBetweenCommits('repeated')
    await lab.openSession('repeated', 'id >= 4')
    await drop('s.repeated_bad')
    await lab.createTable('s.repeated_bad', DIVERTED_COLUMNS)
    await drain(await lab.openSession('repeated', 'id >= 4'))
    expect(await lab.rows('s.repeated_bad')).toEqual([])
  })
})

describe('a pipeline of the service', () => {
  const pipelineOf = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline

  async function start(name: string): Promise<string> {
    const defined = await lab.service.post('/api/pipeline-defs', { name, ...graphOf(name, 'id >= 4') })
    expect(defined.status, JSON.stringify(defined.body)).toBe(201)
    const { status, body } = await lab.service.post('/api/pipeline/start', {
      version_id: defined.body.version.id,
      checkpoint_location: `cp/${name}`,
      trigger_interval: '100 ms',
    })
    expect(status, JSON.stringify(body)).toBe(200)
    return body.pipeline.id
  }

  it('shows that diverted rows wait for their dropped table, and continues when the table is back', async () => {
    await lab.makeTables('shown')
    await lab.append('s.shown', numbered(0, 10))
    afterWrite = () => drop('s.shown_bad')
    const id = await start('shown')
    await until(async () => (await pipelineOf(id)).error?.code === 'DIVERTED_ROWS_PENDING', 'the error')
    const { state, error } = await pipelineOf(id)
    expect(state).toBe('degraded')
    expect(error.message).toMatch(/4 rows .* s\.shown_bad .* shown_bad\/metadata\/\S+-diverted\.avro/)
    const { events } = (await lab.service.get('/api/events?type=pipeline.degraded')).body
    const told = events.filter((event: { object_id: string }) => event.object_id === id)
    expect(told).toMatchObject([{ data: { error: PENDING } }])
    await lab.createTable('s.shown_bad', DIVERTED_COLUMNS)
    await until(async () => (await pipelineOf(id)).state === 'running', 'a running pipeline')
    expect(await lab.idsOf('s.shown_bad')).toEqual(ids(0, 4))
    expect(await lab.idsOf('s.shown_sink')).toEqual(ids(4, 10))
    expect((await pipelineOf(id)).error).toBeNull()
  })
})

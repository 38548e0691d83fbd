import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { carryOffsets } from '../../../src/services/deployments/handover.ts'
import type { PipelineRecord } from '../../../src/storage/stores/pipelines/pipeline-store.ts'
import { LeaseLost } from '../../../src/streaming/pipeline-errors.ts'
import { numbered, orphansOf } from '../support.ts'
import { type DivertLab, drain, FAULTS, ids, openDivertLab, signal } from './divert-lab.ts'

const KINDS = Object.keys(FAULTS) as (keyof typeof FAULTS)[]

let lab: DivertLab
beforeAll(async () => {
  lab = await openDivertLab()
})
afterAll(() => lab.close())

/** Checks that each id is in exactly one of the two tables. */
async function expectOnce(name: string, diverted: readonly string[], end: number): Promise<void> {
  expect(await lab.idsOf(`s.${name}_bad`)).toEqual(diverted)
  const all = [...diverted, ...(await lab.idsOf(`s.${name}_sink`))]
  expect(all.toSorted((a, b) => Number(a) - Number(b))).toEqual(ids(0, end))
}

describe('a run that ends before its diverted rows are committed', () => {
  it.each(KINDS)('has them committed by the next session, whatever that one would divert (%s)', async (kind) => {
    const name = `after_${KINDS.indexOf(kind)}`
    await lab.makeTables(name)
    await lab.append(`s.${name}`, numbered(0, 10))
    const catalog = lab.faulty(`s.${name}_bad`, FAULTS[kind])
    const first = await lab.openSession(name, 'id >= 4', { catalog })
    await expect(first.step(signal)).rejects.toThrow()
    expect(await lab.idsOf(`s.${name}_sink`)).toEqual(ids(4, 10))
    const second = await lab.openSession(name, 'id % 10 >= 2')
    await expectOnce(name, ids(0, 4), 10)
    await lab.append(`s.${name}`, numbered(10, 20))
    await drain(second)
    await expectOnce(name, [...ids(0, 4), ...ids(10, 12)], 20)
    await lab.openSession(name, 'id % 10 >= 2')
    await expectOnce(name, [...ids(0, 4), ...ids(10, 12)], 20)
    expect(await orphansOf(await lab.load(`s.${name}_bad`))).toEqual([])
    if (kind === 'without an answer') return
    const { location } = (await lab.load(`s.${name}_bad`)).metadata
    const left = await Array.fromAsync(new LocalFileIO().list(`${location}/metadata`))
    expect(left.filter((file) => file.location.endsWith('-diverted.avro'))).toEqual([])
  })

  it('has them committed also if their table was compacted meanwhile', async () => {
    await lab.makeTables('rewritten')
    await lab.append('s.rewritten', numbered(0, 10))
    await drain(await lab.openSession('rewritten', 'id >= 4'))
    await lab.append('s.rewritten', numbered(10, 20))
    const catalog = lab.faulty('s.rewritten_bad', FAULTS.refused)
    await expect((await lab.openSession('rewritten', 'id >= 14', { catalog })).step(signal)).rejects.toThrow()
    const compacted = await lab.service.post('/api/compact', { table: 's.rewritten_bad', rewrite_all: true })
    expect(compacted.status, JSON.stringify(compacted.body)).toBe(200)
    await lab.openSession('rewritten', 'true')
    await expectOnce('rewritten', [...ids(0, 4), ...ids(10, 14)], 20)
  })

  it('has them committed by a deployment that reads on where the run ended', async () => {
    await lab.makeTables('replaced')
    await lab.append('s.replaced', numbered(0, 10))
    const catalog = lab.faulty('s.replaced_bad', FAULTS.killed)
    await expect((await lab.openSession('replaced', 'id >= 4', { catalog })).step(signal)).rejects.toThrow()
    expect(await lab.rows('s.replaced_bad')).toEqual([])
    const source = await lab.load('s.replaced')
    const sink = await lab.load('s.replaced_sink')
    const planned = {
      pipeline: {
        sinkTable: 's.replaced_sink',
        checkpointLocation: `file://${lab.service.folder}/cp/replaced-2`,
      } as PipelineRecord,
      isSameCheckpoint: false,
      sources: [{ table: 's.replaced', uuid: source.metadata.tableUuid, resumedFrom: 'query-replaced' }],
      sinkUuid: sink.metadata.tableUuid,
    }
    const deps = { catalog: lab.service.context.app.catalog, checkpointIo: new LocalFileIO() }
    await carryOffsets(deps, { id: 'rollout', planned })
    await expectOnce('replaced', ids(0, 4), 10)
  })

  it('has them committed if the batch is merged by key, also a batch that diverts all its rows', async () => {
    await lab.makeTables('merged')
    const write = { write: 'upsert', key: ['id'] }
    await lab.append('s.merged', numbered(0, 10))
    const catalog = lab.faulty('s.merged_bad', FAULTS.killed)
    const fault = { catalog, write }
    await expect((await lab.openSession('merged', 'id >= 4', fault)).step(signal)).rejects.toThrow()
    const next = await lab.openSession('merged', 'id >= 2', { write })
    await expectOnce('merged', ids(0, 4), 10)
    await lab.append('s.merged', numbered(10, 15))
    const kept = (await lab.load('s.merged_sink')).metadata.snapshots.length
    await drain(next)
    await expectOnce('merged', ids(0, 4), 15)
    await lab.append('s.merged', numbered(15, 20))
    await expect((await lab.openSession('merged', 'false', fault)).step(signal)).rejects.toThrow()
    await lab.openSession('merged', 'true', { write })
    await expectOnce('merged', [...ids(0, 4), ...ids(15, 20)], 20)
    expect((await lab.load('s.merged_sink')).metadata.snapshots).toHaveLength(kept + 2)
  })

  it('stops if a file of them was deleted', async () => {
    await lab.makeTables('removed')
    await lab.append('s.removed', numbered(0, 10))
    const catalog = lab.faulty('s.removed_bad', FAULTS.refused)
    await expect((await lab.openSession('removed', 'id >= 4', { catalog })).step(signal)).rejects.toThrow()
    const [file] = await orphansOf(await lab.load('s.removed_bad'))
    await new LocalFileIO().delete(file!)
    await expect(lab.openSession('removed', 'id >= 4')).rejects.toMatchObject({ code: 'CHECKPOINT_MISMATCH' })
    expect(await lab.rows('s.removed_bad')).toEqual([])
  })

  it('reads no other manifest than its own', async () => {
    await lab.makeTables('forged')
    await lab.append('s.forged', numbered(0, 10))
    const catalog = lab.faulty('s.forged_bad', FAULTS.refused)
    await expect((await lab.openSession('forged', 'id >= 4', { catalog })).step(signal)).rejects.toThrow()
    const { metadata, identifier } = await lab.load('s.forged_sink')
    const property = 'lockhouse.pipeline.query-forged'
    const progress = JSON.parse(metadata.properties[property]!)
    for (const manifest of ['../../../s/forged/metadata/pipe-forged-0-diverted.avro', 'other-0-x-diverted.avro']) {
      const forged = JSON.stringify({ ...progress, diverting: [{ ...progress.diverting[0], manifest }] })
      await commitTable(lab.catalog(), identifier, async () => ({
        requirements: [],
        updates: [{ action: 'set-properties', updates: { [property]: forged } }],
        writtenFiles: [],
      }))
      await expect(lab.openSession('forged', 'id >= 4')).rejects.toMatchObject({ code: 'CHECKPOINT_MISMATCH' })
    }
    expect(await lab.rows('s.forged_bad')).toEqual([])
  })
})

describe('a run that ends before the commit of its batch', () => {
  it.each(KINDS)('has diverted nothing, or what the batch says (%s)', async (kind) => {
    const name = `before_${KINDS.indexOf(kind)}`
    await lab.makeTables(name)
    await lab.append(`s.${name}`, numbered(0, 10))
    const catalog = lab.faulty(`s.${name}_sink`, FAULTS[kind])
    const first = await lab.openSession(name, 'id >= 4', { catalog })
    await expect(first.step(signal)).rejects.toThrow()
    expect(await lab.rows(`s.${name}_bad`)).toEqual([])
    await drain(await lab.openSession(name, 'id >= 7'))
    await expectOnce(name, kind === 'without an answer' ? ids(0, 4) : ids(0, 7), 10)
    if (kind === 'refused') expect(await orphansOf(await lab.load(`s.${name}_bad`))).toEqual([])
  })
})

describe('a process that is paused', () => {
  it.each([
    ['sink', 'id >= 7', ids(0, 7)],
    ['sink', 'true', []],
    ['bad', 'id >= 7', ids(0, 4)],
    ['bad', 'true', ids(0, 4)],
  ])(
    'in its commit to the %s, while another one takes over with %s, changes nothing',
    async (at, condition, diverted) => {
      const name = `paused_${at}_${diverted.length}_${condition.length}`
      await lab.makeTables(name)
      await lab.append(`s.${name}`, numbered(0, 10))
      const { catalog, paused, release } = lab.pausing(`s.${name}_${at}`)
      let isLost = false
      const checkLease = (): void => {
        if (isLost) throw new LeaseLost('taken over')
      }
      const late = (await lab.openSession(name, 'id >= 4', { catalog, checkLease })).step(signal)
      const ended = expect(late).rejects.toThrow()
      await paused
      isLost = true
      const next = await lab.openSession(name, condition)
      await drain(next)
      release()
      await ended
      await expectOnce(name, diverted, 10)
      await lab.append(`s.${name}`, numbered(10, 20))
      await drain(next)
      await expectOnce(name, diverted, 20)
    },
  )

  it.each(['sink', 'bad'])(
    'in its commit to the %s commits nothing twice, even if it notices no loss of its lease',
    async (at) => {
      const name = `unnoticed_${at}`
      await lab.makeTables(name)
      await lab.append(`s.${name}`, numbered(0, 10))
      const { catalog, paused, release } = lab.pausing(`s.${name}_${at}`)
      const late = (await lab.openSession(name, 'id >= 4', { catalog })).step(signal)
      await paused
      await drain(await lab.openSession(name, 'true'))
      release()
      await Promise.allSettled([late])
      await expectOnce(name, at === 'sink' ? [] : ids(0, 4), 10)
      expect(await orphansOf(await lab.load(`s.${name}_bad`))).toEqual([])
    },
  )

  it('on a copy of the checkpoint is refused, with the rows that it diverts', async () => {
    await lab.makeTables('copied')
    await lab.append('s.copied', numbered(0, 10))
    const { catalog, paused, release } = lab.pausing('s.copied_sink')
    const late = (await lab.openSession('copied', 'id >= 4', { catalog })).step(signal)
    const ended = expect(late).rejects.toMatchObject({ code: 'FENCED' })
    await paused
    await drain(await lab.openSession('copied', 'id < 5', { runId: 'other', checkpoint: 'copied-2' }))
    release()
    await ended
    await expectOnce('copied', ids(5, 10), 10)
    expect(await orphansOf(await lab.load('s.copied_bad'))).toEqual([])
  })
})

describe('a session', () => {
  it('stops when its table of diverted rows is replaced', async () => {
    await lab.makeTables('moved')
    for (let at = 0; at < 3; at += 1) await lab.append('s.moved', numbered(at * 10, at * 10 + 10))
    const session = await lab.openSession('moved', 'false')
    await session.step(signal)
    await lab.catalog().dropTable(parseIdentifier('s.moved_bad'))
    await expect(session.step(signal)).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
    await lab.makeTables('moved2')
    const { metadata } = await lab.load('s.moved2_bad')
    await lab.catalog().createTable(parseIdentifier('s.moved_bad'), { schema: metadata.schemas[0]! })
    await expect(session.step(signal)).rejects.toMatchObject({ code: 'TABLE_REPLACED' })
  })

  it('reads on if its checkpoint is lost and all rows were diverted', async () => {
    await lab.makeTables('lost')
    const session = await lab.openSession('lost', 'false')
    for (let at = 0; at < 2; at += 1) {
      await lab.append('s.lost', numbered(at * 10, at * 10 + 10))
      await session.step(signal)
    }
    await rm(`${lab.service.folder}/cp/lost`, { recursive: true })
    const next = await lab.openSession('lost', 'false')
    await drain(next)
    await expectOnce('lost', ids(0, 20), 20)
  })
})

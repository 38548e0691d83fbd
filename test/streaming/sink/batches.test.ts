import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { runExpiry } from '../../../src/maintenance/expiry/expire.ts'
import { createBatchSlots } from '../../../src/streaming/run/batch-slots.ts'
import { numbered, openLab, type StreamLab } from '../support.ts'
import { sleep, until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

describe('the batches of a pipeline', () => {
  let lab: StreamLab
  beforeAll(async () => {
    lab = await openLab()
  })
  afterAll(() => lab.close())

  const status = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
  const stop = (id: string) => lab.service.post(`/api/pipeline/${id}/stop`, {})
  const sinkRows = async (name: string): Promise<number> => (await lab.rows(`s.${name}_sink`).catch(() => [])).length

  async function makeSource(name: string): Promise<void> {
    await lab.createTable(`s.${name}`, [
      ['id', 'long'],
      ['name', 'string'],
    ])
  }

  async function start(name: string, more: object = {}): Promise<string> {
    const answer = await lab.service.post('/api/pipeline/start', {
      source_table: `s.${name}`,
      sink_table: `s.${name}_sink`,
      checkpoint_location: `cp/${name}`,
      trigger_interval: '100 ms',
      create_sink_table: true,
      ...more,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body.pipeline.id
  }

  /** What each batch wrote, oldest first. */
  async function summaries(name: string): Promise<Readonly<Record<string, string>>[]> {
    const { metadata } = await lab.load(`s.${name}_sink`)
    return metadata.snapshots.map(({ summary }) => summary)
  }

  const rowsPerBatch = async (name: string): Promise<number[]> =>
    (await summaries(name)).map((summary) => Number(summary['added-records']))

  it('respect the file limit in snapshot order, and run without a pause while more is waiting', LONG, async () => {
    await makeSource('files')
    for (let at = 0; at < 5; at += 1) {
      const first = at * 30
      await lab.append(
        's.files',
        numbered(first, first + 10),
        numbered(first + 10, first + 20),
        numbered(first + 20, first + 30),
      )
    }
    const id = await start('files', { trigger_interval: '24 h', max_files_per_batch: 4 })
    await until(async () => (await sinkRows('files')) === 150, 'all rows, although the next trigger is tomorrow')
    expect(await rowsPerBatch('files')).toEqual([40, 40, 40, 30])
    await stop(id)
  })

  it('respect the byte limit, but always contain at least one file', async () => {
    await makeSource('bytes')
    for (let at = 0; at < 5; at += 1) await lab.append('s.bytes', numbered(at * 100, at * 100 + 100))
    await lab.append('s.bytes', numbered(500, 60_000))
    for (let at = 0; at < 2; at += 1) await lab.append('s.bytes', numbered(60_000 + at * 100, 60_100 + at * 100))
    const tasks = await planFiles(await lab.load('s.bytes'))
    const small = Math.min(...tasks.map(({ dataFile }) => dataFile.fileSizeInBytes))
    const id = await start('bytes', { max_bytes_per_batch: Math.floor(small * 2.5) })
    await until(async () => (await sinkRows('bytes')) === 60_200, 'all rows')
    const batches = await rowsPerBatch('bytes')
    expect(batches.filter((rows) => rows > 200)).toEqual([59_500])
    expect(batches.filter((rows) => rows <= 200).length).toBeGreaterThanOrEqual(4)
    await stop(id)
  })

  it('record the pipeline and the source position in the summary of each snapshot', async () => {
    await makeSource('said')
    for (let at = 0; at < 3; at += 1) await lab.append('s.said', numbered(at * 10, at * 10 + 10))
    const id = await start('said', { max_files_per_batch: 1 })
    await until(async () => (await sinkRows('said')) === 30)
    const { run_id: runId, query_id: queryId } = await status(id)
    const source = await lab.load('s.said')
    const all = await summaries('said')
    for (const [at, summary] of all.entries()) {
      expect(summary).toMatchObject({
        'lockhouse.pipeline-id': id,
        'lockhouse.run-id': runId,
        'lockhouse.batch-id': String(at),
        'spark.sql.streaming.queryId': queryId,
        'spark.sql.streaming.epochId': String(at),
      })
    }
    const offset = all.at(-1)?.['lockhouse.source-offset'] ?? ''
    expect(offset).toContain(`"snapshot_id":${source.metadata.currentSnapshotId?.toString()}`)
    await stop(id)
  })

  it('start at the trigger interval and not more often, however often the source is written', LONG, async () => {
    await makeSource('ticks')
    await lab.append('s.ticks', numbered(0, 10))
    const begin = performance.now()
    const id = await start('ticks', { trigger_interval: '1 s' })
    await until(async () => (await sinkRows('ticks')) === 10)
    for (let at = 1; at <= 25; at += 1) {
      await lab.append('s.ticks', numbered(at * 10, at * 10 + 10))
      await sleep(100)
    }
    await until(async () => (await sinkRows('ticks')) === 260)
    await stop(id)
    const batches = (await rowsPerBatch('ticks')).length
    expect(batches).toBeGreaterThan(2)
    // Even on a slow machine: at most one trigger per started second, plus one for each end.
    expect(batches).toBeLessThanOrEqual((performance.now() - begin) / 1000 + 2)
  })

  it('process a long backlog completely and in order', { ...LONG, timeout: 300_000 }, async () => {
    await makeSource('long')
    const snapshots = 150
    for (let at = 0; at < snapshots; at += 1) await lab.append('s.long', numbered(at * 2, at * 2 + 2))
    const id = await start('long', { max_files_per_batch: 7 })
    await until(async () => (await sinkRows('long')) === snapshots * 2, 'the backlog to be read', 60_000)
    expect(await lab.rows('s.long_sink')).toEqual(await lab.rows('s.long'))
    expect(await rowsPerBatch('long')).toHaveLength(Math.ceil(snapshots / 7))
    expect((await status(id)).last_progress.sources[0].lag).toEqual({
      snapshots: 0,
      files: 0,
      rows: 0,
      bytes: 0,
      seconds: 0,
    })
    await stop(id)
  })

  it('warn when the start of the history is missing, and then read the current rows of the table', async () => {
    await makeSource('late')
    for (let at = 0; at < 3; at += 1) await lab.append('s.late', numbered(at * 10, at * 10 + 10))
    await runExpiry({
      catalog: lab.catalog(),
      identifier: parseIdentifier('s.late'),
      request: { retain_last: 1 },
      nowMs: Date.now() + 10 * 86_400_000,
    })
    const id = await start('late')
    await until(async () => (await sinkRows('late')) === 30)
    const { warnings } = await status(id)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/first snapshots of s\.late have expired/)
    await stop(id)
    await makeSource('whole')
    const other = await start('whole')
    expect((await status(other)).warnings).toEqual([])
    await stop(other)
  })

  it('warn only when a new checkpoint reads into a sink that another pipeline wrote from the same source', async () => {
    await makeSource('twice')
    await lab.append('s.twice', numbered(0, 10))
    const first = await start('twice')
    await until(async () => (await sinkRows('twice')) === 10)
    await stop(first)
    expect(await start('twice')).toBe(first)
    expect((await status(first)).warnings).toEqual([])
    await stop(first)
    const second = await start('twice', { checkpoint_location: 'cp/twice-again' })
    await until(async () => (await sinkRows('twice')) === 20)
    const { warnings } = await status(second)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(`already has rows of s.twice from pipeline ${first}`)
    await stop(second)
    await makeSource('apart')
    const other = await start('apart', { sink_table: 's.twice_sink' })
    expect((await status(other)).warnings).toEqual([])
    await stop(other)
  })

  it('without rows write nothing to the sink and still complete', async () => {
    await makeSource('none')
    await lab.createTable('s.none_sink', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    const made = await lab.service.post('/api/pipeline-defs', {
      name: 'only negative ids',
      nodes: [
        { id: 'in', type: 'iceberg-source', config: { table: 's.none' } },
        { id: 'few', type: 'filter', config: { condition: 'id < 0' } },
        { id: 'out', type: 'iceberg-sink', config: { table: 's.none_sink' } },
      ],
      edges: [
        { id: 'a', source: 'in', target: 'few' },
        { id: 'b', source: 'few', target: 'out' },
      ],
    })
    await lab.append('s.none', numbered(0, 10))
    const request = {
      version_id: made.body.version.id,
      checkpoint_location: 'cp/none',
      trigger_interval: '100 ms',
      max_files_per_batch: 1,
    }
    const { body } = await lab.service.post('/api/pipeline/start', request)
    const { id } = body.pipeline
    const untilBatch = (batch: number, rows: number) =>
      until(async () => {
        const { last_progress: last, state, error } = await status(id)
        if (state === 'failed' || state === 'degraded') throw new Error(JSON.stringify(error))
        return last?.batch_id === batch && last.num_input_rows === rows ? last : undefined
      }, `batch ${batch}`)
    expect((await untilBatch(0, 10)).sink).toMatchObject({ num_output_rows: 0, snapshot_id: null })
    await lab.append('s.none', numbered(10, 15))
    await untilBatch(1, 5)
    expect(currentSnapshot((await lab.load('s.none_sink')).metadata)).toBeUndefined()
    await stop(id)
    await lab.append('s.none', numbered(-3, 2))
    await lab.service.post('/api/pipeline/start', request)
    expect((await untilBatch(2, 5)).sink.num_output_rows).toBe(3)
    await stop(id)
    expect(await sinkRows('none')).toBe(3)
    const commits = readdirSync(`${lab.service.folder}/home/cp/none/commits`)
    expect(commits.filter((file) => /^\d+$/.test(file)).sort()).toEqual(['0', '1', '2'])
  })
})

describe('the batch slots', () => {
  it('rotate: a pipeline with much to do waits for all others after each batch', async () => {
    const slots = createBatchSlots(2)
    const order: string[] = []
    const work = async (name: string, batches: number): Promise<void> => {
      for (let batch = 0; batch < batches; batch += 1) {
        await slots.run(async () => {
          order.push(name)
          await sleep(1)
        })
      }
    }
    await Promise.all([work('much', 50), work('more', 50), work('little', 2), work('least', 1), work('some', 3)])
    expect(order).toHaveLength(106)
    expect(order.indexOf('least')).toBeLessThan(8)
    expect(order.lastIndexOf('little')).toBeLessThan(15)
    expect(order.lastIndexOf('some')).toBeLessThan(20)
  })

  it('are released when the work fails', async () => {
    const slots = createBatchSlots(1)
    await expect(slots.run(async () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await slots.run(async () => 'yes')).toBe('yes')
  })
})

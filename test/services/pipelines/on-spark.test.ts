import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeSpark } from '../../support/spark-connect/fake-spark.ts'
import { FakeStreams } from '../../support/spark-connect/fake-streams.ts'
import { until } from '../../support/waiting.ts'
import { deleteRow, FAST, numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { LONG } from '../../support/effort.ts'

const QUERY_ID = '55080374-1bf1-4eac-aa60-0109670f48f1'
const TOKEN = 'a-token-of-spark-0123456789'

describe('pipelines on Spark', () => {
  let lab: StreamLab
  let spark: FakeSpark
  let streams: FakeStreams

  beforeEach(async () => {
    spark = await FakeSpark.start({ token: TOKEN })
    streams = new FakeStreams(spark, QUERY_ID)
    await open(`${spark.remote}/;token=${TOKEN}`)
  })
  afterEach(async () => {
    await lab.close()
    spark.stop()
  })

  async function open(remote: string | undefined, more: Record<string, string> = {}): Promise<void> {
    const env = remote === undefined ? {} : { SPARK_REMOTE: remote, SPARK_CATALOG: 'lake' }
    lab = await openLab({ env: { ...env, ...more }, overrides: { streaming: FAST } })
    for (const table of ['s.src', 's.sink'])
      await lab.createTable(table, [
        ['id', 'long'],
        ['name', 'string'],
      ])
    await lab.append('s.src', numbered(0, 10))
    streams.metadataFiles = async (table) => [
      (await lab.load(table.replaceAll('`', '').replace(/^lake\./, ''))).metadataLocation,
    ]
  }

  async function reopen(...options: Parameters<typeof open>): Promise<void> {
    await lab.close()
    await open(...options)
  }

  const request = (engine?: string) =>
    lab.service.post('/api/pipeline/start', {
      source_table: 's.src',
      sink_table: 's.sink',
      checkpoint_location: 'cp/src',
      trigger_interval: '100 ms',
      ...(engine === undefined ? {} : { engine }),
    })

  const pipelineOf = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline

  async function start(): Promise<string> {
    const answer = await request('spark')
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect(answer.body.pipeline.engine).toBe('spark')
    return answer.body.pipeline.id
  }

  const untilState = (id: string, state: string) =>
    until(
      async () => (await pipelineOf(id)).state === state,
      async () => `${state}: ${JSON.stringify(await pipelineOf(id))}`,
    )

  it('are adopted when the service starts again, and stop without a query left behind', LONG, async () => {
    writeQueryId(lab)
    const id = await start()
    await untilState(id, 'running')
    await lab.service.restart()
    expect(streams.active).toHaveLength(1)
    await untilState(id, 'running')
    const stopped = await lab.service.post(`/api/pipeline/${id}/stop`, {})
    expect(stopped.body.pipeline.state).toBe('stopped')
    expect(streams.started).toHaveLength(1)
    expect(streams.active).toEqual([])
    // a pipeline that is started again keeps its engine
    expect((await request()).body.pipeline).toMatchObject({ id, engine: 'spark' })
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
    expect((await request('embedded')).body.pipeline).toMatchObject({ id, engine: 'embedded' })
    await untilState(id, 'running')
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
    expect(await lab.rows('s.sink')).toEqual(await lab.rows('s.src'))
  })

  it(
    'stay stopping while Spark does not answer, also when the service starts again, and nothing else starts',
    LONG,
    async () => {
      writeQueryId(lab)
      const id = await start()
      await untilState(id, 'running')
      spark.stop()
      const answer = await lab.service.post(`/api/pipeline/${id}/stop`, {})
      expect(answer.body.pipeline).toMatchObject({ state: 'stopping', error: { code: 'SPARK_UNREACHABLE' } })
      expect((await request('embedded')).status).toBe(409)
      await lab.service.restart()
      expect((await request('embedded')).status).toBe(409)
      await spark.listen()
      await untilState(id, 'stopped')
      expect(streams.active).toEqual([])
    },
  )

  it.each<[string, () => Promise<void>, RegExp]>([
    ['without a server', () => reopen(undefined), /set SPARK_REMOTE/],
    [
      'on a server for maintenance only',
      () => reopen(spark.remote, { SPARK_PIPELINES: '0' }),
      /do not set SPARK_PIPELINES=0/,
    ],
    ['with a wrong token', () => reopen(`${spark.remote}/;token=another-token-0123456789`), /refuses the token/],
    ['on a server that is too old', async () => void (spark.version = '3.5.6'), /3\.5\.6/],
    [
      'on another catalog',
      async () => void (streams.metadataFiles = async () => ['/other/metadata/1.json']),
      /its table s.src is another one.*SPARK_CATALOG/,
    ],
    [
      'without an Iceberg catalog there',
      async () => void spark.config.delete('spark.sql.catalog.lake'),
      /iceberg-spark-runtime/,
    ],
    ['from deleted rows', () => deleteRow(lab, 's.src', 3), /engine "embedded"/],
  ])('are refused %s, before anything starts', async (_, prepare, message) => {
    await prepare()
    const answer = await request('spark')
    expect(answer.status).toBe(422)
    expect(answer.body.errors).toEqual([{ path: 'engine', message: expect.stringMatching(message) }])
    expect(streams.started).toEqual([])
    expect((await lab.service.get('/api/pipelines')).body.pipelines).toEqual([])
  })

  async function startGraph(condition: string, engine: string) {
    const node = (id: string, type: string, config: object) => ({ id, type, config })
    const { body } = await lab.service.post('/api/pipeline-defs', {
      name: condition,
      nodes: [
        node('a', 'iceberg-source', { table: 's.src' }),
        node('f', 'filter', { condition }),
        node('z', 'iceberg-sink', { table: 's.sink' }),
      ],
      edges: [
        { id: '1', source: 'a', target: 'f' },
        { id: '2', source: 'f', target: 'z' },
      ],
    })
    return lab.service.post('/api/pipeline/start', {
      version_id: body.version.id,
      checkpoint_location: 'cp/src',
      trigger_interval: '100 ms',
      engine,
    })
  }

  it('begin where a query that was stopped in its first batch left unfinished files', async () => {
    writeQueryId(lab)
    const offsets = `${lab.service.folder}/home/cp/src/offsets`
    mkdirSync(offsets, { recursive: true })
    const left = '.0.897eb718-ed32-421a-9852-d8c6715f403d.tmp'
    const ours = '.tmp-0-897eb718-ed32-421a-9852-d8c6715f403d'
    for (const name of [left, `.${left}.crc`, '.0.crc', ours, 'notes.txt']) writeFileSync(`${offsets}/${name}`, '')
    await untilState(await start(), 'running')
    expect(readdirSync(offsets)).toEqual(['notes.txt'])
  })

  it('run graphs as queries in SQL of Spark', async () => {
    writeQueryId(lab)
    const { body } = await startGraph("id > 3 AND name LIKE 'n%'", 'spark')
    expect(body.pipeline).toMatchObject({ engine: 'spark' })
    await untilState(body.pipeline.id, 'running')
    await lab.service.post(`/api/pipeline/${body.pipeline.id}/stop`, {})
  })

  it('are refused for graphs that Spark may compute differently, with the node and the function', async () => {
    const answer = await startGraph("upper(name) = 'N1'", 'spark')
    expect(answer.status).toBe(422)
    const message = 'node f: Spark may compute upper() differently; use the embedded engine'
    expect(answer.body.errors).toEqual([{ path: 'engine', message }])
    expect(streams.started).toEqual([])
  })

  it('warn when the engine is "auto" and Spark cannot run a graph with much to read', async () => {
    await reopen(`${spark.remote}/;token=${TOKEN}`, { ENGINE_EMBEDDED_MAX_BYTES: '1KiB' })
    await lab.append('s.src', numbered(10, 5000))
    const { body } = await startGraph("upper(name) = 'N1'", 'auto')
    expect(body.pipeline).toMatchObject({ engine: 'embedded' })
    expect(body.pipeline.warnings.join()).toContain('upper()')
  })

  it('are chosen by the number of bytes when the engine is "auto"', async () => {
    const answer = await request('auto')
    expect(answer.body.pipeline).toMatchObject({ engine: 'embedded' })
  })
})

/** A checkpoint that has this query id, and nothing else. */
function writeQueryId(lab: StreamLab): void {
  const folder = `${lab.service.folder}/home/cp/src`
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/metadata`, JSON.stringify({ id: QUERY_ID }))
}

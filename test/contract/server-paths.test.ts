import { readdirSync, rmSync, truncateSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Exchange } from '../../src/middleware/exchange.ts'
import { HeaderMap } from '../../src/middleware/connection/header-map.ts'
import { createErrorHandler } from '../../src/middleware/error-handler.ts'
import { IcebergError } from '../../src/iceberg/errors.ts'
import { createLogger } from '../../src/services/logger.ts'
import { numbered, openLab, type StreamLab } from '../streaming/support.ts'
import { until } from '../support/waiting.ts'

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

describe('paths of the server', () => {
  let lab: StreamLab
  let warehouse = ''

  beforeAll(async () => {
    lab = await openLab()
    warehouse = `${lab.service.folder}/home/warehouse`
    for (const name of ['gone', 'torn', 'cut', 'source', 'sink']) {
      await lab.createTable(`s.${name}`, COLUMNS)
      await lab.append(`s.${name}`, numbered(0, 5))
      await lab.append(`s.${name}`, numbered(5, 10))
    }
  })
  afterAll(() => lab.close())

  /** Files of a table below one of its folders. */
  function filesOf(table: string, folder: 'data' | 'metadata', ending: string): string[] {
    const path = `${warehouse}/s/${table}/${folder}`
    const names = readdirSync(path).filter((name) => name.endsWith(ending))
    expect(names).not.toEqual([])
    return names.map((name) => `${path}/${name}`)
  }

  /** The text of the answers, which must not contain a path. */
  function shown(...answers: readonly unknown[]): string {
    const text = JSON.stringify(answers)
    expect(text).not.toContain(lab.service.folder)
    expect(text).not.toMatch(/file:\//)
    return text
  }

  const POSTS: readonly [string, object][] = [
    ['/api/compact', { rewrite_all: true }],
    ['/api/compact', { rewrite_all: true, dry_run: true }],
    ['/api/expire', { older_than: new Date().toISOString() }],
    ['/api/rewrite-manifests', {}],
    ['/api/remove-orphans', { dry_run: true }],
    ['/api/evolve/add-column', { name: 'c', type: 'STRING' }],
  ]

  async function tryAll(table: string): Promise<string> {
    const { service } = lab
    const answers: unknown[] = []
    for (const what of ['schema', 'health', 'snapshots', 'files', 'partitions']) {
      const { status, body } = await service.get(`/api/table/${table}/${what}`)
      if (status >= 400) answers.push(body)
    }
    for (const [path, more] of POSTS) {
      const { status, body } = await service.post(path, { table, ...more })
      if (status >= 400) answers.push(body)
    }
    const { body } = await service.get(`/api/operations?table=${table}`)
    const errors = body.operations.map(({ error }: { error: unknown }) => error).filter(Boolean)
    expect(answers).not.toEqual([])
    return shown(answers, errors)
  }

  it('are in no answer about a table whose metadata is missing', async () => {
    for (const file of filesOf('gone', 'metadata', '.json')) rmSync(file)
    expect(await tryAll('s.gone')).toMatch(
      /s\.gone is at gone\/metadata\/\d+-[\w-]+\.metadata\.json, which does not exist/,
    )
  })

  it('are in no answer about a table that lost its manifests', async () => {
    for (const file of filesOf('torn', 'metadata', '.avro')) rmSync(file)
    expect(await tryAll('s.torn')).toMatch(/There is no file torn\/metadata\/[\w.-]+\.avro/)
  })

  it('are in no answer and no stored error of an operation that read a damaged data file', async () => {
    for (const file of filesOf('cut', 'data', '.parquet')) truncateSync(file, 20)
    expect(await tryAll('s.cut')).toContain('cut/data/')
    const { body } = await lab.service.get('/api/operations?table=s.cut&state=failed')
    expect(shown(body.operations[0].error)).toContain('cut/data/')
  })

  it('are in no error of a pipeline', async () => {
    for (const file of filesOf('source', 'data', '.parquet')) rmSync(file)
    const { body } = await lab.service.post('/api/pipeline/start', {
      source_table: 's.source',
      sink_table: 's.sink',
      checkpoint_location: 'checkpoints/paths',
      trigger_interval: '100 ms',
    })
    const news: unknown[] = []
    const read = async () => {
      const { body: status } = await lab.service.get(`/api/pipeline/${body.pipeline.id}/status`)
      news.push(status.pipeline.error)
      return status.pipeline.error !== null
    }
    await until(read)
    const { body: history } = await lab.service.get(`/api/pipeline/${body.pipeline.id}/history`)
    expect(shown(news, history.states)).toContain('source/data/')
    await lab.service.post(`/api/pipeline/${body.pipeline.id}/stop`, {})
  })

  it('are in no refusal of a configuration, of a registration, and of a tool', async () => {
    const { service } = lab
    const config = {
      catalog_type: 'sql',
      warehouse,
      catalog_name: 'x',
      uri: `sqlite:///${service.folder}/no/catalog.db`,
    }
    const put = await service.call('PUT', '/api/config', { body: config })
    expect(put.status).toBeGreaterThanOrEqual(400)
    const metadata = { table: 's.new', metadata_location: `${warehouse}/s/none/metadata/1.metadata.json` }
    const registered = await service.post('/api/tables/register', metadata)
    expect(registered.status).toBeGreaterThanOrEqual(400)
    const call = { name: 'get_schema', arguments: { table: 's.gone' } }
    const told = await service.post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
      { headers: { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' } },
    )
    expect(shown(put.body, registered.body, told.body)).toContain('gone/metadata/')
  })
})

it('logs, with the request id, the details that it does not show to the caller', async () => {
  const lines: string[] = []
  const handleError = createErrorHandler(createLogger('info', (line) => lines.push(line)))
  const request = new Request('http://localhost/')
  const exchange = new Exchange({
    request,
    headers: new HeaderMap(request.headers),
    connection: {},
    requestId: 'req-7',
    trustedProxies: [],
  })
  const error = new IcebergError('FILE_NOT_FOUND', 'There is no file /srv/lake/t/metadata/1.avro.')
  expect(await handleError(error, exchange).json()).toMatchObject({ detail: 'There is no file t/metadata/1.avro.' })
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', request_id: 'req-7', error: { message: 'There is no file /srv/lake/t/metadata/1.avro.' } },
  ])
})

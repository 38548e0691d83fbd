import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { isJsonObject } from '../../../src/iceberg/json/json-fields.ts'
import { type JsonObject, stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import { currentSchema } from '../../../src/iceberg/metadata/metadata.ts'
import { schemaToJson } from '../../../src/iceberg/schema/schema.ts'
import { runRollback } from '../../../src/maintenance/rollback.ts'
import { openLab, type StreamLab } from '../../streaming/support.ts'
import { type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { callTool } from '../../support/mcp-call.ts'
import { until } from '../../support/waiting.ts'

let lab: StreamLab
let life: Lifecycle
beforeAll(async () => {
  lab = await openLab()
  life = await lifecycle(lab.service)
})
afterAll(() => lab.close())

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
  ['spare', 'string'],
] as const
const rowsOf = (from: number, to: number) =>
  `SELECT i AS c1, 'n' || i AS c2, 's' || i AS c3 FROM range(${from}, ${to}) t(i)`

let made = 0
const post = (path: string, body: object) => life.lead.call('POST', path, body)
const drop = (table: string, more: object = {}) => post('/api/evolve/drop-column', { table, name: 'name', ...more })
const stop = (id: string) => post(`/api/pipeline/${id}/stop`, {})
const start = (table: string, more: object) =>
  post('/api/pipeline/start', { checkpoint_location: `cp/${table}`, trigger_interval: '100 ms', ...more })
const copyOf = (table: string) => ({ source_table: table, sink_table: `${table}_sink`, create_sink_table: true })
const columns = async (table: string): Promise<string[]> =>
  (await lab.service.get(`/api/table/${table}/schema`)).body.columns.map(({ name }: { name: string }) => name)

/** Starts a pipeline and stops it when its sink has the rows. */
async function runUntil(table: string, rows: number, pipeline: object = copyOf(table)): Promise<string> {
  const { status, body } = await start(table, pipeline)
  expect(status, JSON.stringify(body)).toBe(200)
  const { id } = body.pipeline
  await until(async () => (await lab.rows(`${table}_sink`).catch(() => [])).length === rows, `${rows} rows`)
  await stop(id)
  await until(async () => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline.state === 'stopped')
  return id
}

/** A table with 10 rows that a stopped pipeline has copied, and 5 rows that it has not. */
async function behind(): Promise<{ table: string; id: string }> {
  const table = `s.b${(made += 1)}`
  await lab.createTable(table, COLUMNS)
  await lab.append(table, rowsOf(0, 10))
  const id = await runUntil(table, 10)
  await lab.append(table, rowsOf(10, 15))
  return { table, id }
}

describe('a stopped pipeline that is behind', () => {
  it('keeps the columns of its source until it has read the rows', async () => {
    const { table, id } = await behind()
    for (const more of [{}, { dry_run: true }, { force: true }]) {
      const { status, body } = await drop(table, more)
      expect([status, body.code], JSON.stringify(body)).toEqual([409, 'PIPELINE_BEHIND'])
      expect(body.errors).toEqual([
        { path: 'name', message: `used by pipeline ${id} (which has 5 rows of 1 snapshot still to read)` },
      ])
      expect(body.detail).toContain('let each pipeline read on until its lag is 0')
    }
    expect(await columns(table)).toContain('name')
    await runUntil(table, 15)
    expect((await drop(table)).status).toBe(200)
    expect(await lab.rows(`${table}_sink`)).toContain('{"id":"14","name":"n14","spare":"s14"}')
  })

  it('no longer protects columns when it is deleted', async () => {
    const { table, id } = await behind()
    expect((await drop(table)).status).toBe(409)
    expect((await life.lead.call('DELETE', `/api/pipeline/${id}`)).status).toBe(204)
    expect((await drop(table)).status).toBe(200)
  })

  it('allows a new name for a column, because it reads columns by field id', async () => {
    const { table } = await behind()
    expect((await post('/api/evolve/rename-column', { table, name: 'name', new_name: 'title' })).status).toBe(200)
    await runUntil(table, 15)
    expect(await lab.rows(`${table}_sink`)).toContain('{"id":"14","name":"n14","spare":"s14"}')
  })

  it('allows to drop a column that was added after the rows were written', async () => {
    const { table } = await behind()
    expect((await post('/api/evolve/add-column', { table, name: 'late', type: 'int' })).status).toBe(200)
    expect((await drop(table, { name: 'late' })).status).toBe(200)
  })

  it('keeps only the columns that its graph reads', async () => {
    const table = `s.b${(made += 1)}`
    await lab.createTable(table, COLUMNS)
    await lab.createTable(`${table}_sink`, COLUMNS.slice(0, 1))
    await lab.append(table, rowsOf(0, 10))
    const place = await life.create(`behind ${table}`, {
      nodes: [
        { id: 'in', type: 'iceberg-source', config: { table } },
        { id: 'keep', type: 'filter', config: { condition: 'name IS NOT NULL' } },
        { id: 'pick', type: 'select', config: { columns: [{ name: 'id' }] } },
        { id: 'out', type: 'iceberg-sink', config: { table: `${table}_sink` } },
      ],
      edges: [
        { id: 'a', source: 'in', target: 'keep' },
        { id: 'b', source: 'keep', target: 'pick' },
        { id: 'c', source: 'pick', target: 'out' },
      ],
    })
    await runUntil(table, 10, { version_id: place.versionId })
    await lab.append(table, rowsOf(10, 15))
    expect((await drop(table)).body.code).toBe('PIPELINE_BEHIND')
    expect((await drop(table, { name: 'spare' })).status).toBe(200)
  })

  it('protects no column any more when another engine took away the history that it has to read', async () => {
    const table = `s.b${(made += 1)}`
    await lab.createTable(table, COLUMNS)
    await lab.append(table, rowsOf(0, 5))
    const [first] = (await lab.load(table)).metadata.snapshots
    await lab.append(table, rowsOf(5, 10))
    await runUntil(table, 10)
    const rollback = { catalog: lab.catalog(), identifier: parseIdentifier(table), snapshotId: first?.snapshotId ?? 0n }
    await runRollback(rollback)
    await lab.append(table, rowsOf(10, 15))
    expect((await drop(table)).status).toBe(200)
  })

  it('protects no column of a table whose name differs from its source in case only', async () => {
    const { table } = await behind()
    const other = table.replace('s.b', 's.B')
    await lab.createTable(other, COLUMNS)
    await lab.append(other, rowsOf(0, 3))
    expect((await drop(other)).status).toBe(200)
    expect((await drop(table)).body.code).toBe('PIPELINE_BEHIND')
  })

  it('keeps its columns from a proposal of the agent', async () => {
    const { table, id } = await behind()
    const send = (path: string, init: RequestInit) => lab.service.app.request(path, init)
    const answer = await callTool(send, life.lead.token, {
      name: 'drop_column',
      arguments: { table, name: 'name' },
    })
    expect(JSON.stringify(answer)).toContain('PIPELINE_BEHIND')
    expect(JSON.stringify(answer)).toContain(id)
  })
})

const withFields = async (table: string, change: (fields: JsonObject[]) => JsonObject[]) => {
  const schema = schemaToJson(currentSchema((await lab.load(table)).metadata))
  const { fields } = schema
  const list = Array.isArray(fields) ? fields.filter(isJsonObject) : []
  return [
    { action: 'add-schema', schema: { ...schema, fields: change(list) } },
    { action: 'set-current-schema', 'schema-id': -1 },
  ]
}

describe('the served catalog refuses a commit that', () => {
  it.each<[string, (fields: JsonObject[]) => JsonObject[]]>([
    ['drops', (fields) => fields.filter(({ name }) => name !== 'name')],
    ['replaces', (fields) => fields.map((field) => (field['name'] === 'name' ? { ...field, id: 91 } : field))],
    ['narrows', (fields) => fields.map((field) => (field['name'] === 'name' ? { ...field, type: 'int' } : field))],
  ])('%s a column of rows that a stopped pipeline has to read', async (_, change) => {
    const { table, id } = await behind()
    const text = stringifyJson({ requirements: [], updates: await withFields(table, change) })
    const path = `/iceberg/v1/namespaces/s/tables/${table.slice(2)}`
    const answer = await lab.service.call('POST', path, { text, token: life.lead.token })
    expect([answer.status, answer.body.error?.message]).toEqual([
      403,
      expect.stringContaining(`${id} (which has 5 rows`),
    ])
    await runUntil(table, 15)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { dropColumn } from '../../../src/iceberg/update/apply/schema-update.ts'
import { until } from '../../support/waiting.ts'
import { openLab, type StreamLab } from '../support.ts'

let lab: StreamLab
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

/** A version whose nodes between source and sink are given, in order. */
async function define(table: string, nodes: readonly { type: string; config: object }[]): Promise<string> {
  const all = [
    { type: 'iceberg-source', config: { table } },
    ...nodes,
    { type: 'iceberg-sink', config: { table: `${table}_sink` } },
  ].map((node, at) => ({ id: `n${at}`, ...node }))
  const edges = all.slice(1).map(({ id }, at) => ({ id: `e${at}`, source: `n${at}`, target: id }))
  const { status, body } = await lab.service.post('/api/pipeline-defs', { name: `dropped ${table}`, nodes: all, edges })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.version.id
}

const start = (table: string, version: string) =>
  lab.service.post('/api/pipeline/start', {
    version_id: version,
    checkpoint_location: `cp/${table}`,
    trigger_interval: '100 ms',
  })
const status = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
const untilRows = (table: string, rows: number) =>
  until(async () => (await lab.rows(`${table}_sink`)).length >= rows, `${rows} rows in the sink of ${table}`)

async function dropName(table: string): Promise<void> {
  await commitTable(lab.catalog(), parseIdentifier(table), async ({ metadata }) => ({
    ...dropColumn(metadata, { name: 'name' }),
    writtenFiles: [],
  }))
}

/** A pipeline that waits because its sink is away, while rows with a name arrive and the column is dropped. */
async function behind(table: string, nodes: readonly { type: string; config: object }[]): Promise<string> {
  await lab.createTable(table, COLUMNS)
  await lab.createTable(`${table}_sink`, COLUMNS)
  await lab.append(table, "SELECT 1::BIGINT AS c1, 'n1' AS c2")
  const { status: answered, body } = await start(table, await define(table, nodes))
  expect(answered, JSON.stringify(body)).toBe(200)
  await untilRows(table, 1)
  const sink = parseIdentifier(`${table}_sink`)
  const { metadataLocation } = await lab.load(`${table}_sink`)
  await lab.catalog().dropTable(sink)
  await lab.append(table, "SELECT 2::BIGINT AS c1, 'n2' AS c2")
  await until(async () => (await status(body.pipeline.id)).state === 'degraded')
  await dropName(table)
  await lab.catalog().registerTable(sink, metadataLocation)
  return body.pipeline.id
}

const select = (...names: string[]) => ({ type: 'select', config: { columns: names.map((name) => ({ name })) } })
const filter = (condition: string) => ({ type: 'filter', config: { condition } })
const sql = (query: string) => ({ type: 'sql', config: { query } })

describe('a graph', () => {
  it.each([
    ['select', 's.g1', [select('id', 'name')]],
    ['filter', 's.g2', [filter("name = 'n2' OR id = 1")]],
    ['sql', 's.g3', [sql('SELECT * FROM input')]],
  ])(
    'copies values of a column that was dropped after its rows were appended through a %s node',
    async (_, table, nodes) => {
      const id = await behind(table, nodes)
      await untilRows(table, 2)
      expect(await lab.rows(`${table}_sink`)).toEqual(['{"id":"1","name":"n1"}', '{"id":"2","name":"n2"}'])
      await lab.service.post(`/api/pipeline/${id}/stop`, {})
    },
  )

  it.each([
    ['select', 's.h1', [select('id', 'name')]],
    ['filter', 's.h2', [filter('name IS NULL OR id > 0')]],
  ])('waits with the node when rows lack a dropped column that a %s node needs', async (_, table, nodes) => {
    const id = await behind(table, nodes)
    await untilRows(table, 2)
    await lab.append(table, 'SELECT 3::BIGINT AS c1')
    const { error } = await until(async () => {
      const pipeline = await status(id)
      return pipeline.error?.code === 'INCOMPATIBLE_SCHEMAS' ? pipeline : undefined
    })
    expect(error.message).toContain('node n1')
    expect(await lab.rows(`${table}_sink`)).toHaveLength(2)
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
  })
})

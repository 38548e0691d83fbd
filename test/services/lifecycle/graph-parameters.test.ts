import { Kysely } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StateTables } from '../../../src/storage/schema.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { type Lifecycle, lifecycle, type Place } from '../../support/lifecycle.ts'
import { openStateFile } from '../../support/state/state-file.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const SECRET = 'opensesame-zulu'
const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

let lab: StreamLab
let life: Lifecycle
beforeAll(async () => {
  lab = await openLab({ env: { LAKE_KEY: SECRET } })
  life = await lifecycle(lab.service)
})
afterAll(() => lab.close())

let made = 0
const set = (environment: string, parameters: object) =>
  lab.service.call('PUT', `/api/environments/${environment}`, { body: { parameters } })

/** A definition that reads `${in}`, filters, and writes `${out}`. */
const define = (query: string, more: object = {}): Promise<Place> =>
  life.create(`parameters ${(made += 1)}`, {
    nodes: [
      { id: 'in', type: 'iceberg-source', config: { table: '${in}' } },
      { id: 'q', type: 'sql', config: { query } },
      { id: 'out', type: 'iceberg-sink', config: { table: '${out}' } },
    ],
    edges: [
      { id: 'a', source: 'in', target: 'q' },
      { id: 'b', source: 'q', target: 'out' },
    ],
    ...more,
  })

async function tables(): Promise<{ in: string; out: string }> {
  const name = `s.p${(made += 1)}`
  await lab.createTable(`${name}_in`, COLUMNS)
  await lab.createTable(`${name}_out`, COLUMNS)
  return { in: `${name}_in`, out: `${name}_out` }
}

const start = (version: string) =>
  lab.service.post('/api/pipeline/start', {
    version_id: version,
    checkpoint_location: `cp/parameters-${(made += 1)}`,
    trigger_interval: '100 ms',
  })

/** What another start of the process finds, when its environment has changed. */
async function replaceParameters(id: string, parameters: object): Promise<void> {
  const db = new Kysely<StateTables>({ dialect: openStateFile(`${lab.service.folder}/home/state.db`) })
  const change = { parameters_json: JSON.stringify(parameters) }
  await db.updateTable('streaming_pipelines').set(change).where('id', '=', id).execute()
  await db.destroy()
}

const pipeline = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline

describe('validating with an environment', () => {
  it('uses the parameters of the named environment, and names nodes and parameters', async () => {
    const names = await tables()
    await set('development', { ...names, min: -3 })
    await set('qa', { in: names.in, min: true })
    const place = await define('SELECT * FROM input WHERE id > -${min}')
    const own = await lab.service.post(`${place.version}/validate`, {})
    expect(own.body).toMatchObject({
      runnable: true,
      problems: [],
      source_tables: [names.in],
      sink_table: names.out,
    })
    const qa = await lab.service.post(`${place.version}/validate?environment=qa`, {})
    expect(qa.body).toMatchObject({
      runnable: false,
      problems: [{ node_id: 'out', code: 'UNKNOWN_PARAMETER', parameter: 'out', severity: 'error' }],
    })
    await set('qa', { ...names, min: true })
    const typed = await lab.service.post(`${place.version}/validate?environment=qa`, {})
    expect(typed.body.problems).toEqual([expect.objectContaining({ node_id: 'q', code: 'INVALID_SQL' })])
    const unknown = await lab.service.post(`${place.version}/validate?environment=moon`, {})
    expect(unknown.status).toBe(400)
  })

  it('never shows a secret, whatever the SQL does with it', LONG, async () => {
    await set('development', { ...(await tables()), key: 'env:LAKE_KEY', gone: 'env:LAKE_GONE' })
    for (const query of [
      'SELECT ${key}::INT AS id, name FROM input',
      'SELECT id, ${key} FROM input',
      'SELECT id, name, ${key} FROM input',
      'SELECT upper(${key})::INT AS id FROM input',
      'SELECT id + ${key} AS id, name FROM input',
      'SELECT DATE ${key} AS id, name FROM input',
      'SELECT from_json(name, \'{"\' || ${key} || \'":"INTEGER"}\') AS id, name FROM input',
      'SELECT from_json(name, \'{"\' || hex(${key} ) || \'":"INTEGER"}\') AS id, name FROM input',
      'SELECT unnest(from_json(name, \'{"\' || hex(${key} ) || \'":"INTEGER"}\')) FROM input',
      'SELECT id, name FROM input WHERE ${key} > ',
    ]) {
      const place = await define(query)
      const { body } = await lab.service.post(`${place.version}/validate`, {})
      const sink = await lab.service.post(`${place.version}/sink-table`, {})
      const started = await start(place.versionId)
      expect(body.success, query).toBe(true)
      expect(JSON.stringify([body, sink.body, started.body]), query).not.toMatch(/sesame|zulu|6F70656E736573/i)
    }
    const oracle = "from_json(name, CASE WHEN ${key} LIKE 'o%' THEN '\"INTEGER\"' ELSE '\"VARCHAR\"' END) AS id"
    const told = await lab.service.post(`${(await define(`SELECT ${oracle}, name FROM input`)).version}/validate`, {})
    expect(told.body).toMatchObject({ runnable: false, sink_columns: null })
    expect(told.body.problems[0].message).toContain('from_json takes a constant JSON structure')
    const place = await define('SELECT id, ${gone} AS name FROM input')
    const { body } = await lab.service.post(`${place.version}/validate`, {})
    expect(body.problems).toEqual([
      expect.objectContaining({ node_id: 'q', code: 'MISSING_SECRET', parameter: 'gone' }),
    ])
    expect((await start(place.versionId)).status).toBe(422)
  })
})

describe('a pipeline', () => {
  it('keeps the parameters of its start, and hides secrets in its errors', async () => {
    const names = await tables()
    await set('development', { ...names, key: 'env:LAKE_KEY', min: 2 })
    const place = await define(
      'SELECT id, CASE WHEN id = 9 THEN CAST(concat(name, ${key}) AS INT)::VARCHAR ELSE ${key} END AS name FROM input WHERE id > ${min}',
    )
    const { body, status } = await start(place.versionId)
    expect(status, JSON.stringify(body)).toBe(200)
    await set('development', { ...names, key: 'other', min: 0 })
    await lab.append(names.in, numbered(1, 5))
    await until(async () => (await lab.rows(names.out)).length === 2, 'two rows')
    expect(await lab.rows(names.out)).toEqual([
      JSON.stringify({ id: '3', name: SECRET }),
      JSON.stringify({ id: '4', name: SECRET }),
    ])
    await lab.append(names.in, numbered(9, 10))
    await until(async () => (await pipeline(body.pipeline.id)).state === 'degraded', 'an error')
    expect((await pipeline(body.pipeline.id)).error.message).toContain('not shown')
    const seen = [
      await pipeline(body.pipeline.id),
      (await lab.service.get(`/api/pipeline/${body.pipeline.id}/history`)).body,
      (await lab.service.get('/api/audit')).body,
      (await lab.service.get('/api/events')).body,
    ]
    expect(JSON.stringify(seen)).not.toMatch(/sesame|zulu/i)
    await lab.service.post(`/api/pipeline/${body.pipeline.id}/stop`, {})
  })

  it.each([
    'hex(${key})',
    'reverse(${key})',
    "array_to_string(split(${key}, ''), '.')",
    'md5(${key})',
    'ascii(${key})',
  ])('tells nothing in its errors that its SQL makes of a secret: %s', async (made) => {
    const names = await tables()
    await set('development', { ...names, key: 'env:LAKE_KEY' })
    const cast = `CAST(concat('made:', ${made}) AS INT)::VARCHAR`
    const place = await define(`SELECT id, ${cast} AS name FROM input`)
    const { body } = await start(place.versionId)
    await lab.append(names.in, numbered(1, 3))
    await until(async () => (await pipeline(body.pipeline.id)).state === 'degraded', 'an error')
    expect((await pipeline(body.pipeline.id)).error.message).toContain('the reason is not shown')
    const seen = [
      await pipeline(body.pipeline.id),
      (await lab.service.get(`/api/pipeline/${body.pipeline.id}/history`)).body,
      (await lab.service.get('/api/audit')).body,
      (await lab.service.get('/api/events')).body,
    ]
    expect(JSON.stringify(seen)).not.toMatch(/made:[^'$]/)
    await lab.service.post(`/api/pipeline/${body.pipeline.id}/stop`, {})
  })

  it('ends with a clear error when a secret is missing at its restart', async () => {
    const names = await tables()
    await set('development', { ...names, key: 'env:LAKE_KEY' })
    const place = await define('SELECT id, ${key} AS name FROM input')
    const { body } = await start(place.versionId)
    await until(async () => (await pipeline(body.pipeline.id)).state === 'running', 'the pipeline')
    await replaceParameters(body.pipeline.id, { ...names, key: 'env:LAKE_GONE' })
    await lab.service.restart()
    await until(async () => (await pipeline(body.pipeline.id)).state === 'failed', 'the end')
    expect((await pipeline(body.pipeline.id)).error).toEqual({
      code: 'MISSING_SECRET',
      message: expect.stringContaining('env:LAKE_GONE is not set'),
    })
  })
})

describe.each(['uat', 'production'] as const)('a column that a version in %s uses after resolution', (environment) => {
  it('is neither dropped nor renamed; columns that it does not use are', async () => {
    const names = await tables()
    await set(environment, { ...names, min: 1, key: 'env:LAKE_NOT_SET' })
    const place = await define('SELECT id FROM input WHERE id > ${min} OR ${key} IS NULL')
    await life.bring(place, environment)
    const drop = (table: string, name: string) => life.engineer.call('POST', '/api/evolve/drop-column', { table, name })
    const refused = await drop(names.in, 'id')
    expect(refused.status).toBe(409)
    expect(refused.body.detail).toContain(place.versionId)
    expect((await drop(names.out, 'id')).status).toBe(409)
    expect((await drop(names.in, 'name')).status).toBe(200)
    await set(environment, { min: 1, key: '' })
    const rename = { table: names.in, name: 'id', new_name: 'number' }
    expect((await life.engineer.call('POST', '/api/evolve/rename-column', rename)).status).toBe(409)
    await set(environment, { in: 's.other', out: 's.another', min: 1, key: '' })
    expect((await drop(names.out, 'name')).status).toBe(200)
  })
})

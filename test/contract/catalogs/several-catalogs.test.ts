import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqlDatabase } from '../../catalog/support.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { actor, type Actor } from '../../support/lifecycle.ts'
import type { Answer } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

let lab: StreamLab
let lea: Actor
let eve: Actor

const settingsOf = (name: string) => ({
  catalog_type: 'sql',
  catalog_name: name,
  warehouse: `${lab.service.folder}/${name}`,
  uri: `sqlite:///${lab.service.folder}/${name}.db`,
  create: true,
})

async function ok(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer
  expect(status, JSON.stringify(body)).toBeLessThan(300)
  return body
}

beforeAll(async () => {
  lab = await openLab({ overrides: { automation: { isPaused: false }, catalogRetryMs: 100 } })
  lea = await actor(lab.service, 'lea', 'LeadDataEngineer')
  eve = await actor(lab.service, 'eve', 'DataEngineer')
  await ok(lea.call('POST', '/api/catalogs', settingsOf('lake')))
  await lab.catalog().member?.('lake').createNamespace(['s'])
  for (const name of ['s.orders', 'lake:s.orders', 'lake:s.events']) await lab.createTable(name, COLUMNS)
  await lab.append('s.orders', numbered(0, 1))
  for (let at = 0; at < 6; at += 1) await lab.append('lake:s.orders', numbered(at * 10, at * 10 + 10))
})
afterAll(() => lab.close())

const namesOf = async (query: string) =>
  (await ok(eve.call('GET', `/api/tables${query}`))).tables.map(({ table }: { table: string }) => table)

describe('a second catalog', () => {
  it('is listed, and its tables have its name', async () => {
    const { catalogs } = await ok(eve.call('GET', '/api/catalogs'))
    expect(catalogs.map((one: { name: string; is_default: boolean }) => [one.name, one.is_default])).toEqual([
      ['lockhouse', true],
      ['lake', false],
    ])
    expect(await namesOf('')).toEqual(['s.orders', 'lake:s.events', 'lake:s.orders'])
    expect(await namesOf('?catalog=lake')).toEqual(['lake:s.events', 'lake:s.orders'])
    expect(await namesOf('?catalog=lockhouse')).toEqual(['s.orders'])
    expect(await namesOf('?namespace=lake:s')).toEqual(['lake:s.events', 'lake:s.orders'])
    expect(await namesOf('?namespace=s')).toEqual(['s.orders'])
    expect(await namesOf('?namespace=s&catalog=lake')).toEqual([])
    const { tables } = await ok(eve.call('GET', '/api/tables?namespace=lake:s'))
    expect(tables[0]).toEqual({ name: 'events', namespace: 'lake:s', table: 'lake:s.events' })
    for (const query of ['?catalog=other', '?namespace=other:s', '?namespace=lake:t']) {
      expect((await eve.call('GET', `/api/tables${query}`)).status, query).toBe(404)
    }
  })

  it('has tables that are described, measured and compacted like those of the default one', async () => {
    const before = await lab.rows('lake:s.orders')
    expect(before).toHaveLength(60)
    expect((await ok(eve.call('GET', '/api/table/lake:s.orders'))).table).toBe('lake:s.orders')
    const health = await ok(eve.call('GET', '/api/table/lake%3As.orders/health'))
    expect([health.table, health.data_file_count]).toEqual(['lake:s.orders', 6])
    const result = await ok(eve.call('POST', '/api/compact', { table: 'lake:s.orders' }))
    expect(result.table).toBe('lake:s.orders')
    expect((await ok(eve.call('GET', '/api/table/lake:s.orders/health'))).data_file_count).toBe(1)
    expect(await lab.rows('lake:s.orders')).toEqual(before)
    expect(await lab.rows('s.orders')).toHaveLength(1)
    const { operations } = await ok(eve.call('GET', '/api/operations?table=lake:s.orders'))
    expect(operations).toHaveLength(1)
    expect((await ok(eve.call('GET', '/api/operations?table=s.orders'))).operations).toEqual([])
  })

  it('is in the health index, by catalog and by namespace', async () => {
    const indexed = async (query: string) =>
      (await ok(eve.call('GET', `/api/health-index${query}`))).tables
        .map(({ table }: { table: string }) => table)
        .sort()
    await until(async () => (await indexed('')).length === 3)
    expect(await indexed('?catalog=lake')).toEqual(['lake:s.events', 'lake:s.orders'])
    expect(await indexed('?catalog=lockhouse')).toEqual(['s.orders'])
    expect(await indexed('?namespace=lake:s')).toEqual(['lake:s.events', 'lake:s.orders'])
    expect(await indexed('?namespace=s')).toEqual(['s.orders'])
    const counted = async (query: string) => {
      const { totals, bands } = await ok(eve.call('GET', `/api/health-index${query}`))
      return [totals.tables, Object.values<number>(bands).reduce((sum, count) => sum + count, 0)]
    }
    expect(await Promise.all(['', '?catalog=lake', '?catalog=lockhouse'].map(counted))).toEqual([
      [3, 3],
      [2, 2],
      [1, 1],
    ])
  })

  it('is queried by its quoted name', async () => {
    const sql = `SELECT count(*) AS n FROM "lake:s".orders AS a JOIN s.orders AS b USING (id)`
    const answer = await ok(eve.call('POST', '/api/query', { sql }))
    expect(answer.rows).toEqual([['1']])
    expect(answer.tables.map(({ table }: { table: string }) => table).sort()).toEqual(['lake:s.orders', 's.orders'])
  })

  it('is read and written by pipelines, from one catalog to the other, and is not removed while one runs', async () => {
    const start = (source_table: string, sink_table: string) =>
      ok(
        eve.call('POST', '/api/pipeline/start', {
          source_table,
          sink_table,
          create_sink_table: true,
          checkpoint_location: `cp/${sink_table.replace(':', '-')}`,
          trigger_interval: '200 ms',
        }),
      )
    const { pipeline } = await start('lake:s.orders', 's.copy')
    await start('s.copy', 'lake:s.back')
    await until(async () => (await lab.rows('lake:s.back').catch(() => [])).length === 60)
    expect(await lab.rows('lake:s.back')).toEqual(await lab.rows('lake:s.orders'))
    const lineage = await ok(eve.call('GET', '/api/lineage?table=lake:s.orders'))
    expect(JSON.stringify(lineage)).toContain('lake:s.back')
    const refused = await lea.call('DELETE', '/api/catalogs/lake')
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect(refused.body.detail).toContain(pipeline.id)
    for (const { id } of (await ok(eve.call('GET', '/api/pipelines'))).pipelines) {
      await ok(eve.call('POST', `/api/pipeline/${id}/stop`, {}))
    }
  })
})

describe('a change of a catalog', () => {
  it('lists exactly the running pipelines that do not find their tables of this catalog', async () => {
    await ok(lea.call('POST', '/api/catalogs', settingsOf('moved')))
    await lab.catalog().member?.('moved').createNamespace(['s'])
    await lab.createTable('moved:s.source', COLUMNS)
    const start = (source: string, sink: string) =>
      ok(
        eve.call('POST', '/api/pipeline/start', {
          source_table: source,
          sink_table: sink,
          create_sink_table: true,
          checkpoint_location: `cp/${sink}`,
          trigger_interval: '1 hour',
        }),
      )
    const { pipeline } = await start('moved:s.source', 's.moved_copy')
    const other = await start('s.orders', 's.orders_copy')
    const change = async (body: object) =>
      (await ok(lea.call('PUT', '/api/catalogs/moved', { ...settingsOf('moved'), ...body }))).affected_pipelines
    expect(await change({})).toEqual([])
    const elsewhere = { uri: `sqlite:///${lab.service.folder}/moved-elsewhere.db` }
    const problem = 'is not in the new catalog, or cannot be read there'
    expect(await change(elsewhere)).toEqual([{ id: pipeline.id, tables: [{ table: 'moved:s.source', problem }] }])
    await lab.catalog().member?.('moved').createNamespace(['s'])
    await lab.createTable('moved:s.source', COLUMNS)
    const [affected] = await change({})
    expect(affected.tables).toEqual([{ table: 'moved:s.source', problem: 'is another table in the new catalog' }])
    for (const { id } of [pipeline, other.pipeline]) await ok(eve.call('POST', `/api/pipeline/${id}/stop`, {}))
    expect(await change(elsewhere)).toEqual([])
    await ok(lea.call('DELETE', '/api/catalogs/moved'))
  })
})

describe('a catalog to which a pipeline only diverts rows', () => {
  it('gets them, and is not removed while it runs', async () => {
    await ok(lea.call('POST', '/api/catalogs', settingsOf('bin')))
    await lab.catalog().member?.('bin').createNamespace(['s'])
    await lab.createTable('bin:s.bad', [
      ...COLUMNS,
      ['_reason', 'string'],
      ['_batch_id', 'long'],
      ['_pipeline', 'string'],
      ['_diverted_at', 'timestamptz'],
    ])
    await lab.createTable('s.good', COLUMNS)
    const expectations = [{ name: 'few', condition: 'id < 5', on_failure: 'divert' }]
    const nodes = [
      { id: 'read', type: 'iceberg-source', config: { table: 'lake:s.orders' } },
      { id: 'check', type: 'check', config: { expectations, divert_to: 'bin:s.bad' } },
      { id: 'only', type: 'select', config: { columns: COLUMNS.map(([name]) => ({ name })) } },
      { id: 'write', type: 'iceberg-sink', config: { table: 's.good' } },
    ]
    const edges = [
      { id: 'a', source: 'read', target: 'check' },
      { id: 'b', source: 'check', target: 'only' },
      { id: 'c', source: 'only', target: 'write' },
    ]
    const made = await ok(eve.call('POST', '/api/pipeline-defs', { name: 'diverts', description: '', nodes, edges }))
    const { pipeline } = await ok(
      eve.call('POST', '/api/pipeline/start', {
        version_id: made.version.id,
        checkpoint_location: 'cp/diverts',
        trigger_interval: '200 ms',
      }),
    )
    await until(async () => (await lab.rows('bin:s.bad')).length === 55 && (await lab.rows('s.good')).length === 5)
    const refused = await lea.call('DELETE', '/api/catalogs/bin')
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining(pipeline.id)])
    await ok(eve.call('POST', `/api/pipeline/${pipeline.id}/stop`, {}))
    await ok(lea.call('DELETE', '/api/catalogs/bin'))
  })
})

describe('the Iceberg REST catalog', () => {
  const at = (path: string) => eve.call('GET', `/iceberg/v1/${path}`)
  const tablesAt = async (path: string) =>
    (await ok(at(`${path}/tables`))).identifiers.map(({ namespace, name }: { namespace: string[]; name: string }) =>
      [...namespace, name].join('.'),
    )

  it('has a prefix for each catalog, which the configuration of a warehouse names', async () => {
    expect((await ok(at('config'))).overrides).toEqual({})
    expect((await ok(at('config?warehouse=lockhouse'))).overrides).toEqual({})
    expect((await ok(at('config?warehouse=lake'))).overrides).toEqual({ prefix: 'lake' })
    expect((await at('config?warehouse=other')).status).toBe(404)
    expect(await tablesAt('namespaces/s')).toContain('s.orders')
    expect(await tablesAt('lockhouse/namespaces/s')).not.toContain('s.events')
    expect(await tablesAt('lake/namespaces/s')).toEqual(expect.arrayContaining(['s.events', 's.orders']))
    expect((await at('other/namespaces/s/tables')).status).toBe(404)
  })

  it('creates, changes, renames and drops tables of that catalog only', async () => {
    const schema = { type: 'struct', fields: [{ id: 1, name: 'id', required: false, type: 'long' }] }
    const uuidOf = async (name: string) => (await lab.load(name)).metadata.tableUuid
    const post = (path: string, body: object) => eve.call('POST', `/iceberg/v1/${path}`, body)
    await ok(post('namespaces/s/tables', { name: 'made', schema }))
    const made = await ok(post('lake/namespaces/s/tables', { name: 'made', schema }))
    expect(made.metadata.location).toContain('/lake/s/made')
    const own = await uuidOf('s.made')
    expect(await uuidOf('lake:s.made')).toBe(made.metadata['table-uuid'])
    const change = { requirements: [], updates: [{ action: 'set-properties', updates: { a: 'b' } }] }
    await ok(post('lake/namespaces/s/tables/made', change))
    expect((await lab.load('lake:s.made')).metadata.properties).toMatchObject({ a: 'b' })
    expect((await lab.load('s.made')).metadata.properties).not.toMatchObject({ a: 'b' })
    const renamed = { source: { namespace: ['s'], name: 'made' }, destination: { namespace: ['s'], name: 'renamed' } }
    expect((await post('lake/tables/rename', renamed)).status).toBe(204)
    expect(await uuidOf('lake:s.renamed')).toBe(made.metadata['table-uuid'])
    expect((await eve.call('DELETE', '/iceberg/v1/lake/namespaces/s/tables/renamed')).status).toBe(204)
    expect(await uuidOf('s.made')).toBe(own)
    const entries = await ok(lea.call('GET', '/api/audit?object=lake:s.renamed'))
    expect(entries.map(({ action }: { action: string }) => action)).toEqual(['table.drop', 'table.rename'])
    expect((await eve.call('DELETE', '/iceberg/v1/namespaces/s/tables/made')).status).toBe(204)
  })

  it('refuses a table whose files another catalog has', async () => {
    const location = (await lab.load('lake:s.events')).metadataLocation
    const answer = await eve.call('POST', '/iceberg/v1/namespaces/s/register', {
      name: 'taken',
      'metadata-location': location,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(400)
    expect(await namesOf('?catalog=lockhouse')).not.toContain('s.taken')
  })
})

describe('rules for tables', () => {
  const ruleOf = async (table: string) =>
    (await ok(eve.call('GET', `/api/table/${table}/policy`))).operations.find(
      ({ operation }: { operation: string }) => operation === 'compact',
    )?.policy?.name ?? null

  it('mean the default catalog without a prefix, and the others with one', async () => {
    const rule = (name: string, tables: string[]) =>
      ok(
        lea.call('POST', '/api/policies', {
          name,
          tables,
          operations: [{ operation: 'compact' }],
          when: { small_files_over: 1000 },
          mode: 'shadow',
        }),
      )
    await rule('own', ['*'])
    expect([await ruleOf('s.orders'), await ruleOf('lake:s.orders')]).toEqual(['own', null])
    await rule('lakes', ['*:*'])
    await rule('events', ['lake:s.ev*'])
    expect(await Promise.all(['s.orders', 'lake:s.orders', 'lake:s.events'].map(ruleOf))).toEqual([
      'own',
      'lakes',
      'events',
    ])
  })

  it('grant what they name, and nothing of another catalog', async () => {
    const grant = (tables: string[]) =>
      ok(lea.call('PUT', '/api/grants', [{ principal: 'user:eve', role: 'DataEngineer', tables }]))
    await grant(['s.*'])
    expect((await namesOf('?catalog=lake')).length).toBe(0)
    expect((await eve.call('GET', '/api/table/lake:s.orders')).status).toBe(404)
    expect((await eve.call('GET', '/iceberg/v1/lake/namespaces/s/tables/orders')).status).toBe(404)
    expect((await ok(eve.call('GET', '/iceberg/v1/lake/namespaces'))).namespaces).toEqual([])
    await grant(['lake:s.orders'])
    expect(await namesOf('')).toEqual(['lake:s.orders'])
    expect((await eve.call('GET', '/iceberg/v1/lake/namespaces/s/tables/orders')).status).toBe(200)
    expect((await ok(eve.call('GET', '/iceberg/v1/lake/namespaces'))).namespaces).toEqual([['s']])
    expect((await eve.call('GET', '/iceberg/v1/namespaces/s/tables/orders')).status).toBe(404)
    await ok(lea.call('PUT', '/api/grants', []))
  })
})

describe('the list of catalogs', () => {
  const add = (name: string, more: object = {}) => lea.call('POST', '/api/catalogs', { ...settingsOf(name), ...more })

  it('has each name once, in any case, and none that the protocol uses', async () => {
    for (const [name, status, code] of [
      ['lake', 409, 'CONFLICT'],
      ['LAKE', 409, 'CONFLICT'],
      ['lockhouse', 409, 'CONFLICT'],
      ['namespaces', 400, 'INVALID_REQUEST'],
      ['a b', 400, 'INVALID_REQUEST'],
      ['a:b', 400, 'INVALID_REQUEST'],
      ['*', 400, 'INVALID_REQUEST'],
      ['../x', 400, 'INVALID_REQUEST'],
      ['x'.repeat(64), 400, 'INVALID_REQUEST'],
    ] as const) {
      const { status: answered, body } = await add(name)
      expect([name, answered, body.code]).toEqual([name, status, code])
    }
    expect((await eve.call('POST', '/api/catalogs', settingsOf('more'))).status).toBe(403)
  })

  it('refuses a catalog whose tables another one has, which need not be the same settings', async () => {
    const other = await add('twin', { uri: settingsOf('lake').uri })
    expect(other.status, JSON.stringify(other.body)).toBe(201) // the same database, which has no table for this name
    expect(await namesOf('?catalog=twin')).toEqual([])
    await ok(lea.call('DELETE', '/api/catalogs/twin'))
    const copy = { uri: settingsOf('copy').uri }
    await ok(add('copy', copy))
    await ok(lea.call('DELETE', '/api/catalogs/copy'))
    const db = openSqlDatabase(`${lab.service.folder}/copy.db`)
    const { metadataLocation } = await lab.load('lake:s.orders')
    await db
      .insertInto('iceberg_tables')
      .values({
        catalog_name: 'copy',
        table_namespace: 's',
        table_name: 'same',
        metadata_location: metadataLocation,
        previous_metadata_location: null,
      })
      .execute()
    await db.destroy()
    const { status, body } = await add('copy', copy)
    expect([status, body.code, body.detail]).toEqual([
      409,
      'TABLE_EXISTS',
      expect.stringContaining('s.same of the catalog is already known as lake:s.orders'),
    ])
  })

  it('is changed with the revision that was read, and the name stays', async () => {
    await ok(add('more'))
    const path = '/api/catalogs/more'
    const { headers } = await lea.call('GET', path)
    const etag = headers.get('etag') ?? ''
    const change = (body: object, tag: string) =>
      lea.call('PUT', path, { ...settingsOf('more'), ...body }, { 'If-Match': tag })
    expect((await change({ catalog_name: 'other' }, etag)).status).toBe(400)
    await ok(change({ extra_props: { note: 'x' } }, etag))
    expect((await change({ extra_props: { note: 'y' } }, etag)).status).toBe(412)
    expect((await ok(lea.call('GET', path))).catalog.settings.extra_props).toEqual({ note: '***' })
    expect((await eve.call('PUT', path, settingsOf('more'))).status).toBe(403)
    expect((await eve.call('DELETE', path)).status).toBe(403)
    await ok(lea.call('DELETE', path))
    expect((await lea.call('GET', path)).status).toBe(404)
    const entries = await ok(lea.call('GET', '/api/audit?object=more'))
    expect(entries.map(({ action }: { action: string }) => action).slice(0, 3)).toEqual([
      'catalog.remove',
      'catalog.change',
      'catalog.add',
    ])
  })

  it('keeps the name of the default one apart', async () => {
    const { configured: _, ...config } = await ok(lea.call('GET', '/api/config'))
    const { status, body } = await lea.call('PUT', '/api/config', { ...config, catalog_name: 'lake', create: true })
    expect([status, body.code]).toEqual([409, 'CONFLICT'])
  })
})

describe('a catalog that cannot be opened', () => {
  it('is shown as such, disturbs nobody, and is opened when it is there', async () => {
    await ok(lea.call('POST', '/api/catalogs', settingsOf('fragile')))
    const file = join(lab.service.folder, 'fragile.db')
    renameSync(file, `${file}.away`)
    await lab.service.restart()
    const entry = async () => (await ok(eve.call('GET', '/api/catalogs/fragile'))).catalog
    expect((await entry()).is_open).toBe(false)
    expect(await namesOf('')).toEqual(expect.arrayContaining(['s.orders', 'lake:s.orders']))
    const { status, body } = await eve.call('GET', '/api/tables?catalog=fragile')
    expect([status, body.code, body.detail]).toEqual([
      503,
      'IO_FAILED',
      expect.stringContaining('The catalog fragile could not be opened'),
    ])
    expect((await eve.call('GET', '/api/table/fragile:s.orders')).status).toBe(503)
    renameSync(`${file}.away`, file)
    await until(async () => (await entry()).is_open)
    expect(await namesOf('?catalog=fragile')).toEqual([])
  })
})

describe('a default catalog that cannot be opened', () => {
  it('is replaced by one without a table of the others, before one more is added', async () => {
    const put = (body: object) => lea.call('PUT', '/api/config', body)
    await ok(put(settingsOf('first')))
    const file = join(lab.service.folder, 'first.db')
    renameSync(file, `${file}.away`)
    await lab.service.restart()
    expect((await eve.call('GET', '/api/table/s.orders')).body.code).toBe('CATALOG_NOT_CONFIGURED')
    const added = await lea.call('POST', '/api/catalogs', settingsOf('one_more'))
    expect(added.body.code, 'nobody knows which tables the default one has').toBe('CATALOG_NOT_CONFIGURED')
    const copy = await put(settingsOf('copy')) // with a table of lake, since the test above
    expect([copy.status, copy.body.detail]).toEqual([
      409,
      expect.stringContaining('s.same of the catalog is already known as lake:s.orders'),
    ])
    await ok(put(settingsOf('second')))
    await ok(lea.call('POST', '/api/catalogs', settingsOf('one_more')))
  })
})

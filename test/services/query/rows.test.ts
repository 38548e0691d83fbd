import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runRollback } from '../../../src/maintenance/rollback.ts'
import { deleteRow, openLab, type StreamLab } from '../../streaming/support.ts'
import { sleep } from '../../support/waiting.ts'
import { actor, type Actor } from '../../support/lifecycle.ts'

let lab: StreamLab
let engineer: Actor
beforeAll(async () => {
  lab = await openLab()
  engineer = await actor(lab.service, 'ed', 'DataEngineer')
  await lab.createTable('s.orders', [
    ['id', 'long'],
    ['name', 'string'],
  ])
  await lab.append('s.orders', "SELECT i AS c1, 'n' || i AS c2 FROM range(0, 10) t(i)")
  await sleep(5)
  await lab.append('s.orders', "SELECT i AS c1, 'n' || i AS c2 FROM range(10, 15) t(i)")
  await lab.catalog().createNamespace(['other'])
  await lab.createTable('other.orders', [['id', 'long']])
  await lab.createTable('s.customers', [
    ['id', 'long'],
    ['order', 'long'],
  ])
  await lab.append('s.customers', 'SELECT 100 + i AS c1, i AS c2 FROM range(0, 3) t(i)')
})
afterAll(() => lab.close())

const rows = (query: string, table = 's.orders') => engineer.call('GET', `/api/table/${table}/rows?${query}`)
const sql = (text: string, more: object = {}) => engineer.call('POST', '/api/query', { sql: text, ...more })

describe('GET /api/table/{table}/rows', () => {
  it('returns the columns, exact values and what was read', async () => {
    const { status, body } = await rows('order_by=id&limit=3')
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({
      columns: [
        { name: 'id', type: 'long' },
        { name: 'name', type: 'string' },
      ],
      rows: [
        ['0', 'n0'],
        ['1', 'n1'],
        ['2', 'n2'],
      ],
      truncated: true,
      planned_files: 2,
    })
    expect(body.read_bytes).toBe(body.planned_bytes)
  })

  it('opens only as many files as the rows need when their order does not matter', async () => {
    const { body } = await rows('limit=3')
    expect(body.rows).toHaveLength(3)
    expect(body.truncated).toBe(true)
    expect(body.read_bytes).toBeGreaterThan(0)
    expect(body.read_bytes).toBeLessThan(body.planned_bytes)
    const all = await rows('limit=15')
    expect(all.body.rows).toHaveLength(15)
    expect([all.body.truncated, all.body.read_bytes]).toEqual([false, all.body.planned_bytes])
  })

  it('reads columns, conditions and orders', async () => {
    const { body } = await rows(
      `columns=name&where=${encodeURIComponent("id > 11 AND name <> 'n13' -- all")}&order_by=id&descending=true`,
    )
    expect(body.rows).toEqual([['n14'], ['n12']])
  })

  it('reads the table as it was at a snapshot, at a time and at a tag', async () => {
    const { metadata } = await lab.load('s.orders')
    const [first] = metadata.snapshots
    const count = async (query: string) => (await rows(`limit=1000&${query}`)).body.rows.length
    expect(await count(`snapshot_id=${first?.snapshotId}`)).toBe(10)
    expect(await count(`as_of=${new Date(Number(first?.timestampMs)).toISOString()}`)).toBe(10)
    expect(await count('ref=main')).toBe(15)
    expect((await rows('as_of=2001-01-01T00:00:00Z')).body.detail).toContain('has no snapshot from 2001')
    expect((await rows('ref=nowhere')).body.detail).toBe('there is no branch or tag nowhere; the table has main')
    expect((await rows('snapshot_id=7')).status).toBe(404)
    expect((await rows('snapshot_id=7&ref=main')).status).toBe(400)
  })

  it('tells columns apart whose names differ in case only', async () => {
    await lab.createTable('s.twins', [
      ['name', 'string'],
      ['Name', 'string'],
    ])
    await lab.append('s.twins', "SELECT 'small' AS c1, 'great' AS c2")
    expect((await rows('columns=Name', 's.twins')).body.rows).toEqual([['great']])
    expect((await rows('columns=name', 's.twins')).body.rows).toEqual([['small']])
  })

  it('accepts the name of a twin column that the answer shows', async () => {
    const shown = (await rows('', 's.twins')).body.columns.map(({ name }: { name: string }) => name)
    expect(shown[1]).not.toBe('Name')
    const { status, body } = await rows(`columns=${shown[1]}&order_by=${shown[1]}`, 's.twins')
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.rows).toEqual([['great']])
  })

  it('returns rows of further files when a shortened value is among the first rows', async () => {
    await lab.createTable('s.long', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.long', "SELECT i AS c1, 'y' AS c2 FROM range(5, 15) t(i)")
    await lab.append('s.long', "SELECT i AS c1, repeat('x', 1001) AS c2 FROM range(0, 5) t(i)")
    for (const id of [0, 1, 2, 3]) await deleteRow(lab, 's.long', id)
    const { body } = await rows('limit=3', 's.long')
    expect([body.rows.length, body.truncated]).toEqual([3, true])
  })

  it.each(['order', 'table', 'group', 'position_deletes', 'equality_deletes_0'])(
    'reads a table named %s, with deletes',
    async (name) => {
      await lab.createTable(`s.${name}`, [
        ['id', 'long'],
        ['name', 'string'],
      ])
      await lab.append(`s.${name}`, "SELECT i AS c1, 'a' AS c2 FROM range(0, 3) t(i)")
      await deleteRow(lab, `s.${name}`, 1)
      const { status, body } = await rows('where=id%20%3E%200&columns=id', `s.${name}`)
      expect(status, JSON.stringify(body)).toBe(200)
      expect(body.rows).toEqual([['2']])
    },
  )

  it('tells what it would read without reading it', async () => {
    const { body } = await rows('dry_run=true')
    expect(body).toMatchObject({ rows: [], read_bytes: 0, planned_files: 2 })
    expect(body.columns).toHaveLength(2)
  })

  it.each([
    ['columns=nope', /no top-level column nope/],
    ['order_by=nope', /no top-level column nope/],
    ['where=nope%20%3D%201', /nope/],
    [
      `where=${encodeURIComponent('1=1) UNION ALL SELECT * FROM duckdb_settings() WHERE (true')}`,
      /not allowed|duckdb_settings/,
    ],
    [`where=${encodeURIComponent("id IN (SELECT 1 FROM read_text('/etc/passwd'))")}`, /read_text/],
    [`where=${encodeURIComponent('true; DROP TABLE orders')}`, /.+/],
  ])('refuses %s', async (query, detail) => {
    const { status, body } = await rows(query)
    expect([400, 404, 422]).toContain(status)
    expect(body.detail).toMatch(detail)
  })

  it('is for engineers, and is kept in the audit log without rows', async () => {
    const auditor = await actor(lab.service, 'amy', 'Auditor')
    expect((await auditor.call('GET', '/api/table/s.orders/rows')).status).toBe(403)
    await rows('where=id%20%3D%203')
    const { body } = await lab.service.get('/api/audit?action=table.query')
    const [newest] = body
    expect(newest).toMatchObject({ actor: 'ed', object_id: 's.orders' })
    expect(JSON.stringify(newest)).toContain('id = 3')
    expect(JSON.stringify(newest)).not.toContain('n3')
  })
})

describe('POST /api/query', () => {
  it('joins tables by their qualified names', async () => {
    const text = 'SELECT c.id, orders.name FROM s.orders JOIN "s".customers AS c ON c."order" = orders.id ORDER BY 1'
    const { status, body } = await sql(text)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.rows).toEqual([
      ['100', 'n0'],
      ['101', 'n1'],
      ['102', 'n2'],
    ])
    expect(body.tables.map(({ table }: { table: string }) => table)).toEqual(['s.orders', 's.customers'])
  })

  it('finds a table by its own name when only one has it', async () => {
    expect((await sql('SELECT count(*) FROM customers')).body.rows).toEqual([['3']])
    const { status, body } = await sql('SELECT count(*) FROM orders')
    expect([status, body.detail]).toEqual([422, expect.stringContaining('orders is the name of 2 tables')])
  })

  it('keeps named queries, aliases, comments and characters of more than one byte', async () => {
    const text = `WITH x AS (SELECT 'ü€😀' AS u, id FROM s /* the schema */ . orders -- all
      ), orders AS (SELECT 1 AS one) SELECT u, x.id, one FROM x, orders, s.customers k WHERE x.id = k."order" AND x.id = 2`
    const { status, body } = await sql(text)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.rows).toEqual([['ü€😀', '2', 1]])
  })

  it('reads every table as of one time', async () => {
    const { metadata } = await lab.load('s.orders')
    const asOf = new Date(Number(metadata.snapshots[0]?.timestampMs)).toISOString()
    expect((await sql('SELECT count(*) FROM s.orders', { as_of: asOf })).body.rows).toEqual([['10']])
  })

  it.each([
    ['DROP TABLE s.orders', 400],
    ['SELECT * FROM s.orders; SELECT 1', 400],
    ["SELECT * FROM read_csv('/etc/passwd')", 400],
    ['SELECT * FROM s.nope', 422],
    ['SELECT * FROM lockhouse_t1', 422],
    ['SELECT * FROM s.orders, lockhouse_t1', 422],
    ['WITH lockhouse_t1 AS (SELECT 1) SELECT * FROM s.orders', 400],
    ['SELECT * FROM main.duckdb_settings', 422],
    ['SELECT * FROM information_schema.tables', 422],
    ['SELECT', 400],
    ['SHOW TABLES', 400],
    ["SELECT getenv('HOME')", 400],
  ])('refuses %s', async (text, status) => {
    const answer = await sql(text)
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
  })

  it('returns timestamps of seconds and of milliseconds', async () => {
    const text = "SELECT TIMESTAMP_S '2020-01-02 03:04:05', '2020-01-02 03:04:05.678'::TIMESTAMP_MS, NULL::TIMESTAMP_S"
    const { status, body } = await sql(text)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.rows).toEqual([['2020-01-02T03:04:05.000000', '2020-01-02T03:04:05.678000', null]])
  })

  it('is not in the audit log when its SQL was refused', async () => {
    const text = "SELECT getenv('HOME') AS refused_query FROM s.customers"
    expect((await sql(text)).status).toBe(400)
    const { body } = await lab.service.get('/api/audit?action=table.query')
    expect(JSON.stringify(body)).not.toContain('refused_query')
  })

  it('returns at most the requested rows, and says so', async () => {
    const { body } = await sql('SELECT id FROM s.orders ORDER BY id', { limit: 4 })
    expect([body.rows.length, body.truncated]).toEqual([4, true])
  })

  it('reads deletes, and a table after a rollback', async () => {
    const { metadata } = await lab.load('s.orders')
    const [first] = metadata.snapshots
    await runRollback({
      catalog: lab.catalog(),
      identifier: { namespace: ['s'], name: 'orders' },
      snapshotId: first?.snapshotId ?? 0n,
    })
    expect((await sql('SELECT count(*) AS n FROM s.orders')).body).toMatchObject({
      columns: [{ name: 'n', type: 'long' }],
      rows: [['10']],
    })
  })
})

describe('GET /api/table/{table}/statistics', () => {
  it('adds up the metrics of all data files', async () => {
    const { status, body } = await engineer.call('GET', '/api/table/s.customers/statistics')
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({ data_file_count: 1, record_count: 3 })
    expect(body.columns).toEqual([
      expect.objectContaining({ path: 'id', type: 'long', value_count: 3, null_count: 0, lower: '100', upper: '102' }),
      expect.objectContaining({ path: 'order', lower: '0', upper: '2', bounded_file_count: 1 }),
    ])
    expect(body.columns[0].size_bytes).toBeGreaterThan(0)
  })

  it('has no bounds for a column that a later file lacks, and counts NULLs of files without it', async () => {
    await lab.createTable('s.grown', [['id', 'long']])
    await lab.append('s.grown', 'SELECT 1::BIGINT AS c1')
    const added = { table: 's.grown', name: 'late', type: 'string' }
    expect((await engineer.call('POST', '/api/evolve/add-column', added)).status).toBe(200)
    await lab.append('s.grown', "SELECT 2::BIGINT AS c1, 'x' AS c2")
    const { body } = await engineer.call('GET', '/api/table/s.grown/statistics')
    expect(body.columns[0]).toMatchObject({ lower: '1', upper: '2' })
    expect(body.columns[1]).toMatchObject({ path: 'late', value_count: null, lower: null, bounded_file_count: 1 })
  })
})

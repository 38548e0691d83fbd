import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { callsTool, says } from '../../support/model-provider/reply.ts'
import { type AgentLab, startAgentLab } from '../agent-lab.ts'
import { LONG } from '../../support/effort.ts'

const ROWS = { commits: 4, filesPerCommit: 2, rowsPerFile: 50 }

let lab: AgentLab
let folder: string
let canary: Server
let visits = 0
beforeAll(async () => {
  lab = await startAgentLab({
    events: ROWS,
    env: { LOCKHOUSE_SECRET: 'canary-in-the-environment' },
    limits: { queryMs: 6000 },
  })
  folder = await mkdtemp(join(tmpdir(), 'lockhouse-query-'))
  await writeFile(join(folder, 'secret.csv'), 'word\ncanary-in-a-file\n')
  canary = createServer((_, response) => {
    visits += 1
    response.end('word\ncanary-on-the-network\n')
  })
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve))
})
afterEach(() => lab.provider.reset())
afterAll(async () => {
  canary.close()
  await lab.close()
  await rm(folder, { recursive: true, force: true })
})

// oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of results without types
async function query(sql: string, more: object = {}): Promise<any> {
  lab.provider.script = [callsTool('query_table', { table: 'demo.events', sql, ...more }), says('done')]
  const { status, body } = await lab.ask(sql.slice(0, 100))
  expect(status, JSON.stringify(body)).toBe(200)
  const [{ result_json: json }] = body.tool_calls
  expect(Buffer.byteLength(json)).toBeLessThanOrEqual(16_384)
  return JSON.parse(json)
}

describe('query_table', () => {
  it('reads the current table with its deletes applied', async () => {
    const { data, truncated, untrusted } = await query('SELECT count(*) AS n FROM events')
    expect({ truncated, untrusted }).toEqual({ truncated: false, untrusted: true })
    // One tenth of the rows of one file is deleted in every second commit.
    expect(data).toEqual({ columns: [{ name: 'n', type: 'BIGINT' }], rows: [['390']], truncated: false })
  })

  it('resolves renamed columns by field id', async () => {
    await lab.service.post('/api/evolve/rename-column', { table: 'demo.events', name: 'kind', new_name: 'what' })
    await lab.service.post('/api/evolve/add-column', { table: 'demo.events', name: 'kind', type: 'int' })
    const { data } = await query('SELECT what, kind, count(*) FROM events GROUP BY ALL ORDER BY what DESC LIMIT 2')
    expect(data.rows.map((row: unknown[]) => row.slice(0, 2))).toEqual([
      ['view', null],
      ['refund', null],
    ])
  })

  it('keeps the order of a query and every digit, and returns the types', async () => {
    const sql =
      'SELECT id, occurred_at, amount, 9007199254740993::BIGINT AS big FROM events ORDER BY id DESC; -- newest'
    const { data } = await query(sql, { max_rows: 2 })
    expect(data.columns.map(({ type }: { type: string }) => type)).toEqual([
      'BIGINT',
      'TIMESTAMP WITH TIME ZONE',
      'DECIMAL(10,2)',
      'BIGINT',
    ])
    expect(data.rows[0]).toEqual(['399', expect.stringMatching(/^2026-01-01T04:06:03/), '123.69', '9007199254740993'])
    expect(data.rows).toHaveLength(2)
    expect(data.truncated).toBe(true)
  })

  it('accepts two columns with one name, and values that JSON cannot represent', async () => {
    const { data } = await query(
      "SELECT 1 AS a, 2 AS a, 'NaN'::DOUBLE AS n, NULL AS z, [1, 2] AS l FROM events LIMIT 1",
    )
    expect(data.rows).toEqual([[1, 2, 'NaN', null, '[1, 2]']])
  })

  it('truncates long values and many rows', async () => {
    const long = await query("SELECT string_agg(what, ',') AS words FROM events")
    expect(long.truncated).toBe(true)
    expect(long.data.rows[0][0].length).toBe(1001)
    const many = await query('SELECT id FROM events')
    expect(many.truncated).toBe(true)
    expect(many.data.rows).toHaveLength(100)
    const wide = await query("SELECT repeat('x', 900) AS x FROM events")
    expect(wide.truncated).toBe(true)
    expect(wide.data.rows.length).toBeGreaterThan(5)
  })
})

describe('hostile SQL', () => {
  const refused: readonly (readonly [string, (() => string) | string])[] = [
    ['a file', () => `SELECT * FROM read_csv('${folder}/secret.csv')`],
    ['a file by its name', () => `SELECT * FROM '${folder}/secret.csv'`],
    ['text of a file', () => `SELECT content FROM read_text('${folder}/secret.csv')`],
    ['a file beside the table', () => `SELECT * FROM events, read_csv('${folder}/secret.csv')`],
    ['a file in a subquery', () => `SELECT (SELECT word FROM read_csv('${folder}/secret.csv') LIMIT 1) FROM events`],
    ['a folder', `SELECT * FROM glob('/etc/*')`],
    ['the network', () => `SELECT * FROM read_csv('http://127.0.0.1:${(canary.address() as AddressInfo).port}/x.csv')`],
    ['the network by name', () => `SELECT * FROM 'http://127.0.0.1:${(canary.address() as AddressInfo).port}/x.csv'`],
    ['the environment', `SELECT getenv('LOCKHOUSE_SECRET') FROM events`],
    ['settings', `SELECT current_setting('temp_directory') FROM events`],
    ['settings as a table', 'SELECT * FROM duckdb_settings()'],
    ['secrets', 'SELECT * FROM duckdb_secrets()'],
    ['views of the engine', 'SELECT sql FROM duckdb_views()'],
    ['the schema of the engine', 'SELECT * FROM information_schema.tables'],
    ['another table', 'SELECT * FROM demo.orders'],
    ['the table by its full name', 'SELECT * FROM demo.events'],
    ['COPY', () => `COPY (SELECT * FROM events) TO '${folder}/out.csv'`],
    ['COPY FROM', () => `COPY events FROM '${folder}/secret.csv'`],
    ['ATTACH', () => `ATTACH '${folder}/x.db'`],
    ['INSTALL', 'INSTALL httpfs'],
    ['LOAD', 'LOAD httpfs'],
    ['SET', `SET enable_external_access = true`],
    ['PRAGMA', 'PRAGMA database_list'],
    ['CREATE', 'CREATE TABLE x AS SELECT * FROM events'],
    ['INSERT', 'INSERT INTO events SELECT * FROM events'],
    ['UPDATE', "UPDATE events SET what = ''"],
    ['DELETE', 'DELETE FROM events'],
    ['DROP', 'DROP VIEW events'],
    ['CALL', 'CALL duckdb_functions()'],
    ['EXPORT', () => `EXPORT DATABASE '${folder}'`],
    ['EXPLAIN', 'EXPLAIN ANALYZE SELECT * FROM events'],
    ['DESCRIBE', 'DESCRIBE events'],
    ['several statements', 'SELECT 1 FROM events; SELECT 2 FROM events'],
    ['a statement after a comment', 'SELECT 1 FROM events; -- x\nDROP VIEW events'],
    ['leaving the parentheses', "SELECT 1 FROM events) UNION ALL SELECT * FROM (SELECT '1'"],
    ['a comment that does not end', 'SELECT 1 FROM events /* '],
    ['nothing', ';'],
    ['no SQL', 'show me everything'],
    ['SQL in SQL', "SELECT * FROM query('SELECT 1')"],
    ['serialized SQL', "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))"],
    ['a value of two gigabytes', "SELECT repeat('x', 2000000000) FROM events"],
    ['a list of a billion', 'SELECT unnest(range(1000000000)) FROM events'],
    ['parameters', 'SELECT $1 FROM events'],
    ['the address in a state of an aggregate', 'SELECT hex((first(what) EXPORT_STATE)::BLOB) FROM events'],
    [
      'memory by its address',
      "SELECT finalize(cast_to_type(unhex('01'), (SELECT first(what) EXPORT_STATE FROM events))) FROM events",
    ],
    ['an unknown column', 'SELECT password FROM events'],
    ['a text that is too long', `SELECT ${'1,'.repeat(6000)} 1 FROM events`],
  ]

  it.each(refused)('is refused with an explanation: %s', async (_, sql) => {
    const result = await query(typeof sql === 'string' ? sql : sql())
    expect(result.data, JSON.stringify(result)).toBeUndefined()
    expect(['INVALID_ARGUMENT', 'INVALID_ARGUMENTS']).toContain(result.error.code)
    expect(JSON.stringify(result)).not.toContain('canary')
    expect(visits).toBe(0)
  })

  const stopped: readonly (readonly [string, string])[] = [
    ['endless recursion', 'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t'],
    [
      'recursion that keeps its rows',
      "WITH RECURSIVE t(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || s FROM t) SELECT * FROM t ORDER BY n DESC",
    ],
    [
      'all pairs of all pairs',
      'SELECT count(*) FROM events a, events b, events c, events d, events e WHERE a.id + b.id + c.id + d.id + e.id = -1',
    ],
    [
      'a sort of all pairs',
      'SELECT a.id, b.id, c.id, md5(a.id::VARCHAR || b.id::VARCHAR || c.id::VARCHAR) AS h FROM events a, events b, events c ORDER BY h LIMIT 3',
    ],
  ]

  it.each(stopped)('that uses too much is stopped, and the service continues: %s', LONG, async (_, sql) => {
    const result = await query(sql)
    if (result.error !== undefined) expect(['LIMIT_EXCEEDED', 'INVALID_ARGUMENT']).toContain(result.error.code)
    expect((await query('SELECT count(*) FROM events')).data.rows).toEqual([['390']])
  })

  it('has no effect on the table or on files', async () => {
    expect((await query('SELECT count(*) FROM events')).data.rows).toEqual([['390']])
    expect((await lab.service.get('/api/table/demo.events/snapshots')).body.snapshots.length).toBe(6)
    expect(visits).toBe(0)
  })
})

describe('a table whose name is hard to quote', () => {
  it('is available as t', async () => {
    const catalog = lab.service.context.app.catalog.current()
    const schema = {
      schemaId: 0,
      identifierFieldIds: [],
      fields: [{ id: 1, name: 'a b', required: false, type: { kind: 'long' as const } }],
    }
    await catalog.createTable({ namespace: ['demo'], name: 'order items; drop' }, { schema })
    lab.provider.script = [
      callsTool('query_table', { table: 'demo.order items; drop', sql: 'SELECT "a b" FROM t' }),
      says('ok'),
    ]
    const { body } = await lab.ask('hard name')
    expect(JSON.parse(body.tool_calls[0].result_json).data).toMatchObject({
      rows: [],
      columns: [{ name: 'a b', type: 'BIGINT' }],
    })
  })
})

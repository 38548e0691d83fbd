import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDuckDbEngine } from '../../../../src/engines/duckdb/duckdb-engine.ts'
import { LONG } from '../../../support/effort.ts'
import { createDuckDbSandbox } from '../../../../src/engines/duckdb/worker/sandbox.ts'
import type { Engine, QueryInput } from '../../../../src/engines/engine.ts'
import type { FileIO } from '../../../../src/iceberg/io/file-io.ts'
import { field, Lake, readAll, schemaOf, tableMetadata } from '../harness/lake.ts'
import { later } from '../../../support/waiting.ts'
import { HOSTILE, RAW_VALUES } from '../sandbox/hostile-sql.ts'

const CANARY = 'CANARY-0b5e'
/** Enough for what a query of a test does on a busy machine. */
const SECONDS = 20
const TOO_LONG = `longer than ${SECONDS} s`
const lake = new Lake()
const sandbox = createDuckDbSandbox()
const schema = schemaOf([field(1, 'id', 'long'), field(2, 'name', 'string')])
let engine: Engine
let input: QueryInput
let listener: Server
let connections = 0
let port = 0

beforeAll(async () => {
  process.env['LOCKHOUSE_CANARY'] = CANARY
  engine = await createDuckDbEngine({
    scratchDir: lake.path('sandboxed'),
    threads: 2,
    memoryLimitBytes: 256 * 1024 ** 2,
    queryLimits: { seconds: SECONDS, diskBytes: 64 * 1024 ** 2 },
  })
  const file = await lake.data("SELECT i AS id, 'n' || i AS name FROM range(5) r(i)", '{id: 1, name: 2}')
  input = {
    name: 'input',
    io: lake.io,
    metadata: tableMetadata({ schemas: [schema] }),
    fields: schema.fields,
    columnsBy: 'name',
    inputs: [file],
  }
  for (const name of ['canary.txt', 'canary.csv', 'canary.json', 'canary.sql']) {
    writeFileSync(
      lake.path(name),
      name.endsWith('json') ? `{"a": "${CANARY}"}\n` : name.endsWith('sql') ? `SELECT '${CANARY}'` : `a\n${CANARY}\n`,
    )
  }
  await lake.sql(`COPY (SELECT '${CANARY}' AS a) TO '${lake.path('canary.parquet')}' (FORMAT parquet)`)
  await lake.sql(
    `ATTACH '${lake.path('canary.duckdb')}' AS c; CREATE TABLE c.secret AS SELECT '${CANARY}' AS a; DETACH c`,
  )
  listener = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  port = (listener.address() as { port: number }).port
})
afterAll(async () => {
  listener.close()
  await Promise.all([sandbox.close(), engine.close()])
  await lake.close()
})

const filled = (text: string): string => text.replaceAll('$F', lake.folder).replaceAll('$P', String(port))

describe('SQL of users', () => {
  it.each([...HOSTILE, ...RAW_VALUES])('is refused before it runs: %s', async (text) => {
    const error = await caught(() => sandbox.check({ kind: 'query', text: filled(text), relations: ['input'] }))
    expect(error).toMatchObject({ name: 'IcebergError', code: 'INVALID_ARGUMENT' })
    expect(String(error)).not.toContain(CANARY)
  })

  it('is refused as an expression too', LONG, async () => {
    for (const text of [...HOSTILE, ...RAW_VALUES, 'id', 'id > 1'].filter((hostile) => hostile.startsWith('SELECT'))) {
      const error = await caught(() => sandbox.check({ kind: 'expression', text: `(${filled(text)})`, relations: [] }))
      expect(error, text).toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
  })

  it.each([
    'true) UNION ALL SELECT * FROM (SELECT 1',
    '1) FROM input WHERE (true',
    '1), (2',
    '1) AS x',
    '1) WHERE (true',
    '1) ORDER BY (1',
    '1) LIMIT (1',
    '1) GROUP BY (1',
    '1) HAVING (true',
    '1) QUALIFY (true',
    '1; SELECT 2',
    '1 --',
    '1) --',
    '1 /*',
    '*/ 1',
    "'",
    '"',
    '$$',
    '(',
    ')',
    '1, 2',
    'sum(id)',
    'row_number() OVER ()',
    '(SELECT max(id) FROM input)',
    'id AS x',
    '',
    'SELECT 1',
  ])('cannot leave the place of an expression: %s', async (text) => {
    const error = await caught(() => sandbox.check({ kind: 'expression', text, relations: [] }))
    // a comment that ends with its line is harmless
    if (text === '1 --') expect(error).toBeUndefined()
    // a struct of two is one value
    else if (text === '1, 2') expect(error).toBeUndefined()
    // a subquery without a table is one value
    else if (text === 'SELECT 1') expect(error).toBeUndefined()
    else expect(error, text).toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it.each([
    'id > 1',
    'id > 1 -- many',
    "name LIKE 'a%' AND id BETWEEN 1 AND 5 OR name IS NULL",
    "CASE WHEN id > 1 THEN upper(name) ELSE coalesce(name, 'none') END",
    "lpad(name, 10, '0') || '-' || id",
    "date_trunc('day', now()) > timestamp '2026-01-01'",
    "json_extract_string(name, '$.a')",
    "list_contains(['a', 'b'], name)",
    'list_transform([1, 2], lambda x: x + 1)',
    "strptime(name, '%Y-%m-%d')::DATE",
    'name.upper()',
    "regexp_replace(name, '[0-9]', '')",
    "replace(replace(name, '&', '&amp;'), '<', '&lt;')",
    'try_cast(name AS DECIMAL(10, 2))',
    "{'a': id, 'b': name}",
    'id IN (1, 2, 3)',
    'hash(id) % 10 = 0',
    "format('{:05d} {}', id, name)",
  ])('may compute: %s', async (text) => {
    await sandbox.check({ kind: 'expression', text, relations: [] })
    const [column] = await sandbox.describe(
      [{ name: 'input', columns: sandbox.columnsOf(schema.fields) }],
      `SELECT (\n${text}\n) FROM input`,
    )
    expect(column?.name).toBeDefined()
  })

  it.each([
    'SELECT * FROM input',
    'FROM input',
    'SELECT name, count(*), sum(id)::BIGINT FROM input GROUP BY ALL HAVING count(*) > 1 ORDER BY 1 LIMIT 10',
    'WITH a AS (SELECT * FROM input), b AS (SELECT * FROM a) SELECT a.* FROM a JOIN b USING (id)',
    'SELECT *, row_number() OVER (PARTITION BY name ORDER BY id) AS n FROM Input QUALIFY n = 1',
    'SELECT unnest([1, 2, 3]) AS x, id FROM input',
    'SELECT i.id, u.x FROM input i, unnest([1, 2]) u(x)',
    'SELECT * EXCLUDE (name) REPLACE (id + 1 AS id) FROM input',
    'SELECT id FROM input UNION SELECT range FROM range(3)',
    'SELECT * FROM (VALUES (1, 2)) v(a, b)',
    'SELECT j.key FROM input, json_each(name) j',
    'SELECT name, list(id ORDER BY id) FROM input GROUP BY name',
    'SELECT count(*) FILTER (WHERE id > 1) FROM input',
    'SELECT * FROM input WHERE EXISTS (SELECT 1 FROM input i WHERE i.id = input.id)',
    'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t',
    'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL (WITH u AS (SELECT n FROM t) SELECT n + 1 FROM u WHERE n < 5)) FROM t',
    'WITH input AS (SELECT * FROM input WHERE id > 1) SELECT * FROM input',
    'WITH A AS (SELECT 1 AS x), b AS (SELECT * FROM a) SELECT * FROM B WHERE x IN (WITH b AS (FROM a) FROM b)',
    'WITH a AS (SELECT 1 AS x), b AS (WITH a AS (SELECT 2 AS x) SELECT x FROM a) SELECT x FROM a UNION SELECT x FROM b',
    'SELECT * FROM input ORDER BY random() LIMIT 1',
    'SELECT * FROM input USING SAMPLE 10%',
  ])('may query: %s', async (text) => {
    await sandbox.check({ kind: 'query', text, relations: ['input'] })
    const columns = await sandbox.describe([{ name: 'input', columns: sandbox.columnsOf(schema.fields) }], text)
    expect(columns.length).toBeGreaterThan(0)
  })

  it('is refused when it is nested very deeply, and the service keeps running', { timeout: 300_000 }, async () => {
    const deep = [
      `SELECT ${'('.repeat(9000)}1${')'.repeat(9000)}`,
      `SELECT ${'NOT '.repeat(4900)}true`,
      `SELECT ${'-'.repeat(1)}${' - '.repeat(6000)}1`,
      `SELECT ${'1+'.repeat(9000)}1`,
      `SELECT ${'['.repeat(9000)}1${']'.repeat(9000)}`,
      `SELECT ${'abs('.repeat(3900)}1${')'.repeat(3900)}`,
      `${'SELECT * FROM ('.repeat(1200)}SELECT 1${')'.repeat(1200)}`,
      `SELECT ${'CASE WHEN true THEN '.repeat(800)}1${' END'.repeat(800)}`,
      `SELECT 1 ${'UNION ALL SELECT 1 '.repeat(1000)}`,
      'x'.repeat(20_001),
    ]
    for (const text of deep) {
      const error = await caught(() => sandbox.check({ kind: 'query', text, relations: [] }))
      if (error !== undefined) expect(error, text.slice(0, 40)).toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
    await sandbox.check({ kind: 'query', text: 'SELECT 1', relations: [] })
  })

  it('has columns with types', async () => {
    const columns = await sandbox.describe(
      [{ name: 'input', columns: sandbox.columnsOf(schema.fields) }],
      "SELECT id, name, id::INTEGER AS i, 1.50 AS d, [id] AS l, {'a': name} AS s, map {name: id} AS m, now() AS t, sum(id) OVER () AS h, NULL AS n FROM input",
    )
    expect(columns.map(({ name, type }) => [name, type?.kind])).toEqual([
      ['id', 'long'],
      ['name', 'string'],
      ['i', 'int'],
      ['d', 'decimal'],
      ['l', 'list'],
      ['s', 'struct'],
      ['m', 'map'],
      ['t', 'timestamptz'],
      ['h', undefined],
      ['n', 'int'],
    ])
  })
})

describe('a user query that runs unchecked', () => {
  const run = (query: string) =>
    engine.appendFrom({
      inputs: [input],
      query,
      isRepeatable: false,
      isUntrusted: true,
      io: lake.io,
      output: lake.output(schema),
    })

  it('writes its results', async () => {
    const { files, rowsRead, rowsWritten } = await run(
      'SELECT id * 10 AS c1, upper(name) AS c2 FROM input WHERE id > 2',
    )
    expect([rowsRead, rowsWritten]).toEqual([5, 2])
    expect(await readAll(files)).toEqual([
      { id: 30n, name: 'N3' },
      { id: 40n, name: 'N4' },
    ])
  })

  it('writes into partitions, although it returns different rows each time', async () => {
    const partitionSpec = {
      specId: 1,
      fields: [{ fieldId: 1000, sourceId: 1, name: 'b', transform: { kind: 'bucket', buckets: 4 } }],
    } as const
    const query = 'SELECT (random() * 1000)::BIGINT AS c1, name AS c2 FROM input, range(100)'
    const output = lake.output(schema, { partitionSpec })
    const result = await engine.appendFrom({
      inputs: [input],
      query,
      isRepeatable: false,
      isUntrusted: true,
      io: lake.io,
      output,
    })
    expect(result.rowsWritten).toBe(500)
  })

  it('cannot read or write a canary file, and opens no connection', { ...LONG, timeout: 300_000 }, async () => {
    const before = readdirSync(lake.folder)
    for (const text of HOSTILE) {
      const query = filled(text).replaceAll('\0', '')
      if (/range\(1000000000|generate_series\(1|list_resize|repeat\(|lpad\('x', 2|printf|format\(|sleep/.test(text))
        continue // see below
      const wrapped = `SELECT 0::BIGINT AS c1, to_json(t)::VARCHAR AS c2 FROM (\n${query}\n) AS t`
      for (const form of [/^(SELECT|WITH|FROM)/.test(query) ? wrapped : `SELECT 0 AS c1, '' AS c2); ${query}; --`]) {
        const outcome: unknown = await run(form).catch((error: unknown) => error)
        if (outcome instanceof Error) {
          expect(outcome, form).toMatchObject({ name: 'IcebergError' })
          expect(outcome.message).not.toContain(CANARY)
          continue
        }
        const rows = await readAll((outcome as Awaited<ReturnType<typeof run>>).files)
        const said = JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
        expect(said, form).not.toContain(CANARY)
        expect(said, form).not.toContain(lake.path('canary'))
        expect(said, form).not.toContain('root:')
      }
    }
    expect(connections).toBe(0)
    expect(readdirSync(lake.folder).filter((name) => !before.includes(name) && name !== 'out')).toEqual([])
    expect(existsSync(lake.path('written.csv'))).toBe(false)
  })

  it.each([
    [
      'a cross join',
      'SELECT count(*) AS c1, NULL AS c2 FROM range(100000) a, range(100000) b, range(100000) c',
      TOO_LONG,
    ],
    [
      'an endless recursion',
      'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT 1 FROM t) SELECT n AS c1, NULL AS c2 FROM t',
      new RegExp(`${TOO_LONG}|[Mm]emory|MiB|space|size`),
    ],
    [
      'more rows than the disk may hold',
      "SELECT range AS c1, hash(range)::VARCHAR || 'y' AS c2 FROM range(1000000000)",
      new RegExp(`${TOO_LONG}|more than 64 MiB`),
    ],
    [
      'a sort larger than memory and disk',
      'SELECT range AS c1, repeat(hash(range)::VARCHAR, 20) AS c2 FROM range(100000000) ORDER BY c2',
      new RegExp(`${TOO_LONG}|[Mm]emory|MiB|space|size`),
    ],
    [
      'a list of everything',
      'SELECT len(list(range)) AS c1, NULL AS c2 FROM range(1000000000)',
      /[Mm]emory|allocate|longer/,
    ],
  ])('is stopped when it is %s', { ...LONG, timeout: 180_000 }, async (_, query, why) => {
    const before = performance.now()
    const error = await caught(() => run(query))
    expect(performance.now() - before).toBeLessThan((SECONDS + 10) * 1000)
    expect(error).toMatchObject({ name: 'IcebergError' })
    expect(String(error)).toMatch(why)
    await run('SELECT id AS c1, name AS c2 FROM input')
  })

  it('reports a value that it cannot process', async () => {
    expect(await caught(() => run('SELECT name::BIGINT AS c1, name AS c2 FROM input'))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    expect(await caught(() => run("SELECT error('stop') AS c1, name AS c2 FROM input"))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })

  it('is cancelled by its caller', async () => {
    const controller = new AbortController()
    const query = 'SELECT count(*) AS c1, NULL AS c2 FROM range(100000) a, range(100000) b, range(100000) c'
    const task = {
      inputs: [input],
      query,
      isRepeatable: false,
      isUntrusted: true,
      io: lake.io,
      output: lake.output(schema),
    }
    const running = caught(() => engine.appendFrom(task, { signal: controller.signal }))
    later(300, () => controller.abort())
    expect(await running).toMatchObject({ code: 'CANCELLED' })
  })
})

async function caught(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run()
    return undefined
  } catch (error) {
    return error
  }
}

describe('rows of a query over files that are not on this machine', () => {
  const bounds = { maxRows: 10, maxBytes: 10_000, maxTextLength: 100, seconds: SECONDS, memoryBytes: 256 * 1024 ** 2 }
  const query = 'SELECT count(*) AS n FROM input'
  /** Storage of another machine, whose files have a size of their own, whatever manifests say. */
  const remote = (sizeBytes?: number): { readonly io: FileIO; readonly reads: string[] } => {
    const reads: string[] = []
    const io: FileIO = Object.assign(Object.create(lake.io) as FileIO, {
      localPath: () => undefined,
      stat: async (location: string) => {
        const status = await lake.io.stat(location)
        return status && { ...status, sizeBytes: sizeBytes ?? status.sizeBytes }
      },
      readRange: (location: string, offset: number, length: number) => {
        reads.push(location)
        return lake.io.readRange(location, offset, length)
      },
    })
    return { io, reads }
  }
  const ask = async (io: FileIO) => {
    const columns = await sandbox.describe([{ name: 'input', columns: sandbox.columnsOf(schema.fields) }], query)
    return engine.queryRows({ inputs: [{ ...input, io }], query, columns, bounds })
  }
  const leftovers = () => readdirSync(lake.path('sandboxed')).filter((name) => name.includes('query-'))

  it('come from copies, which are removed', async () => {
    const { io, reads } = remote()
    expect((await ask(io)).rows).toEqual([['5']])
    expect(reads.length).toBeGreaterThan(0)
    expect(leftovers()).toEqual([])
  })

  it('are refused before copies exceed the disk limit', async () => {
    const { io, reads } = remote(65 * 1024 ** 2)
    await expect(ask(io)).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('copies of 65 MiB of files that are not on this machine, and may use 64 MiB'),
    })
    expect(reads).toEqual([])
    expect(leftovers()).toEqual([])
  })
})

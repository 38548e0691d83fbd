import { afterAll, describe, expect, it } from 'vitest'
import { encodePuffin } from '../../../src/iceberg/puffin/puffin.ts'
import { field, Lake, list, map, readAll, schemaOf, struct, tableMetadata, task } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

const schema = schemaOf([field(1, 'id', 'long', { required: true }), field(2, 'name', 'string')])

describe('appending the rows of a query', () => {
  it('writes them as the table requires', async () => {
    const engine = await lake.engine()
    const files = await engine.append({
      io: lake.io,
      query: `SELECT 'n' || i AS c2, i::INTEGER AS c1 FROM range(10) r(i); `,
      output: lake.output(schema, { formatVersion: 3 }),
    })
    expect(files).toMatchObject([{ content: 'data', recordCount: 10, specId: 0, partition: [] }])
    const rows = await readAll(files)
    expect(rows).toHaveLength(10)
    expect(rows[3]).toEqual({ id: 3n, name: 'n3' })
  })

  it('puts rows into their partitions, although the query returns different values each time', async () => {
    const engine = await lake.engine()
    const files = await engine.append({
      io: lake.io,
      query: 'SELECT (random() * 1000000)::BIGINT AS c1, NULL AS c2 FROM range(1000)',
      output: lake.output(schema, {
        partitionSpec: {
          specId: 4,
          fields: [{ fieldId: 1000, sourceId: 1, name: 'b', transform: { kind: 'truncate', width: 250_000 } }],
        },
      }),
    })
    expect(files.reduce((sum, file) => sum + file.recordCount, 0)).toBe(1000)
    for (const file of files) {
      for (const row of await readAll([file])) {
        const id = row['id'] as bigint
        expect(id - (id % 250_000n)).toBe(file.partition[0])
      }
    }
  })

  it.each([
    ['a column is missing', 'SELECT 1 AS c1', /c2/],
    ['it is no SQL', 'SELECT FROM WHERE', /query/],
    ['a table does not exist', 'SELECT * FROM nowhere', /nowhere/],
    ['a required column has nulls', 'SELECT NULL AS c1, NULL AS c2', /id/],
  ])('is refused when %s', async (_, query, message) => {
    const engine = await lake.engine()
    const before = lake.leftovers()
    await expect(engine.append({ io: lake.io, query, output: lake.output(schema) })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(message),
    })
    expect(lake.leftovers()).toEqual(before)
  })

  it('writes no file for no rows', async () => {
    const engine = await lake.engine()
    const query = 'SELECT 1 AS c1, NULL AS c2 WHERE false'
    expect(await engine.append({ io: lake.io, query, output: lake.output(schema) })).toEqual([])
    const partitionSpec = {
      specId: 1,
      fields: [{ fieldId: 1000, sourceId: 1, name: 'b', transform: { kind: 'identity' as const } }],
    }
    expect(await engine.append({ io: lake.io, query, output: lake.output(schema, { partitionSpec }) })).toEqual([])
  })
})

describe('reading rows', () => {
  it('returns them exactly, in a form that JSON can represent', async () => {
    const wide = schemaOf([
      field(1, 'l', 'long'),
      field(2, 'd', 'decimal(38,10)'),
      field(3, 'dt', 'date'),
      field(4, 'tm', 'time'),
      field(5, 'ts', 'timestamp'),
      field(6, 'tz', 'timestamptz'),
      field(7, 'ns', { kind: 'timestamp_ns' }),
      field(8, 'u', 'uuid'),
      field(9, 'b', 'binary'),
      field(10, 'f', 'float'),
      field(11, 'st', struct(field(12, 'x', 'long'))),
      field(13, 'li', list(14, 'date')),
      field(15, 'mp', map(16, 'long', 17, 'string')),
      field(18, 'inf', 'double'),
      field(19, 'yes', 'boolean'),
      field(20, 'fx', 'fixed[2]'),
    ])
    const input = await lake.data(
      `SELECT 9007199254740993 AS l, -0.0000000001::DECIMAL(38,10) AS d, DATE '0001-01-01' AS dt, TIME '00:00:00.000001' AS tm,
        TIMESTAMP '1969-12-31 23:59:59.999999' AS ts, TIMESTAMPTZ '2024-06-01 00:00:00+02' AS tz, make_timestamp_ns(-1) AS ns,
        'F79C3E09-677C-4BBD-A479-3F349CB785E7'::UUID AS u, '\\x00\\xFF'::BLOB AS b, 0.1::FLOAT AS f, {x: 1::BIGINT} AS st,
        [DATE '1970-01-02', NULL] AS li, map{5::BIGINT: 'five'} AS mp, '-inf'::DOUBLE AS inf, true AS yes, 'ab'::BLOB AS fx`,
      `{l:1,d:2,dt:3,tm:4,ts:5,tz:6,ns:7,u:8,b:9,f:10,st:{__duckdb_field_id:11,x:12},li:{__duckdb_field_id:13,element:14},
        mp:{__duckdb_field_id:15,key:16,value:17},inf:18,yes:19,fx:20}`,
    )
    const engine = await lake.engine()
    const rows = []
    const metadata = tableMetadata({ schemas: [wide], formatVersion: 3 })
    for await (const row of engine.readRows({ io: lake.io, metadata, schema: wide, inputs: [input] })) rows.push(row)
    expect(rows).toEqual([
      {
        l: '9007199254740993',
        d: '-0.0000000001',
        dt: '0001-01-01',
        tm: '00:00:00.000001',
        ts: '1969-12-31T23:59:59.999999',
        tz: '2024-05-31T22:00:00.000000+00:00',
        ns: '1969-12-31T23:59:59.999999999',
        u: 'f79c3e09-677c-4bbd-a479-3f349cb785e7',
        b: '00ff',
        f: Math.fround(0.1),
        st: { x: '1' },
        li: ['1970-01-02', null],
        mp: [{ key: '5', value: 'five' }],
        inf: '-Infinity',
        yes: true,
        fx: '6162',
      },
    ])
    expect(JSON.parse(JSON.stringify(rows))).toEqual(rows)
  })

  it('stops when the reader needs no more rows', async () => {
    const engine = await lake.engine()
    const input = await lake.data(`SELECT i AS id, md5(i::VARCHAR) AS name FROM range(500000) r(i)`, '{id: 1, name: 2}')
    const request = { io: lake.io, metadata: tableMetadata({ schemas: [schema] }), schema, inputs: [input] }
    const before = lake.leftovers()
    let seen = 0
    for await (const _ of engine.readRows(request)) {
      seen += 1
      if (seen === 5) break
    }
    expect(seen).toBe(5)
    expect(lake.leftovers()).toEqual(before)
    let limited = 0
    for await (const _ of engine.readRows({ ...request, limit: 7 })) limited += 1
    expect(limited).toBe(7)
    const controller = new AbortController()
    const cancelled = (async () => {
      for await (const _ of engine.readRows(request, { signal: controller.signal })) controller.abort()
    })()
    await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('returns no rows for no files', async () => {
    const engine = await lake.engine()
    const request = { io: lake.io, metadata: tableMetadata({ schemas: [schema] }), schema, inputs: [] }
    expect(await engine.countRows(request)).toBe(0)
    for await (const row of engine.readRows(request)) throw new Error(`there is no row ${JSON.stringify(row)}`)
  })

  it('refuses a variant column, but counts its rows', async () => {
    const variants = schemaOf([field(1, 'id', 'int'), field(2, 'v', { kind: 'variant' })])
    const input = await lake.data('SELECT 1 AS id', '{id: 1}')
    const engine = await lake.engine()
    const request = {
      io: lake.io,
      metadata: tableMetadata({ schemas: [variants], formatVersion: 3 }),
      schema: variants,
      inputs: [input],
    }
    expect(await engine.countRows(request)).toBe(1)
    await expect(engine.readRows(request)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})

it('a Puffin file in place of data is refused', async () => {
  const engine = await lake.engine()
  const path = lake.path('stats.puffin')
  await lake.io.create(path, encodePuffin([], {}).bytes)
  const input = task({
    content: 'data',
    filePath: path,
    fileFormat: 'parquet',
    specId: 0,
    partition: [],
    recordCount: 1,
    fileSizeInBytes: 10,
  })
  await expect(engine.rewrite(lake.task({ schemas: [schema] }, [input]))).rejects.toMatchObject({
    code: 'CORRUPT_FILE',
  })
})

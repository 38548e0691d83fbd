import { afterAll, describe, expect, it } from 'vitest'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import { column, field, footer, Lake, list, map, readAll, schemaOf, struct, tableMetadata } from './harness/lake.ts'
import type { TableShape } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

async function rewrite(
  shape: TableShape | Schema,
  inputs: readonly FileScanTask[],
): Promise<Record<string, unknown>[]> {
  const engine = await lake.engine()
  const { files, rowsWritten } = await engine.rewrite(
    lake.task('schemas' in shape ? shape : { schemas: [shape] }, inputs),
  )
  const rows = await readAll(files)
  expect(rows).toHaveLength(rowsWritten)
  return rows
}

describe('columns by field id', () => {
  it('follows renames, drops, additions and reordering over files of several shapes', async () => {
    const schema = schemaOf([field(3, 'renamed', 'string'), field(1, 'id', 'long'), field(9, 'new', 'int')])
    const old = await lake.data(`SELECT 1 AS id, 'gone' AS renamed, 'kept' AS orig`, '{id: 1, renamed: 2, orig: 3}')
    const young = await lake.data(`SELECT 7 AS "new", 2::BIGINT AS id`, '{"new": 9, id: 1}')
    const rows = await rewrite(schema, [old, young])
    expect(rows.sort((a, b) => Number(a['id']) - Number(b['id']))).toEqual([
      { renamed: 'kept', id: 1n, new: null },
      { renamed: null, id: 2n, new: 7 },
    ])
  })

  it('does not restore a dropped column whose name is reused', async () => {
    const schema = schemaOf([field(1, 'id', 'int'), field(5, 'note', 'string')])
    const input = await lake.data(`SELECT 1 AS id, 'secret' AS note`, '{id: 1, note: 2}')
    expect(await rewrite(schema, [input])).toEqual([{ id: 1, note: null }])
  })

  it('promotes int, float, decimal and date', async () => {
    const schema = schemaOf([
      field(1, 'a', 'long'),
      field(2, 'b', 'double'),
      field(3, 'c', 'decimal(20,2)'),
      field(4, 'd', 'timestamp'),
    ])
    const input = await lake.data(
      `SELECT -5 AS a, 0.1::FLOAT AS b, -1.25::DECIMAL(9,2) AS c, DATE '1969-12-31' AS d`,
      '{a:1,b:2,c:3,d:4}',
    )
    const [row] = await rewrite({ schemas: [schema], formatVersion: 3 }, [input])
    expect(row).toMatchObject({ a: -5n, b: Math.fround(0.1), c: -1.25 })
    expect((row?.['d'] as Date | undefined)?.toISOString()).toBe('1969-12-31T00:00:00.000Z')
  })

  it.each([
    ['bigint as int', `SELECT 1::BIGINT AS a`, 'int'],
    ['double as float', `SELECT 1::DOUBLE AS a`, 'float'],
    ['another scale', `SELECT 1.5::DECIMAL(9,1) AS a`, 'decimal(9,2)'],
    ['more digits', `SELECT 1.5::DECIMAL(12,2) AS a`, 'decimal(9,2)'],
    ['text as number', `SELECT '1' AS a`, 'int'],
    ['nanoseconds as microseconds', `SELECT make_timestamp_ns(1) AS a`, 'timestamp'],
    ['a struct as number', `SELECT {x: 1} AS a`, 'int'],
    ['a number as list', `SELECT 1 AS a`, 'list<int>'],
  ])('refuses to read %s', async (_, select, type) => {
    const input = await lake.data(select, '{a: 1}')
    const before = lake.leftovers()
    await expect(rewrite(schemaOf([field(1, 'a', type)]), [input])).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    expect(lake.leftovers()).toEqual(before)
  })

  it('refuses nanoseconds with a zone, which the engine would truncate', async () => {
    const path = new URL('../../fixtures/parquet/timestamptz-ns.parquet', import.meta.url).pathname
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'at', 'timestamptz')])
    const inputs = [{ dataFile: lake.dataFile(path), sequenceNumber: 1, fileSequenceNumber: 1, deletes: [] }]
    await expect(engine.rewrite(lake.task({ schemas: [schema] }, inputs))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    })
  })

  it('gives old rows the initial default, not the write default', async () => {
    const schema = schemaOf([
      field(1, 'id', 'int'),
      field(2, 'n', 'int', { initialDefault: -1, writeDefault: 99 }),
      field(3, 's', 'string', { required: true, initialDefault: `it's` }),
      field(4, 'ts', 'timestamptz', { initialDefault: '1969-12-31T23:59:59.999999+00:00' }),
      field(5, 'd', 'decimal(20,2)', { initialDefault: '-12.30' }),
      field(6, 'b', 'binary', { initialDefault: '00ff' }),
      field(7, 'u', 'uuid', { initialDefault: 'f79c3e09-677c-4bbd-a479-3f349cb785e7' }),
      field(8, 'f', 'double', { initialDefault: -0.5 }),
    ])
    const shape = { schemas: [schema], formatVersion: 3 as const }
    const old = await lake.data('SELECT 1 AS id', '{id: 1}')
    const nulled = await lake.data(`SELECT 2 AS id, NULL::INTEGER AS n, 'x' AS s`, '{id: 1, n: 2, s: 3}')
    const rows = await rewrite(shape, [old, nulled])
    const first = rows.find((row) => row['id'] === 1)
    expect(first).toMatchObject({ n: -1, s: `it's`, d: -12.3, u: 'f79c3e09-677c-4bbd-a479-3f349cb785e7', f: -0.5 })
    expect(Array.from((first?.['b'] ?? []) as Uint8Array)).toEqual([0, 255])
    expect(rows.find((row) => row['id'] === 2)).toMatchObject({ n: null, s: 'x' })
    const engine = await lake.engine()
    const read = []
    for await (const row of engine.readRows({ io: lake.io, metadata: tableMetadata(shape), schema, inputs: [old] }))
      read.push(row)
    expect(read).toEqual([
      {
        id: 1,
        n: -1,
        s: `it's`,
        ts: '1969-12-31T23:59:59.999999+00:00',
        d: '-12.30',
        b: '00ff',
        u: 'f79c3e09-677c-4bbd-a479-3f349cb785e7',
        f: -0.5,
      },
    ])
  })

  it('reads files without rows, and ignores columns without an id beside others with one', async () => {
    const schema = schemaOf([field(1, 'id', 'int'), field(2, 'b', 'string')])
    const empty = await lake.data('SELECT 1 AS id WHERE false', '{id: 1}')
    const partly = await lake.data(`SELECT 5 AS id, 'unknown' AS b`, '{id: 1}')
    expect(await rewrite(schema, [empty, partly])).toEqual([{ id: 5, b: null }])
    expect(await rewrite(schema, [empty])).toEqual([])
  })

  it('refuses a file that lacks a required column', async () => {
    const schema = schemaOf([field(1, 'id', 'int'), field(2, 'must', 'int', { required: true })])
    await expect(rewrite(schema, [await lake.data('SELECT 1 AS id', '{id: 1}')])).rejects.toMatchObject({
      code: 'CORRUPT_FILE',
      message: expect.stringContaining('must'),
    })
  })
})

describe('nested columns', () => {
  it('maps struct members by id at any depth', async () => {
    const schema = schemaOf([
      field(
        1,
        's',
        struct(
          field(5, 'added', 'int', { initialDefault: 7 }),
          field(3, 'new_name', 'long'),
          field(4, 'inner', struct(field(7, 'y', 'string'), field(6, 'x', 'double'))),
        ),
      ),
    ])
    const input = await lake.data(
      `SELECT {gone: 'a', old_name: 1, "inner": {x: 1.5::FLOAT, y: 'q', z: true}} AS s
       UNION ALL SELECT NULL UNION ALL SELECT {gone: NULL, old_name: NULL, "inner": NULL}`,
      '{s: {__duckdb_field_id: 1, gone: 2, old_name: 3, "inner": {__duckdb_field_id: 4, x: 6, y: 7, z: 8}}}',
    )
    const engine = await lake.engine()
    const shape = { schemas: [schema], formatVersion: 3 as const }
    const task = lake.task(shape, [input])
    const { files } = await engine.rewrite(task)
    const path = files[0]?.filePath ?? ''
    expect(await lake.sql(`SELECT s FROM '${path}'`)).toEqual([
      { s: { added: 7, new_name: '1', inner: { y: 'q', x: 1.5 } } },
      { s: null },
      { s: { added: 7, new_name: null, inner: null } },
    ])
    expect(
      footer(path)
        .schema.flatMap((e) => (e.field_id === undefined ? [] : [e.field_id]))
        .slice(0, 6),
    ).toEqual([1, 5, 3, 4, 7, 6])
  })

  it('rebuilds lists and maps whose elements have changed, with nulls in every place', async () => {
    const schema = schemaOf([
      field(1, 'l', list(2, struct(field(4, 'b', 'long'), field(9, 'c', 'int')))),
      field(5, 'm', map(6, 'string', 7, list(8, struct(field(10, 'd', 'double'))))),
    ])
    const input = await lake.data(
      `SELECT [{a: 1, b: 2}, NULL] AS l, map{'k': [{d: 1.5::FLOAT}, NULL], 'n': NULL} AS m
       UNION ALL SELECT NULL, NULL UNION ALL SELECT [], map{}`,
      `{l: {__duckdb_field_id: 1, element: {__duckdb_field_id: 2, a: 3, b: 4}},
        m: {__duckdb_field_id: 5, key: 6, value: {__duckdb_field_id: 7, element: {__duckdb_field_id: 8, d: 10}}}}`,
    )
    const engine = await lake.engine()
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, [input]))
    expect(await lake.sql(`SELECT l, m FROM '${files[0]?.filePath}'`)).toEqual([
      {
        l: [{ b: '2', c: null }, null],
        m: [
          { key: 'k', value: [{ d: 1.5 }, null] },
          { key: 'n', value: null },
        ],
      },
      { l: null, m: null },
      { l: [], m: [] },
    ])
  })

  it('passes nested columns through when nothing changed', async () => {
    const schema = schemaOf([
      field(1, 'l', list(2, list(3, 'int'))),
      field(4, 's', struct(field(5, 'x', list(6, 'string')))),
    ])
    const input = await lake.data(
      `SELECT [[1, NULL], NULL, []] AS l, {x: ['a']} AS s`,
      `{l: {__duckdb_field_id: 1, element: {__duckdb_field_id: 2, element: 3}}, s: {__duckdb_field_id: 4, x: {__duckdb_field_id: 5, element: 6}}}`,
    )
    const engine = await lake.engine()
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, [input]))
    expect(await lake.sql(`SELECT l, s FROM '${files[0]?.filePath}'`)).toEqual([
      { l: [[1, null], null, []], s: { x: ['a'] } },
    ])
  })

  it('refuses a list whose elements have another field id', async () => {
    const schema = schemaOf([field(1, 'l', list(2, 'int'))])
    const input = await lake.data('SELECT [1] AS l', '{l: {__duckdb_field_id: 1, element: 77}}')
    await expect(rewrite(schema, [input])).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})

describe('names', () => {
  it('distinguishes columns whose names differ only in case', async () => {
    // DuckDB cannot write such a file; this one comes from another writer
    const path = new URL('../../fixtures/parquet/case-collision.parquet', import.meta.url).pathname
    const schema = schemaOf([
      field(1, 'user_id', 'int'),
      field(2, 'uSeR_Id', 'int'),
      field(3, 's', struct(field(4, 'a', 'int'), field(5, 'A', 'int'))),
    ])
    const inputs = [{ dataFile: lake.dataFile(path), sequenceNumber: 1, fileSequenceNumber: 1, deletes: [] }]
    const engine = await lake.engine()
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, inputs))
    const rows = await readAll(files)
    expect(rows.map((row) => Object.values(row))).toEqual([
      [1, 100, { a: 5, A_5: 50 }],
      [2, 200, { a: 6, A_5: 60 }],
    ])
    const read = []
    const task = {
      io: lake.io,
      metadata: tableMetadata({ schemas: [schema] }),
      schema,
      inputs: files.map((dataFile) => ({ ...inputs[0]!, dataFile })),
    }
    for await (const row of engine.readRows(task)) read.push(row)
    expect(read).toEqual([
      { user_id: 1, uSeR_Id: 100, s: { a: 5, A: 50 } },
      { user_id: 2, uSeR_Id: 200, s: { a: 6, A: 60 } },
    ])
  })

  it('accepts any name, including names that the engine reserves', async () => {
    const names = [
      'file_row_number',
      'filename',
      'file_index',
      'a.b',
      'q"uote',
      '😀',
      'x[y]',
      'select',
      '__duckdb_field_id',
      'c1',
      "it's",
      ' ',
      'rank',
    ]
    const schema = schemaOf([
      ...names.map((name, at) => field(at + 1, name, 'int')),
      field(50, 's', struct(field(51, 'k"e.y', 'int'))),
    ])
    const quoted = names.map((name) => `"${name.replaceAll('"', '""')}"`)
    const plain = names.indexOf('__duckdb_field_id')
    const select = quoted.map((name, at) => `${at} AS ${at === plain ? 'other' : name}`).join(', ')
    const ids = quoted.map((name, at) => `${at === plain ? 'other' : name}: ${at + 1}`).join(', ')
    const input = await lake.data(
      `SELECT ${select}, {"k""e.y": 5} AS s`,
      `{${ids}, s: {__duckdb_field_id: 50, "k""e.y": 51}}`,
    )
    const deletes = [await lake.positionDeletes([[input.dataFile.filePath, 7]])]
    const [row] = await rewrite(schema, [{ ...input, deletes }])
    const expected = Object.fromEntries(
      names.map((name, at) => [name === '__duckdb_field_id' ? '__duckdb_field_id_9' : name, at]),
    )
    expect(row).toEqual({ ...expected, s: { 'k"e.y': 5 } })
  })

  it('reads the named file for any form of its path', async () => {
    const schema = schemaOf([field(1, 'id', 'int'), field(2, 'd', 'date')])
    const select = (id: number): string => `SELECT ${id} AS id, DATE '2020-01-01' AS d`
    await lake.parquet(select(666), '{id: 1, d: 2}', 'glob/a1.parquet')
    const tricky = await lake.parquet(select(1), '{id: 1, d: 2}', 'glob/a[0-9]*.parquet')
    const hive = await lake.parquet(select(2), '{id: 1, d: 2}', `glob/d=1999-09-09/it's ?.parquet`)
    const rows = await rewrite(
      schema,
      [tricky, hive].map((path) => ({
        dataFile: lake.dataFile(path),
        sequenceNumber: 1,
        fileSequenceNumber: 1,
        deletes: [],
      })),
    )
    expect(column(rows, 'id')).toEqual(['1', '2'])
    expect(rows.every((row) => (row['d'] as Date).toISOString().startsWith('2020'))).toBe(true)
  })
})

describe('files without field ids', () => {
  const schema = schemaOf([
    field(1, 'id', 'long'),
    field(2, 'full_name', 'string'),
    field(3, 's', struct(field(4, 'x', 'int'))),
  ])

  it('are read with the name mapping', async () => {
    const mapping = JSON.stringify([
      { 'field-id': 1, names: ['id'] },
      { 'field-id': 2, names: ['full_name', 'name'] },
      { 'field-id': 3, names: ['s'], fields: [{ 'field-id': 4, names: ['x', 'old'] }] },
    ])
    const input = await lake.data(`SELECT 'n' AS name, 5 AS id, 'zzz' AS unmapped, {old: 3} AS s`)
    const rows = await rewrite({ schemas: [schema], properties: { 'schema.name-mapping.default': mapping } }, [input])
    expect(rows).toEqual([{ id: 5n, full_name: 'n', s: { x: 3 } }])
  })

  it('are read by position when all names match a schema of the table', async () => {
    const before = schemaOf([field(1, 'id', 'int'), field(2, 'name', 'string')], 0)
    const after = schemaOf([field(2, 'full_name', 'string'), field(1, 'id', 'long')], 1)
    const input = await lake.data(`SELECT 1 AS id, 'x' AS name`)
    expect(await rewrite({ schemas: [before, after] }, [input])).toEqual([{ full_name: 'x', id: 1n }])
  })

  it('are refused when their columns cannot be identified', async () => {
    const input = await lake.data(`SELECT 'x' AS name, 1 AS id`)
    await expect(rewrite(schema, [input])).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('name mapping'),
    })
  })

  it('are refused when a column hides what the engine needs', async () => {
    const odd = schemaOf([field(1, 'file_row_number', 'int')])
    const input = await lake.data('SELECT 9 AS file_row_number')
    expect(await rewrite(odd, [input])).toEqual([{ file_row_number: 9 }])
    const deletes = [await lake.positionDeletes([[input.dataFile.filePath, 9]])]
    await expect(rewrite(odd, [{ ...input, deletes }])).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})

describe('identity partition values', () => {
  it('replace columns that files lack, before defaults', async () => {
    const schema = schemaOf([
      field(1, 'id', 'int'),
      field(2, 'region', 'string', { initialDefault: 'none' }),
      field(3, 'day', 'date'),
      field(4, 'n', 'long'),
    ])
    const specs = [
      {
        specId: 0,
        fields: [2, 3, 4].map((sourceId, at) => ({
          fieldId: 1000 + at,
          sourceId,
          name: `p${at}`,
          transform: { kind: 'identity' as const },
        })),
      },
    ]
    const inputs = [
      await lake.data('SELECT 1 AS id', '{id: 1}', { partition: [`o'brien`, -1, 5] }),
      await lake.data('SELECT 2 AS id', '{id: 1}', { partition: [null, null, null] }),
      await lake.data('SELECT 3 AS id', '{id: 1}', { partition: ['eu', 19000, 7] }),
    ]
    const engine = await lake.engine()
    const read = []
    for await (const row of engine.readRows({
      io: lake.io,
      metadata: tableMetadata({ schemas: [schema], specs, formatVersion: 3 }),
      schema,
      inputs,
    }))
      read.push(row)
    expect(read.sort((a, b) => Number(a['id']) - Number(b['id']))).toEqual([
      { id: 1, region: `o'brien`, day: '1969-12-31', n: '5' },
      { id: 2, region: null, day: null, n: null },
      { id: 3, region: 'eu', day: '2022-01-08', n: '7' },
    ])
  })

  it('are ignored if the file has the column', async () => {
    const schema = schemaOf([field(1, 'id', 'int')])
    const specs = [
      { specId: 0, fields: [{ fieldId: 1000, sourceId: 1, name: 'id', transform: { kind: 'identity' as const } }] },
    ]
    const inputs = [await lake.data('SELECT 4 AS id', '{id: 1}', { partition: [4] })]
    const engine = await lake.engine()
    const task = lake.task({ schemas: [schema], specs }, inputs)
    const { files } = await engine.rewrite({
      ...task,
      partition: [4],
      output: { ...task.output, partitionSpec: specs[0]! },
    })
    expect(files[0]).toMatchObject({ partition: [4], specId: 0 })
  })
})

import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { valueFromBytes } from '../../../src/iceberg/values/values.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { PrimitiveType } from '../../../src/iceberg/schema/types.ts'
import { column, field, footer, Lake, list, map, readAll, schemaOf, struct, task } from './harness/lake.ts'
import { LONG } from '../../support/effort.ts'

const lake = new Lake()
afterAll(() => lake.close())

const people = schemaOf([field(1, 'id', 'long'), field(2, 'name', 'string')])
const peopleIds = '{id: 1, name: 2}'

describe('merging files', () => {
  it('writes all rows of all inputs, counted three ways', async () => {
    const engine = await lake.engine()
    const inputs = await Promise.all(
      [0, 1, 2].map((n) => lake.data(`SELECT ${n} * 100 + i AS id, 'n' || i AS name FROM range(100) r(i)`, peopleIds)),
    )
    const seen: number[] = []
    const result = await engine.rewrite(lake.task({ schemas: [people] }, inputs), {
      onProgress: ({ rowsDone, rowsTotal }) => {
        expect(rowsTotal).toBe(300)
        seen.push(rowsDone)
      },
    })
    expect(result).toMatchObject({ rowsRead: 300, rowsDeleted: 0, rowsWritten: 300 })
    expect(result.files).toHaveLength(1)
    const rows = await readAll(result.files)
    expect(rows).toHaveLength(300)
    expect(new Set(column(rows, 'id')).size).toBe(300)
    expect(rows.find((row) => row['id'] === 207n)?.['name']).toBe('n7')
    expect(seen.at(-1)).toBe(300)
    for (const input of inputs) expect(existsSync(input.dataFile.filePath)).toBe(true)
  })

  it('returns no files for no input', async () => {
    const engine = await lake.engine()
    expect(await engine.rewrite(lake.task({ schemas: [people] }, []))).toEqual({
      files: [],
      rowsRead: 0,
      rowsDeleted: 0,
      rowsWritten: 0,
    })
  })

  it('writes no file when every row is deleted', async () => {
    const engine = await lake.engine()
    const input = await lake.data('SELECT 1::BIGINT AS id, NULL::VARCHAR AS name', peopleIds)
    const deletes = [await lake.positionDeletes([[input.dataFile.filePath, 0]])]
    const result = await engine.rewrite(lake.task({ schemas: [people] }, [{ ...input, deletes }]))
    expect(result).toEqual({ files: [], rowsRead: 1, rowsDeleted: 1, rowsWritten: 0 })
  })

  it('reads all kinds of columns of a single file that several threads share', LONG, async () => {
    const engine = await lake.engine()
    const schema = schemaOf([
      field(1, 'id', 'long'),
      field(2, 'point', struct(field(3, 'x', 'double'), field(4, 'tags', list(5, 'string')))),
      field(6, 'counts', map(7, 'string', 8, 'int')),
      field(9, 'added_later', 'string'),
    ])
    const input = await lake.data(
      `SELECT i AS id, {x: i / 2, tags: ['t' || i, NULL]} AS point, MAP {'n': i::INTEGER} AS counts FROM range(300000) r(i)`,
      '{id: 1, point: {__duckdb_field_id: 2, x: 3, tags: {__duckdb_field_id: 4, element: 5}}, counts: {__duckdb_field_id: 6, key: 7, value: 8}}',
    )
    const { files, values } = await engine.rewrite(lake.task({ schemas: [schema] }, [input], { verifyValues: true }))
    expect(values).toMatchObject({ isEqual: true, differing: [] })
    const paths = files.map(({ filePath }) => `'${filePath}'`).join(', ')
    const [found] = await lake.sql(
      `SELECT count(*)::INTEGER AS n, count(DISTINCT id)::INTEGER AS ids, bool_and(point.x = id / 2 AND point.tags = ['t' || id, NULL]
       AND counts['n'] = id AND added_later IS NULL) AS same FROM read_parquet([${paths}])`,
    )
    expect(found).toEqual({ n: 300_000, ids: 300_000, same: true })
  })

  it('splits output near the target size and leaves no file without rows', async () => {
    const engine = await lake.engine()
    const input = await lake.data('SELECT i AS id, md5(i::VARCHAR) AS name FROM range(600000) r(i)', peopleIds)
    const result = await engine.rewrite(
      lake.task({ schemas: [people] }, [input], { output: lake.output(people, { targetFileSizeBytes: 4_000_000 }) }),
    )
    expect(result.files.length).toBeGreaterThan(1)
    expect(result.rowsWritten).toBe(600_000)
    for (const file of result.files) {
      expect(file.recordCount).toBeGreaterThan(0)
      expect(file.fileSizeInBytes).toBeLessThan(12_000_000)
      expect(Number(footer(file.filePath).num_rows)).toBe(file.recordCount)
      expect(file.splitOffsets).toHaveLength(footer(file.filePath).row_groups.length)
      expect(file.splitOffsets?.[0]).toBe(4)
    }
    const list = result.files.map((file) => `'${file.filePath}'`).join(', ')
    const [distinct] = await lake.sql(
      `SELECT count(DISTINCT id)::INTEGER AS n, count(*)::INTEGER AS total FROM read_parquet([${list}])`,
    )
    expect(distinct).toEqual({ n: 600_000, total: 600_000 })
  })

  it.each([
    [{}, 'ZSTD'],
    [{ 'write.parquet.compression-codec': 'snappy' }, 'SNAPPY'],
    [{ 'write.parquet.compression-codec': 'uncompressed' }, 'UNCOMPRESSED'],
    [{ 'write.parquet.compression-codec': 'none' }, 'UNCOMPRESSED'],
    [{ 'write.parquet.compression-codec': 'GZIP' }, 'GZIP'],
    [{ 'write.parquet.compression-codec': 'lz4' }, 'LZ4_RAW'],
    [{ 'write.parquet.compression-codec': 'lz4_raw' }, 'LZ4_RAW'],
    [{ 'write.parquet.compression-codec': 'brotli' }, 'BROTLI'],
    [{ 'write.parquet.compression-codec': 'zstd', 'write.parquet.compression-level': '7' }, 'ZSTD'],
  ])('honours the codec of %j', async (properties, codec) => {
    const engine = await lake.engine()
    const input = await lake.data(`SELECT i AS id, 'x' AS name FROM range(1000) r(i)`, peopleIds)
    const { files } = await engine.rewrite(lake.task({ schemas: [people], properties }, [input]))
    const codecs = files.flatMap((file) =>
      footer(file.filePath).row_groups.flatMap((group) => group.columns.map((c) => c.meta_data?.codec)),
    )
    expect(new Set(codecs)).toEqual(new Set([codec]))
  })

  it.each([
    [{}, false],
    [{ 'write.parquet.page-version': 'v1' }, false],
    [{ 'write.parquet.page-version': 'v2' }, true],
  ])('uses the encodings of Parquet 2 only when the table asks for them: %j', async (properties, isSecond) => {
    const engine = await lake.engine()
    const input = await lake.data(`SELECT i AS id, md5(i::VARCHAR) AS name FROM range(50000) r(i)`, peopleIds)
    const task = lake.task({ schemas: [people], properties }, [input], { verifyValues: true })
    const { files, values } = await engine.rewrite(task)
    expect(values?.isEqual).toBe(true)
    const encodings = await lake.sql(`SELECT DISTINCT encodings FROM parquet_metadata('${files[0]?.filePath}')`)
    expect(encodings.some((row) => String(row['encodings']).includes('DELTA'))).toBe(isSecond)
  })

  it('refuses an unknown page version', async () => {
    const engine = await lake.engine()
    const input = await lake.data(`SELECT 1::BIGINT AS id, 'x' AS name`, peopleIds)
    const task = lake.task({ schemas: [people], properties: { 'write.parquet.page-version': 'v3' } }, [input])
    await expect(engine.rewrite(task)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    expect(lake.leftovers().filter((path) => path.includes('files'))).toEqual([])
  })

  it('writes small row groups when the table sets their size', async () => {
    const engine = await lake.engine()
    const input = await lake.data('SELECT i AS id, md5(i::VARCHAR) AS name FROM range(100000) r(i)', peopleIds)
    const properties = { 'write.parquet.row-group-size-bytes': '400000' }
    const { files } = await engine.rewrite(lake.task({ schemas: [people], properties }, [input]))
    expect(files[0]?.splitOffsets?.length).toBeGreaterThan(5)
  })

  it('sorts by several columns, and each file is sorted in itself', async () => {
    const engine = await lake.engine()
    const inputs = await Promise.all(
      [1, 2].map((n) =>
        lake.data(
          `SELECT CASE WHEN i % 10 = 0 THEN NULL ELSE hash(i * ${n}) % 1000 END::BIGINT AS id, md5(i::VARCHAR) AS name FROM range(130000) r(i)`,
          peopleIds,
        ),
      ),
    )
    const result = await engine.rewrite(
      lake.task({ schemas: [people] }, inputs, {
        output: lake.output(people, { targetFileSizeBytes: 1_500_000 }),
        sortOrder: {
          orderId: 3,
          fields: [
            { sourceId: 1, transform: { kind: 'identity' }, direction: 'desc', nullOrder: 'nulls-last' },
            { sourceId: 2, transform: { kind: 'truncate', width: 2 }, direction: 'asc', nullOrder: 'nulls-first' },
          ],
        },
      }),
    )
    expect(result.rowsWritten).toBe(260_000)
    expect(result.files.length).toBeGreaterThan(1)
    for (const file of result.files) {
      expect(file.sortOrderId).toBe(3)
      const rows = await readAll([file])
      const key = (row: Record<string, unknown>): string =>
        `${row['id'] === null ? '9999' : String(1000 - Number(row['id'])).padStart(4, '0')} ${String(row['name']).slice(0, 2)}`
      for (let at = 1; at < rows.length; at += 1) {
        if (key(rows[at - 1] ?? {}) > key(rows[at] ?? {}))
          throw new Error(`row ${at} of ${file.filePath} is out of order`)
      }
    }
  })

  it('sorts each file, however many threads write', LONG, async () => {
    const wide = new Lake()
    const engine = await wide.engine(8)
    const rows = 'SELECT (hash(i) % 1000)::BIGINT AS id, md5(i::VARCHAR) AS name FROM range(1500000) r(i)'
    const input = await wide.data(rows, peopleIds)
    const fields = [
      { sourceId: 1, transform: { kind: 'identity' }, direction: 'asc', nullOrder: 'nulls-first' },
    ] as const
    for (let round = 0; round < 4; round += 1) {
      const { files } = await engine.rewrite(
        wide.task({ schemas: [people] }, [input], {
          output: wide.output(people, { targetFileSizeBytes: 16_000_000 }),
          sortOrder: { orderId: 1, fields },
        }),
      )
      expect(files.length).toBeGreaterThan(1)
      for (const file of files) {
        const ids = (await readAll([file])).map(({ id }) => Number(id))
        const wrong = ids.findIndex((id, at) => at > 0 && id < (ids[at - 1] ?? id))
        expect(wrong, `first row out of order in ${file.filePath}`).toBe(-1)
      }
      expect(Math.max(...files.map(({ splitOffsets = [] }) => splitOffsets.length))).toBeGreaterThan(2)
    }
    await wide.close()
  })
})

describe('types', () => {
  const all = schemaOf([
    field(1, 'b', 'boolean'),
    field(2, 'i', 'int'),
    field(3, 'l', 'long'),
    field(4, 'f', 'float'),
    field(5, 'd', 'double'),
    field(6, 'dt', 'date'),
    field(7, 'tm', 'time'),
    field(8, 'ts', 'timestamp'),
    field(9, 'tz', 'timestamptz'),
    field(10, 's', 'string'),
    field(11, 'u', 'uuid'),
    field(12, 'bin', 'binary'),
    field(13, 'd9', 'decimal(9,2)'),
    field(14, 'd18', 'decimal(18,4)'),
    field(15, 'd38', 'decimal(38,10)'),
    field(16, 'ns', { kind: 'timestamp_ns' }),
    field(20, 'st', struct(field(21, 'a', 'int'), field(22, 'inner', struct(field(23, 'x', 'string'))))),
    field(24, 'li', list(25, struct(field(26, 'y', 'long')))),
    field(27, 'mp', map(28, 'string', 29, list(30, 'double'))),
  ])
  const ids = `{b:1,i:2,l:3,f:4,d:5,dt:6,tm:7,ts:8,tz:9,s:10,u:11,bin:12,d9:13,d18:14,d38:15,ns:16,
    st:{__duckdb_field_id:20,a:21,"inner":{__duckdb_field_id:22,x:23}},
    li:{__duckdb_field_id:24,element:{__duckdb_field_id:25,y:26}},
    mp:{__duckdb_field_id:27,key:28,value:{__duckdb_field_id:29,element:30}}}`
  const select = `SELECT true AS b, -7 AS i, -9007199254740993 AS l, 1.5::FLOAT AS f, -0.1::DOUBLE AS d, DATE '1969-12-31' AS dt,
    TIME '23:59:59.999999' AS tm, TIMESTAMP '1969-12-31 23:59:59.999999' AS ts, TIMESTAMPTZ '2024-02-29 12:00:00.000001+00' AS tz,
    'häßlich😀' AS s, 'f79c3e09-677c-4bbd-a479-3f349cb785e7'::UUID AS u, '\\x00\\xff'::BLOB AS bin,
    -12345.67::DECIMAL(9,2) AS d9, 12345678901234.5678::DECIMAL(18,4) AS d18,
    -1234567890123456789012345678.0123456789::DECIMAL(38,10) AS d38, make_timestamp_ns(-1) AS ns,
    {a: 1, "inner": {x: 'deep'}} AS st, [{y: 1::BIGINT}, NULL] AS li, map{'k': [1.5::DOUBLE, NULL]} AS mp`
  let written: DataFile
  let rows: Record<string, unknown>[]

  beforeAll(async () => {
    const engine = await lake.engine()
    const input = await lake.data(
      `${select} UNION ALL SELECT ${Array.from({ length: 19 }, () => 'NULL').join(', ')}`,
      ids,
    )
    const { files } = await engine.rewrite(
      lake.task({ schemas: [all], formatVersion: 3 }, [input], { output: lake.output(all) }),
    )
    if (files[0] === undefined) throw new Error('nothing was written')
    written = files[0]
    rows = await readAll(files)
  })

  it('keeps every value', () => {
    const row = rows.find((candidate) => candidate['b'] === true)
    expect(row).toMatchObject({
      i: -7,
      l: -9007199254740993n,
      f: 1.5,
      d: -0.1,
      tm: 86399999999n,
      s: 'häßlich😀',
      st: { a: 1, inner: { x: 'deep' } },
      li: [{ y: 1n }, undefined],
      mp: { k: [1.5, null] },
    })
    expect(row?.['u']).toBe('f79c3e09-677c-4bbd-a479-3f349cb785e7')
    expect((row?.['dt'] as Date | undefined)?.toISOString()).toMatch(/^1969-12-31/)
  })

  it('keeps rows that contain only nulls', () => {
    const values = Object.values(rows.find((row) => row['b'] === null) ?? {})
    expect(values).toHaveLength(19)
    expect(values.filter((value) => value !== null && value !== undefined)).toEqual([])
  })

  it('gives every field at every depth its id', () => {
    const found = Object.fromEntries(
      footer(written.filePath)
        .schema.filter((e) => e.field_id !== undefined)
        .map((e) => [e.field_id, e.name]),
    )
    expect(found).toEqual({
      1: 'b',
      2: 'i',
      3: 'l',
      4: 'f',
      5: 'd',
      6: 'dt',
      7: 'tm',
      8: 'ts',
      9: 'tz',
      10: 's',
      11: 'u',
      12: 'bin',
      13: 'd9',
      14: 'd18',
      15: 'd38',
      16: 'ns',
      20: 'st',
      21: 'a',
      22: 'inner',
      23: 'x',
      24: 'li',
      25: 'element',
      26: 'y',
      27: 'mp',
      28: 'key',
      29: 'value',
      30: 'element',
    })
  })

  it('writes the physical types of the spec', () => {
    const form = (name: string): string => {
      const element = footer(written.filePath).schema.find((candidate) => candidate.name === name)
      return [element?.type, element?.type_length, element?.logical_type?.type ?? element?.converted_type]
        .filter(Boolean)
        .join(' ')
    }
    expect(form('i')).toMatch(/^INT32/)
    expect(form('dt')).toMatch(/^INT32 .*DATE/)
    expect(form('tm')).toMatch(/^INT64 .*TIME/)
    expect(form('u')).toMatch(/^FIXED_LEN_BYTE_ARRAY 16 UUID/)
    expect(form('bin')).toBe('BYTE_ARRAY')
    expect(form('d9')).toMatch(/^INT32 .*DECIMAL/)
    expect(form('d18')).toMatch(/^INT64 .*DECIMAL/)
    expect(form('d38')).toMatch(/^FIXED_LEN_BYTE_ARRAY 16 .*DECIMAL/)
    const logical = (name: string): unknown =>
      footer(written.filePath).schema.find((e) => e.name === name)?.logical_type
    expect(logical('ts')).toMatchObject({ isAdjustedToUTC: false, unit: 'MICROS' })
    expect(logical('tz')).toMatchObject({ isAdjustedToUTC: true, unit: 'MICROS' })
    expect(logical('ns')).toMatchObject({ isAdjustedToUTC: false, unit: 'NANOS' })
  })

  it('describes counts and exact bounds', () => {
    const bounds = (id: number, kind: PrimitiveType): unknown[] =>
      [written.lowerBounds?.get(id), written.upperBounds?.get(id)].map((b) => (b ? valueFromBytes(kind, b) : undefined))
    expect(bounds(1, { kind: 'boolean' })).toEqual([true, true])
    expect(bounds(2, { kind: 'int' })).toEqual([-7, -7])
    expect(bounds(3, { kind: 'long' })).toEqual([-9007199254740993n, -9007199254740993n])
    expect(bounds(5, { kind: 'double' })).toEqual([-0.1, -0.1])
    expect(bounds(6, { kind: 'date' })).toEqual([-1, -1])
    expect(bounds(7, { kind: 'time' })).toEqual([86399999999n, 86399999999n])
    expect(bounds(8, { kind: 'timestamp' })).toEqual([-1n, -1n])
    expect(bounds(9, { kind: 'timestamptz' })).toEqual([1709208000000001n, 1709208000000001n])
    expect(bounds(10, { kind: 'string' })).toEqual(['häßlich😀', 'häßlich😀'])
    // readers disagree about the order of uuids
    expect(bounds(11, { kind: 'uuid' })).toEqual([undefined, undefined])
    expect(bounds(13, { kind: 'decimal', precision: 9, scale: 2 })).toEqual([-1234567n, -1234567n])
    expect(bounds(15, { kind: 'decimal', precision: 38, scale: 10 })).toEqual(
      Array.from({ length: 2 }, () => -12345678901234567890123456780123456789n),
    )
    expect(bounds(16, { kind: 'timestamp_ns' })).toEqual([-1n, -1n])
    expect(bounds(21, { kind: 'int' })).toEqual([1, 1])
    expect(bounds(23, { kind: 'string' })).toEqual(['deep', 'deep'])
    for (const id of [26, 28, 30]) {
      expect(written.lowerBounds?.has(id)).toBe(false)
      expect(written.valueCounts?.has(id)).toBe(false)
      expect(written.columnSizes?.get(id)).toBeGreaterThan(0)
    }
    expect(written.valueCounts?.get(1)).toBe(2)
    expect(written.nullValueCounts?.get(1)).toBe(1)
    expect(written.nullValueCounts?.get(21)).toBe(1)
    expect(written.nanValueCounts?.get(4)).toBe(0)
  })

  it.each([
    ['timestamptz_ns', field(1, 'x', { kind: 'timestamptz_ns' })],
    ['variant', field(1, 'x', { kind: 'variant' })],
    ['unknown', field(1, 'x', { kind: 'unknown' })],
    ['geometry', field(1, 'x', { kind: 'geometry', text: 'geometry' })],
    ['a list of variants', field(1, 'x', list(2, { kind: 'variant' }))],
  ])('refuses to write %s before it reads anything', async (_, bad) => {
    const engine = await lake.engine()
    const input = task({ ...written, filePath: lake.path('does-not-exist.parquet') })
    await expect(
      engine.rewrite(lake.task({ schemas: [schemaOf([bad])], formatVersion: 3 }, [input])),
    ).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('x'),
    })
  })
})

describe('metrics', () => {
  const numbers = schemaOf([field(1, 'f', 'float'), field(2, 's', 'string'), field(3, 'z', 'double')])
  const ids = '{f: 1, s: 2, z: 3}'

  async function one(select: string, properties: Record<string, string> = {}): Promise<DataFile> {
    const engine = await lake.engine()
    const { files } = await engine.rewrite(
      lake.task({ schemas: [numbers], properties }, [await lake.data(select, ids)]),
    )
    if (files[0] === undefined) throw new Error('nothing was written')
    return files[0]
  }

  it('leaves NaN out of bounds and its count unknown, and widens zero', async () => {
    const file = await one(
      `SELECT unnest([1.5::FLOAT, 'nan'::FLOAT, NULL, 3::FLOAT]) AS f, 'a' AS s, unnest([0.0::DOUBLE, 0.0::DOUBLE, -0.0::DOUBLE, NULL]) AS z`,
    )
    const bound = (id: number, kind: 'float' | 'double'): unknown[] =>
      [file.lowerBounds?.get(id), file.upperBounds?.get(id)].map((b) => b && valueFromBytes({ kind }, b))
    expect(bound(1, 'float')).toEqual([1.5, 3])
    expect(file.nanValueCounts?.has(1)).toBe(false)
    expect(file.nanValueCounts?.get(3)).toBe(0)
    expect(bound(3, 'double')).toEqual([-0, 0])
  })

  it('has no bounds for a column with only NaN or null', async () => {
    const file = await one(`SELECT 'nan'::FLOAT AS f, NULL::VARCHAR AS s, 1.0::DOUBLE AS z FROM range(3)`)
    expect(file.lowerBounds?.has(1)).toBe(false)
    expect(file.upperBounds?.has(2)).toBe(false)
    expect(file.nullValueCounts?.get(2)).toBe(3)
  })

  it('cuts string bounds by code points and rounds the upper one up', async () => {
    const file = await one(`SELECT 1::FLOAT AS f, repeat('😀', 20) AS s, 1::DOUBLE AS z`)
    const text = (b: Uint8Array | undefined): string => new TextDecoder().decode(b)
    expect(text(file.lowerBounds?.get(2))).toBe('😀'.repeat(16))
    expect(text(file.upperBounds?.get(2))).toBe(`${'😀'.repeat(15)}😁`)
  })

  it('aggregates over row groups', async () => {
    const file = await one(
      `SELECT i::FLOAT AS f, lpad(i::VARCHAR, 8, '0') AS s, -i::DOUBLE AS z FROM range(300000) r(i)`,
      { 'write.parquet.row-group-size-bytes': '1000000' },
    )
    expect(file.splitOffsets?.length).toBeGreaterThan(1)
    expect(valueFromBytes({ kind: 'float' }, file.upperBounds?.get(1) ?? new Uint8Array())).toBe(299999)
    expect(valueFromBytes({ kind: 'double' }, file.lowerBounds?.get(3) ?? new Uint8Array())).toBe(-299999)
    expect(file.valueCounts?.get(2)).toBe(300_000)
  })

  it('honours metrics properties', async () => {
    const file = await one(`SELECT 1::FLOAT AS f, 'abcdef' AS s, 1::DOUBLE AS z`, {
      'write.metadata.metrics.default': 'counts',
      'write.metadata.metrics.column.s': 'truncate(2)',
      'write.metadata.metrics.column.z': 'none',
    })
    expect([...(file.valueCounts?.keys() ?? [])]).toEqual([1, 2])
    expect([...(file.lowerBounds?.keys() ?? [])]).toEqual([2])
    expect(new TextDecoder().decode(file.upperBounds?.get(2))).toBe('ac')
    expect([...(file.columnSizes?.keys() ?? [])]).toEqual([1, 2, 3])
  })

  it('infers metrics for the first 100 columns only', async () => {
    const engine = await lake.engine()
    const wide = schemaOf(Array.from({ length: 103 }, (_, at) => field(at + 1, `c${at}`, 'int')))
    const select = `SELECT ${wide.fields.map((f) => `${f.id} AS ${f.name}`).join(', ')}`
    const input = await lake.data(select, `{${wide.fields.map((f) => `${f.name}: ${f.id}`).join(', ')}}`)
    const { files } = await engine.rewrite(lake.task({ schemas: [wide] }, [input]))
    expect(Math.max(...(files[0]?.lowerBounds?.keys() ?? []))).toBe(100)
    expect(files[0]?.columnSizes?.size).toBe(103)
  })
})

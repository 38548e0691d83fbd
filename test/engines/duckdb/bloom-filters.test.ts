import { afterAll, describe, expect, it } from 'vitest'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { field, Lake, schemaOf, struct } from './harness/lake.ts'
import { LONG } from '../../support/effort.ts'

const lake = new Lake()
afterAll(() => lake.close())

const ENABLED = 'write.parquet.bloom-filter-enabled.column.'
const schema = schemaOf([
  field(1, 'id', 'long'),
  field(2, 'name', 'string'),
  field(3, 'u', 'uuid'),
  field(4, 's', struct(field(5, 'x', 'double'))),
  field(6, 'flag', 'boolean'),
  field(7, 'empty', 'int'),
  field(8, 'wide', 'decimal(38,2)'),
  field(9, 'price', 'decimal(12,2)'),
])
const ids = '{id: 1, name: 2, u: 3, s: {__duckdb_field_id: 4, x: 5}, flag: 6, empty: 7, wide: 8, price: 9}'
/** Columns of only distinct values, which the engine gives no dictionary by itself. */
const rows = `SELECT i AS id, 'name ' || i || repeat('.', 100) AS name, uuid() AS u, {x: i + 0.5::DOUBLE} AS s, i % 2 = 0 AS flag,
  NULL::INTEGER AS empty, i::DECIMAL(38,2) AS wide, i::DECIMAL(12,2) AS price FROM range(150000) r(i)`

async function rewrite(properties: Record<string, string>, select = rows): Promise<readonly DataFile[]> {
  const engine = await lake.engine()
  const input = await lake.data(select, ids)
  const { files } = await engine.rewrite(lake.task({ schemas: [schema], properties }, [input]))
  return files
}

/** Columns with a filter in all row groups, and the bytes of the largest filter. */
async function filters(files: readonly DataFile[]): Promise<Map<string, number>> {
  const found = await lake.sql(`
    SELECT path_in_schema AS p, max(bloom_filter_length)::INTEGER AS bytes
    FROM parquet_metadata([${files.map(({ filePath }) => `'${filePath}'`).join(', ')}])
    GROUP BY p HAVING bool_and(bloom_filter_offset IS NOT NULL)`)
  return new Map(found.map((row) => [String(row['p']), Number(row['bytes'])]))
}

describe('Bloom filters that a table asks for', () => {
  it('are in all row groups of new files, and have no false negatives', async () => {
    const asked = ['id', 'name', 'u', 's.x', 'flag', 'empty', 'price', 'no_such_column']
    const files = await rewrite(Object.fromEntries(asked.map((name) => [ENABLED + name, 'TRUE'])))
    const found = await filters(files)
    expect([...found.keys()]).toEqual(expect.arrayContaining(['id', 'name', 'u', 's, x', 'price']))
    const path = files[0]?.filePath
    const [missed] = await lake.sql(`
      SELECT count(*) AS n FROM parquet_bloom_probe('${path}', 'id', 77777) WHERE bloom_filter_excludes
        AND row_group_id = (SELECT 77777 // max(row_group_num_rows) FROM parquet_metadata('${path}'))`)
    expect(Number(missed?.['n'])).toBe(0)
    const [excluded] = await lake.sql(
      `SELECT count(*) AS n FROM parquet_bloom_probe('${path}', 'id', -5) WHERE bloom_filter_excludes`,
    )
    expect(Number(excluded?.['n'])).toBeGreaterThan(0)
  })

  it('are written beside floats that hold zeros of one sign', LONG, async () => {
    for (const zero of ["'-0.0'::DOUBLE", '0.0::DOUBLE']) {
      const select = rows.replace('i + 0.5::DOUBLE', `CASE WHEN i % 2 = 0 THEN ${zero} ELSE i::DOUBLE END`)
      const files = await rewrite({ [`${ENABLED}id`]: 'true' }, select)
      expect((await filters(files)).has('id')).toBe(true)
      const [found] = await lake.sql(
        `SELECT count(*) FILTER (signbit(s.x)) AS negative FROM '${files[0]?.filePath}' WHERE s.x = 0`,
      )
      expect(Number(found?.['negative'])).toBe(zero.startsWith("'-") ? 75_000 : 0)
    }
  })

  it('are not there for distinct values without the property, or when it is false', async () => {
    for (const properties of [{}, { [`${ENABLED}id`]: 'false' }]) {
      expect((await filters(await rewrite(properties))).has('id')).toBe(false)
    }
  })

  it('are as exact as the table requires, and refused when they would be too large', LONG, async () => {
    const enabled = { [`${ENABLED}id`]: 'true' }
    const usual = (await filters(await rewrite(enabled))).get('id') ?? 0
    const exact = { ...enabled, 'write.parquet.bloom-filter-fpp.column.id': '0.00001' }
    expect((await filters(await rewrite(exact))).get('id')).toBeGreaterThan(usual)
    const small = { ...enabled, 'write.parquet.bloom-filter-max-bytes': '1000' }
    await expect(rewrite(small)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    for (const [name, value] of [
      ['write.parquet.bloom-filter-fpp.column.id', '1'],
      ['write.parquet.bloom-filter-fpp.column.id', 'x'],
      ['write.parquet.bloom-filter-max-bytes', '-1'],
    ] as const) {
      await expect(rewrite({ ...enabled, [name]: value })).rejects.toMatchObject({ code: 'INVALID_METADATA' })
    }
  })

  it('are refused, naming the column, where the engine cannot write them', async () => {
    await expect(rewrite({ [`${ENABLED}wide`]: 'true' })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining(`${ENABLED}wide`),
    })
    // dictionaries would make one value of both zeros
    const zeros = rows.replace('i + 0.5::DOUBLE', "CASE WHEN i % 2 = 0 THEN '-0.0'::DOUBLE ELSE 0.0 END")
    const engine = await lake.engine()
    const path = lake.path('in/zeros.parquet')
    await lake.sql(`COPY (${zeros}) TO '${path}' (FORMAT parquet, FIELD_IDS ${ids}, DICTIONARY_SIZE_LIMIT 0)`)
    const input = { dataFile: lake.dataFile(path), sequenceNumber: 1, fileSequenceNumber: 1, deletes: [] }
    const task = lake.task({ schemas: [schema], properties: { [`${ENABLED}s.x`]: 'true' } }, [input])
    await expect(engine.rewrite(task)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})

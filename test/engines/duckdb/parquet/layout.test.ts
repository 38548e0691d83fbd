import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readFooter } from '../../../../src/engines/duckdb/parquet/footer.ts'
import { readFooters } from '../../../../src/engines/duckdb/write/output-files.ts'
import { isIcebergError } from '../../../../src/iceberg/errors.ts'
import type { NestedField } from '../../../../src/iceberg/schema/types.ts'
import { field, Lake, list, map, struct } from '../harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

const COLUMNS = [
  field(1, 'id', 'long'),
  field(2, 'seen', 'timestamptz'),
  field(3, 'amount', 'decimal(10, 2)'),
  field(4, 'point', struct(field(5, 'x', 'int'), field(6, 'name', 'string'))),
  field(7, 'tags', list(8, 'string')),
  field(9, 'counts', map(10, 'string', 11, 'long')),
]
const SELECT = `SELECT i AS id, TIMESTAMPTZ '2026-01-01 00:00:00+00' AS seen, 1.25::DECIMAL(10, 2) AS amount,
  {x: 1::INTEGER, name: 'a'} AS point, ['a', 'b'] AS tags, MAP {'a': 1::BIGINT} AS counts FROM range(3000) r(i)`
const IDS =
  '{id: 1, seen: 2, amount: 3, point: {__duckdb_field_id: 4, x: 5, name: 6}, tags: {__duckdb_field_id: 7, element: 8}, counts: {__duckdb_field_id: 9, key: 10, value: 11}}, ROW_GROUP_SIZE 2048'

/** The columns with one of them replaced. */
const instead = (changed: NestedField): NestedField[] => COLUMNS.map((one) => (one.id === changed.id ? changed : one))

describe('the footer of a new file', () => {
  let path: string
  beforeAll(async () => {
    path = await lake.parquet(SELECT, IDS)
  })

  it('has the rows and row groups that the engine reads in it', async () => {
    const [footer] = await readFooters([path], COLUMNS)
    const groups = await lake.sql(`
      SELECT min(least(nullif(dictionary_page_offset, 0), data_page_offset))::INTEGER AS start
      FROM parquet_metadata('${path}') GROUP BY row_group_id ORDER BY row_group_id`)
    expect(footer).toEqual({ rowCount: 3000, splitOffsets: groups.map(({ start }) => start) })
    expect(groups).toHaveLength(2)
  })

  it.each([
    ['a column with another id', [...COLUMNS.slice(1), field(12, 'id', 'long')], /column id/],
    ['a column that is missing', [...COLUMNS, field(12, 'more', 'string')], /more is missing/],
    ['a column too many', COLUMNS.slice(1), /column id, which is not a column/],
    ['another width', instead(field(1, 'id', 'int')), /id as id INT64/],
    ['a time without a zone', instead(field(2, 'seen', 'timestamp')), /TIMESTAMP\(UTC,MICROS\)/],
    ['another scale', instead(field(3, 'amount', 'decimal(10, 3)')), /DECIMAL\(10,2\)/],
    [
      'a member of another type',
      instead(field(4, 'point', struct(field(5, 'x', 'int'), field(6, 'name', 'binary')))),
      /STRING/,
    ],
    ['a member too few', instead(field(4, 'point', struct(field(5, 'x', 'int')))), /point as point group/],
    ['elements with another id', instead(field(7, 'tags', list(12, 'string'))), /element/],
    ['a list in place of a map', instead(field(9, 'counts', list(10, 'string'))), /MAP/],
    ['values of another type', instead(field(9, 'counts', map(10, 'string', 11, 'double'))), /INT64/],
  ])('is refused for a table whose schema has %s', async (_, fields, why) => {
    const error: unknown = await readFooters([path], fields).catch((thrown: unknown) => thrown)
    expect(isIcebergError(error, 'ENGINE_FAILED'), String(error)).toBe(true)
    expect(String(error)).toMatch(/a new file does not have the layout of the table's schema/)
    expect(String(error)).toMatch(why)
  })

  it('has its schema as it is stored', async () => {
    const { schema } = await readFooter(path, path)
    expect(schema).toHaveLength(1 + 3 + 3 + 3 + 4)
  })
})

import { field, list, map, struct } from '../harness/lake.ts'

/** Columns with how DuckDB makes the value of row `i`, and their part of FIELD_IDS. */
export const COLUMNS = [
  { field: field(1, 'a', 'long'), sql: 'i * 7 % 1000', ids: 'a: 1' },
  { field: field(2, 'b', 'string'), sql: `CASE WHEN i % 5 = 0 THEN NULL ELSE 'text ' || (i % 50) END`, ids: 'b: 2' },
  { field: field(3, 'c', 'double'), sql: `CASE WHEN i % 11 = 0 THEN 'nan'::DOUBLE ELSE i / 3 END`, ids: 'c: 3' },
  { field: field(4, 'd', 'decimal(12,2)'), sql: '(i * 1.25)::DECIMAL(12,2)', ids: 'd: 4' },
  { field: field(5, 'e', 'timestamptz'), sql: `TIMESTAMPTZ '2026-01-01' + i * INTERVAL 1 SECOND`, ids: 'e: 5' },
  { field: field(6, 'f', 'boolean'), sql: 'i % 3 = 0', ids: 'f: 6' },
  { field: field(7, 'g', 'date'), sql: `DATE '2020-01-01' + (i % 3000)::INTEGER`, ids: 'g: 7' },
  { field: field(8, 'h', 'uuid'), sql: `md5(i::VARCHAR)::UUID`, ids: 'h: 8' },
  { field: field(9, 'j', 'binary'), sql: `encode('b' || i)`, ids: 'j: 9' },
  {
    field: field(10, 'k', list(11, struct(field(12, 'x', 'int'), field(13, 'y', 'string')))),
    sql: `CASE WHEN i % 4 = 0 THEN NULL ELSE [{x: i::INTEGER, y: NULL::VARCHAR}, {x: NULL, y: 'y' || i}] END`,
    ids: 'k: {__duckdb_field_id: 10, element: {__duckdb_field_id: 11, x: 12, y: 13}}',
  },
  {
    field: field(14, 'm', map(15, 'string', 16, 'float')),
    sql: `MAP {'k' || i % 3: i::FLOAT}`,
    ids: 'm: {__duckdb_field_id: 14, key: 15, value: 16}',
  },
  {
    field: field(17, 'n', struct(field(18, 'z', 'time'))),
    sql: `{z: TIME '00:00:01'}`,
    ids: 'n: {__duckdb_field_id: 17, z: 18}',
  },
] as const

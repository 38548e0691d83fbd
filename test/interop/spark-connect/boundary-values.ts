import {
  type DuckDBConnection,
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
} from '@duckdb/node-api'
import type { SparkRow } from '../../../src/engines/spark/connect/spark-client.ts'
import type { NestedField } from '../../../src/iceberg/schema/types.ts'
import { VALUES_SCHEMA } from '../../streaming/spark/graph-expressions.ts'

const TEXTS = [
  'NULL',
  "''",
  "'a'",
  "'A'",
  "'it''s'",
  String.raw`'\'`,
  String.raw`'a\b'`,
  String.raw`'a\%'`,
  `'a"b'`,
  "'ß'",
  "'SS'",
  "'🦆'",
  "'e' || chr(769)",
  "'é'",
  "' a '",
  'chr(160)',
  "'a' || chr(10) || 'b'",
  "'ａ'",
  "'!a'",
  "'.*'",
]
const DAYS = ['NULL', "'0001-01-01'", "'1582-10-04'", "'1582-10-15'", "'1970-01-01'", "'2020-02-29'", "'9999-12-31'"]
const TIMES = [
  'NULL',
  "'0001-01-01 00:00:00'",
  "'1000-01-01 00:00:00'",
  "'1582-10-10 23:59:59.999999'",
  "'1899-12-31 23:59:59.999999'",
  "'1969-12-31 23:59:59.999999'",
  "'1970-01-01 00:00:00'",
  "'2020-02-29 12:34:56.123456'",
  "'2020-02-29 12:34:00'",
  "'9999-12-31 23:59:59.999999'",
]
const DOUBLES = [
  'NULL',
  "'NaN'",
  "'Infinity'",
  "'-Infinity'",
  "'0.0'",
  "'-0.0'",
  "'1.5'",
  "'-1.5'",
  "'2'",
  "'0.1'",
  "'1e300'",
]

/** SQL of the boundary values of each column; the first of them is NULL where it may be. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  b: ['NULL', 'TRUE', 'FALSE'],
  i: ['NULL', '-2147483648', '-2147483647', '-1', '0', '1', '2147483646', '2147483647', '12', '-12'],
  l: [
    'NULL',
    '-9223372036854775808',
    '-9223372036854775807',
    '-2147483649',
    '-1',
    '0',
    '1',
    '2147483648',
    '9007199254740993',
    '9223372036854775807',
  ],
  small: ['NULL', '-1000', '-1', '0', '1', '2', '999'],
  f: ['NULL', "'NaN'", "'Infinity'", "'-Infinity'", "'0.0'", "'-0.0'", "'1.5'", "'3.4028235e38'", "'1e-45'", "'0.1'"],
  d: [...DOUBLES, "'1.7976931348623157e308'", "'-1.7976931348623157e308'", "'4.9e-324'", "'9007199254740993'"],
  p: ['NULL', '-9999999.99', '-0.01', '0', '0.01', '1.5', '9999999.99'],
  q: ['NULL', '-9999999999999999999999999999.9999999999', '0', '1.5', '9999999999999999999999999999.9999999999'],
  s: TEXTS,
  day: DAYS,
  ts: TIMES,
  tz: TIMES.map((time) => (time === 'NULL' ? time : `${time.slice(0, -1)}+00'`)),
  raw: ['NULL', "''", String.raw`'\x00\xff'`],
  id: ['NULL', "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
}
const ROWS = 420

/** Writes a Parquet file with pairs of boundary values of all types, and makes it a view in DuckDB. Returns its path. */
export async function writeBoundaryValues(duck: DuckDBConnection, folder: string): Promise<string> {
  const file = `${folder}/values.parquet`
  const types: Readonly<Record<string, string>> = { timestamptz: 'TIMESTAMPTZ', string: 'VARCHAR', binary: 'BLOB' }
  const columns = VALUES_SCHEMA.fields.map(({ name, type }) => {
    if (name === 'k') return 'k::BIGINT AS k'
    const values = VALUES[name] ?? VALUES[name.slice(0, -1)] ?? []
    const at = VALUES[name] === undefined ? `k // ${values.length}` : 'k'
    const known: Readonly<Record<string, string>> = { int: 'INTEGER', long: 'BIGINT' }
    const named = type.kind === 'decimal' ? `DECIMAL(${type.precision}, ${type.scale})` : types[type.kind]
    const duckType = named ?? known[type.kind] ?? type.kind.toUpperCase()
    // Spark reads Iceberg's uuid as text, and no Parquet files with it
    const list = values.map((value) => `CAST(${value} AS ${duckType})`)
    return `([${list.join(', ')}])[1 + (${at}) % ${values.length}]${type.kind === 'uuid' ? '::VARCHAR' : ''} AS "${name}"`
  })
  await duck.run("SET TimeZone = 'UTC'").catch(() => undefined)
  await duck.run(`COPY (SELECT ${columns.join(', ')} FROM range(${ROWS}) t(k)) TO '${file}' (FORMAT parquet)`)
  await duck.run(`CREATE VIEW lockhouse_source_0 AS SELECT * REPLACE (id::UUID AS id) FROM '${file}'`)
  return file
}

/** Rows of DuckDB, sorted, each value as one text. */
export async function duckRows(duck: DuckDBConnection, query: string): Promise<string[][]> {
  const result = await duck.runAndReadAll(query)
  return sorted(result.getRows().map((row) => row.map(textOf)))
}

/** Rows of Spark as {@link duckRows} gives them. */
export function sparkRows(rows: readonly SparkRow[], fields: readonly NestedField[]): string[][] {
  const isDate = (at: number): boolean => fields[at]?.type.kind === 'date'
  const text = (value: unknown, at: number): string =>
    typeof value === 'number' && isDate(at) ? dayText(value / DAY_MS) : textOf(value)
  return sorted(rows.map((row) => Object.values(row).map(text)))
}

function sorted(rows: string[][]): string[][] {
  return rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

/** Arrow's reader gives dates as milliseconds. */
const DAY_MS = 86_400_000

function dayText(days: number): string {
  return `day ${days}`
}

function textOf(value: unknown): string {
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (value instanceof DuckDBDateValue) return dayText(value.days)
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) return String(value.micros)
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return value instanceof DuckDBDecimalValue ? value.toString() : String(value)
}

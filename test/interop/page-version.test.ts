import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCompaction } from '../../src/maintenance/compaction/compact.ts'
import { field, list, map, schemaOf, struct } from '../engines/duckdb/harness/lake.ts'
import { PYTHON, SPARK35_JAR, SPARK35_PYTHON, SPARK_JAR, sparkAvailable } from './harness/environment.ts'
import { openLakehouse, type Lakehouse } from './harness/lakehouse.ts'
import { runPython } from './harness/python.ts'
import type { Rows } from './harness/rows.ts'
import { SparkSession } from './harness/spark.ts'

// ids as a new table assigns them: the columns first, then their nested fields
const SCHEMA = schemaOf([
  field(1, 'id', 'int'),
  field(2, 'n', 'long'),
  field(3, 'few', 'string'),
  field(4, 'many', 'string'),
  field(5, 'f', 'float'),
  field(6, 'd', 'double'),
  field(7, 'price', 'decimal(9,2)'),
  field(8, 'wide', 'decimal(38,4)'),
  field(9, 'flag', 'boolean'),
  field(10, 'ts', 'timestamp'),
  field(11, 'tsz', 'timestamptz'),
  field(12, 'day', 'date'),
  field(13, 'bin', 'binary'),
  field(14, 'u', 'uuid'),
  field(15, 'nothing', 'long'),
  field(16, 's', struct(field(30, 'x', 'int'), field(31, 'y', 'string'), field(32, 'z', 'double'))),
  field(17, 'l', list(33, 'long')),
  field(18, 'm', map(34, 'string', 35, 'double')),
])

/** Rows of one file, with nulls in every column but the first. */
function rows(file: number): string {
  const orNull = (sql: string): string => `CASE WHEN i % 7 = 3 THEN NULL ELSE ${sql} END`
  return `SELECT i::INTEGER AS c1, ${orNull('hash(i) // 4')}::BIGINT AS c2, ${orNull("'k' || (i % 9)")} AS c3,
    ${orNull('md5(i::VARCHAR)')} AS c4, ${orNull("CASE WHEN i % 50 = 1 THEN 'nan' WHEN i % 50 = 2 THEN '-0.0' ELSE (i / 7)::VARCHAR END")}::FLOAT AS c5,
    ${orNull("CASE WHEN i % 50 = 1 THEN 'inf' ELSE (i / 7)::VARCHAR END")}::DOUBLE AS c6, ${orNull('i / 3')}::DECIMAL(9,2) AS c7,
    ${orNull('i / 11')}::DECIMAL(38,4) AS c8, ${orNull('i % 2 = 0')} AS c9, ${orNull("TIMESTAMP '1960-01-01' + INTERVAL (i * 7919) SECOND")} AS c10,
    ${orNull("TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (i) MILLISECOND")} AS c11, ${orNull("DATE '1950-01-01' + i::INTEGER")} AS c12,
    ${orNull('encode(md5(i::VARCHAR))')} AS c13, ${orNull('md5(i::VARCHAR)')}::UUID AS c14, NULL::BIGINT AS c15,
    ${orNull("{x: i::INTEGER, y: 'y' || hash(i), z: i / 3}")} AS c16, ${orNull('[i, NULL, 7]')}::BIGINT[] AS c17,
    ${orNull("MAP {'k' || i: i / 7, 'q': NULL}")} AS c18 FROM range(${file * 3000}, ${file * 3000 + 3000}) r(i)`
}

const available = sparkAvailable('pages of Parquet 2')
if (available && !SPARK35_PYTHON)
  process.stderr.write('\nSKIPPED: pages of Parquet 2 in Spark 3.5: LOCKHOUSE_SPARK35_PYTHON is not set\n')

const SPARKS = [
  { title: 'Spark 4', python: PYTHON, jar: SPARK_JAR },
  { title: 'Spark 3.5', python: SPARK35_PYTHON, jar: SPARK35_JAR },
].flatMap(({ title, python, jar }) => (python && jar ? [{ title, python, jar }] : []))

describe.skipIf(!available)('pages of Parquet 2 (write.parquet.page-version)', { timeout: 600_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-pages-')) : ''
  const locations: Record<string, string> = {}
  let house: Lakehouse

  beforeAll(async () => {
    house = await openLakehouse(folder, 'hadoop')
    await house.catalog.createNamespace(['db'])
    for (const version of ['v1', 'v2']) {
      const identifier = { namespace: ['db'], name: version }
      const properties = { 'write.parquet.page-version': version }
      await house.catalog.createTable(identifier, { schema: SCHEMA, properties })
      for (let file = 0; file < 5; file += 1) await house.append(identifier, rows(file))
      const request = { rewrite_all: true }
      await runCompaction({ ...house, identifier, request, operationId: `compact-${version}` })
      locations[version] = (await house.catalog.loadTable(identifier)).metadataLocation
    }
  }, 300_000)

  afterAll(async () => {
    await house?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('have the same rows in PyIceberg', async () => {
    const found = await runPython<Record<string, Rows>>('pyiceberg_rows.py', { files: locations, metadata: false })
    expect(found['v1']?.count).toBe(15_000)
    expect(found['v2']?.hash).toBe(found['v1']?.hash)
  })

  it.each(SPARKS)('have the same rows in $title, which reads them in batches', async ({ title, ...version }) => {
    const scratch = `${folder}/${title.replaceAll(' ', '-')}`
    mkdirSync(scratch)
    const spark = await SparkSession.start({ scratch, warehouse: `${folder}/warehouse`, version })
    try {
      const primitives = SCHEMA.fields.slice(0, 15).map(({ name }) => name)
      const sums = primitives.map((name) => `sum(hash(${name})) AS ${name}, count(${name}) AS n_${name}`).join(', ')
      const [batched1, batched2] = await spark.sql(`SELECT ${sums} FROM house.db.v1`, `SELECT ${sums} FROM house.db.v2`)
      expect(batched2?.rows).toEqual(batched1?.rows)
      const command = { cmd: 'rows', tables: ['house.db.v1', 'house.db.v2'], metadata: false }
      const found = await spark.run<Record<string, Rows>>(command)
      expect(found['house.db.v1']?.count).toBe(15_000)
      expect(found['house.db.v2']?.hash).toBe(found['house.db.v1']?.hash)
    } finally {
      await spark.stop()
    }
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import { runCompaction } from '../../src/maintenance/compaction/compact.ts'
import { field, schemaOf } from '../engines/duckdb/harness/lake.ts'
import { pyicebergAvailable } from './harness/environment.ts'
import { openLakehouse, type Lakehouse } from './harness/lakehouse.ts'
import { runPython } from './harness/python.ts'
import type { Rows } from './harness/rows.ts'

const SCHEMA = schemaOf([
  field(1, 'id', 'long'),
  field(2, 'customer', 'string'),
  field(3, 'x', 'double'),
  field(4, 'day', 'date'),
])
const TABLE = { namespace: ['db'], name: 'clustered' }
const ROWS = `SELECT i AS c1, CASE WHEN i % 5 = 0 THEN NULL ELSE md5(i::VARCHAR) END AS c2,
  CASE i % 7 WHEN 0 THEN 'nan' WHEN 1 THEN '-0.0' WHEN 2 THEN '0.0' ELSE (hash(i) / 3)::VARCHAR END::DOUBLE AS c3,
  DATE '2020-01-01' + (hash(i) % 900)::INTEGER AS c4`
const available = pyicebergAvailable('clustered tables')

describe.skipIf(!available)('a table with rows along curves', { timeout: 120_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-curves-')) : ''
  const locations: Record<string, string> = {}
  let house: Lakehouse

  beforeAll(async () => {
    house = await openLakehouse(folder, 'hadoop')
    await house.catalog.createNamespace(['db'])
    const properties = { 'write.target-file-size-bytes': '200000', 'write.parquet.row-group-size-bytes': '65536' }
    await house.catalog.createTable(TABLE, { schema: SCHEMA, properties, formatVersion: 2 })
    for (let file = 0; file < 3; file += 1) {
      await house.append(TABLE, `${ROWS} FROM range(${file * 10_000}, ${file * 10_000 + 10_000}) r(i)`)
    }
    locations['before'] = (await house.catalog.loadTable(TABLE)).metadataLocation
    for (const strategy of ['zorder', 'hilbert']) {
      const request = { strategy, columns: ['customer', 'x', 'day'], rewrite_all: true }
      await runCompaction({ ...house, identifier: TABLE, request, operationId: `compact-${strategy}` })
      locations[strategy] = (await house.catalog.loadTable(TABLE)).metadataLocation
    }
  }, 120_000)

  afterAll(async () => {
    await house?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('has the same rows in PyIceberg as before', async () => {
    const tasks = await planFiles(await house.catalog.loadTable(TABLE))
    expect(tasks.length).toBeGreaterThan(1)
    const found = await runPython<Record<string, Rows>>('pyiceberg_rows.py', { files: locations, metadata: false })
    expect(found['before']?.count).toBe(30_000)
    for (const strategy of ['zorder', 'hilbert']) expect(found[strategy]?.hash).toBe(found['before']?.hash)
  })
})

import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { field, schemaOf, tableMetadata } from '../../engines/duckdb/harness/lake.ts'
import { ID } from '../../engines/duckdb/harness/parquet-nodes.ts'
import { PARQUET_SHAPES } from '../../engines/duckdb/harness/parquet-shapes.ts'
import type { ParquetShape } from '../../engines/duckdb/harness/parquet-shapes.ts'
import { parquetBytes } from '../../engines/duckdb/harness/parquet-writer.ts'
import { pyicebergAvailable } from '../harness/environment.ts'
import { openLakehouse, type Lakehouse } from '../harness/lakehouse.ts'
import { runPython } from '../harness/python.ts'
import { sortedRows, type Rows } from '../harness/rows.ts'
import { Service } from '../harness/service.ts'

const available = pyicebergAvailable('unusual Parquet files in PyIceberg')
const NAMES = PARQUET_SHAPES.map((shape, at) => [`t${at}`, shape.title] as const)

describe.skipIf(!available)('a table over an unusual Parquet file', { timeout: 300_000 }, () => {
  const folder = available ? mkdtempSync(`${tmpdir()}/interop-shapes-`) : ''
  let house: Lakehouse
  let service: Service
  const before: Record<string, Rows> = {}
  const after: Record<string, Rows> = {}

  async function dump(into: Record<string, Rows>): Promise<void> {
    const files: Record<string, string> = {}
    for (const [name] of NAMES)
      files[name] = (await house.catalog.loadTable({ namespace: ['db'], name })).metadataLocation
    Object.assign(into, await runPython('pyiceberg_rows.py', { files, metadata: false }))
  }

  beforeAll(async () => {
    house = await openLakehouse(folder, 'hadoop')
    await house.catalog.createNamespace(['db'])
    for (const [at, shape] of PARQUET_SHAPES.entries()) await createTable(`t${at}`, shape)
    await dump(before)
    service = await Service.start({ home: `${folder}/home` })
    await service.configure(house.settings)
    for (const [name] of NAMES) await service.operate('/api/compact', { table: `db.${name}`, rewrite_all: true })
    await dump(after)
  })

  afterAll(async () => {
    await service?.stop()
    await house?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A table whose field ids are those of the shape, which a catalog would assign anew. */
  async function createTable(name: string, { column, type, values }: ParquetShape): Promise<void> {
    const location = `${folder}/warehouse/db/${name}`
    for (const part of ['metadata', 'data']) mkdirSync(`${location}/${part}`, { recursive: true })
    const { json } = tableMetadata({ schemas: [schemaOf([field(1, 'id', 'long'), field(2, 'v', type)])] })
    writeFileSync(`${location}/metadata/v1.metadata.json`, stringifyJson({ ...json, location: `file://${location}` }))
    writeFileSync(`${location}/metadata/version-hint.text`, '1')
    const files = [0, 1].map((at): DataFile => {
      const path = `${location}/data/${at}.parquet`
      const rows = values.map(([value], row) => ({ id: BigInt(at * 100 + row), v: value }))
      writeFileSync(path, parquetBytes([ID, column], rows))
      const counts = { recordCount: rows.length, fileSizeInBytes: statSync(path).size }
      return { content: 'data', filePath: `file://${path}`, fileFormat: 'parquet', specId: 0, partition: [], ...counts }
    })
    await commitTable(house.catalog, { namespace: ['db'], name }, (fresh) =>
      stageAppend(fresh, { files, operationId: name }),
    )
  }

  it.each(NAMES)('has the same rows in PyIceberg after a compaction: %s, %s', (name) => {
    expect(before[name]?.count).toBeGreaterThan(0)
    expect(sortedRows(after[name]?.rows ?? [])).toEqual(sortedRows(before[name]?.rows ?? []))
  })
})

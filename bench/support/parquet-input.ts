import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import { parseSchema } from '../../src/iceberg/schema/schema.ts'

/** Eight columns of the usual kinds. */
export const EVENT_SCHEMA = parseSchema({
  type: 'struct',
  'schema-id': 0,
  fields: [
    { id: 1, name: 'id', required: false, type: 'long' },
    { id: 2, name: 'kind', required: false, type: 'int' },
    { id: 3, name: 'customer', required: false, type: 'string' },
    { id: 4, name: 'url', required: false, type: 'string' },
    { id: 5, name: 'token', required: false, type: 'string' },
    { id: 6, name: 'score', required: false, type: 'double' },
    { id: 7, name: 'at', required: false, type: 'timestamp' },
    { id: 8, name: 'price', required: false, type: 'decimal(12, 2)' },
  ],
})

const FIELD_IDS = EVENT_SCHEMA.fields.map((field) => `"${field.name}": ${field.id}`).join(', ')

/** Writes `count` Parquet files (zstd, as Iceberg's writers do) of `rows` rows each; answers their manifest entries. */
export async function writeEventFiles(folder: string, count: number, rows: number): Promise<DataFile[]> {
  mkdirSync(folder, { recursive: true })
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const files: DataFile[] = []
  for (let i = 0; i < count; i++) {
    const path = `${folder}/events-${String(i).padStart(5, '0')}.parquet`
    await connection.run(
      `COPY (${events(i * rows, rows)}) TO '${path}' (FORMAT parquet, COMPRESSION zstd, FIELD_IDS {${FIELD_IDS}})`,
    )
    files.push({
      content: 'data',
      filePath: `file://${path}`,
      fileFormat: 'parquet',
      specId: 0,
      partition: [],
      recordCount: rows,
      fileSizeInBytes: statSync(path).size,
    })
  }
  connection.closeSync()
  instance.closeSync()
  return files
}

/** Writes the paths of data files as a JSON list. */
export function writePathList(target: string, files: readonly DataFile[]): void {
  writeFileSync(target, JSON.stringify(files.map((file) => file.filePath.replace('file://', ''))))
}

function events(first: number, rows: number): string {
  return (
    `SELECT i AS id, CAST(hash(i) % 50 AS INTEGER) AS kind, 'customer ' || (hash(i, 1) % 20000) AS customer, ` +
    `'/shop/' || (hash(i, 2) % 300) || '/item/' || (hash(i, 3) % 5000) AS url, left(md5(CAST(i AS VARCHAR)), 12) AS token, ` +
    `(hash(i, 4) % 1000000) / 997.0::DOUBLE AS score, TIMESTAMP '2026-01-01' + INTERVAL (i) MILLISECOND AS "at", ` +
    `CAST((hash(i, 5) % 10000000) / 100.0 AS DECIMAL(12, 2)) AS price FROM range(${first}, ${first + rows}) AS t(i)`
  )
}

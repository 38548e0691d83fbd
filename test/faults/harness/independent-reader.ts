import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api'
import avsc from 'avsc'
import type { TableFiles } from './corruptions.ts'

/**
 * Reads tables without code of the service: the pointer from SQLite, metadata as JSON, Avro through avsc, rows
 * through DuckDB. Supports position deletes; works for tables whose manifests avsc can resolve by name.
 */
export class IndependentReader {
  readonly #connection: DuckDBConnection
  readonly #instance: DuckDBInstance

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance
    this.#connection = connection
  }

  static async open(): Promise<IndependentReader> {
    const instance = await DuckDBInstance.create(':memory:', { autoload_known_extensions: 'false' })
    return new IndependentReader(instance, await instance.connect())
  }

  close(): void {
    this.#connection.closeSync()
    this.#instance.closeSync()
  }

  /**
   * Row count and an order-independent hash of the given columns (field id → SQL type), as text. Every live data
   * file must exist and have as many rows as its manifest says.
   */
  async fingerprint(metadataLocation: string, columns: Readonly<Record<number, string>>): Promise<string> {
    const { data, deletes } = await liveFiles(metadataLocation)
    const fields = Object.entries(columns)
    const schema = fields.map(([id, type]) => `${id}: {name: 'c${id}', type: '${type}', default_value: NULL}`)
    const parts: string[] = []
    for (const file of data) {
      const [counted] = await this.#rows(`SELECT count(*) AS n FROM read_parquet(${quote(file.path)})`)
      const found = Number(counted?.['n'])
      if (found !== file.records) throw new Error(`${file.path} has ${found} of ${file.records} rows`)
      parts.push(
        `SELECT ${quote(file.path)} AS f, file_row_number AS p, * EXCLUDE (file_row_number) FROM ` +
          `read_parquet(${quote(file.path)}, hive_partitioning = false, file_row_number = true, schema = map {${schema.join(', ')}})`,
      )
    }
    if (parts.length === 0) return '0 rows'
    const hidden =
      deletes.length > 0 ? `WHERE (f, p) NOT IN (${deletes.map(deletedPositions).join(' UNION ALL ')})` : ''
    const hash = `CAST(sum(CAST(hash(${fields.map(([id]) => `c${id}`).join(', ')}) AS HUGEINT)) AS VARCHAR)`
    const [row] = await this.#rows(
      `SELECT CAST(count(*) AS VARCHAR) AS n, ${hash} AS h FROM (${parts.join(' UNION ALL ')}) ${hidden}`,
    )
    return `${String(row?.['n'])} rows, ${String(row?.['h'])}`
  }

  async #rows(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.#connection.runAndReadAll(sql)).getRowObjectsJson()
  }
}

/** The table's metadata pointer, read directly from the catalog's SQLite file. */
export function metadataLocationOf(catalogPath: string, namespace: string, name: string): string {
  const database = new DatabaseSync(catalogPath, { timeout: 5000 }) // not read-only: a kill may leave a journal to roll back
  try {
    const row = database
      .prepare('SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?')
      .get(namespace, name)
    return String(row?.['metadata_location'])
  } finally {
    database.close()
  }
}

interface Metadata {
  readonly 'current-snapshot-id': string
  readonly 'metadata-log'?: readonly { readonly 'metadata-file': string }[]
  readonly snapshots?: readonly { readonly 'snapshot-id': string; readonly 'manifest-list': string }[]
}

/** Table metadata with its 64-bit ids as text. */
export function readMetadata(location: string): Metadata {
  const text = readFileSync(localPath(location), 'utf8')
  return JSON.parse(text.replaceAll(/([:[,]\s*)(-?\d{16,})(?=\s*[,}\]])/g, '$1"$2"')) as Metadata
}

/**
 * Every file that the table's metadata references: older metadata files, manifest lists, manifests, live data and
 * deletes.
 */
export async function reachableFiles(metadataLocation: string): Promise<Set<string>> {
  const metadata = readMetadata(metadataLocation)
  const found = new Set([metadataLocation, ...(metadata['metadata-log'] ?? []).map((entry) => entry['metadata-file'])])
  for (const snapshot of metadata.snapshots ?? []) {
    found.add(snapshot['manifest-list'])
    for (const manifest of await avroRecords(snapshot['manifest-list'])) {
      found.add(String(manifest['manifest_path']))
      for (const entry of await avroRecords(String(manifest['manifest_path']))) {
        const file = entry['data_file'] as AvroRecord
        if (entry['status'] !== 2) found.add(String(file['file_path']))
      }
    }
  }
  return new Set([...found].map(localPath))
}

/** Paths of the current snapshot's files. */
export async function tableFiles(metadataLocation: string): Promise<TableFiles> {
  const metadata = readMetadata(metadataLocation)
  const manifestList = currentSnapshot(metadata)?.['manifest-list'] ?? ''
  const manifests = await avroRecords(manifestList)
  const { data, deletes } = await liveFiles(metadataLocation)
  return {
    metadata: localPath(metadataLocation),
    manifestList: localPath(manifestList),
    manifests: manifests.map((manifest) => localPath(String(manifest['manifest_path']))),
    data: data.map((file) => file.path),
    positionDeletes: deletes,
  }
}

function currentSnapshot(metadata: Metadata) {
  return (metadata.snapshots ?? []).find((snapshot) => snapshot['snapshot-id'] === metadata['current-snapshot-id'])
}

interface LiveFile {
  readonly path: string
  readonly records: number
}

async function liveFiles(metadataLocation: string): Promise<{ data: LiveFile[]; deletes: string[] }> {
  const current = currentSnapshot(readMetadata(metadataLocation))
  const data: LiveFile[] = []
  const deletes: string[] = []
  if (!current) return { data, deletes }
  for (const manifest of await avroRecords(current['manifest-list'])) {
    for (const entry of await avroRecords(String(manifest['manifest_path']))) {
      if (entry['status'] === 2) continue
      const file = entry['data_file'] as AvroRecord
      const path = localPath(String(file['file_path']))
      if (file['content'] === 0) data.push({ path, records: Number(file['record_count']) })
      else if (file['content'] === 1) deletes.push(path)
      else throw new Error(`the independent reader knows no content ${String(file['content'])}`)
    }
  }
  return { data, deletes }
}

type AvroRecord = Readonly<Record<string, unknown>>

const LONG = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(value)
    return bytes
  },
  fromJSON: BigInt,
  toJSON: Number,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (a: bigint, b: bigint) => (a < b ? -1 : Number(a > b)),
})

function avroRecords(location: string): Promise<AvroRecord[]> {
  return new Promise((resolve, reject) => {
    const records: AvroRecord[] = []
    const parseHook = (schema: avsc.Schema) => avsc.Type.forSchema(schema, { registry: { long: LONG } })
    const decoder = avsc.createFileDecoder(localPath(location), { parseHook })
    decoder.on('data', (record: AvroRecord) => records.push(record))
    decoder.on('end', () => resolve(records))
    decoder.on('error', reject)
  })
}

function deletedPositions(path: string): string {
  return (
    `SELECT regexp_replace(file_path, '^file:/*', '/') AS f, pos AS p FROM ` +
    `read_parquet(${quote(path)}, schema = map {2147483546: {name: 'file_path', type: 'VARCHAR', default_value: NULL}, ` +
    `2147483545: {name: 'pos', type: 'BIGINT', default_value: NULL}})`
  )
}

/** A location as a path on this machine. */
export function localPath(location: string): string {
  return location.replace(/^file:\/*/, '/')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

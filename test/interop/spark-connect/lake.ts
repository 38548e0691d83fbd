import { mkdtempSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSparkClient } from '../../../src/engines/spark/connect/open-spark-client.ts'
import type { SparkClient, SparkRow, SparkSession } from '../../../src/engines/spark/connect/spark-client.ts'
import { SparkConnect } from '../harness/spark-connect.ts'

export const TOKEN = 'a-token-of-the-tests'

/** A real Spark with a lakehouse of its own, and a client with one session. */
export interface SparkLake {
  /** For files of the test; removed at the end. */
  readonly folder: string
  readonly spark: SparkConnect
  readonly client: SparkClient
  readonly session: SparkSession
  close(): Promise<void>
}

export async function startLake(settings: Readonly<Record<string, string>> = {}): Promise<SparkLake> {
  const scratch = mkdtempSync(join(tmpdir(), 'lockhouse-spark-connect-'))
  const warehouse = join(scratch, 'lake')
  mkdirSync(warehouse)
  const spark = await SparkConnect.start({ scratch, warehouse, token: TOKEN, settings })
  const client = openSparkClient(spark.remote())
  return {
    folder: scratch,
    spark,
    client,
    session: newSession(client),
    async close() {
      await client.close()
      await spark.stop()
      rmSync(scratch, { recursive: true, force: true })
    },
  }
}

export function newSession(client: SparkClient): SparkSession {
  return client.session({ sessionId: crypto.randomUUID(), userId: 'lockhouse-test' })
}

/** Runs SQL texts, and returns the rows of the last one. */
export async function sql(session: SparkSession, ...texts: readonly string[]): Promise<readonly SparkRow[]> {
  let rows: readonly SparkRow[] = []
  for (const query of texts) rows = await session.sql({ query, args: {} }, { operationId: crypto.randomUUID() })
  return rows
}

/** A table of `files` small files with 50 rows each. */
export async function createTable(session: SparkSession, name: string, files: number): Promise<void> {
  await sql(
    session,
    'CREATE NAMESPACE IF NOT EXISTS lake.db',
    `CREATE TABLE lake.db.${name} (id BIGINT) USING iceberg TBLPROPERTIES ('write.distribution-mode'='none')`,
  )
  await addFiles(session, name, files)
}

export async function addFiles(session: SparkSession, name: string, files: number): Promise<void> {
  await sql(session, `INSERT INTO lake.db.${name} SELECT /*+ REPARTITION(${files}) */ id FROM range(${files * 50})`)
}

/** Snapshots of a table, and a sum over its rows that a lost or doubled row changes. */
export async function stateOf(session: SparkSession, name: string) {
  const [snapshots] = await sql(session, `SELECT count(*) AS n FROM lake.db.${name}.snapshots`)
  const [rows] = await sql(session, `SELECT count(*) AS n, sum(id) AS total FROM lake.db.${name}`)
  const [files] = await sql(session, `SELECT count(*) AS n FROM lake.db.${name}.files`)
  return { snapshots: Number(snapshots?.['n']), rows: rows?.['n'], total: rows?.['total'], files: Number(files?.['n']) }
}

/** Compaction of all files of a table. */
export function compaction(name: string) {
  const query = "CALL lake.system.rewrite_data_files(table => :t, options => map('rewrite-all', 'true'))"
  return { query, args: { t: `db.${name}` } }
}

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sparkAvailable, SQLITE_JDBC_JAR } from './harness/environment.ts'
import { runPython } from './harness/python.ts'
import { Service } from './harness/service.ts'
import { until } from '../support/waiting.ts'
import { SparkSession } from './harness/spark.ts'

/** How long Spark writes to each table while the service compacts the table. */
const MILLISECONDS = Number(process.env['CONCURRENT_DELETES_MS'] ?? 30_000)
const FILES = 6
const ROWS_PER_FILE = 100_000
/** A statement whose files a compaction replaced is repeated: Spark's own retries do not find its rows again. */
const MAX_ATTEMPTS = 2

const available = sparkAvailable('deletes by Spark during compactions') && SQLITE_JDBC_JAR !== undefined

interface PyRows {
  readonly count: number
  readonly rows: readonly { readonly id: number; readonly n: number }[]
}

/** What a table must have: `n` by id. */
type Model = Map<number, number>

describe.skipIf(!available)('deletes that Spark commits while tables are compacted', { timeout: 600_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-carry-')) : ''
  const sqlCatalog = { path: `${folder}/catalog.db`, warehouse: `file://${folder}/sql` }
  const models = new Map<string, Model>()
  let spark: SparkSession
  let service: Service

  beforeAll(async () => {
    for (const name of ['hadoop', 'sql', 'scratch']) mkdirSync(`${folder}/${name}`)
    spark = await SparkSession.start({ scratch: `${folder}/scratch`, warehouse: `${folder}/hadoop`, sqlCatalog })
    service = await Service.start({ home: `${folder}/home` })
    await spark.sql('CREATE NAMESPACE IF NOT EXISTS lockhouse.db')
    for (const version of [2, 3]) models.set(`v${version}`, await createTable(spark, version))
    const { warehouse, path } = sqlCatalog
    await service.configure({ catalog_type: 'sql', warehouse, catalog_name: 'lockhouse', uri: `sqlite:///${path}` })
  }, 300_000)

  afterAll(async () => {
    await service?.stop()
    await spark?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, 300_000)

  it.each(['v2', 'v3'])('%s: no row is lost, comes back, is there twice or changes its row id', async (table) => {
    const model = models.get(table) ?? new Map<number, number>()
    const before = table === 'v3' ? await readRowIds(spark) : undefined
    const writer: Writer = { statements: 0, retries: 0, isDone: false }
    const [compacted] = await Promise.all([
      compactAmongDeletes(service, table, writer),
      writeAmongCompactions(spark, { table, model, writer }),
    ])
    process.stderr.write(`\n${table}: ${JSON.stringify({ ...compacted, ...writer })}\n`)
    expect(compacted.failures).toEqual([])
    expect(compacted.compactions).toBeGreaterThan(2)
    expect(compacted.carried).toBeGreaterThan(0)
    const expected = [...model].map(([id, n]) => ({ id, n })).toSorted((a, b) => a.id - b.id)
    const [bySpark] = await spark.sql(`SELECT id, n FROM lockhouse.db.${table} ORDER BY id`)
    expect(bySpark?.rows).toEqual(expected)
    if (before === undefined) return
    const after = await readRowIds(spark)
    expect([...model.keys()].filter((id) => after.get(id) !== before.get(id))).toEqual([])
  })

  it('are read by PyIceberg', async () => {
    const { warehouse, path } = sqlCatalog
    const options = { uri: `sqlite:///${path}`, warehouse, name: 'lockhouse', tables: ['db.v2'], metadata: false }
    const dump = await runPython<Record<string, PyRows>>('pyiceberg_rows.py', options)
    const model = models.get('v2') ?? new Map()
    const rows = dump['db.v2']?.rows ?? []
    expect(dump['db.v2']?.count).toBe(model.size)
    expect(rows.every(({ id, n }) => model.get(id) === n)).toBe(true)
  })
})

/** Files of rows that take about a second to compact. */
async function createTable(spark: SparkSession, version: number): Promise<Model> {
  const name = `lockhouse.db.v${version}`
  const modes = ['delete', 'update', 'merge'].map((kind) => `'write.${kind}.mode' = 'merge-on-read'`).join(', ')
  await spark.sql(
    `CREATE TABLE ${name} (id INT, n INT, text STRING) USING iceberg TBLPROPERTIES ('format-version' = '${version}', ${modes}, ` +
      `'commit.retry.num-retries' = '20')`,
  )
  for (let file = 0; file < FILES; file += 1) {
    const from = file * ROWS_PER_FILE
    await spark.sql(
      `INSERT INTO ${name} SELECT /*+ COALESCE(1) */ CAST(id AS INT), 0, sha2(CAST(id AS STRING), 256) ` +
        `FROM range(${from}, ${from + ROWS_PER_FILE}, 1, 1)`,
    )
  }
  return new Map(Array.from({ length: FILES * ROWS_PER_FILE }, (_, id) => [id, 0]))
}

async function readRowIds(spark: SparkSession): Promise<ReadonlyMap<number, number>> {
  const [answer] = await spark.sql('SELECT id, _row_id AS row FROM lockhouse.db.v3')
  return new Map(answer?.rows.map(({ id, row }) => [Number(id), Number(row)]))
}

interface Compacted {
  readonly compactions: number
  readonly carried: number
  readonly failures: readonly unknown[]
}

/** What the writer of a table has done. */
interface Writer {
  statements: number
  retries: number
  isDone: boolean
}

/** Compacts again and again; between two compactions the writer finishes a statement, so that each can get ahead. */
async function compactAmongDeletes(service: Service, table: string, writer: Writer): Promise<Compacted> {
  let compactions = 0
  let carried = 0
  const failures: unknown[] = []
  while (!writer.isDone) {
    const seen = writer.statements
    await until(
      () => writer.isDone || writer.statements > seen,
      () => `a statement after ${seen}`,
      60_000,
    )
    const answer = await service.post('/api/compact', { table: `db.${table}`, rewrite_all: true })
    compactions += 1
    if (answer.status !== 200) failures.push(answer.body)
    else {
      const details: Record<string, unknown> = JSON.parse(String(answer.body['details_json']))
      carried += Number(details['carried_over_deletes_count'])
      if (Number(details['failed_data_files_count']) > 0) failures.push(details)
    }
  }
  return { compactions, carried, failures }
}

interface Writing {
  readonly table: string
  readonly model: Model
  readonly writer: Writer
}

/** Deletes, updates and merges, one after the other. */
async function writeAmongCompactions(spark: SparkSession, { table, model, writer }: Writing): Promise<void> {
  const end = Date.now() + MILLISECONDS
  try {
    for (let turn = 0; Date.now() < end; turn += 1) {
      const ids = [...model.keys()]
      const picked = Array.from({ length: 3 }, (_, at) => ids[(turn * 7919 + at * 104_729) % ids.length] ?? 0)
      const { sql, apply } = statement(turn, `lockhouse.db.${table}`, [...new Set(picked)])
      writer.retries += await repeat(spark, sql)
      writer.statements += 1
      apply(model)
    }
  } finally {
    writer.isDone = true
  }
}

function statement(turn: number, table: string, ids: readonly number[]) {
  const list = ids.join(', ')
  const update = (model: Model): void => ids.forEach((id) => model.set(id, (model.get(id) ?? 0) + 1))
  if (turn % 3 === 1) return { sql: `UPDATE ${table} SET n = n + 1 WHERE id IN (${list})`, apply: update }
  if (turn % 3 === 2) {
    const source = `(SELECT explode(array(${list})) AS id)`
    return {
      sql: `MERGE INTO ${table} t USING ${source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.n = t.n + 1`,
      apply: update,
    }
  }
  const apply = (model: Model): void => ids.forEach((id) => model.delete(id))
  return { sql: `DELETE FROM ${table} WHERE id IN (${list})`, apply }
}

async function repeat(spark: SparkSession, sql: string): Promise<number> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await spark.sql(sql)
      return attempt
    } catch (error) {
      const isConflict = /missing data files|ValidationException|CommitFailedException|concurrent/i.test(String(error))
      if (!isConflict || attempt >= MAX_ATTEMPTS) throw error
    }
  }
}

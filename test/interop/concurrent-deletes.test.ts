import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../../src/engines/engine.ts'
import { runCompaction } from '../../src/maintenance/compaction/compact.ts'
import { until } from '../support/waiting.ts'
import { sparkAvailable } from './harness/environment.ts'
import { openLakehouse, type Lakehouse } from './harness/lakehouse.ts'
import { runPython } from './harness/python.ts'
import type { Rows } from './harness/rows.ts'
import { SparkSession } from './harness/spark.ts'

/** How often each table is compacted while Spark writes to the table. */
const COMPACTIONS = Number(process.env['CONCURRENT_COMPACTIONS'] ?? 6)
const FILES = 6
const ROWS_PER_FILE = 20_000
/** A statement whose files a compaction replaced is repeated: Spark's own retries do not find its rows again. */
const MAX_ATTEMPTS = 3

const available = sparkAvailable('deletes by Spark during compactions')

/** What a table must have: `n` by id. */
type Model = Map<number, number>

describe.skipIf(!available)('deletes that Spark commits while tables are compacted', { timeout: 600_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-carry-')) : ''
  const models = new Map<string, Model>()
  let spark: SparkSession
  let house: Lakehouse

  beforeAll(async () => {
    mkdirSync(`${folder}/spark`)
    house = await openLakehouse(folder, 'hadoop')
    await house.catalog.createNamespace(['db'])
    spark = await SparkSession.start({ scratch: `${folder}/spark`, warehouse: `${folder}/warehouse` })
    for (const version of [2, 3]) models.set(`v${version}`, await createTable(spark, version))
  }, 300_000)

  afterAll(async () => {
    await spark?.stop()
    await house?.close()
    rmSync(folder, { recursive: true, force: true })
  }, 300_000)

  it.each(['v2', 'v3'])('%s: no row is lost, comes back, is there twice or changes its row id', async (table) => {
    const model = models.get(table) ?? new Map<number, number>()
    const before = table === 'v3' ? await readRowIds(spark) : undefined
    const writer: Writer = { statements: 0, retries: 0, compactions: 0, isDone: false }
    const [compacted] = await Promise.all([
      compactAmongDeletes(house, table, writer),
      writeAmongCompactions(spark, { table, model, writer }),
    ])
    process.stderr.write(`\n${table}: ${JSON.stringify({ ...compacted, ...writer })}\n`)
    expect(compacted.failed).toBe(0)
    expect(writer.compactions).toBe(COMPACTIONS)
    expect(compacted.carried).toBeGreaterThan(0)
    const expected = [...model].map(([id, n]) => ({ id, n })).toSorted((a, b) => a.id - b.id)
    const [bySpark] = await spark.sql(`SELECT id, n FROM house.db.${table} ORDER BY id`)
    expect(bySpark?.rows).toEqual(expected)
    if (before === undefined) return
    const after = await readRowIds(spark)
    expect([...model.keys()].filter((id) => after.get(id) !== before.get(id))).toEqual([])
  })

  it('are read by PyIceberg', async () => {
    const { metadataLocation } = await house.catalog.loadTable({ namespace: ['db'], name: 'v2' })
    const dump = await runPython<Record<string, Rows>>('pyiceberg_rows.py', {
      files: { v2: metadataLocation },
      metadata: false,
    })
    // Spark's rows were compared with the model
    const bySpark = await spark.run<Record<string, Rows>>({ cmd: 'rows', tables: ['house.db.v2'], metadata: false })
    expect(dump['v2']?.count).toBe(models.get('v2')?.size)
    expect(dump['v2']?.hash).toBe(bySpark['house.db.v2']?.hash)
  })
})

async function createTable(spark: SparkSession, version: number): Promise<Model> {
  const name = `house.db.v${version}`
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
  const [answer] = await spark.sql('SELECT id, _row_id AS row FROM house.db.v3')
  return new Map(answer?.rows.map(({ id, row }) => [Number(id), Number(row)]))
}

interface Compacted {
  readonly carried: number
  readonly failed: number
}

/** What the writer of a table has done, and how often the table was compacted meanwhile. */
interface Writer {
  statements: number
  retries: number
  compactions: number
  isDone: boolean
}

/** Compacts again and again. A rewrite takes longer than a statement: it ends when the writer has committed some. */
async function compactAmongDeletes({ catalog, engine }: Lakehouse, table: string, writer: Writer): Promise<Compacted> {
  const total = { carried: 0, failed: 0 }
  const untilStatements = async (count: number): Promise<void> => {
    const seen = writer.statements
    await until(
      () => writer.isDone || writer.statements >= seen + count,
      () => `${count} statements after ${seen}`,
      120_000,
    )
  }
  const slow = new Proxy<Engine>(engine, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name !== 'rewrite') return typeof value === 'function' ? value.bind(target) : value
      return async (...args: Parameters<Engine['rewrite']>) => {
        const result = await target.rewrite(...args)
        await untilStatements(2)
        return result
      }
    },
  })
  while (!writer.isDone && writer.compactions < COMPACTIONS) {
    const details = await runCompaction({
      catalog,
      engine: slow,
      identifier: { namespace: ['db'], name: table },
      request: { rewrite_all: true },
      operationId: `compact-${table}-${writer.compactions}`,
    })
    writer.compactions += 1
    total.carried += details.carried_over_deletes_count
    total.failed += details.failed_data_files_count
    await untilStatements(1)
  }
  return total
}

interface Writing {
  readonly table: string
  readonly model: Model
  readonly writer: Writer
}

/** Deletes, updates and merges, one after the other. */
async function writeAmongCompactions(spark: SparkSession, { table, model, writer }: Writing): Promise<void> {
  try {
    for (let turn = 0; writer.compactions < COMPACTIONS; turn += 1) {
      const ids = [...model.keys()]
      const picked = Array.from({ length: 3 }, (_, at) => ids[(turn * 7919 + at * 104_729) % ids.length] ?? 0)
      const { sql, apply } = statement(turn, `house.db.${table}`, [...new Set(picked)])
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

// What the service adds to Spark's own CALL: the same compaction of equal tables, once through POST /api/compact with
// engine "spark" (preview of files, plan, ledger, row check, result) and once as a CALL over a Spark Connect session that is
// open already. Pairs in turn, on one Spark Connect server; who goes first alternates. Needs
// eval "$(scripts/setup/interop.sh)" and eval "$(scripts/setup/spark-connect.sh)".
import { mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { openSparkClient } from '../src/engines/spark/connect/open-spark-client.ts'
import type { SparkSession } from '../src/engines/spark/connect/spark-client.ts'
import { sparkConnectAvailable, SQLITE_JDBC_JAR } from '../test/interop/harness/environment.ts'
import { openLakehouse } from '../test/interop/harness/lakehouse.ts'
import { Service } from '../test/interop/harness/service.ts'
import { houseCatalog, SparkConnect } from '../test/interop/harness/spark-connect.ts'
import { note, printTable, ratio, seconds } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 7)
const FILES = Number(process.env['BENCH_FILES'] ?? 100)
const ROWS_PER_FILE = Number(process.env['BENCH_ROWS'] ?? 40_000)

if (!sparkConnectAvailable('bench spark') || SQLITE_JDBC_JAR === undefined) process.exit(1)

await withWorkFolder('spark', async (folder) => {
  mkdirSync(`${folder}/scratch`)
  const lake = await openLakehouse(folder)
  await lake.catalog.createNamespace(['db'])
  const spark = await SparkConnect.start({
    scratch: `${folder}/scratch`,
    warehouse: `${folder}/hadoop`,
    settings: houseCatalog('lockhouse', folder),
  })
  const service = await Service.start({ home: `${folder}/home`, env: { SPARK_REMOTE: spark.remote() } })
  await service.configure(lake.settings)
  const client = openSparkClient(spark.remote())
  const session = client.session({ sessionId: crypto.randomUUID(), userId: 'bench' })
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const names = [`ours_${round}`, `theirs_${round}`] as const
    for (const name of names) await makeTable(session, name)
    const call = () => timed(() => callOf(session, names[1]))
    const first = round % 2 === 0 ? await call() : undefined
    const request = await timed(() => requestOf(service, names[0]))
    const direct = first ?? (await call())
    note(`round ${round}: service ${seconds([request])}, CALL ${seconds([direct])}`)
    if (round === 0) continue // warms Spark up
    ours.push(request)
    theirs.push(direct)
  }
  const title =
    `Compaction of ${FILES} files with ${ROWS_PER_FILE.toLocaleString('en')} rows each in Spark local[2], ${ROUNDS} pairs, ` +
    `load average ${loadavg()[0]?.toFixed(1)}`
  printTable(
    title,
    ['', 'median', "Spark's time against it, pairwise median (range)"],
    [
      ['`POST /api/compact`, `engine: "spark"`', seconds(ours), ratio(ours, theirs)],
      ['`CALL rewrite_data_files` over Spark Connect', seconds(theirs), '1'],
    ],
  )
  await client.close()
  await service.stop()
  await spark.stop()
  await lake.close()
})

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function run(session: SparkSession, query: string) {
  return session.sql({ query }, { operationId: crypto.randomUUID() })
}

async function makeTable(session: SparkSession, name: string): Promise<void> {
  const table = `lockhouse.db.${name}`
  const columns = "id, id % 1000 AS bucket, concat('text ', CAST(id * 7919 AS STRING)) AS note, id * 0.5D AS amount"
  await run(
    session,
    `CREATE TABLE ${table} (id BIGINT, bucket BIGINT, note STRING, amount DOUBLE) USING iceberg ` +
      `TBLPROPERTIES ('write.distribution-mode'='none')`,
  )
  await run(
    session,
    `INSERT INTO ${table} SELECT /*+ REPARTITION(${FILES}) */ ${columns} FROM range(${FILES * ROWS_PER_FILE})`,
  )
}

async function callOf(session: SparkSession, name: string): Promise<void> {
  const options = "map('rewrite-all', 'true')"
  const call = `CALL lockhouse.system.rewrite_data_files(table => 'db.${name}', options => ${options})`
  const [row] = await run(session, call)
  if (row?.['rewritten_data_files_count'] !== FILES) throw new Error(`CALL rewrote ${JSON.stringify(row)}`)
}

async function requestOf(service: Service, name: string): Promise<void> {
  const { details } = await service.operate('/api/compact', { table: `db.${name}`, engine: 'spark', rewrite_all: true })
  if (details['rewritten_data_files_count'] !== FILES) throw new Error(`the service rewrote ${JSON.stringify(details)}`)
}

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRandom } from '../../maintenance/compaction/random-writers.ts'
import { Workshop } from '../../maintenance/real-lake.ts'
import { isWholeRun } from '../../support/effort.ts'
import { compareTables } from './compare.ts'
import { lakeTable, type MadeTable, sparkTable } from './tables.ts'
import { sparkAvailable, SQLITE_JDBC_JAR } from '../harness/environment.ts'
import { Service } from '../harness/service.ts'
import { SparkSession } from '../harness/spark.ts'

const available = sparkAvailable('changes') && Boolean(SQLITE_JDBC_JAR)
/** How many histories: 300 with LOCKHOUSE_TEST_LONG=1; CHANGE_HISTORIES is another number, CHANGE_HISTORIES_FROM the first seed. */
const COUNT = Number(process.env['CHANGE_HISTORIES'] ?? (isWholeRun ? 300 : 2))
const FIRST = Number(process.env['CHANGE_HISTORIES_FROM'] ?? 1)
/** Tables that one query of Spark compares. */
const GROUP = 10

describe.skipIf(!available)('changes of random histories', { timeout: 900_000 + COUNT * 60_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-histories-')) : ''
  let spark: SparkSession
  let service: Service
  let shop: Workshop

  beforeAll(async () => {
    mkdirSync(`${folder}/warehouse`)
    const sqlCatalog = { path: `${folder}/catalog.db`, warehouse: `file://${folder}/warehouse` }
    spark = await SparkSession.start({ scratch: folder, warehouse: `file://${folder}/hadoop`, sqlCatalog })
    // tiny tables: compiling each query takes longer than running it
    await spark.sql(
      'CREATE NAMESPACE lockhouse.s',
      'SET spark.sql.codegen.wholeStage=false',
      'SET spark.sql.codegen.factoryMode=NO_CODEGEN',
      'SET spark.sql.adaptive.enabled=false',
      'SET spark.sql.shuffle.partitions=1',
    )
    service = await Service.start({ home: `${folder}/home` })
    await service.configure({
      catalog_type: 'sql',
      uri: `sqlite:///${folder}/catalog.db`,
      warehouse: sqlCatalog.warehouse,
      catalog_name: 'lockhouse',
    })
    shop = await Workshop.open()
  }, 600_000)
  afterAll(async () => {
    await shop?.close()
    await service?.stop()
    await spark?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function makeTable(seed: number): Promise<MadeTable> {
    const seeded = { seed, random: createRandom(seed) }
    if (seed % 5 < 2) return sparkTable(service, seeded, seed % 5 === 0 ? 'mixed' : 'copy-on-write')
    return lakeTable(shop, seeded, seed % 5 === 4 ? 'deletes' : 'copy-on-write')
  }

  /** Compares tables with successive seeds; returns what differs. */
  async function compareSeeds(first: number, count: number): Promise<readonly string[]> {
    const began = performance.now()
    const tables: MadeTable[] = []
    for (let seed = first; seed < first + count; seed += 1) tables.push(await makeTable(seed))
    await spark.sql(...tables.flatMap(({ statements }) => statements))
    const written = performance.now()
    const compared = await compareTables(spark, tables, createRandom(first))
    const sum = (of: 'rows' | 'unchanged') => compared.reduce((total, one) => total + one[of], 0)
    const failures = compared.flatMap(({ differences }, at) =>
      differences.length === 0
        ? []
        : [`seed ${first + at}\n${differences.slice(0, 6).join('\n')}\n${tables[at]?.statements.join('\n')}`],
    )
    process.stdout.write(
      `seeds ${first} to ${first + count - 1}: ${sum('rows')} rows, ${sum('unchanged')} of them unchanged; ${failures.length} differ; ` +
        `${Math.round(written - began)} and ${Math.round(performance.now() - written)} ms\n`,
    )
    return failures
  }

  it(`are those of Spark (${COUNT} histories from seed ${FIRST})`, async () => {
    const failures: string[] = []
    for (let first = FIRST; first < FIRST + COUNT; first += GROUP) {
      const count = Math.min(GROUP, FIRST + COUNT - first)
      // the other seeds are worth a look, too
      const found = await compareSeeds(first, count).catch((error: unknown) => [
        `seeds from ${first}: ${String(error)}`,
      ])
      failures.push(...found)
      if (found.length > 0) process.stdout.write(`${found.join('\n')}\n`)
    }
    expect(failures).toEqual([])
  })
})

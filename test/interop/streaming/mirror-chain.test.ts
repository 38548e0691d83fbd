import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { randomNumbers } from '../../faults/harness/random-numbers.ts'
import { sleep, until } from '../../support/waiting.ts'
import { sparkAvailable, SQLITE_JDBC_JAR } from '../harness/environment.ts'
import { PyIceberg } from '../harness/pyiceberg.ts'
import { runPython } from '../harness/python.ts'
import type { Rows } from '../harness/rows.ts'
import { type CatalogSettings, Service } from '../harness/service.ts'
import { SparkSession } from '../harness/spark.ts'
import { KEPT_IDS, PyIcebergChanges, SparkChanges, writeOn, type WriterCounts } from './mirror-writers.ts'

/** Total kills; the full run of a release sets MIRROR_KILLS=100 and MIRROR_SECONDS=900. */
const KILLS = Number(process.env['MIRROR_KILLS'] ?? 4)
/** About how long tables are written. */
const SECONDS = Number(process.env['MIRROR_SECONDS'] ?? KILLS * 3)
/** Repeats a run: changes and moments are drawn from this seed. */
const SEED = Number(process.env['MIRROR_SEED'] ?? Date.now() % 1_000_000)
/** One in this many rounds is killed only after maintenance was answered, so that every run has some of each kind. */
const PATIENT_ROUNDS = 3
/** Each kind of change at least once. */
const MIN_COMMITS = { spark: 8, pyiceberg: 5 }

const FORMATS = [2, 3] as const
const LINKS = [
  { from: 'source', to: 'first', mode: { write: 'mirror', key: ['id'] } },
  { from: 'first', to: 'second', mode: { write: 'mirror', key: ['id'] } },
  { from: 'source', to: 'log', mode: {} },
] as const

type Format = (typeof FORMATS)[number]

const available = sparkAvailable('mirrors of tables that Spark and PyIceberg change') && Boolean(SQLITE_JDBC_JAR)
const nameIn = (format: Format, name: string): string => `${name}_v${format}`
const TABLES = FORMATS.flatMap((format) => ['source', 'first', 'second', 'log'].map((name) => nameIn(format, name)))

describe.skipIf(!available)('mirrors of mirrors', { timeout: 300_000 + SECONDS * 6000 + KILLS * 20_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'mirror-chain-')) : ''
  const random = randomNumbers(SEED)
  const below = (limit: number): number => Math.floor(random() * limit)
  const settings: CatalogSettings = {
    catalog_type: 'sql',
    warehouse: `file://${folder}/warehouse`,
    catalog_name: 'lockhouse',
    uri: `sqlite:///${folder}/catalog.db`,
  }
  const counts = { kills: 0, cutOff: 0, refused: 0, compact: 0, expire: 0 }
  const pipelines: string[] = []
  let spark: SparkSession
  let python: PyIceberg
  let changes: SparkChanges

  beforeAll(async () => {
    process.stderr.write(`\nmirror chain: ${KILLS} kills in ${SECONDS} s, MIRROR_SEED=${SEED}\n`)
    mkdirSync(`${folder}/warehouse`)
    const sqlCatalog = { path: `${folder}/catalog.db`, warehouse: settings.warehouse }
    spark = await SparkSession.start({ scratch: folder, warehouse: `file://${folder}/other`, sqlCatalog })
    python = new PyIceberg(settings)
    changes = new SparkChanges(spark, below)
    await spark.sql('CREATE NAMESPACE lockhouse.m')
    for (const format of FORMATS) await createTables(format)
  }, 600_000)

  afterAll(async () => {
    python?.stop()
    await spark?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The sinks of version 2 are created by the service. */
  async function createTables(format: Format): Promise<void> {
    const create = (name: string, layout: string) =>
      `CREATE TABLE lockhouse.m.${nameIn(format, name)} (id BIGINT, part INT, name STRING) USING iceberg ${layout}
       TBLPROPERTIES ('format-version' = '${format}', 'commit.retry.num-retries' = '20')`
    await spark.sql(create('source', 'PARTITIONED BY (part)'))
    await changes.insert(nameIn(format, 'source'))
    if (format === 2) return
    await spark.sql(create('first', 'PARTITIONED BY (bucket(4, id))'), create('second', ''))
    await spark.sql(`ALTER TABLE lockhouse.m.${nameIn(format, 'first')} WRITE ORDERED BY id`)
  }

  async function startService(): Promise<Service> {
    const service = await Service.start({ home: `${folder}/home` })
    if (pipelines.length === 0) {
      await service.configure(settings)
      for (const format of FORMATS) await startPipelines(service, format)
    }
    return service
  }

  async function startPipelines(service: Service, format: Format): Promise<void> {
    for (const { from, to, mode } of LINKS) {
      const answer = await service.post('/api/pipeline/start', {
        source_table: `m.${nameIn(format, from)}`,
        sink_table: `m.${nameIn(format, to)}`,
        checkpoint_location: `${folder}/warehouse/checkpoints/${nameIn(format, to)}`,
        trigger_interval: '200 ms',
        create_sink_table: true,
        read: 'changes',
        ...mode,
      })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      pipelines.push((answer.body['pipeline'] as { id: string }).id)
    }
  }

  /** After a pipeline has failed, more kills would prove nothing. */
  async function expectLive(service: Service): Promise<void> {
    for (const id of pipelines) {
      const { body } = await service.get(`/api/pipeline/${id}/status`)
      expect((body['pipeline'] as { state: string }).state, JSON.stringify(body)).not.toBe('failed')
    }
  }

  /** Compacts and expires tables until the service is killed. */
  async function maintain(service: Service, wanted: { isKilled: boolean }): Promise<void> {
    while (!wanted.isKilled) {
      const table = `m.${TABLES[below(TABLES.length)]}`
      const work = below(2) === 0 ? 'compact' : 'expire'
      await maintainOne(service, table, work)
    }
  }

  async function maintainAll(service: Service, format: number): Promise<void> {
    for (const table of TABLES.filter((name) => name.endsWith(`_v${FORMATS[format]}`))) {
      for (const work of ['compact', 'expire'] as const) await maintainOne(service, `m.${table}`, work)
    }
  }

  async function maintainOne(service: Service, table: string, work: 'compact' | 'expire'): Promise<void> {
    const options =
      work === 'compact' ? { min_input_files: 2 } : { older_than: new Date().toISOString(), retain_last: 1 }
    const answer = await service.post(`/api/${work}`, { table, ...options }).catch(() => undefined)
    if (answer === undefined) {
      counts.cutOff += 1
    } else if (answer.status === 200) {
      const details = JSON.parse(String(answer.body['details_json'])) as Record<string, number>
      const effect = details['rewritten_data_files_count'] ?? details['expired_snapshots_count'] ?? 0
      if (effect > 0) counts[work] += 1
    } else {
      // 404: the service has not created the sink yet
      expect([404, 409, 503], JSON.stringify(answer.body)).toContain(answer.status)
      counts.refused += 1
    }
  }

  /** How many rows a sink has too many or too few, by sink. */
  async function differences(): Promise<Readonly<Record<string, number>>> {
    const found: Record<string, number> = {}
    for (const format of FORMATS) {
      const rows = (name: string) => `(SELECT id, part, name FROM lockhouse.m.${nameIn(format, name)})`
      for (const sink of ['first', 'second']) {
        found[nameIn(format, sink)] = await countOf(
          `(${rows('source')} EXCEPT ALL ${rows(sink)}) UNION ALL (${rows(sink)} EXCEPT ALL ${rows('source')})`,
        )
      }
      // each change is in the log exactly once: added up, they are the rows of the source
      found[nameIn(format, 'log')] = await countOf(
        `SELECT id, part, name FROM (
           SELECT id, part, name, IF(_change_type IN ('insert', 'update_after'), 1, -1) AS n FROM lockhouse.m.${nameIn(format, 'log')}
           UNION ALL SELECT id, part, name, -1 FROM ${rows('source')}) GROUP BY id, part, name HAVING sum(n) <> 0`,
      )
    }
    return found
  }

  async function countOf(query: string): Promise<number> {
    const [answer] = await spark.sql(`SELECT count(*) AS n FROM (${query})`)
    return Number(answer?.rows[0]?.['n'])
  }

  async function untilEqual(service: Service): Promise<void> {
    let left: Readonly<Record<string, number>> = {}
    const areEqual = async (): Promise<boolean> => {
      await expectLive(service)
      left = await differences()
      return Object.values(left).every((count) => count === 0)
    }
    await until(areEqual, () => `equal tables: ${JSON.stringify(left)}\n${service.log}`, 180_000)
  }

  /** The row ids of rows that are updated only, by their ids. */
  async function keptRowIds(name: string): Promise<readonly unknown[]> {
    const [answer] = await spark.sql(
      `SELECT id, _row_id AS row FROM lockhouse.m.${nameIn(3, name)} WHERE id < ${KEPT_IDS} ORDER BY id`,
    )
    return answer?.rows ?? []
  }

  /** Writes and kills at the same time; returns when each writer has made each kind of change. */
  async function writeAmongKills(running: { service: Service }): Promise<void> {
    const state = { isKilling: true }
    const goesOn = (least: number, { commits }: WriterCounts): boolean => state.isKilling || commits < least
    const killing = killRepeatedly(running).finally(() => (state.isKilling = false))
    const byPyIceberg = new PyIcebergChanges(python, `m.${nameIn(2, 'source')}`, below)
    const [, ...written] = await Promise.all([
      killing,
      writeOn(
        (turn) => changes.change(nameIn(turn % 2 === 0 ? 2 : 3, 'source'), Math.floor(turn / 2)),
        (done) => goesOn(FORMATS.length * MIN_COMMITS.spark, done),
      ),
      writeOn(
        (turn) => byPyIceberg.change(turn),
        (done) => goesOn(MIN_COMMITS.pyiceberg, done),
      ),
    ])
    process.stderr.write(`\nmirror chain: ${JSON.stringify({ ...counts, written })}\n`)
  }

  async function killRepeatedly(running: { service: Service }): Promise<void> {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const { service } = running
      const wanted = { isKilled: false }
      if (kill % PATIENT_ROUNDS === 0) await maintainAll(service, below(FORMATS.length))
      const maintaining = Promise.all([maintain(service, wanted), maintain(service, wanted)])
      await sleep(200 + random() * ((2000 * SECONDS) / KILLS))
      wanted.isKilled = true
      await service.kill()
      await maintaining
      counts.kills += 1
      running.service = await startService()
      await expectLive(running.service)
    }
  }

  it('have the rows of their source, each change once, when the service is killed again and again', async () => {
    const running = { service: await startService() }
    try {
      await untilEqual(running.service)
      const before = await Promise.all(['first', 'second'].map(keptRowIds))
      expect(before[0]).toHaveLength(KEPT_IDS)
      await writeAmongKills(running)
      await untilEqual(running.service)
      for (const at of FORMATS.keys()) await maintainAll(running.service, at)
      expect(Object.values(await differences())).toEqual(TABLES.filter((t) => !t.startsWith('source')).map(() => 0))
      expect(await Promise.all(['first', 'second'].map(keptRowIds))).toEqual(before)
      expect(Math.min(counts.compact, counts.expire)).toBeGreaterThan(0)
      await expectSameForPyIceberg()
    } finally {
      await running.service.stop()
    }
  })

  /** Reads all tables with both, so that an error of one reader cannot hide an error of our writer. */
  async function expectSameForPyIceberg(): Promise<void> {
    const names = TABLES.map((table) => `lockhouse.m.${table}`)
    const bySpark = await spark.run<Record<string, Rows>>({ cmd: 'rows', tables: names, metadata: false })
    const { uri, warehouse, catalog_name: name } = settings
    const tables = TABLES.map((table) => `m.${table}`)
    const byPyIceberg = await runPython<Record<string, Rows>>('pyiceberg_rows.py', {
      uri,
      warehouse,
      name,
      tables,
      metadata: false,
    })
    for (const table of TABLES) {
      expect(byPyIceberg[`m.${table}`]?.hash, table).toBe(bySpark[`lockhouse.m.${table}`]?.hash)
    }
    for (const format of FORMATS) {
      const [source, first, second] = ['source', 'first', 'second'].map(
        (one) => byPyIceberg[`m.${nameIn(format, one)}`],
      )
      const ids = source?.rows?.map(({ id }) => id) ?? []
      expect(ids.length).toBeGreaterThan(KEPT_IDS)
      expect(new Set(ids).size).toBe(ids.length)
      expect(first?.hash).toBe(source?.hash)
      expect(second?.hash).toBe(source?.hash)
    }
  }
})

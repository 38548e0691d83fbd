import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { pyicebergAvailable } from '../interop/harness/environment.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { runPython } from '../interop/harness/python.ts'
import type { Rows } from '../interop/harness/rows.ts'
import { Service } from '../interop/harness/service.ts'
import { runs } from '../support/effort.ts'
import { sleep, until } from '../support/waiting.ts'
import { PythonWriter } from './harness/python-writer.ts'
import { randomNumbers } from './harness/random-numbers.ts'
import { idsOf } from './harness/table-checks.ts'

/** Total kills; the full run of a release sets KILL_ROUNDS=200. */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? runs(20, 6))
/** Repeats a run: the moments are drawn from this seed. */
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000)

const TABLES = ['source', 'sink'] as const
const WORK = ['compact', 'expire'] as const
/**
 * One in this many rounds is killed only after all maintenance was answered, so that every run has some of each
 * kind.
 */
const PATIENT_ROUNDS = 3
const MAX_MOMENT_MS = 1200

type TableName = (typeof TABLES)[number]
type Work = (typeof WORK)[number]

const SOURCE: TableIdentifier = { namespace: ['faults'], name: 'source' }
const SINK: TableIdentifier = { namespace: ['faults'], name: 'sink' }

describe('a pipeline whose process is killed during writes', { timeout: 300_000 + ROUNDS * 20_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'streaming-kill-'))
  const home = `${folder}/home`
  const checkpoint = `${folder}/lake/warehouse/checkpoint`
  const random = randomNumbers(SEED)
  const counts = { kills: 0, cutOff: 0, checkpointsRemoved: 0, refused: 0, batches: 0, rows: 0 }
  /** Answered operations with an effect: rewritten files, or expired snapshots. */
  const done = {
    source: { compact: 0, expire: 0 },
    sink: { compact: 0, expire: 0 },
  } satisfies Record<TableName, Record<Work, number>>
  let keptForPipeline = 0
  let lake: Lakehouse
  let writer: PythonWriter | undefined
  let nextId = 0
  let pipelineId = ''

  beforeAll(async () => {
    lake = await openLakehouse(`${folder}/lake`)
    await lake.catalog.createNamespace(['faults'])
    await lake.catalog.createTable(SOURCE, {
      schema: {
        schemaId: 0,
        identifierFieldIds: [],
        fields: [
          { id: 1, name: 'id', required: false, type: { kind: 'long' } },
          { id: 2, name: 'part', required: false, type: { kind: 'int' } },
        ],
      },
    })
    if (pyicebergAvailable('a writer that is PyIceberg; our own writes instead'))
      writer = new PythonWriter(lake, 'faults.source')
    process.stdout.write(`\nstreaming kill -9: ${ROUNDS} rounds, KILL_SEED=${SEED}\n`)
  })

  afterAll(async () => {
    writer?.stop()
    await lake?.close()
    rmSync(folder, { recursive: true, force: true })
    process.stdout.write(`streaming kill -9: ${JSON.stringify({ ...counts, done, keptForPipeline })}\n`)
  })

  async function write(): Promise<void> {
    const count = 1 + Math.floor(random() * 200)
    if (writer) {
      await writer.append(nextId, count)
      nextId += count
      return
    }
    const query = `SELECT i AS c1, (i % 3)::INT AS c2 FROM range(${nextId}, ${nextId + count}) t(i)`
    await lake.append(SOURCE, query)
    nextId += count
  }

  async function start(): Promise<Service> {
    const service = await Service.start({ home })
    if (pipelineId !== '') {
      await expectLive(service)
      return service
    }
    await service.configure(lake.settings)
    const answer = await service.post('/api/pipeline/start', {
      source_table: 'faults.source',
      sink_table: 'faults.sink',
      checkpoint_location: checkpoint,
      trigger_interval: '100 ms',
      create_sink_table: true,
      max_files_per_batch: 3,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    ;({ id: pipelineId } = answer.body['pipeline'] as { id: string })
    return service
  }

  /** After the pipeline has failed, later rounds would lose nothing and prove nothing. */
  async function expectLive(service: Service): Promise<void> {
    const { body } = await service.get(`/api/pipeline/${pipelineId}/status`)
    expect((body['pipeline'] as { state: string }).state, JSON.stringify(body)).not.toBe('failed')
  }

  async function maintain(service: Service, table: TableName, work: Work): Promise<void> {
    const request =
      work === 'compact'
        ? { table: `faults.${table}`, rewrite_all: true }
        : { table: `faults.${table}`, older_than: new Date().toISOString(), retain_last: 1 }
    const answer = await service.post(`/api/${work}`, request).catch(() => undefined)
    if (answer === undefined) {
      counts.cutOff += 1
      return
    }
    if (answer.status !== 200) {
      // only a conflict that exceeded the retries
      expect([409, 503], JSON.stringify(answer.body)).toContain(answer.status)
      counts.refused += 1
      return
    }
    const details = JSON.parse(String(answer.body['details_json'])) as Record<string, number>
    keptForPipeline += details['kept_snapshots_count'] ?? 0
    const effect = work === 'compact' ? details['rewritten_data_files_count'] : details['expired_snapshots_count']
    if ((effect ?? 0) > 0) done[table][work] += 1
  }

  async function writeSome(): Promise<void> {
    for (let step = 0; step < 3; step += 1) await write()
  }

  /** Both kinds of maintenance on both tables, with the tables in parallel. */
  async function maintainAll(service: Service): Promise<void> {
    await Promise.all(
      TABLES.map(async (table) => {
        const order = random() < 0.5 ? WORK : WORK.toReversed()
        await sleep(random() * 200)
        for (const work of order) await maintain(service, table, work)
      }),
    )
  }

  async function killInTheMiddle(service: Service, round: number): Promise<void> {
    const writing = writeSome()
    const maintaining = maintainAll(service)
    if (round % PATIENT_ROUNDS === 0) await maintaining
    await sleep(random() * MAX_MOMENT_MS)
    await service.kill()
    counts.kills += 1
    await Promise.all([writing, maintaining])
  }

  it('has every row of the source once after every kill', async () => {
    await write()
    for (let round = 0; round < ROUNDS; round += 1) {
      await killInTheMiddle(await start(), round)
      if (random() < 0.2) {
        rmSync(checkpoint, { recursive: true, force: true })
        counts.checkpointsRemoved += 1
      }
      const seen = await idsOf(lake, SINK)
      expect(new Set(seen).size, `rows twice in the sink after round ${round}`).toBe(seen.length)
      expect(seen.every((id) => id >= 0 && id < nextId)).toBe(true)
      expect(await idsOf(lake, SOURCE), `rows of the source after round ${round}`).toEqual(allIds())
    }
    const service = await start()
    try {
      await untilEqual(service)
      await expectNoFailureReported(service)
    } finally {
      await service.stop()
    }
    counts.batches = (await lake.catalog.loadTable(SINK)).metadata.lastSequenceNumber
    counts.rows = nextId
    expect(counts.batches).toBeGreaterThan(ROUNDS / 4)
    for (const table of TABLES) {
      for (const work of WORK) {
        expect(done[table][work], `${work} of the ${table} with an effect`).toBeGreaterThan(0)
      }
    }
    if (writer) await expectSameForPyIceberg()
  })

  /** A killed process is no failure of its pipeline. */
  async function expectNoFailureReported(service: Service): Promise<void> {
    const { body } = await service.get('/api/events?type=pipeline.*&limit=1000')
    const types = (body['events'] as { type: string }[]).map(({ type }) => type)
    expect(types.filter((type) => type !== 'pipeline.degraded' && type !== 'pipeline.recovered')).toEqual([
      'pipeline.started',
    ])
  }

  const allIds = (): number[] => Array.from({ length: nextId }, (_, id) => id)

  async function untilEqual(service: Service): Promise<void> {
    const status = async (): Promise<string> =>
      JSON.stringify((await service.get(`/api/pipeline/${pipelineId}/status`)).body)
    await until(async () => (await idsOf(lake, SINK)).length >= nextId, status, 60_000)
    const sink = await idsOf(lake, SINK)
    expect(sink, await status()).toEqual(allIds())
    expect(await idsOf(lake, SOURCE)).toEqual(sink)
  }

  /** Reads both tables with another engine, so that an error of our reader cannot hide an error of our writer. */
  async function expectSameForPyIceberg(): Promise<void> {
    const { uri, warehouse, catalog_name: name } = lake.settings
    const request = { uri, warehouse, name, tables: ['faults.source', 'faults.sink'], metadata: false }
    const seen = await runPython<Record<string, Rows>>('pyiceberg_rows.py', request)
    expect(seen['faults.sink']?.count).toBe(nextId)
    expect(seen['faults.sink']?.hash).toBe(seen['faults.source']?.hash)
  }
})

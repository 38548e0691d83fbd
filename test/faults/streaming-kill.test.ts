import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { currentSchema } from '../../src/iceberg/metadata.ts'
import { planFiles } from '../../src/iceberg/scan.ts'
import type { TableIdentifier } from '../../src/iceberg/table.ts'
import { PYTHON, pyicebergAvailable, REPOSITORY } from '../interop/harness/environment.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service } from '../interop/harness/service.ts'

/** Kills in all; the full run of a release sets KILL_ROUNDS=200. */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 20)
/** Repeats a run: the moments are drawn from this number. */
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000)

const SOURCE: TableIdentifier = { namespace: ['faults'], name: 'source' }
const SINK: TableIdentifier = { namespace: ['faults'], name: 'sink' }

describe('a pipeline whose process is killed while somebody writes', { timeout: 120_000 + ROUNDS * 20_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'streaming-kill-'))
  const home = `${folder}/home`
  const random = randomNumbers(SEED)
  const counts = { kills: 0, restartsFromSink: 0, compactions: 0, expiries: 0, batches: 0 }
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
    if (pyicebergAvailable('a writer that is PyIceberg; our own writes instead')) writer = new PythonWriter(lake)
    process.stdout.write(`\nstreaming kill -9: ${ROUNDS} rounds, KILL_SEED=${SEED}\n`)
  })

  afterAll(async () => {
    writer?.stop()
    await lake?.close()
    rmSync(folder, { recursive: true, force: true })
    process.stdout.write(`streaming kill -9: ${JSON.stringify(counts)}\n`)
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

  async function idsOf(identifier: TableIdentifier): Promise<number[]> {
    const table = await lake.catalog.loadTable(identifier)
    const ids: number[] = []
    const schema = currentSchema(table.metadata)
    for await (const row of lake.engine.readRows({ ...table, schema, inputs: await planFiles(table) })) {
      ids.push(Number(row['id']))
    }
    return ids.sort((a, b) => a - b)
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
      checkpoint_location: `${folder}/lake/warehouse/checkpoint`,
      trigger_interval: '100 ms',
      create_sink_table: true,
      max_files_per_batch: 3,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    ;({ id: pipelineId } = answer.body['pipeline'] as { id: string })
    return service
  }

  /** A pipeline that has failed would lose nothing from then on, and prove nothing. */
  async function expectLive(service: Service): Promise<void> {
    const { body } = await service.get(`/api/pipeline/${pipelineId}/status`)
    expect((body['pipeline'] as { state: string }).state, JSON.stringify(body)).not.toBe('failed')
  }

  const maintain = async (service: Service, table: string): Promise<void> => {
    const older = { older_than: new Date().toISOString(), retain_last: 1 }
    const isCompaction = random() < 0.5
    const answer = isCompaction
      ? await service.post('/api/compact', { table, rewrite_all: true })
      : await service.post('/api/expire', { table, ...older })
    if (answer.status === 200) counts[isCompaction ? 'compactions' : 'expiries'] += 1
  }

  async function writeSome(): Promise<void> {
    for (let step = 0; step < 3; step += 1) await write()
  }

  async function maintainSome(service: Service): Promise<void> {
    for (let step = 0; step < 2; step += 1) {
      await sleep(random() * 300)
      await maintain(service, random() < 0.5 ? 'faults.source' : 'faults.sink').catch(() => undefined)
    }
  }

  it('has every row of the source once, after every kill', async () => {
    await write()
    for (let round = 0; round < ROUNDS; round += 1) {
      const service = await start()
      const moment = random() * 900
      const work = Promise.all([writeSome(), maintainSome(service)])
      await sleep(moment)
      await service.kill()
      counts.kills += 1
      await work
      if (random() < 0.2) {
        rmSync(`${folder}/lake/warehouse/checkpoint`, { recursive: true, force: true })
        counts.restartsFromSink += 1
      }
      const seen = await idsOf(SINK)
      expect(new Set(seen).size, `rows twice in the sink after round ${round}`).toBe(seen.length)
      expect(seen.every((id) => id >= 0 && id < nextId)).toBe(true)
    }
    const service = await start()
    try {
      await untilEqual(service)
      const sink = await lake.catalog.loadTable(SINK)
      counts.batches = sink.metadata.lastSequenceNumber
      expect(counts.batches).toBeGreaterThan(ROUNDS / 4)
    } finally {
      await service.stop()
    }
  })

  async function untilEqual(service: Service): Promise<void> {
    const deadline = Date.now() + 60_000
    for (;;) {
      const sink = await idsOf(SINK)
      if (sink.length >= nextId || Date.now() > deadline) {
        const status = await service.get(`/api/pipeline/${pipelineId}/status`)
        expect(sink, JSON.stringify(status.body)).toEqual(Array.from({ length: nextId }, (_, id) => id))
        expect(await idsOf(SOURCE)).toEqual(sink)
        return
      }
      await sleep(100)
    }
  }
})

/** A small generator of numbers in [0, 1), the same for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** PyIceberg in a process of its own, which outlives the service's. */
class PythonWriter {
  readonly #child
  readonly #answers: AsyncIterator<string>

  constructor({ settings }: Lakehouse) {
    const options = {
      uri: settings.uri,
      warehouse: settings.warehouse,
      name: settings.catalog_name,
      table: 'faults.source',
    }
    const script = `${REPOSITORY}/test/interop/python/pyiceberg_writer.py`
    this.#child = spawn(PYTHON ?? 'python3', [script, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async append(first: number, count: number): Promise<void> {
    this.#child.stdin.write(`${JSON.stringify({ first, count })}\n`)
    if ((await this.#answers.next()).done === true) throw new Error('the writer ended')
  }

  stop(): void {
    this.#child.stdin.end()
  }
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import type { FileIO } from '../../../src/iceberg/io/file-io.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { copyQuery } from '../../../src/streaming/query/copy-query.ts'
import { createBatchSlots } from '../../../src/streaming/run/batch-slots.ts'
import { PipelineRunner } from '../../../src/streaming/run/pipeline-runner.ts'
import type { SessionDeps } from '../../../src/streaming/run/pipeline-session.ts'
import type { PipelineSpec } from '../../../src/streaming/pipeline-spec.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { numbered, openLab, orphansOf, type StreamLab } from '../support.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

/** The phases of a batch in which its pipeline can be stopped, in order. */
const PHASES = ['planning', 'logging', 'reading', 'written', 'committing', 'committed', 'recording'] as const
type Phase = (typeof PHASES)[number]

/** Holds the first batch in one phase until it is released. */
class Gate {
  readonly #phase: Phase
  readonly #reached = Promise.withResolvers<void>()
  readonly #released = Promise.withResolvers<void>()
  readonly reached = this.#reached.promise

  constructor(phase: Phase) {
    this.#phase = phase
  }

  letGo(): void {
    this.#released.resolve()
  }

  async pass(phase: Phase): Promise<void> {
    if (phase !== this.#phase) return
    this.#reached.resolve()
    await this.#released.promise
  }
}

describe('stopping a pipeline in the middle of a batch', () => {
  let lab: StreamLab
  let count = 0
  beforeAll(async () => {
    lab = await openLab()
  })
  afterAll(() => lab.close())

  /** The parts of a session, held by the gate. */
  function gated(gate: Gate): SessionDeps {
    const tables = createTableWatch(lab.catalog)
    const files = new LocalFileIO()
    return {
      catalog: () => held(lab.catalog(), 'commit', gate, ['committing', 'committed']),
      tables: {
        committed: (table) => tables.committed(table),
        async current(identifier) {
          await gate.pass('planning')
          return tables.current(identifier)
        },
      },
      engine: held(lab.engine, 'appendFrom', gate, ['reading', 'written']),
      checkpointIo: checkpointFiles(files, gate),
      now: () => new Date(),
      checkLease: () => undefined,
    }
  }

  const plain = (): SessionDeps => ({
    catalog: lab.catalog,
    tables: createTableWatch(lab.catalog),
    engine: lab.engine,
    checkpointIo: new LocalFileIO(),
    now: () => new Date(),
    checkLease: () => undefined,
  })

  function runnerOf(deps: SessionDeps, name: string): PipelineRunner {
    const spec: PipelineSpec = {
      pipelineId: `pipe-${name}`,
      runId: `run-${name}`,
      queryId: '55080374-1bf1-4eac-aa60-0109670f48f1',
      sources: [parseIdentifier(`s.${name}`)],
      sink: parseIdentifier(`s.${name}_sink`),
      checkpointLocation: `file://${lab.service.folder}/cp/${name}`,
      triggerMs: 100,
      limits: { maxFiles: 1, maxBytes: 2 ** 30 },
      onDelete: 'fail',
      query: copyQuery(),
    }
    const quiet = async (): Promise<void> => undefined
    const events = {
      onRunning: quiet,
      onBatch: quiet,
      onIdle: () => undefined,
      onPublished: async () => undefined,
      onDegraded: async (_: unknown, cause: unknown): Promise<void> => Promise.reject(cause),
      onFailed: async (_: unknown, cause: unknown): Promise<void> => Promise.reject(cause),
    }
    const slots = createBatchSlots(1)
    return new PipelineRunner({ session: deps, slots, backoff: { firstMs: 10, maxMs: 10 }, events }, spec)
  }

  async function makeTables(): Promise<string> {
    count += 1
    const name = `stop_${count}`
    for (const table of [`s.${name}`, `s.${name}_sink`])
      await lab.createTable(table, [
        ['id', 'long'],
        ['name', 'string'],
      ])
    for (let at = 0; at < 3; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
    return name
  }

  async function stopIn(phase: Phase, mode: 'graceful' | 'immediate'): Promise<{ name: string; rows: number }> {
    const name = await makeTables()
    const gate = new Gate(phase)
    const runner = runnerOf(gated(gate), name)
    const run = runner.run()
    await gate.reached
    runner.stop(mode)
    gate.letGo()
    expect(await run).toBe('stopped')
    expect(await orphansOf(await lab.load(`s.${name}_sink`))).toEqual([])
    return { name, rows: (await lab.rows(`s.${name}_sink`)).length }
  }

  /** Starts the pipeline again and reads the rest. */
  async function expectAll(name: string): Promise<void> {
    const runner = runnerOf(plain(), name)
    const run = runner.run()
    await until(async () => (await lab.rows(`s.${name}_sink`)).length >= 30)
    runner.stop('graceful')
    expect(await run).toBe('stopped')
    expect(await lab.rows(`s.${name}_sink`)).toEqual(await lab.rows(`s.${name}`))
    expect(await orphansOf(await lab.load(`s.${name}_sink`))).toEqual([])
  }

  it.each(PHASES)(
    'gracefully while it is %s: the batch is finished, and the rest is read later',
    LONG,
    async (phase) => {
      const { name, rows } = await stopIn(phase, 'graceful')
      expect(rows).toBe(10)
      await expectAll(name)
    },
  )

  it.each(PHASES)('immediately while it is %s: the batch is complete or leaves nothing behind', async (phase) => {
    const { name, rows } = await stopIn(phase, 'immediate')
    const isCertain = PHASES.indexOf(phase) > PHASES.indexOf('committing')
    expect(rows).toBe(isCertain ? 10 : 0)
    await expectAll(name)
  })
})

/** An object whose one method passes the gate before and after. */
function held<T extends Catalog | Engine>(
  target: T,
  method: keyof T,
  gate: Gate,
  [before, after]: readonly [Phase, Phase],
): T {
  return new Proxy(target, {
    get(inner, key) {
      const member: unknown = Reflect.get(inner, key)
      if (typeof member !== 'function') return member
      if (key !== method) return member.bind(inner)
      return async (...args: unknown[]) => {
        await gate.pass(before)
        const result: unknown = await member.apply(inner, args)
        await gate.pass(after)
        return result
      }
    },
  })
}

/** Checkpoint files that pass the gate when a batch is planned and when it is committed. */
function checkpointFiles(inner: LocalFileIO, gate: Gate): FileIO {
  return new Proxy(inner, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function') return member
      if (key !== 'create') return member.bind(target)
      return async (location: string, bytes: Uint8Array) => {
        if (/\/offsets\/\d+$/.test(location) && !location.includes('/sources/')) await gate.pass('logging')
        if (location.includes('/commits/')) await gate.pass('recording')
        return target.create(location, bytes)
      }
    },
  })
}

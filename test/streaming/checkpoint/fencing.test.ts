import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { LONG } from '../../support/effort.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { runExpiry } from '../../../src/maintenance/expiry/expire.ts'
import { copyQuery } from '../../../src/streaming/query/copy-query.ts'
import { LeaseLost, Overtaken } from '../../../src/streaming/pipeline-errors.ts'
import { PipelineSession, type SessionDeps } from '../../../src/streaming/run/pipeline-session.ts'
import type { PipelineSpec } from '../../../src/streaming/pipeline-spec.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { numbered, openLab, orphansOf, type StreamLab } from '../support.ts'

describe('two copies of one pipeline', () => {
  let lab: StreamLab
  const signal = new AbortController().signal
  beforeAll(async () => {
    lab = await openLab()
  })
  afterAll(() => lab.close())

  function spec(name: string, runId: string, checkpoint = name): PipelineSpec {
    return {
      pipelineId: `pipe-${name}`,
      runId,
      queryId: '55080374-1bf1-4eac-aa60-0109670f48f1',
      sources: [parseIdentifier(`s.${name}`)],
      sink: parseIdentifier(`s.${name}_sink`),
      checkpointLocation: `file://${lab.service.folder}/cp/${checkpoint}`,
      triggerMs: 100,
      limits: { maxFiles: 1, maxBytes: 2 ** 30 },
      onDelete: 'fail',
      query: copyQuery(),
    }
  }
  const deps = (checkLease = (): void => undefined): SessionDeps => ({
    catalog: lab.catalog,
    tables: createTableWatch(lab.catalog),
    engine: lab.engine,
    checkpointIo: new LocalFileIO(),
    now: () => new Date(),
    checkLease,
  })
  async function makeTables(name: string): Promise<void> {
    for (const table of [`s.${name}`, `s.${name}_sink`])
      await lab.createTable(table, [
        ['id', 'long'],
        ['name', 'string'],
      ])
    for (let at = 0; at < 4; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
  }
  async function drain(session: PipelineSession): Promise<void> {
    while ((await session.step(signal)).kind === 'batch');
  }

  it('on one checkpoint: the second one stops before it writes', async () => {
    await makeTables('a')
    const one = await PipelineSession.open(deps(), spec('a', 'one'))
    await one.step(signal)
    const two = await PipelineSession.open(deps(), spec('a', 'two'))
    await one.step(signal)
    await one.step(signal)
    await expect(two.step(signal)).rejects.toMatchObject({ code: 'FENCED' })
    await drain(one)
    expect(await lab.rows('s.a_sink')).toEqual(await lab.rows('s.a'))
  })

  it('on separate copies of the checkpoint: the sink gets each batch once', async () => {
    await makeTables('b')
    const one = await PipelineSession.open(deps(), spec('b', 'one'))
    const two = await PipelineSession.open(deps(), spec('b', 'two', 'b-copy'))
    const results = await Promise.allSettled([one.step(signal), two.step(signal)])
    const failed = results.filter((result) => result.status === 'rejected')
    expect(failed).toHaveLength(1)
    expect(failed[0]?.reason).toMatchObject({ code: 'FENCED' })
    const winner = results[0]?.status === 'fulfilled' ? one : two
    await drain(winner)
    expect(await lab.rows('s.b_sink')).toEqual(await lab.rows('s.b'))
    const files = (await lab.load('s.b_sink')).metadata.snapshots.length
    expect(files).toBe(4)
  })

  /** The tables as seen by a process that pauses before the pointer swap of its next commit until it is released. */
  function pausing(): { catalog: Catalog; paused: Promise<void>; letGo: () => void } {
    const paused = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const inner = lab.catalog()
    const commit: Catalog['commit'] = async (...args) => {
      paused.resolve()
      await released.promise
      return inner.commit(...args)
    }
    const catalog = new Proxy(inner, {
      get: (target, key: keyof Catalog) => {
        const member = key === 'commit' ? commit : target[key]
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
    return { catalog, paused: paused.promise, letGo: released.resolve }
  }

  it('a process paused in its commit commits nothing after another process took over', LONG, async () => {
    await makeTables('g')
    const { catalog, paused, letGo } = pausing()
    let isLost = false
    const checkLease = (): void => {
      if (isLost) throw new LeaseLost('taken over')
    }
    const one = await PipelineSession.open({ ...deps(checkLease), catalog: () => catalog }, spec('g', 'same-run'))
    const late = one.step(signal)
    await paused
    isLost = true
    const two = await PipelineSession.open(deps(), spec('g', 'same-run'))
    await drain(two)
    letGo()
    await expect(late).rejects.toBeInstanceOf(LeaseLost)
    expect(await lab.rows('s.g_sink')).toEqual(await lab.rows('s.g'))
    expect(await orphansOf(await lab.load('s.g_sink'))).toEqual([])
  })

  it('a paused process that commits before the new owner does not fail the pipeline', async () => {
    await makeTables('h')
    const first = pausing()
    const second = pausing()
    const one = await PipelineSession.open({ ...deps(), catalog: () => first.catalog }, spec('h', 'same-run'))
    const early = one.step(signal)
    await first.paused
    const two = await PipelineSession.open({ ...deps(), catalog: () => second.catalog }, spec('h', 'same-run'))
    const overtaken = two.step(signal)
    await second.paused
    first.letGo()
    await early
    second.letGo()
    await expect(overtaken).rejects.toBeInstanceOf(Overtaken)
    await drain(await PipelineSession.open(deps(), spec('h', 'same-run')))
    expect(await lab.rows('s.h_sink')).toEqual(await lab.rows('s.h'))
    expect(await orphansOf(await lab.load('s.h_sink'))).toEqual([])
  })

  it('nothing is committed without the lease', async () => {
    await makeTables('c')
    const session = await PipelineSession.open(
      deps(() => {
        throw new Error('lost')
      }),
      spec('c', 'one'),
    )
    await expect(session.step(signal)).rejects.toThrow('lost')
    expect(await lab.rows('s.c_sink')).toEqual([])
  })

  it('the sink knows the last batch even after its snapshots have expired and the checkpoint is deleted', async () => {
    await makeTables('d')
    const one = await PipelineSession.open(deps(), spec('d', 'one'))
    await drain(one)
    const identifier = parseIdentifier('s.d_sink')
    await lab.append('s.d_sink', numbered(1000, 1001))
    await runExpiry({
      catalog: lab.catalog(),
      identifier,
      request: { retain_last: 1 },
      nowMs: Date.now() + 10 * 86_400_000,
    })
    expect((await lab.load('s.d_sink')).metadata.snapshots).toHaveLength(1)
    await lab.append('s.d', numbered(40, 50))
    const two = await PipelineSession.open(deps(), spec('d', 'two', 'd-new'))
    await drain(two)
    const sink = (await lab.rows('s.d_sink')).filter((row) => !row.includes('1000'))
    expect(sink).toEqual(await lab.rows('s.d'))
  })

  it('a pipeline whose unread snapshots were rewritten and expired reports it and reads nothing', async () => {
    await makeTables('e')
    const one = await PipelineSession.open(deps(), spec('e', 'one'))
    await drain(one)
    for (let at = 4; at < 7; at += 1) await lab.append('s.e', numbered(at * 10, at * 10 + 10))
    const identifier = parseIdentifier('s.e')
    const work = { catalog: lab.catalog(), engine: lab.engine, identifier }
    await runCompaction({ ...work, request: { rewrite_all: true }, operationId: 'rewrite-all' })
    await runExpiry({
      catalog: lab.catalog(),
      identifier,
      request: { retain_last: 1 },
      nowMs: Date.now() + 10 * 86_400_000,
    })
    await expect(one.step(signal)).rejects.toMatchObject({ code: 'HISTORY_LOST' })
    expect(await lab.rows('s.e_sink')).toHaveLength(40)
  })

  it('continues when only snapshots that were already read have expired', async () => {
    await makeTables('f')
    const one = await PipelineSession.open(deps(), spec('f', 'one'))
    await drain(one)
    await lab.append('s.f', numbered(40, 50))
    const identifier = parseIdentifier('s.f')
    await runExpiry({
      catalog: lab.catalog(),
      identifier,
      request: { retain_last: 1 },
      nowMs: Date.now() + 10 * 86_400_000,
    })
    await drain(await PipelineSession.open(deps(), spec('f', 'two')))
    expect(await lab.rows('s.f_sink')).toEqual(await lab.rows('s.f'))
  })
})

import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { formatIdentifier, parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { createDuckDbSandbox } from '../../../src/engines/duckdb/worker/sandbox.ts'
import type { SqlSandbox } from '../../../src/engines/sql-sandbox.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { planGraph } from '../../../src/streaming/graph/graph-plan.ts'
import { createGraphQuery } from '../../../src/streaming/query/graph-query.ts'
import { PipelineSession } from '../../../src/streaming/run/pipeline-session.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { numbered, openLab, orphansOf, type StreamLab } from '../support.ts'

let lab: StreamLab
let sandbox: SqlSandbox
beforeAll(async () => {
  lab = await openLab()
  sandbox = createDuckDbSandbox()
})
afterAll(async () => {
  await sandbox.close()
  await lab.close()
})

const columns = [
  ['id', 'long'],
  ['name', 'string'],
] as const
const signal = new AbortController().signal

async function makeTables(name: string): Promise<void> {
  await lab.createTable(`s.${name}`, columns)
  await lab.createTable(`s.${name}_sink`, columns)
  await lab.createTable(`s.${name}_bad`, [
    ...columns,
    ['_reason', 'string'],
    ['_batch_id', 'long'],
    ['_pipeline', 'string'],
    ['_diverted_at', 'timestamptz'],
  ])
}

/** A catalog that refuses commits to a table; or, if `isKilled`, whose commits never happen, as those of a killed process. */
function refusing(table: string, isKilled = false) {
  const inner = lab.catalog()
  const state = { refused: 0 }
  const commit: Catalog['commit'] = async (identifier, request) => {
    if (formatIdentifier(identifier) !== table) return inner.commit(identifier, request)
    state.refused += 1
    if (isKilled) throw new Error('killed')
    return { kind: 'refused', error: new IcebergError('IO_FAILED', 'the process has ended') }
  }
  const catalog = new Proxy(inner, {
    get: (target, key: keyof Catalog) => {
      const member = key === 'commit' ? commit : target[key]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  return { state, catalog: () => catalog }
}

/** A session of a pipeline that diverts the rows for which the condition is not true. */
function openSession(name: string, condition: string, catalog: () => Catalog = lab.catalog): Promise<PipelineSession> {
  const position = { x: 0, y: 0 }
  const config = {
    expectations: [{ name: 'good', condition, on_failure: 'divert' }],
    divert_to: `s.${name}_bad`,
  }
  const graph = {
    nodes: [
      { id: 'a', type: 'iceberg-source', config: { table: `s.${name}` }, position },
      { id: 'c', type: 'check', config, position },
      { id: 'z', type: 'iceberg-sink', config: { table: `s.${name}_sink` }, position },
    ],
    edges: [
      { id: 'e', source: 'a', target: 'c' },
      { id: 'f', source: 'c', target: 'z' },
    ],
  }
  const { plan } = planGraph(graph)
  if (plan === undefined) throw new Error('the graph has problems')
  const deps = {
    catalog,
    tables: createTableWatch(catalog),
    engine: lab.engine,
    checkpointIo: new LocalFileIO(),
    now: () => new Date(),
    checkLease: () => undefined,
  }
  return PipelineSession.open(deps, {
    pipelineId: `pipe-${name}`,
    runId: 'run',
    queryId: `query-${name}`,
    sources: [parseIdentifier(`s.${name}`)],
    sink: parseIdentifier(`s.${name}_sink`),
    checkpointLocation: `file://${lab.service.folder}/cp/${name}`,
    triggerMs: 100,
    limits: { maxFiles: 1, maxBytes: 2 ** 30 },
    onDelete: 'fail',
    query: createGraphQuery({ graph, plan }, sandbox),
  })
}

const idsOf = async (table: string): Promise<string[]> =>
  (await lab.rows(table)).map((text) => String(JSON.parse(text).id)).sort((a, b) => Number(a) - Number(b))

const ids = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => String(from + at))

describe('a run that ends between the commit of diverted rows and the commit of the batch', () => {
  it.each([
    ['refused', false],
    ['killed', true],
  ])('diverts the same rows only once (%s)', async (name, isKilled) => {
    await makeTables(name)
    await lab.append(`s.${name}`, numbered(0, 10))
    const fault = refusing(`s.${name}_sink`, isKilled)
    const first = await openSession(name, 'id % 10 >= 4', fault.catalog)
    await expect(first.step(signal)).rejects.toThrow()
    expect(fault.state.refused).toBe(1)
    const unreferenced = await orphansOf(await lab.load(`s.${name}_sink`))
    expect(unreferenced).toHaveLength(isKilled ? 1 : 0)
    expect(await idsOf(`s.${name}_bad`)).toEqual(ids(0, 4))
    const snapshots = (await lab.load(`s.${name}_bad`)).metadata.snapshots.length
    const second = await openSession(name, 'id % 10 >= 4')
    const again = await second.step(signal)
    expect(again).toMatchObject({ progress: { batch_id: 0, rows_diverted: 4, sink: { num_output_rows: 6 } } })
    expect((await lab.load(`s.${name}_bad`)).metadata.snapshots).toHaveLength(snapshots)
    await lab.append(`s.${name}`, numbered(10, 20))
    while ((await second.step(signal)).kind === 'batch');
    expect(await idsOf(`s.${name}_bad`)).toEqual([...ids(0, 4), ...ids(10, 14)])
    expect(await idsOf(`s.${name}_sink`)).toEqual([...ids(4, 10), ...ids(14, 20)])
    expect(await orphansOf(await lab.load(`s.${name}_bad`))).toEqual([])
    expect(await orphansOf(await lab.load(`s.${name}_sink`))).toEqual(unreferenced)
  })

  it.each([
    ['fewer', 'id >= 2', ids(0, 2)],
    ['none', 'true', []],
    ['others', 'id <= 5', ids(6, 10)],
  ])('replaces its diverted rows if the next run diverts %s', async (name, condition, diverted) => {
    await makeTables(name)
    await lab.append(`s.${name}`, numbered(0, 10))
    const fault = refusing(`s.${name}_sink`)
    await expect((await openSession(name, 'id >= 4', fault.catalog)).step(signal)).rejects.toThrow()
    const next = await openSession(name, condition)
    await next.step(signal)
    expect(await idsOf(`s.${name}_bad`)).toEqual(diverted)
    expect([...diverted, ...(await idsOf(`s.${name}_sink`))].toSorted()).toEqual(ids(0, 10))
    await lab.append(`s.${name}`, numbered(0, 10))
    await next.step(signal)
    expect(await idsOf(`s.${name}_bad`)).toHaveLength(diverted.length * 2)
  })

  it('stops if the earlier rows cannot be replaced, and keeps all rows', async () => {
    await makeTables('rewritten')
    await lab.append('s.rewritten', numbered(0, 10))
    const fault = refusing('s.rewritten_sink')
    await expect((await openSession('rewritten', 'id >= 4', fault.catalog)).step(signal)).rejects.toThrow()
    const compacted = await lab.service.post('/api/compact', { table: 's.rewritten_bad', rewrite_all: true })
    expect(compacted.status, JSON.stringify(compacted.body)).toBe(200)
    const next = await openSession('rewritten', 'id >= 2')
    await expect(next.step(signal)).rejects.toMatchObject({ code: 'CHECKPOINT_MISMATCH' })
    expect(await idsOf('s.rewritten_bad')).toEqual(ids(0, 4))
    expect(await idsOf('s.rewritten_sink')).toEqual([])
    const same = await openSession('rewritten', 'id >= 4')
    await same.step(signal)
    expect(await idsOf('s.rewritten_bad')).toEqual(ids(0, 4))
    expect(await idsOf('s.rewritten_sink')).toEqual(ids(4, 10))
  })

  it('does not commit the batch if the diverted rows cannot be committed', async () => {
    await makeTables('first')
    await lab.append('s.first', numbered(0, 10))
    const fault = refusing('s.first_bad')
    const session = await openSession('first', 'id >= 4', fault.catalog)
    await expect(session.step(signal)).rejects.toMatchObject({ code: 'IO_FAILED' })
    for (const table of ['s.first_bad', 's.first_sink']) {
      expect(await lab.rows(table)).toEqual([])
      expect(await orphansOf(await lab.load(table))).toEqual([])
    }
  })
})

describe('a session', () => {
  it('stops when its table of diverted rows is replaced', async () => {
    await makeTables('moved')
    for (let at = 0; at < 3; at += 1) await lab.append('s.moved', numbered(at * 10, at * 10 + 10))
    const session = await openSession('moved', 'false')
    await session.step(signal)
    await lab.catalog().dropTable(parseIdentifier('s.moved_bad'))
    await expect(session.step(signal)).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
    await makeTables('moved2')
    const { metadata } = await lab.load('s.moved2_bad')
    await lab.catalog().createTable(parseIdentifier('s.moved_bad'), { schema: metadata.schemas[0]! })
    await expect(session.step(signal)).rejects.toMatchObject({ code: 'TABLE_REPLACED' })
  })

  it('stops if its checkpoint is lost and only the table of diverted rows has batches', async () => {
    await makeTables('lost')
    const session = await openSession('lost', 'false')
    for (let at = 0; at < 2; at += 1) {
      await lab.append('s.lost', numbered(at * 10, at * 10 + 10))
      await session.step(signal)
    }
    await rm(`${lab.service.folder}/cp/lost`, { recursive: true })
    const next = await openSession('lost', 'false')
    await expect(next.step(signal)).rejects.toMatchObject({ code: 'CHECKPOINT_MISMATCH' })
    expect(await lab.rows('s.lost_bad')).toHaveLength(20)
  })
})

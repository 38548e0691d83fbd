import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownedEngine } from '../../../src/engines/owned-engine.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { tokenFor } from '../../agent/mcp/mcp-client.ts'
import { callTool } from '../../support/mcp-call.ts'
import { numbered, openLab, type StreamLab } from '../support.ts'
import { sleep, until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const MIB = 2 ** 20
/** Also for the start of the process, which takes seconds on a busy machine. */
const SECONDS = 4
const columns = [
  ['id', 'long'],
  ['name', 'string'],
] as const
/** One call that never ends and never checks for interrupts. */
const ENDLESS =
  'SELECT max(levenshtein(repeat(name, 10000), repeat(name, 9999))) AS id, NULL::VARCHAR AS name FROM input'
const MEMORY = 'SELECT max(length(repeat(repeat(name, 10000), 1000))) AS id, NULL::VARCHAR AS name FROM input'

let lab: StreamLab
let count = 0
const tokens = new Map<string, string>()
const asUser = (user: string) => ({ token: tokens.get(user) ?? '' })

beforeAll(async () => {
  lab = await openLab({
    overrides: {
      streaming: { backoff: { firstMs: 50, maxMs: 200 }, lease: { ms: 10_000, tickMs: 500 } },
      queryLimits: { seconds: SECONDS, memoryBytes: 128 * MIB, diskBytes: 64 * MIB },
      agentLimits: { queryMs: 8000 },
    },
  })
  for (const user of ['eve', 'mallory', 'carl']) tokens.set(user, await tokenFor(lab.service, user, 'DataEngineer'))
})
afterAll(() => lab.close())

/** Starts a user's pipeline with one sql node over a small table of its own. */
async function startQuery(user: string, query: string): Promise<{ id: string; sink: string }> {
  const name = `q_${(count += 1)}`
  const source = `s.${name}`
  const sink = `s.${name}_sink`
  await lab.createTable(source, columns)
  await lab.createTable(sink, columns)
  await lab.append(source, numbered(0, 100))
  const as = asUser(user)
  const nodes = [
    { id: 'a', type: 'iceberg-source', config: { table: source } },
    { id: 'q', type: 'sql', config: { query } },
    { id: 'z', type: 'iceberg-sink', config: { table: sink } },
  ]
  const edges = [
    { id: 'e1', source: 'a', target: 'q' },
    { id: 'e2', source: 'q', target: 'z' },
  ]
  const made = await lab.service.post('/api/pipeline-defs', { name, nodes, edges }, as)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const request = { version_id: made.body.version.id, checkpoint_location: `cp/${name}`, trigger_interval: '100 ms' }
  const started = await lab.service.post('/api/pipeline/start', request, as)
  expect(started.status, JSON.stringify(started.body)).toBe(200)
  return { id: started.body.pipeline.id, sink }
}

const pipelineOf = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline

const EXCESSES: readonly (readonly [kind: string, query: string, why: string])[] = [
  ['time', ENDLESS, `longer than ${SECONDS} s`],
  ['memory', MEMORY, 'more than 128 MiB of memory'],
  [
    'disk',
    "SELECT a.range AS id, hash(a.range)::VARCHAR || 'y' AS name FROM input, range(10000) a, range(10000) b",
    'MiB|longer',
  ],
]

describe('a pipeline whose batches exceed their limits', () => {
  it.each(EXCESSES)('fails permanently after three of them: %s', { ...LONG, timeout: 180_000 }, failsForGood)

  async function failsForGood(_: string, query: string, why: string): Promise<void> {
    const { id, sink } = await startQuery('eve', query)
    await until(async () => (await pipelineOf(id)).state === 'failed', 'the pipeline failed', 100_000)
    const failed = await pipelineOf(id)
    expect(failed).toMatchObject({ state: 'failed', desired_state: 'stopped', error: { code: 'LIMIT_EXCEEDED' } })
    expect(failed.error.message).toMatch(new RegExp(`(${why}).*3 times in a row`))
    expect(await lab.rows(sink)).toEqual([])
    const { location } = (await lab.load(sink)).metadata
    const files = readdirSync(location.replace('file://', ''), { recursive: true }).map(String)
    expect(files.filter((file) => file.endsWith('.parquet'))).toEqual([])
    await lab.service.restart()
    await sleep(1500)
    expect(await pipelineOf(id)).toMatchObject({ state: 'failed', desired_state: 'stopped' })
  }

  it('continues when a batch succeeds before that, and resets the count', { ...LONG, timeout: 180_000 }, async () => {
    const outcomes = ['over', 'over', 'good', 'over', 'over', 'good', 'over', 'over', 'over']
    const bent = await openLab({
      overrides: {
        streaming: { backoff: { firstMs: 20, maxMs: 20 }, lease: { ms: 10_000, tickMs: 500 } },
        wrapEngine: (engine) => ({
          ...ownedEngine(engine, 'eve'),
          appendFrom: async (task, options) => {
            if (outcomes.shift() === 'over') throw new IcebergError('LIMIT_EXCEEDED', 'the query was stopped')
            return engine.appendFrom(task, options)
          },
        }),
      },
    })
    try {
      for (const table of ['s.in', 's.out']) await bent.createTable(table, columns)
      await bent.append('s.in', numbered(0, 10))
      const request = {
        source_table: 's.in',
        sink_table: 's.out',
        checkpoint_location: 'cp/x',
        trigger_interval: '100 ms',
      }
      const { body } = await bent.service.post('/api/pipeline/start', request)
      const path = `/api/pipeline/${body.pipeline.id}/status`
      await until(async () => (await bent.rows('s.out')).length === 10, 'the first batch')
      await bent.append('s.in', numbered(10, 20))
      await until(async () => (await bent.rows('s.out')).length === 20, 'the second batch')
      await bent.append('s.in', numbered(20, 30))
      await until(async () => (await bent.service.get(path)).body.pipeline.state === 'failed', 'the end')
      expect(await bent.rows('s.out')).toHaveLength(20)
      expect(outcomes).toEqual([])
    } finally {
      await bent.close()
    }
  })
})

describe('two users whose queries never end', () => {
  it('do not block the page, health, compaction or pipelines of others', { ...LONG, timeout: 300_000 }, async () => {
    await lab.createTable('s.shop', columns)
    for (let at = 0; at < 8; at += 1) await lab.append('s.shop', numbered(at * 10, at * 10 + 10))
    await lab.createTable('s.copy', columns)
    const bombs = await Promise.all(['eve', 'eve', 'mallory', 'mallory'].map((user) => startQuery(user, ENDLESS)))
    const send = (path: string, init: RequestInit) => lab.service.app.request(path, init)
    const sql = 'SELECT max(levenshtein(repeat(name, 10000), repeat(name, 9999))) FROM shop'
    const endless = { table: 's.shop', sql }
    const asked = ['eve', 'mallory'].map((user) =>
      callTool(send, asUser(user).token, { name: 'query_table', arguments: endless }),
    )
    await sleep(500)
    const as = asUser('carl')
    const compaction = lab.service.post('/api/compact', { table: 's.shop', rewrite_all: true }, as)
    const copy = lab.service.post(
      '/api/pipeline/start',
      { source_table: 's.shop', sink_table: 's.copy', checkpoint_location: 'cp/copy', trigger_interval: '100 ms' },
      as,
    )
    let slowest = 0
    const begun = performance.now()
    let isCompacted = false
    void compaction.finally(() => (isCompacted = true)).catch(() => undefined)
    while (!isCompacted && performance.now() - begun < 60_000) {
      for (const path of ['/api/health', '/api/tables', '/api/table/s.shop/health', '/api/table/s.shop/files']) {
        const before = performance.now()
        expect((await lab.service.get(path, as)).status, path).toBe(200)
        slowest = Math.max(slowest, performance.now() - before)
      }
    }
    const took = performance.now() - begun
    const { status, body } = await compaction
    expect(status, JSON.stringify(body)).toBe(200)
    expect(JSON.parse(body.details_json)).toMatchObject({ rewritten_data_files_count: 8 })
    expect(took, 'the compaction').toBeLessThan(20_000)
    expect(slowest, 'the slowest read').toBeLessThan(2000)
    expect((await copy).status).toBe(200)
    await until(async () => (await lab.rows('s.copy')).length === 80, 'the copy of another user', 120_000)
    const fine = { table: 's.shop', sql: 'SELECT count(*) FROM shop' }
    const answer = await callTool(send, as.token, { name: 'query_table', arguments: fine })
    expect(answer.result.data?.rows, JSON.stringify(answer.result)).toEqual([['80']])
    for (const { result } of await Promise.all(asked)) expect(result.error.code).toBe('LIMIT_EXCEEDED')
    for (const { id } of bombs)
      await until(async () => (await pipelineOf(id)).state === 'failed', `${id} failed`, 100_000)
  })
})

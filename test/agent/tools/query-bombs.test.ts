import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callTool } from '../../support/mcp-call.ts'
import { CAN_WATCH_WORKERS, WorkerWatch } from '../../support/query-workers.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { tokenFor } from '../mcp/mcp-client.ts'
import { sleep, until } from '../../support/waiting.ts'
import { LONG, shares } from '../../support/effort.ts'

const QUERY_MS = 2000
const MIB = 2 ** 20
/** Memory that a query may use beyond its runtime, and the limit at which the process is killed (`RUNTIME_BYTES`). */
const LIMIT = 256 * MIB
const KILLED_AT = LIMIT + 256 * MIB
/** Memory that one query may allocate between two checks. */
const OVERSHOOT = 256 * MIB

let service: TestService
let token: string
beforeAll(async () => {
  service = await startTestService({
    events: { commits: 2, filesPerCommit: 3, rowsPerFile: 20 },
    overrides: { agentLimits: { queryMs: QUERY_MS } },
  })
  token = await tokenFor(service, 'eve', 'DataEngineer')
})
afterAll(() => service.close())

const query = async (sql: string, as = token) => {
  const send = (path: string, init: RequestInit) => service.app.request(path, init)
  return (await callTool(send, as, { name: 'query_table', arguments: { table: 'demo.events', sql } })).result
}

const hexed = (depth: number, text: string): string => (depth === 0 ? text : `hex(${hexed(depth - 1, text)})`)
const doubled = (depth: number): string =>
  depth === 0 ? 'SELECT id AS x FROM events' : `SELECT {'a': x, 'b': x} AS x FROM (${doubled(depth - 1)})`

const MEMORY_BOMBS: readonly (readonly [string, string])[] = [
  ['repeat of repeat', 'SELECT max(length(repeat(repeat(kind, 10000), 1000))) FROM events'],
  ['nested hex', `SELECT max(length(${hexed(12, 'repeat(kind, 10000)')})) FROM events`],
  ['lists of long texts', 'SELECT sum(len(list_transform(range(10000), lambda x: repeat(kind, 10000)))) FROM events'],
  ['lists of lists', 'SELECT sum(len(list_transform(range(10000), lambda x: range(10000)))) FROM events'],
  ['string_split', "SELECT sum(len(string_split(repeat(repeat(kind, 10000), 100), ''))) FROM events"],
  [
    'list_reduce that doubles its value',
    'SELECT max(length(list_reduce(list_transform(range(100), lambda x: kind), lambda a, b: a || a))) FROM events',
  ],
  ['lpad', "SELECT max(length(repeat(lpad(kind, 10000, 'x'), 10000))) FROM events"],
  ['string_agg', "SELECT length(string_agg(repeat(a.kind, 10000), '')) FROM events a, events b, events c"],
  [
    'a wide join with a sort',
    'SELECT * FROM events a, events b, events c, events d ORDER BY a.id * b.id + c.id * d.id DESC',
  ],
  [
    'a list of all pairs',
    'SELECT len(list({a: a.id, b: repeat(b.kind, 100)})) FROM events a, events b, events c, events d',
  ],
  [
    'recursion that doubles a text',
    "WITH RECURSIVE t(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || s FROM t WHERE n < 60) SELECT max(length(s)) FROM t",
  ],
  [
    'recursion that doubles a list',
    'WITH RECURSIVE t(n, l) AS (SELECT 1, [1] UNION ALL SELECT n + 1, list_concat(l, l) FROM t WHERE n < 60) SELECT max(len(l)) FROM t',
  ],
  [
    'a map of long texts',
    "SELECT sum(cardinality(map_from_entries(list_transform(range(10000), lambda x: {'k': x, 'v': repeat(kind, 10000)})))) FROM events",
  ],
  ['regexp_split_to_array', "SELECT sum(len(regexp_split_to_array(repeat(repeat(kind, 10000), 100), ''))) FROM events"],
  [
    'json of lists',
    'SELECT sum(length(to_json(list_transform(range(10000), lambda x: range(1000)))::VARCHAR)) FROM events',
  ],
  [
    'a window of texts',
    "SELECT max(n) FROM (SELECT length(string_agg(repeat(repeat(kind, 1000), 1000), '') OVER (ORDER BY id)) AS n FROM events)",
  ],
  [
    'concat of repeats',
    `SELECT max(length(concat(${Array(40).fill('repeat(repeat(kind, 10000), 100)').join(', ')}))) FROM events`,
  ],
  ['a constant, folded during planning', "SELECT regexp_matches(kind, repeat(repeat('a', 10000), 10000)) FROM events"],
  [
    'a format, evaluated during planning',
    "SELECT strftime(occurred_at, repeat(repeat('%Y', 10000), 10000)) FROM events",
  ],
  ['a type that doubles', doubled(28)],
]

const TIME_BOMBS: readonly (readonly [string, string])[] = [
  [
    'all pairs of all pairs',
    'SELECT count(*) FROM events a, events b, events c, events d, events e, events f WHERE a.id + b.id + c.id + d.id + e.id = -f.id - 1',
  ],
  ['endless recursion', 'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t'],
  [
    'ranges of ranges',
    'SELECT count(*) FROM range(10000) a, range(10000) b, range(10000) c, range(10000) d WHERE a.range + b.range + c.range + d.range = -1',
  ],
  [
    'lambdas in one vector, which cannot be interrupted',
    'SELECT sum(list_sum(list_transform(range(10000), lambda x: list_sum(list_transform(range(10000), lambda y: x * y))))) FROM events',
  ],
  [
    'one call that never returns',
    'SELECT max(levenshtein(repeat(kind, 10000), repeat(what, 10000))) FROM (SELECT kind, kind AS what FROM events)',
  ],
  [
    'sorts of lists',
    'SELECT sum(len(list_sort(list_transform(range(10000), lambda x: hash(x))))) FROM events, range(10000)',
  ],
]

/** Requests health repeatedly, and returns the longest response time. */
async function slowestHealth(until: Promise<unknown>): Promise<number> {
  let isOver = false
  void until.finally(() => (isOver = true)).catch(() => undefined)
  let slowest = 0
  while (!isOver) {
    const before = performance.now()
    expect((await service.get('/api/health', { token: null })).status).toBe(200)
    slowest = Math.max(slowest, performance.now() - before)
    await sleep(50)
  }
  return slowest
}

/** Other test files share this process on Bun, and a bomb that runs in the process takes many times as much. */
const GROWTH = 1024 * MIB

describe.each([
  ['memory', MEMORY_BOMBS],
  ['time', TIME_BOMBS],
] as const)('a query that uses too much %s', (what, bombs) => {
  for (const [queries, options] of shares(bombs, what === 'memory' ? 1 : 0)) {
    it.each(queries)(
      'is stopped without affecting the service: %s',
      { ...options, timeout: 180_000 },
      async (_, sql) => {
        const own = process.memoryUsage().rss
        const watch = CAN_WATCH_WORKERS ? new WorkerWatch(process.pid) : undefined
        await query('SELECT 1 FROM events LIMIT 1') // a process is ready
        const before = performance.now()
        const running = query(sql)
        const slowest = await slowestHealth(running)
        const took = performance.now() - before
        watch?.stop()
        const { error } = await running
        expect(['LIMIT_EXCEEDED', 'INVALID_ARGUMENT'], JSON.stringify(error)).toContain(error?.code)
        expect(error.message).toMatch(
          /longer than 2 s|more than 256 MiB of memory|too much memory to plan|takes too long to plan|cannot be planned/,
        )
        expect(took, 'time until the answer').toBeLessThan(QUERY_MS + 40_000) // processes start slowly on a busy machine
        expect(slowest, 'slowest health').toBeLessThan(2000)
        expect(watch?.largest ?? 0, 'largest worker').toBeLessThan(KILLED_AT + OVERSHOOT)
        expect(process.memoryUsage().rss - own, 'growth of the service').toBeLessThan(GROWTH)
        // A new process may take longer to start than a query may take, when the machine is busy.
        const rows = async () => (await query('SELECT count(*) FROM events WHERE id < 0')).data?.rows
        await until(async () => JSON.stringify(await rows()) === '[["0"]]', 'the next query was answered', 60_000)
      },
    )
  }
})

describe('answers', () => {
  it('are limited in the process that creates them', async () => {
    const wide = await query(`SELECT ${Array(1500).fill("repeat('x', 5000)").join(', ')} FROM events`)
    expect(JSON.stringify(wide).length).toBeLessThan(40_000)
    const long = await query('SELECT unnest(range(10000)) AS n FROM events')
    expect(long.data.rows.length).toBeLessThanOrEqual(100)
    expect(long.truncated).toBe(true)
  })

  it('of one query contain nothing of another query', async () => {
    await query('WITH secret AS (SELECT 42 AS x) SELECT * FROM secret')
    expect((await query('SELECT * FROM secret')).error.code).toBe('INVALID_ARGUMENT')
    const rows = await Promise.all([1, 2, 3, 4].map((n) => query(`SELECT ${n} AS n FROM events LIMIT 1`)))
    expect(rows.map(({ data, error }) => data?.rows ?? error)).toEqual([[[1]], [[2]], [[3]], [[4]]])
  })

  it('are queued, and refused to a user with very many requests at once', { ...LONG, timeout: 180_000 }, async () => {
    const mine = Array.from({ length: 12 }, () => query('SELECT count(*) FROM events a, events b, events c, events d'))
    const other = await tokenFor(service, 'bob', 'DataEngineer')
    // On a busy machine its process may start too late for the time limit; it never waits for the queries of others.
    const answers: unknown[] = []
    const rows = async () => {
      const { data, error } = await query('SELECT count(*) FROM events WHERE id < 0', other)
      answers.push(error?.code)
      return data?.rows
    }
    await until(async () => JSON.stringify(await rows()) === '[["0"]]', 'another user got an answer', 60_000)
    expect(answers).not.toContain('RATE_LIMITED')
    const codes = (await Promise.all(mine)).map(({ error }) => error?.code)
    expect(codes).toContain('RATE_LIMITED')
    // those that waited ran; on a busy machine for too long
    const others = codes.filter((code) => code !== 'RATE_LIMITED')
    expect(others.length).toBeGreaterThan(0)
    expect(others.filter((code) => code !== undefined && code !== 'LIMIT_EXCEEDED')).toEqual([])
  })
})

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actor, type Actor, type Lifecycle, lifecycle, type Place } from '../../support/lifecycle.ts'
import { LONG } from '../../support/effort.ts'
import { CAN_WATCH_WORKERS, readProc, workersOf } from '../../support/query-workers.ts'
import { sleep, until } from '../../support/waiting.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'

/** Enough for a rehearsal of a test on a busy machine. */
const SECONDS = 15
const SECRET = 'a-very-secret-value'
const ENDLESS = 'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) AS id FROM t'

type Nodes = Record<string, readonly [type: string, config: Record<string, unknown>]>

let lab: StreamLab
let users: Lifecycle
let otherEngineer: Actor
beforeAll(async () => {
  lab = await openLab({ env: { LAKE_SALT: SECRET }, overrides: { queryLimits: { seconds: SECONDS } } })
  users = await lifecycle(lab.service)
  otherEngineer = await actor(lab.service, 'eve', 'DataEngineer')
  await lab.createTable('s.orders', [
    ['id', 'long'],
    ['name', 'string'],
  ])
  await lab.createTable('s.sink', [
    ['id', 'long'],
    ['name', 'string'],
    ['extra', 'double'],
    ['day', 'date'],
  ])
  await lab.createTable('s.empty', [['id', 'long']])
  for (let from = 0; from < 50; from += 10) await lab.append('s.orders', numbered(from, from + 10))
  await lab.append('s.sink', 'SELECT 1 AS c1, NULL AS c2, 1.5 AS c3, NULL AS c4')
})
afterAll(() => lab.close())

/** A graph from a source through one node to a sink. */
function graph(node: Nodes[string] | undefined, { from = 's.orders', to = 's.sink' } = {}): object {
  const nodes: Nodes = {
    in: ['iceberg-source', { table: from }],
    ...(node === undefined ? {} : { step: node }),
    out: ['iceberg-sink', { table: to }],
  }
  const ids = Object.keys(nodes)
  return {
    nodes: Object.entries(nodes).map(([id, [type, config]]) => ({ id, type, config })),
    edges: ids.slice(1).map((target, at) => ({ id: target, source: ids[at], target })),
  }
}

const sql = (query: string) => graph(['sql', { query }])
const ALL = sql('SELECT id, name FROM input')

/** A request to move a version of the candidate graph to uat, where the base graph is, if any. */
async function requested(candidate: object, base?: object): Promise<string> {
  const place: Place = await users.create('rehearsed', base ?? candidate)
  if (base === undefined) {
    await users.bring(place, 'qa')
    return users.request(place)
  }
  await users.bring(place, 'uat')
  const next = await users.addVersion(place.definitionId, candidate)
  await users.bring(next, 'qa')
  return users.request(next)
}

const rehearse = (id: string, body?: unknown, by: Actor = users.lead) =>
  by.call('POST', `/api/approvals/${id}/rehearse`, body)

async function rehearsed(candidate: object, base?: object, body?: unknown) {
  const { status, body: answer } = await rehearse(await requested(candidate, base), body)
  expect(status, JSON.stringify(answer)).toBe(200)
  return answer
}

/** A hash of each file below a folder. */
async function hashes(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const pairs = files.map(
    async (file) =>
      [
        file,
        createHash('sha256')
          .update(await readFile(file))
          .digest('hex'),
      ] as const,
  )
  return Object.fromEntries(await Promise.all(pairs))
}

/** Folders of queries in the scratch folder. */
async function scratch(): Promise<string[]> {
  const all = await readdir(join(lab.service.folder, 'home', 'scratch'), { recursive: true })
  return all.filter((name) => name.includes('query-'))
}

/** Processor time of all processes that run SQL of users, in hundredths of a second. */
function workerTicks(): number {
  const ticks = (pid: number): number => Number(readProc(`${pid}/stat`).split(') ')[1]?.split(' ')[11] ?? 0)
  return workersOf(process.pid).reduce((sum, { pid }) => sum + ticks(pid), 0)
}

const ids = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => String(from + at))

describe('the comparison', () => {
  it('of an identical version has no differing rows', LONG, async () => {
    const answer = await rehearsed(ALL, ALL)
    expect(answer).toMatchObject({
      success: true,
      candidate: {
        version: 2,
        rows: 30,
        columns: [
          { name: 'id', type: 'long' },
          { name: 'name', type: 'string' },
        ],
      },
      base: { version: 1, rows: 30, problem: null },
      inputs: [{ table: 's.orders', files: 3, rows: 30, complete: true }],
      distinct_counts: 'exact',
      rows_only_in_candidate: 0,
      rows_only_in_base: 0,
      sample_only_in_candidate: [],
      sample_only_in_base: [],
      samples_truncated: false,
    })
    const { metadata } = await lab.load('s.orders')
    const newest = metadata.snapshots.slice(-3).map(({ snapshotId }) => String(snapshotId))
    expect(answer.inputs[0].snapshot_ids).toEqual(newest)
    expect(answer.columns[0]).toEqual({
      name: 'id',
      in_candidate: true,
      in_base: true,
      type_candidate: 'long',
      type_base: 'long',
      nulls_candidate: 0,
      nulls_base: 0,
      distinct_candidate: 30,
      distinct_base: 30,
      comparison: 'value',
    })
    expect(answer.limits).toMatchObject({ batches: 3, rows_per_table: 1_000_000, seconds: SECONDS, sample_rows: 20 })
  })

  it('counts the rows that fail checks, looks up tables, and diverts nothing', async () => {
    await lab.createTable('s.countries', [
      ['id', 'long'],
      ['size', 'double'],
    ])
    await lab.append('s.countries', 'SELECT i AS c1, 1.5 AS c2 FROM range(0, 45) t(i)')
    await lab.createTable('s.bad', [
      ['id', 'long'],
      ['name', 'string'],
      ['_reason', 'string'],
      ['_batch_id', 'long'],
      ['_pipeline', 'string'],
      ['_diverted_at', 'timestamptz'],
    ])
    const check = (limit: number, action: string): object => {
      const expectations = [
        { name: 'small', condition: `id < ${limit}`, on_failure: action },
        { name: 'even', condition: 'id % 2 = 0', on_failure: 'divert', max_ratio: 0.2 },
      ]
      return graph(['check', { expectations, divert_to: 's.bad' }])
    }
    const answer = await rehearsed(check(45, 'drop'), check(40, 'fail'))
    expect(answer.candidate).toMatchObject({
      rows: 13,
      rows_dropped: 2,
      rows_diverted: 15,
      checks: [
        { node_id: 'step', name: 'small', failed: 5, total: 30, would_stop: false },
        { node_id: 'step', name: 'even', failed: 15, total: 30, would_stop: true },
      ],
    })
    expect(answer.base).toMatchObject({ rows: 10, checks: [{ failed: 10, would_stop: true }, { failed: 15 }] })
    expect(answer).toMatchObject({ rows_only_in_candidate: 3, rows_only_in_base: 0 })
    expect(await lab.rows('s.bad')).toEqual([])
    const joined = await rehearsed(
      graph([
        'lookup',
        {
          table: 's.countries',
          on: [{ column: 'id', lookup_column: 'id' }],
          columns: [{ column: 'size', name: 'extra' }],
          kind: 'inner',
        },
      ]),
    )
    expect(joined).toMatchObject({
      candidate: { rows: 25, checks: [{ name: 's.countries', failed: 0, would_stop: false }], rows_dropped: 0 },
      inputs: [
        { table: 's.orders', role: 'source', rows: 30 },
        { table: 's.countries', role: 'lookup', rows: 45, complete: true },
      ],
    })
  })

  it('of a changed filter shows the rows that are missing', async () => {
    const answer = await rehearsed(sql('SELECT id, name FROM input WHERE id >= 25'), ALL)
    expect(answer).toMatchObject({ rows_only_in_candidate: 0, rows_only_in_base: 5, sample_only_in_candidate: [] })
    expect(answer.sample_only_in_base.map(([id]: [string]) => id).sort()).toEqual(ids(20, 25))
    expect(answer.sample_only_in_base[0]).toHaveLength(2)
  })

  it('of a changed expression shows rows of both, and the numbers of distinct values', async () => {
    const answer = await rehearsed(sql("SELECT id, CASE WHEN id % 2 = 0 THEN 'even' END AS name FROM input"), ALL)
    expect(answer).toMatchObject({ rows_only_in_candidate: 30, rows_only_in_base: 30 })
    expect(answer.sample_only_in_candidate).toHaveLength(20)
    expect(answer.sample_only_in_base).toHaveLength(20)
    const [, name] = answer.columns
    expect(name).toMatchObject({ nulls_candidate: 15, nulls_base: 0, distinct_candidate: 1, distinct_base: 30 })
  })

  it('of an added and a removed column compares the others', async () => {
    const answer = await rehearsed(
      sql("SELECT id, id / 2 AS extra, DATE '2026-01-02' AS day FROM input WHERE id > 20"),
      sql('SELECT id, name FROM input'),
    )
    expect(answer).toMatchObject({ rows_only_in_candidate: 0, rows_only_in_base: 1 })
    const flags = answer.columns.map((column: Record<string, unknown>) => [
      column['name'],
      column['in_candidate'],
      column['in_base'],
      column['comparison'],
    ])
    expect(flags).toEqual([
      ['id', true, true, 'value'],
      ['extra', true, false, 'none'],
      ['day', true, false, 'none'],
      ['name', false, true, 'none'],
    ])
    expect(answer.columns[2]).toMatchObject({
      type_candidate: 'date',
      type_base: null,
      distinct_candidate: 1,
      distinct_base: null,
    })
    expect(answer.sample_only_in_base).toEqual([['20', 'n20']])
  })

  it('of a changed type compares as text, and says so', async () => {
    const answer = await rehearsed(sql('SELECT id::INTEGER AS id FROM input'), sql('SELECT id FROM input'))
    expect(answer).toMatchObject({ rows_only_in_candidate: 0, rows_only_in_base: 0 })
    expect(answer.columns).toMatchObject([{ type_candidate: 'int', type_base: 'long', comparison: 'text' }])
  })

  it('shows values as other reads of rows do', async () => {
    const answer = await rehearsed(sql("SELECT id, id / 2 AS extra, DATE '2026-01-02' AS day FROM input"), undefined, {
      batches: 1,
    })
    expect(answer.sample_only_in_candidate[0]).toEqual(['40', 20, '2026-01-02'])
  })

  it('without a version in the target environment takes every row as new', async () => {
    const answer = await rehearsed(ALL)
    expect(answer).toMatchObject({
      base: null,
      candidate: { rows: 30 },
      rows_only_in_candidate: 30,
      rows_only_in_base: 0,
    })
    expect(answer.columns[0]).toMatchObject({ in_base: false, type_base: null, nulls_base: null, comparison: 'none' })
  })

  it('says why a version in the target environment cannot run, or fails on these rows', async () => {
    const broken = await rehearsed(ALL, graph(['filter', { condition: 'gone > 1' }]))
    expect(broken).toMatchObject({ base: { version: 1, rows: null, columns: null }, rows_only_in_candidate: 30 })
    expect(broken.base.problem).toContain('gone')
    const failing = await rehearsed(ALL, sql('SELECT name::BIGINT AS id FROM input'))
    expect(failing).toMatchObject({ base: { rows: null }, rows_only_in_candidate: 30, sample_only_in_base: [] })
    expect(failing.base.problem).toContain('Could not convert')
    expect(failing.columns[0]).toMatchObject({ in_base: false })
  })

  it('reads as many batches as requested, and both versions read the same tables', LONG, async () => {
    expect((await rehearsed(ALL, ALL, { batches: 1 })).inputs).toMatchObject([{ files: 1, rows: 10 }])
    expect((await rehearsed(ALL, ALL, { batches: 20 })).inputs).toMatchObject([{ files: 5, rows: 50 }])
    const answer = await rehearsed(
      graph(['sql', { query: 'SELECT count(*) AS id FROM input' }], { from: 's.empty' }),
      sql('SELECT count(*) AS id FROM input'),
    )
    expect(answer.inputs).toMatchObject([
      { table: 's.empty', snapshot_ids: [], files: 0, rows: 0 },
      { table: 's.orders', files: 3, rows: 30 },
    ])
    expect(answer).toMatchObject({ sample_only_in_candidate: [['0']], sample_only_in_base: [['30']] })
  })

  it('works on a source without rows', async () => {
    const empty = graph(undefined, { from: 's.empty' })
    expect(await rehearsed(empty, empty)).toMatchObject({
      candidate: { rows: 0 },
      base: { rows: 0 },
      inputs: [{ rows: 0, complete: true }],
      columns: [{ name: 'id', nulls_candidate: 0, distinct_base: 0 }],
      rows_only_in_candidate: 0,
    })
  })
})

describe('a rehearsal', () => {
  it('changes no file of any table or of the catalog, and leaves nothing behind', async () => {
    const id = await requested(sql('SELECT id, name, 1.5::DOUBLE AS extra FROM input'), ALL)
    const home = join(lab.service.folder, 'home')
    const before = { warehouse: await hashes(join(home, 'warehouse')), sink: await lab.rows('s.sink') }
    const catalog = await lab.catalog().listTables(['s'])
    expect(Object.keys(before.warehouse).length).toBeGreaterThan(10)
    expect((await rehearse(id)).status).toBe(200)
    const after = { warehouse: await hashes(join(home, 'warehouse')), sink: await lab.rows('s.sink') }
    expect(after).toEqual(before)
    expect(await lab.catalog().listTables(['s'])).toEqual(catalog)
    expect(await scratch()).toEqual([])
  })

  it('leaves the request as it is, and an audit entry without rows', async () => {
    const id = await requested(sql("SELECT id, 'a secret value' AS name FROM input"), ALL)
    expect((await rehearse(id, { batches: 2 })).status).toBe(200)
    expect((await users.lead.call('GET', `/api/approvals/${id}`)).body.status).toBe('pending')
    const { body } = await lab.service.get(`/api/audit?object=${id}`)
    const entries = body.filter(({ action }: { action: string }) => action === 'approval.rehearse')
    expect(entries).toMatchObject([
      {
        actor: 'lea',
        object_type: 'approval',
        outcome: 'done',
        details: { batches: 2, tables: ['s.orders'], rows_only_in_candidate: 20, rows_only_in_base: 20 },
      },
    ])
    expect(JSON.stringify(entries)).not.toContain('secret')
  })

  it('is for leads and the requester', async () => {
    const id = await requested(ALL)
    expect((await rehearse(id, {}, users.engineer)).status).toBe(200)
    expect((await rehearse(id, {}, users.otherLead)).status).toBe(200)
    const other = await rehearse(id, {}, otherEngineer)
    expect(other).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    expect(other.body.detail).toContain('ed')
    expect((await rehearse(id, {}, users.auditor)).status).toBe(403)
    expect((await rehearse('pr-none', {})).status).toBe(404)
  })

  it('needs a pending request and a legal number of batches', async () => {
    const id = await requested(ALL)
    for (const batches of [0, 21, 1.5, '3', null])
      expect(await rehearse(id, { batches })).toMatchObject({ status: 400, body: { errors: [{ path: 'batches' }] } })
    expect((await rehearse(id, { batch: 1 })).status).toBe(400)
    await users.lead.call('POST', `/api/approvals/${id}/reject`, { reason: 'no' })
    expect(await rehearse(id)).toMatchObject({ status: 409, body: { code: 'APPROVAL_NOT_PENDING' } })
  })

  it('refuses a version that cannot run, or that fails on these rows', async () => {
    const missing = await rehearse(await requested(graph(undefined, { from: 's.nowhere' })))
    expect(missing).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE' } })
    expect(missing.body.detail).toContain('s.nowhere')
    const failing = await rehearse(await requested(sql('SELECT name::BIGINT AS id FROM input'), ALL))
    expect(failing).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE' } })
    expect(failing.body.detail).toMatch(/version 2 cannot run: .*Could not convert/)
    expect(failing.body.detail).not.toContain(lab.service.folder)
    expect(await scratch()).toEqual([])
  })

  it.each([
    ['reads a file', "SELECT 1 AS id, content AS name FROM read_text('/etc/passwd')"],
    ['reads a table that is no input', 'SELECT id FROM lockhouse_candidate'],
    ['reads settings', "SELECT 1 AS id, current_setting('temp_directory') AS name FROM input"],
    ['writes a file', "COPY (SELECT 1) TO '/tmp/rehearsal.csv'"],
    ['has two statements', 'SELECT 1 AS id FROM input; DROP TABLE input'],
    ['closes the parentheses', 'SELECT 1 AS id FROM input) AS r; INSTALL httpfs; SELECT * FROM (SELECT 1'],
  ])('refuses SQL that %s', async (_, query) => {
    const answer = await rehearse(await requested(sql(query), ALL))
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE' } })
    expect(existsSync('/tmp/rehearsal.csv')).toBe(false)
  })

  it('stops a query that never ends, while the service answers', { ...LONG, timeout: 180_000 }, async () => {
    const id = await requested(sql(ENDLESS), ALL)
    const running = rehearse(id)
    let isOver = false
    void running.finally(() => (isOver = true))
    const times: number[] = []
    while (!isOver) {
      const before = performance.now()
      expect((await lab.service.get('/api/health/live')).status).toBe(200)
      times.push(performance.now() - before)
      await until(() => performance.now() - before > 50, 'the next request')
    }
    const answer = await running
    expect(answer).toMatchObject({ status: 422, body: { code: 'LIMIT_EXCEEDED' } })
    expect(answer.body.detail).toContain(`longer than ${SECONDS} s`)
    expect(answer.body.detail).toContain('fewer batches')
    expect(times.length).toBeGreaterThan(10)
    expect(Math.max(...times)).toBeLessThan(3000)
    expect(await scratch()).toEqual([])
    expect((await rehearse(await requested(ALL, ALL))).status).toBe(200)
  })

  it.runIf(CAN_WATCH_WORKERS)('ends when the client goes away', { ...LONG, timeout: 180_000 }, async () => {
    const id = await requested(sql(ENDLESS), ALL)
    const { body } = await lab.service.post('/api/auth/tokens', { user: 'ed', role: 'DataEngineer', name: 'leaving' })
    const controller = new AbortController()
    const running = lab.service.app.request(`/api/approvals/${id}/rehearse`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${body.token}` },
      signal: controller.signal,
    })
    await until(async () => (await scratch()).some((name) => name.endsWith('work')), 'the query to start')
    await sleep(500) // long enough to be in the middle of it
    controller.abort()
    expect((await running).status).toBe(409)
    expect(await scratch()).toEqual([])
    // the limit on time ended with the request, so a query that was not killed would go on for ever
    const isIdle = async (): Promise<boolean> => {
      const before = workerTicks()
      await sleep(2000) // long enough for a process of low priority to get its turn on a busy machine
      return workerTicks() <= before + 5
    }
    await until(isIdle, 'all workers to be idle', 120_000)
    expect((await rehearse(await requested(ALL), {}, users.engineer)).status).toBe(200)
  })
})

describe('parameters', () => {
  const setParameters = async (environment: string, parameters: object): Promise<void> => {
    const { status } = await lab.service.call('PUT', `/api/environments/${environment}`, { body: { parameters } })
    expect(status).toBe(200)
  }

  it('are those of the target environment, for both versions', async () => {
    await setParameters('qa', { least: 0 })
    await setParameters('uat', { least: 45 })
    const answer = await rehearsed(
      sql('SELECT id, name FROM input WHERE id >= ${least}'),
      sql('SELECT id, name FROM input WHERE id > ${least}'),
    )
    expect(answer).toMatchObject({
      candidate: { rows: 5 },
      base: { rows: 4 },
      sample_only_in_candidate: [['45', 'n45']],
    })
  })

  it('that are secret have their names as their values, in whatever form a query shows them', async () => {
    await setParameters('uat', { salt: 'env:LAKE_SALT', least: 45 })
    await setParameters('qa', { salt: 'none', least: 0 })
    const salted = sql('SELECT id, CASE WHEN id < 49 THEN ${salt} ELSE name END AS name FROM input WHERE id > 47')
    for (const id of [await requested(salted, ALL), await requested(ALL, salted)]) {
      for (const user of [users.lead, users.engineer]) {
        const { status, body } = await rehearse(id, {}, user)
        expect(status).toBe(200)
        expect(body.secrets_as_names).toEqual(['env:LAKE_SALT'])
        const rows = [...body.sample_only_in_candidate, ...body.sample_only_in_base]
        expect(rows).toContainEqual(['48', 'env:LAKE_SALT'])
      }
    }
    const forms = [
      'hex(${salt})',
      'reverse(${salt})',
      "array_to_string(split(${salt}, ''), '.')",
      'md5(${salt})',
      'length(${salt})',
    ]
    const joined = sql(`SELECT 1 AS id, concat_ws('|', ${forms.join(', ')}) AS name FROM input LIMIT 1`)
    const { body } = await rehearse(await requested(joined, ALL))
    const name = 'env:LAKE_SALT'
    const shown = [
      Buffer.from(name).toString('hex').toUpperCase(),
      name.split('').toReversed().join(''),
      name.split('').join('.'),
    ]
    shown.push(createHash('md5').update(name).digest('hex'), String(name.length))
    expect(body.sample_only_in_candidate).toEqual([[1, shown.join('|')]])
    const failing = await rehearse(await requested(sql('SELECT CAST(${salt} || name AS BIGINT) AS id FROM input'), ALL))
    expect(failing.status).toBe(422)
    expect(JSON.stringify(failing.body)).not.toContain('secret-value')
  })
})

describe('after a crash', () => {
  it('the next start removes what was left in the scratch folder', async () => {
    const left = join(lab.service.folder, 'home', 'scratch', 'lockhouse-engine-crashed')
    await mkdir(join(left, 'query-1', 'work'), { recursive: true })
    await writeFile(join(left, 'owner.json'), JSON.stringify({ pid: process.pid, host: hostname() }))
    await writeFile(join(left, 'query-1', 'work', 'rows'), 'rows of somebody')
    await lab.service.restart()
    await until(() => !existsSync(left), 'the folder to be removed')
    expect(existsSync(left)).toBe(false)
  })
})

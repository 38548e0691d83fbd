import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDuckDbEngine } from '../../../../src/engines/duckdb/duckdb-engine.ts'
import { createDuckDbSandbox } from '../../../../src/engines/duckdb/worker/sandbox.ts'
import { encodeFrame } from '../../../../src/engines/duckdb/worker/frames.ts'
import { scriptWorker } from '../../../../src/engines/duckdb/worker/worker-command.ts'
import type { Engine, QueryTask } from '../../../../src/engines/engine.ts'
import { CAN_WATCH_WORKERS, isAlive, readProc, workersOf } from '../../../support/query-workers.ts'
import { field, Lake, schemaOf } from '../harness/lake.ts'
import { sleep, until } from '../../../support/waiting.ts'
import { LONG } from '../../../support/effort.ts'

const MARKER = `workers-test-${process.pid}-${Date.now()}`
const CANARY = 'canary-of-the-parent'
const ENDLESS = "SELECT levenshtein(repeat('abc' || range, 10000), repeat('abd', 20000)) AS n FROM range(20)"
const MIB = 2 ** 20

const lake = new Lake()
let engine: Engine
beforeAll(async () => {
  process.env['LOCKHOUSE_ADMIN_TOKEN'] = CANARY
  const command = scriptWorker()
  engine = await createDuckDbEngine({
    scratchDir: lake.path('workers'),
    threads: 2,
    memoryLimitBytes: 512 * MIB,
    workerCommand: { ...command, args: [...command.args, MARKER] },
  })
})
afterAll(async () => {
  delete process.env['LOCKHOUSE_ADMIN_TOKEN']
  await engine.close()
  await lake.close()
})

const task = (query: string, seconds = 60): QueryTask => ({
  inputs: [],
  query,
  columns: [{ name: 'n', engineType: 'BIGINT', type: { kind: 'long' } }],
  bounds: { maxRows: 10, maxBytes: 1000, maxTextLength: 100, seconds, memoryBytes: 128 * MIB },
})
const mine = () => workersOf(process.pid, MARKER)

/** Waits until a query keeps a worker busy, and tells which. */
async function busyWorker(): Promise<number> {
  const ticks = (pid: number): number => Number(readProc(`${pid}/stat`).split(') ')[1]?.split(' ')[11] ?? 0)
  await until(() => mine().some(({ pid }) => isAlive(pid) && readdirSync(`/proc/${pid}/task`).length > 3), 'no worker')
  const before = new Map(mine().map(({ pid }) => [pid, ticks(pid)]))
  const since = (pid: number): number => ticks(pid) - (before.get(pid) ?? 0)
  await sleep(1000) // long enough to be in the middle of it; others are idle, or start only
  await until(() => mine().some(({ pid }) => since(pid) > 30), 'a busy worker')
  const busiest = mine().toSorted((a, b) => since(b.pid) - since(a.pid))[0]
  if (busiest === undefined) throw new Error('no worker')
  return busiest.pid
}

describe.runIf(CAN_WATCH_WORKERS)('a process of a query', LONG, () => {
  it.each([64, 476, 1024, 3000])('has %i MiB for its query, whatever its runtime has reserved', async (mib) => {
    const command = scriptWorker()
    const marker = `${MARKER}-${mib}`
    const one = await createDuckDbEngine({
      scratchDir: lake.path(`workers-${mib}`),
      threads: 2,
      memoryLimitBytes: 2 * mib * MIB,
      workerCommand: { ...command, args: [...command.args, marker] },
    })
    try {
      expect((await one.queryRows(task('SELECT 1::BIGINT AS n'))).rows).toEqual([['1']])
      const [worker] = workersOf(process.pid, marker)
      const limit = Number(/Max data size\s+(\d+)/.exec(readProc(`${worker?.pid}/limits`))?.[1])
      const used = Number(/VmData:\s+(\d+)/.exec(readProc(`${worker?.pid}/status`))?.[1]) * 1024
      expect((limit - used) / MIB).toBeGreaterThan(mib)
      expect((limit - used) / MIB).toBeLessThan(mib + 300)
    } finally {
      await one.close()
    }
  })

  it('has no data of its parent, runs at low priority, and is limited by the kernel', async () => {
    expect((await engine.queryRows(task('SELECT 1::BIGINT AS n'))).rows).toEqual([['1']])
    const [worker] = mine()
    const pid = worker?.pid ?? 0
    const environment = readProc(`${pid}/environ`)
      .split('\0')
      .filter((entry) => entry !== '')
    expect(environment.join('\n')).not.toContain(CANARY)
    const names = environment.map((entry) => entry.split('=')[0] ?? '')
    expect(names.filter((name) => !['PATH', 'TZ', 'PWD', 'SHLVL', '_', 'OLDPWD'].includes(name))).toEqual([])
    expect(readProc(`${pid}/oom_score_adj`).trim()).toBe('1000')
    expect(readProc(`${pid}/limits`)).toMatch(/Max data size +\d+ +\d+ /)
    expect(readProc(`${pid}/limits`)).toMatch(/Max core file size +0 /)
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const fields = readProc(`${pid}/task/${thread}/stat`).split(') ')[1]?.split(' ') ?? []
      expect(fields[16], `niceness of thread ${thread}`).toBe('10')
    }
  })

  it('runs one query after another, each in a separate database', async () => {
    await engine.queryRows(task('SELECT 1::BIGINT AS n'))
    const before = mine().map(({ pid }) => pid)
    for (let n = 0; n < 5; n += 1)
      expect((await engine.queryRows(task(`SELECT ${n}::BIGINT AS n`))).rows).toEqual([[String(n)]])
    expect(mine().map(({ pid }) => pid)).toEqual(before)
  })

  it('that is killed fails its query and no other', async () => {
    await engine.queryRows(task('SELECT 1::BIGINT AS n'), { owner: 'a' }) // a process that still starts is busy, too
    const running = engine.queryRows(task(ENDLESS), { owner: 'a' })
    running.catch(() => undefined)
    const pid = await busyWorker()
    process.kill(pid, 'SIGKILL')
    await expect(running).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringContaining('ended before'),
    })
    expect((await engine.queryRows(task('SELECT 2::BIGINT AS n'), { owner: 'a' })).rows).toEqual([['2']])
    expect(
      readdirSync(join(lake.path('workers'), readdirSync(lake.path('workers'))[0] ?? '')).filter((name) =>
        name.startsWith('query-'),
      ),
    ).toEqual([])
  })

  it('is ended when its query is cancelled or takes too long, and is not reused', { timeout: 180_000 }, async () => {
    for (const end of ['cancelled', 'too long'] as const) {
      const controller = new AbortController()
      const running = engine.queryRows(task(ENDLESS, end === 'too long' ? 15 : 60), { signal: controller.signal })
      running.catch(() => undefined)
      const pid = await busyWorker()
      if (end === 'cancelled') controller.abort()
      await expect(running).rejects.toMatchObject({ code: end === 'cancelled' ? 'CANCELLED' : 'LIMIT_EXCEEDED' })
      expect(isAlive(pid), end).toBe(false)
    }
  })

  it('ends with its parent, even in the middle of a query', { timeout: 180_000 }, async () => {
    const script = fileURLToPath(new URL('parent-in-process.ts', import.meta.url))
    const parent = spawn(process.execPath, [script, lake.path('killed')], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(parent.stdout, 'data')
    await until(() => workersOf(parent.pid ?? 0).length === 2, 'two workers')
    await sleep(1500)
    const pids = workersOf(parent.pid ?? 0).map(({ pid }) => pid)
    expect(pids).toHaveLength(2)
    parent.kill('SIGKILL')
    await until(() => !pids.some(isAlive), 'the workers outlive their parent', 5000)
  })
})

describe('a process that misbehaves', LONG, () => {
  const ready = encodeFrame({ kind: 'ready' }).toString('base64')
  const then = (text: string): string =>
    `process.stdout.write(Buffer.from('${ready}', 'base64')); process.stdin.on('data', () => { ${text} })`
  const reply = (value: unknown): string =>
    then(`process.stdout.write(Buffer.from('${encodeFrame(value).toString('base64')}', 'base64'))`)

  it.each([
    ['says nothing sensible', "process.stdout.write('x'.repeat(100000))"],
    ['ends at once', 'process.exit(3)'],
    ['ends when it is asked', then('process.exit(0)')],
    ['answers no JSON', then('process.stdout.write(Buffer.from([0, 0, 0, 2, 123, 123]))')],
    ['announces an answer of 4 GB', then('process.stdout.write(Buffer.from([255, 255, 255, 255]))')],
    ['answers without end', then("setInterval(() => process.stdout.write('z'.repeat(65536)), 1)")],
    ['answers a list', reply([1, 2])],
    ['answers no rows', reply({ kind: 'done', value: { rows: 'many', truncated: 1 } })],
    ['answers with an unknown kind of value', reply({ kind: 'done', value: { $: 'function', v: '1' } })],
    [
      'answers twice',
      then(
        `const b = Buffer.from('${encodeFrame({ kind: 'failed', code: 'X', text: 'y' }).toString('base64')}', 'base64'); process.stdout.write(Buffer.concat([b, b]))`,
      ),
    ],
    ['fails with a code of its own', reply({ kind: 'failed', code: 'COMMIT_STATE_UNKNOWN', text: 'ha' })],
  ])('fails the query: %s', { timeout: 60_000 }, async (_, script) => {
    const workerCommand = { file: process.execPath, args: ['-e', script] }
    const bad = await createDuckDbEngine({ scratchDir: lake.path('bad'), workerCommand })
    const sandbox = createDuckDbSandbox({ command: workerCommand })
    try {
      await expect(bad.queryRows(task('SELECT 1::BIGINT AS n', 20))).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
      await sandbox.check({ kind: 'query', text: 'SELECT 1', relations: [] }).catch((error: unknown) => {
        expect(error).toMatchObject({ name: 'IcebergError' })
      })
    } finally {
      await Promise.all([bad.close(), sandbox.close()])
    }
  })

  it('cannot make its parent move a foreign file into a table', { timeout: 180_000 }, async () => {
    const schema = schemaOf([field(1, 'id', 'long')])
    const foreign = lake.path('foreign')
    mkdirSync(foreign, { recursive: true })
    writeFileSync(join(foreign, 'theirs.parquet'), 'theirs')
    const file = {
      content: 'data',
      filePath: 'x',
      fileFormat: 'parquet',
      specId: 0,
      partition: [],
      recordCount: 1,
      fileSizeInBytes: 6,
    }
    const names = [
      '../../../foreign/theirs.parquet',
      `../../../../../../../../..${foreign}/theirs.parquet`,
      'link',
      'folder/theirs.parquet',
      '.',
      '',
    ]
    for (const name of names) {
      const value = { written: [{ name, index: 0, file }], rowsRead: 0, rowsDeleted: 0 }
      // finds its folder in what it is asked, and puts links into it
      const script = `process.stdout.write(Buffer.from('${ready}', 'base64')); process.stdin.on('data', (d) => {
        const fs = require('node:fs'); const { folder } = JSON.parse(d.subarray(4).toString());
        try { fs.symlinkSync(${JSON.stringify(join(foreign, 'theirs.parquet'))}, folder + '/link'); fs.symlinkSync(${JSON.stringify(foreign)}, folder + '/folder') } catch {}
        process.stdout.write(Buffer.from('${encodeFrame({ kind: 'done', value }).toString('base64')}', 'base64')) })`
      const bad = await createDuckDbEngine({
        scratchDir: lake.path('bad'),
        workerCommand: { file: process.execPath, args: ['-e', script] },
      })
      const append = {
        query: 'SELECT 1 AS c1',
        isRepeatable: true,
        isUntrusted: true,
        io: lake.io,
        output: lake.output(schema),
      }
      await expect(bad.appendFrom({ inputs: [], ...append }), name).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
      await bad.close()
    }
    expect(readdirSync(foreign)).toEqual(['theirs.parquet'])
  })
})

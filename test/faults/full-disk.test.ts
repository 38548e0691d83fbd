import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashTree } from '../interop/harness/file-tree.ts'
import { openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service, type Answer } from '../interop/harness/service.ts'
import { canMount } from './harness/mounts.ts'
import { createOrders } from './harness/orders-table.ts'
import { until } from '../support/waiting.ts'

const TABLE = 'faults.orders'
const MEGABYTE = 2 ** 20

const MOUNTABLE = canMount('full disk and read-only warehouse')

/** Only these checks affect health; the service stays ready because it can be read. */
async function expectProblem(service: Service, code: string, ...checks: readonly string[]): Promise<void> {
  const expected = JSON.stringify(checks.map((check) => ({ check, code })))
  await until(async () => {
    const { status, problems } = await service.read<{ status: string; problems: { check: string; code: string }[] }>(
      '/api/health',
    )
    const seen = JSON.stringify(problems.map((problem) => ({ check: problem.check, code: problem.code })))
    return status === 'degraded' && seen === expected
  })
  expect((await service.get('/api/health/ready')).status).toBe(200)
}

describe.skipIf(!MOUNTABLE)('a warehouse that cannot be written', { timeout: 300_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'full-disk-'))
  const warehouse = `${folder}/warehouse`
  const table = `${warehouse}/faults/orders`
  let service: Service

  const operations: Readonly<Record<string, () => Promise<Answer>>> = {
    compact: () => service.post('/api/compact', { table: TABLE, rewrite_all: true }),
    expire: () => service.post('/api/expire', { table: TABLE, older_than: new Date().toISOString(), retain_last: 1 }),
    'add column': () => service.post('/api/evolve/add-column', { table: TABLE, name: 'note', type: 'STRING' }),
    'rename column': () =>
      service.post('/api/evolve/rename-column', { table: TABLE, name: 'customer', new_name: 'client' }),
    'drop column': () => service.post('/api/evolve/drop-column', { table: TABLE, name: 'comment' }),
  }

  beforeAll(async () => {
    mkdirSync(warehouse)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', warehouse])
    const house = await openLakehouse(folder)
    await createOrders(house, { name: 'orders', appends: 8, rowsPerAppend: 20_000, filesWithDeletes: 3 })
    await house.close()
    service = await Service.start({ home: `${folder}/home` })
    await service.configure(house.settings)
  }, 300_000)

  afterAll(async () => {
    await service?.stop()
    execFileSync('umount', [warehouse])
    rmSync(folder, { recursive: true, force: true })
  })

  async function expectUnchanged(code: string): Promise<void> {
    const before = await hashTree(table)
    for (const [title, request] of Object.entries(operations)) {
      const answer = await request()
      expect(answer.body, `${title}: ${JSON.stringify(answer.body)}`).toMatchObject({
        status: 503,
        code,
        success: false,
      })
      expect(answer.contentType).toMatch(/^application\/problem\+json/)
      expect(await hashTree(table), `${title} must change nothing`).toEqual(before)
    }
    expect((await service.get(`/api/table/${TABLE}/health`)).status).toBe(200)
  }

  /** Fills the file system up to this many free bytes. */
  async function fill(leave: number): Promise<void> {
    const { bavail, bsize } = await statfs(warehouse)
    writeFileSync(`${warehouse}/ballast`, Buffer.alloc(Math.max(0, bavail * bsize - leave)))
  }

  it('a full disk: nothing changes, and health reports it', async () => {
    await fill(0)
    try {
      await expectUnchanged('NO_SPACE')
      await expectProblem(service, 'NO_SPACE', 'catalog')
    } finally {
      rmSync(`${warehouse}/ballast`)
    }
  })

  it.each([MEGABYTE, 2 * MEGABYTE, 64 * 1024])(
    'a disk that is full after %d bytes: compaction leaves nothing behind',
    async (leave) => {
      await fill(leave)
      try {
        const before = await hashTree(table)
        const answer = await operations['compact']?.()
        expect(answer?.body, JSON.stringify(answer?.body)).toMatchObject({
          status: 503,
          code: 'NO_SPACE',
          success: false,
        })
        expect(await hashTree(table)).toEqual(before)
      } finally {
        rmSync(`${warehouse}/ballast`)
      }
    },
  )

  it('a read-only warehouse: nothing changes, and health reports it', async () => {
    execFileSync('mount', ['-o', 'remount,ro', warehouse])
    try {
      await expectUnchanged('IO_FAILED')
      await expectProblem(service, 'NOT_WRITABLE', 'catalog')
    } finally {
      execFileSync('mount', ['-o', 'remount,rw', warehouse])
    }
  })

  it('with free space again everything works, and no probe file is left', async () => {
    await until(async () => (await service.get('/api/health')).body['status'] === 'ok')
    expect(readdirSync(warehouse).filter((name) => name.includes('probe'))).toEqual([])
    for (const [title, request] of Object.entries(operations)) {
      const answer = await request()
      expect(answer.status, `${title}: ${JSON.stringify(answer.body)}`).toBe(200)
    }
  })
})

describe.skipIf(!MOUNTABLE)('a state database that cannot be written', { timeout: 300_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'full-home-'))
  const home = `${folder}/home`
  let service: Service

  const start = (): Promise<Service> => Service.start({ home, runtime: 'this' })
  const definition = { name: 'x', nodes: [{ id: 'a', type: 'x', config: { text: 'x'.repeat(5000) } }] }
  const writes: Readonly<Record<string, () => Promise<Answer>>> = {
    definition: () => service.post('/api/pipeline-defs', definition),
    import: () => service.post('/api/pipeline-defs/import', { format_version: 1, ...definition }),
    token: () => service.post('/api/auth/tokens', { user: 'ada', role: 'Auditor', name: 'x' }),
    session: () => service.post('/api/auth/session', { token: service.token }),
    alert: () => {
      const channel = { type: 'webhook', url: 'https://hooks.example.com/x' }
      return service.post('/api/alerts', { name: 'x', events: ['*'], channel })
    },
    idempotent: () => service.post('/api/pipeline-defs', definition, { 'Idempotency-Key': 'once' }),
  }

  async function fill(): Promise<void> {
    const { bavail, bsize } = await statfs(home)
    writeFileSync(`${home}/ballast`, Buffer.alloc(bavail * bsize))
  }

  beforeAll(async () => {
    mkdirSync(home)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', home])
    service = await start()
  }, 300_000)

  afterAll(async () => {
    await service?.stop()
    execFileSync('umount', [home])
    rmSync(folder, { recursive: true, force: true })
  })

  it('on a full disk answers NO_SPACE to every write, still reads, and health reports it', async () => {
    await fill()
    try {
      for (let round = 0; round < 3; round++) {
        for (const [title, write] of Object.entries(writes)) {
          const { body } = await write()
          expect(body, `${title}: ${JSON.stringify(body)}`).toMatchObject({ status: 503, code: 'NO_SPACE' })
        }
      }
      expect((await service.get('/api/pipeline-defs')).status).toBe(200)
      await expectProblem(service, 'NO_SPACE', 'state', 'catalog') // the embedded warehouse is on the same disk
    } finally {
      rmSync(`${home}/ballast`)
    }
    await until(async () => (await service.get('/api/health')).body['status'] === 'ok')
    for (const [title, write] of Object.entries(writes)) {
      expect((await write()).status, title).toBe(201)
    }
    expect((await service.read<{ ok: boolean }>('/api/audit/verify')).ok).toBe(true)
  })

  it.each([
    ['full', fill, 'no space is left for LOCKHOUSE_HOME: free some and start again'],
    [
      'read-only',
      async () => void execFileSync('mount', ['-o', 'remount,ro', home]),
      'LOCKHOUSE_HOME cannot be written: check that its disk is not read-only, and who owns it',
    ],
  ])('on a %s disk does not start, and prints the reason in one line', async (_, spoil, line) => {
    await service.stop()
    await spoil()
    try {
      const failure = await start().then(
        () => 'it started',
        (error: unknown) => String(error),
      )
      expect(failure.split('\n').slice(1).join('\n').trim()).toBe(`Lockhouse cannot start: ${line}`)
    } finally {
      execFileSync('mount', ['-o', 'remount,rw', home])
      rmSync(`${home}/ballast`, { force: true })
    }
    service = await start()
    expect((await service.get('/api/pipeline-defs')).status).toBe(200)
  })
})

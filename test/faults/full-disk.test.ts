import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashTree } from '../interop/harness/file-tree.ts'
import { openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service, type Answer } from '../interop/harness/service.ts'
import { createOrders } from './harness/orders-table.ts'

const TABLE = 'faults.orders'
const MEGABYTE = 2 ** 20

/** Whether this process may mount a small file system of its own; says so when it may not. */
function canMount(): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', probe], { stdio: 'pipe' })
    execFileSync('umount', [probe])
    return true
  } catch (error) {
    process.stderr.write(
      `\nSKIPPED: full disk and read-only warehouse: mounting is not allowed here (${String(error)})\n`,
    )
    return false
  } finally {
    rmSync(probe, { recursive: true, force: true })
  }
}

describe.skipIf(!canMount())('a warehouse that takes no more', { timeout: 120_000 }, () => {
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
  }, 120_000)

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

  /** Fills the file system but for so many bytes. */
  async function fill(leave: number): Promise<void> {
    const { bavail, bsize } = await statfs(warehouse)
    writeFileSync(`${warehouse}/ballast`, Buffer.alloc(Math.max(0, bavail * bsize - leave)))
  }

  it('a full disk: nothing changes', async () => {
    await fill(0)
    try {
      await expectUnchanged('NO_SPACE')
    } finally {
      rmSync(`${warehouse}/ballast`)
    }
  })

  it.each([MEGABYTE, 2 * MEGABYTE, 64 * 1024])(
    'a disk that fills up after %d bytes: compaction leaves nothing behind',
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

  it('a read-only warehouse: nothing changes', async () => {
    execFileSync('mount', ['-o', 'remount,ro', warehouse])
    try {
      await expectUnchanged('IO_FAILED')
    } finally {
      execFileSync('mount', ['-o', 'remount,rw', warehouse])
    }
  })

  it('with room again everything works', async () => {
    for (const [title, request] of Object.entries(operations)) {
      const answer = await request()
      expect(answer.status, `${title}: ${JSON.stringify(answer.body)}`).toBe(200)
    }
  })
})

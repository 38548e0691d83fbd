import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { currentSchema } from '../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import type { TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service } from '../interop/harness/service.ts'
import { sleep, until } from '../support/waiting.ts'

const KILOBYTE = 1024
/** Free space when a batch begins: each value makes the batch fail at a different point. */
const LEFT = [0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024].map((kilobytes) => kilobytes * KILOBYTE)

const SOURCE: TableIdentifier = { namespace: ['d'], name: 'source' }
const SINK: TableIdentifier = { namespace: ['d'], name: 'sink' }

/** Whether this process may mount small file systems; logs when it may not. */
function canMount(): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'mount-'))
  try {
    mount(probe, '1m')
    execFileSync('umount', [probe])
    return true
  } catch (error) {
    process.stderr.write(`\nSKIPPED: pipelines on full disks: mounting is not allowed here (${String(error)})\n`)
    return false
  } finally {
    rmSync(probe, { recursive: true, force: true })
  }
}

function mount(folder: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'pipe' })
}

/**
 * A pipeline whose sink, checkpoint and scratch folder are on separate small disks, with a source that has enough
 * space.
 */
describe.skipIf(!canMount())('a pipeline on disks that become full', { timeout: 600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'streaming-disk-'))
  const warehouse = `${folder}/lake/warehouse`
  const home = `${folder}/home`
  const disks = { sink: `${warehouse}/d/sink`, checkpoint: `${warehouse}/checkpoints`, scratch: `${home}/scratch` }
  type Disk = keyof typeof disks
  let lake: Lakehouse
  let service: Service
  let pipelineId = ''
  let rows = 0

  beforeAll(async () => {
    lake = await openLakehouse(`${folder}/lake`)
    await lake.catalog.createNamespace(['d'])
    mkdirSync(home)
    mount(home, '64m')
    for (const disk of Object.values(disks)) {
      mkdirSync(disk, { recursive: true })
      mount(disk, '32m')
    }
    const fields = [
      { id: 1, name: 'id', required: false, type: { kind: 'long' as const } },
      { id: 2, name: 'text', required: false, type: { kind: 'string' as const } },
    ]
    for (const identifier of [SOURCE, SINK])
      await lake.catalog.createTable(identifier, { schema: { schemaId: 0, identifierFieldIds: [], fields } })
    await write()
    service = await Service.start({ home })
    await service.configure(lake.settings)
    const answer = await service.post('/api/pipeline/start', {
      source_table: 'd.source',
      sink_table: 'd.sink',
      checkpoint_location: `${disks.checkpoint}/one`,
      trigger_interval: '100 ms',
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    ;({ id: pipelineId } = answer.body['pipeline'] as { id: string })
    await untilCopied()
  }, 300_000)

  afterAll(async () => {
    await service?.stop()
    await lake?.close()
    for (const disk of Object.values(disks)) execFileSync('umount', [disk])
    execFileSync('umount', [home])
    rmSync(folder, { recursive: true, force: true })
  })

  async function write(): Promise<void> {
    // texts that compress badly, so that files have some size
    await lake.append(
      SOURCE,
      `SELECT i AS c1, md5(i::VARCHAR) || md5((i + 1)::VARCHAR) AS c2 FROM range(${rows}, ${rows + 500}) t(i)`,
    )
    rows += 500
  }

  async function sinkIds(): Promise<number[]> {
    const table = await lake.catalog.loadTable(SINK)
    const schema = currentSchema(table.metadata)
    const ids: number[] = []
    for await (const row of lake.engine.readRows({ ...table, schema, inputs: await planFiles(table) })) {
      ids.push(Number(row['id']))
    }
    return ids.sort((a, b) => a - b)
  }

  interface Pipeline {
    readonly state: string
    readonly error: { readonly code: string } | null
    readonly last_progress: { readonly batch_id: number } | null
  }
  const status = async (): Promise<Pipeline> =>
    (await service.read<{ pipeline: Pipeline }>(`/api/pipeline/${pipelineId}/status`)).pipeline

  const soon = (what: string, check: () => Promise<boolean>, ms = 60_000): Promise<true> =>
    until(check, async () => `${what}: ${JSON.stringify(await status())}\n${service.log}`, ms)

  async function untilCopied(): Promise<void> {
    await soon('all rows in the sink', async () => (await sinkIds()).length >= rows)
    expect(await sinkIds()).toEqual(Array.from({ length: rows }, (_, id) => id))
  }

  /** Fills a disk up to this many free bytes. */
  async function fill(disk: string, leave: number): Promise<void> {
    const { bavail, bsize } = await statfs(disk)
    try {
      writeFileSync(`${disk}/ballast`, Buffer.alloc(Math.max(0, bavail * bsize - leave)))
    } catch (error) {
      // the service has written meanwhile: no byte is left
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
    }
  }

  async function fillAndRelease(disk: Disk, leave: number): Promise<string> {
    await fill(disks[disk], leave)
    const before = (await status()).last_progress?.batch_id
    await write()
    await soon('a batch, or the reason why there is none', async () => {
      const { state, last_progress: last } = await status()
      return state === 'degraded' || last?.batch_id !== before
    })
    const { state, error } = await status()
    const seen = await sinkIds()
    // a batch is complete or absent
    expect([rows - 500, rows]).toContain(seen.length)
    rmSync(`${disks[disk]}/ballast`)
    await untilCopied()
    await soon('a running pipeline', async () => (await status()).state === 'running')
    expect((await status()).error).toBeNull()
    return state === 'degraded' ? (error?.code ?? 'none') : 'done'
  }

  it.each(Object.keys(disks) as Disk[])('the %s disk: degraded with the reason, then all rows once', async (disk) => {
    const outcomes: string[] = []
    for (const leave of LEFT) outcomes.push(await fillAndRelease(disk, leave))
    process.stdout.write(
      `\n${disk} disk, ${LEFT.map((left) => left / KILOBYTE).join(', ')} KB left: ${outcomes.join(', ')}\n`,
    )
    for (const outcome of outcomes) expect(['done', 'NO_SPACE']).toContain(outcome)
    // without free space no batch can be written here
    expect(outcomes[0]).toBe('NO_SPACE')
  })

  it('the disk of the state, for longer than a lease: read batches stay read, and the pipeline resumes', async () => {
    await fill(home, 0)
    for (let at = 0; at < 6; at += 1) {
      await write()
      await sleep(2500)
      expect((await service.get('/api/health/live')).status).toBe(200)
    }
    const seen = await sinkIds()
    expect(seen).toEqual(seen.map((_, id) => id))
    rmSync(`${home}/ballast`)
    await untilCopied()
    await soon('a running pipeline', async () => (await status()).state === 'running')
  })

  it('all of them at once, with the process killed in between', async () => {
    for (const disk of Object.values(disks)) await fill(disk, 0)
    await write()
    await soon('the reason', async () => (await status()).state === 'degraded')
    await service.kill()
    service = await Service.start({ home })
    await sleep(500)
    for (const disk of Object.values(disks)) rmSync(`${disk}/ballast`)
    await untilCopied()
  })
})

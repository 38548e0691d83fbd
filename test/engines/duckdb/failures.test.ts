import {
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createDuckDbEngine } from '../../../src/engines/duckdb/duckdb-engine.ts'
import type { RewriteTask } from '../../../src/engines/engine.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import type { FileIO } from '../../../src/iceberg/io/file-io.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import { column, field, Lake, readAll, schemaOf, tableMetadata } from './harness/lake.ts'
import { later, sleep } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const lake = new Lake()
afterAll(() => lake.close())

const schema = schemaOf([field(1, 'id', 'long'), field(2, 'name', 'string')])
const ids = '{id: 1, name: 2}'

function input(rows = 1000): Promise<FileScanTask> {
  return lake.data(`SELECT i AS id, md5(i::VARCHAR) AS name FROM range(${rows}) r(i)`, ids)
}

describe('inputs that cannot be read', () => {
  let before: string[]
  beforeEach(() => {
    before = lake.leftovers()
  })

  async function failure(inputs: readonly FileScanTask[], overrides: Partial<RewriteTask> = {}): Promise<unknown> {
    const engine = await lake.engine()
    const error: unknown = await engine.rewrite(lake.task({ schemas: [schema] }, inputs, overrides)).then(
      () => 'no error',
      (reason: unknown) => reason,
    )
    expect(lake.leftovers()).toEqual(before)
    if (error instanceof IcebergError) expect(error.message).not.toContain('lockhouse-engine-')
    return error
  }

  it('missing', async () => {
    const good = await input()
    const gone = { ...good, dataFile: { ...good.dataFile, filePath: lake.path('gone.parquet') } }
    expect(await failure([good, gone])).toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: expect.stringContaining('gone.parquet'),
    })
  })

  it('truncated', async () => {
    const bad = await input()
    truncateSync(bad.dataFile.filePath, bad.dataFile.fileSizeInBytes - 20)
    expect(await failure([await input(), bad])).toMatchObject({
      code: 'CORRUPT_FILE',
      message: expect.stringContaining(bad.dataFile.filePath),
    })
  })

  it('empty, garbage, or a folder', async () => {
    const bad = await input()
    const { filePath } = bad.dataFile
    for (const bytes of [
      new Uint8Array(),
      new Uint8Array([1, 2, 3]),
      new Uint8Array(5000).fill(7),
      Buffer.from(`PAR1${'x'.repeat(500)}PAR1`),
    ]) {
      writeFileSync(filePath, bytes)
      expect(await failure([bad])).toMatchObject({ code: 'CORRUPT_FILE', message: expect.stringContaining(filePath) })
    }
    unlinkSync(filePath)
    mkdirSync(filePath)
    expect(await failure([bad])).toMatchObject({ code: 'CORRUPT_FILE' })
  })

  it('damaged inside', async () => {
    const bad = await input(50_000)
    const bytes = readFileSync(bad.dataFile.filePath)
    bytes.fill(0xa5, 100, 400_000)
    writeFileSync(bad.dataFile.filePath, bytes)
    expect(await failure([bad])).toMatchObject({ code: 'CORRUPT_FILE' })
  })

  it('with a footer full of noise', async () => {
    const good = await input(500)
    const bytes = readFileSync(good.dataFile.filePath)
    const footerLength = bytes.readUInt32LE(bytes.length - 8)
    const engine = await lake.engine()
    let refused = 0
    for (let seed = 1; seed <= 60; seed += 1) {
      const noisy = Buffer.from(bytes)
      for (let n = 0; n < 4; n += 1) {
        const at = bytes.length - 8 - footerLength + ((seed * 7919 + n * 104729) % footerLength)
        noisy[at] = (seed * 31 + n * 17) & 0xff
      }
      writeFileSync(good.dataFile.filePath, noisy)
      await engine.rewrite(lake.task({ schemas: [schema] }, [good])).catch((error: unknown) => {
        if (!(error instanceof IcebergError)) throw error
        refused += 1
      })
    }
    expect(refused).toBeGreaterThan(10)
    writeFileSync(good.dataFile.filePath, bytes)
    expect((await engine.rewrite(lake.task({ schemas: [schema] }, [good]))).rowsWritten).toBe(500)
    before = lake.leftovers()
  })

  it('with another number of rows than the manifest says', async () => {
    const bad = await input()
    const wrong = { ...bad, dataFile: { ...bad.dataFile, recordCount: 999 } }
    expect(await failure([wrong])).toMatchObject({ code: 'CORRUPT_FILE', message: expect.stringContaining('999') })
  })

  it.each([
    ['ORC', { fileFormat: 'orc' }],
    ['an unknown format', { fileFormat: 'lance' }],
    ['encrypted', { keyMetadata: new Uint8Array([1]) }],
  ])('%s', async (_, overrides) => {
    const bad = await input()
    expect(await failure([await input(), { ...bad, dataFile: { ...bad.dataFile, ...overrides } }])).toMatchObject({
      code: 'UNSUPPORTED',
    })
    const deletes = [await lake.equalityDeletes('SELECT 1::BIGINT AS id', '{id: 1}', [1])]
    const badDelete = { ...bad, deletes: deletes.map((ref) => ({ ...ref, file: { ...ref.file, ...overrides } })) }
    expect(await failure([badDelete])).toMatchObject({ code: 'UNSUPPORTED' })
  })

  it('of an encrypted table', async () => {
    const metadata = { ...tableMetadata({ schemas: [schema] }), encrypted: true }
    expect(await failure([await input()], { metadata })).toMatchObject({ code: 'UNSUPPORTED' })
  })

  it('bad requests of the caller', async () => {
    const good = await input()
    const output = (properties: Record<string, string>, targetFileSizeBytes = 1000): RewriteTask['output'] =>
      lake.output(schema, { properties, targetFileSizeBytes })
    expect(await failure([good], { output: output({ 'write.parquet.compression-codec': 'lzo' }) })).toMatchObject({
      code: 'UNSUPPORTED',
    })
    for (const property of ['encryption.key-id', 'parquet.encryption.footer.key']) {
      expect(await failure([good], { output: output({ [property]: 'k' }) })).toMatchObject({ code: 'UNSUPPORTED' })
    }
    expect(await failure([good], { output: output({}, 0) })).toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

describe('outputs that cannot be placed', () => {
  it('remove those that were already placed', async () => {
    const engine = await lake.engine()
    const before = lake.leftovers()
    const blocked = lake.path('out/blocked.parquet')
    mkdirSync(lake.path('out'), { recursive: true })
    writeFileSync(blocked, 'mine')
    const output = lake.output(schema, {
      targetFileSizeBytes: 400_000,
      newDataLocation: (_, index) => (index === 1 ? blocked : lake.path(`out/placed-${index}.parquet`)),
    })
    const task = lake.task({ schemas: [schema] }, [await input(400_000)], { output })
    await expect(engine.rewrite(task)).rejects.toMatchObject({ code: 'FILE_EXISTS' })
    expect(readFileSync(blocked, 'utf8')).toBe('mine')
    unlinkSync(blocked)
    expect(lake.leftovers()).toEqual(before)
  })

  it('report a full disk', async () => {
    const engine = await lake.engine()
    const before = lake.leftovers()
    const io = withMoveIn(lake.io, () => Promise.reject(new IcebergError('NO_SPACE', 'no space left on device')))
    await expect(engine.rewrite({ ...lake.task({ schemas: [schema] }, [await input()]), io })).rejects.toMatchObject({
      code: 'NO_SPACE',
    })
    expect(lake.leftovers()).toEqual(before)
  })

  it('are removed when the run is cancelled between two of them', async () => {
    const engine = await lake.engine()
    const before = lake.leftovers()
    const controller = new AbortController()
    const io = withMoveIn(lake.io, async (path, location) => {
      await lake.io.moveIn(path, location)
      controller.abort()
    })
    const output = lake.output(schema, { targetFileSizeBytes: 400_000 })
    const task = { ...lake.task({ schemas: [schema] }, [await input(400_000)], { output }), io }
    await expect(engine.rewrite(task, { signal: controller.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(lake.leftovers()).toEqual(before)
  })
})

function withMoveIn(io: FileIO, moveIn: FileIO['moveIn']): FileIO {
  return {
    read: (location) => io.read(location),
    readRange: (location, offset, length) => io.readRange(location, offset, length),
    create: (location, bytes) => io.create(location, bytes),
    write: (location, bytes) => io.write(location, bytes),
    stat: (location) => io.stat(location),
    list: (location) => io.list(location),
    delete: (location) => io.delete(location),
    localPath: (location) => io.localPath(location),
    moveIn,
  }
}

describe('cancelling', () => {
  it('stops quickly and leaves no files', LONG, async () => {
    const engine = await lake.engine()
    const big = await input(6_000_000)
    const before = lake.leftovers()
    for (const delay of [0, 30, 300, 900]) {
      const controller = new AbortController()
      const started = performance.now()
      let aborted = 0
      later(delay, () => {
        aborted = performance.now()
        controller.abort()
      })
      const sortOrder = {
        orderId: 1,
        fields: [
          {
            sourceId: 2,
            transform: { kind: 'identity' as const },
            direction: 'asc' as const,
            nullOrder: 'nulls-first' as const,
          },
        ],
      }
      await expect(
        engine.rewrite(lake.task({ schemas: [schema] }, [big], { sortOrder }), { signal: controller.signal }),
      ).rejects.toMatchObject({ code: 'CANCELLED' })
      expect(performance.now() - Math.max(aborted, started)).toBeLessThan(20_000)
      expect(lake.leftovers()).toEqual(before)
    }
    expect(
      await engine.countRows({ io: lake.io, metadata: tableMetadata({ schemas: [schema] }), schema, inputs: [big] }),
    ).toBe(6_000_000)
  })

  it('works before the start and while waiting for a slot', LONG, async () => {
    const engine = await createDuckDbEngine({ scratchDir: lake.path('one'), maxConcurrent: 1, threads: 1 })
    const task = lake.task({ schemas: [schema] }, [await input(1_500_000)])
    await expect(engine.rewrite(task, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' })
    const first = engine.rewrite(task)
    const controller = new AbortController()
    const second = engine.rewrite(lake.task({ schemas: [schema] }, task.inputs), { signal: controller.signal })
    later(20, () => controller.abort())
    await expect(second).rejects.toMatchObject({ code: 'CANCELLED' })
    expect((await first).rowsWritten).toBe(1_500_000)
    await engine.close()
  })

  it('happens to work that is just beginning when the engine is closed', async () => {
    for (let round = 0; round < 5; round += 1) {
      const engine = await createDuckDbEngine({ scratchDir: lake.path(`beginning-${round}`), threads: 1 })
      if (round > 0) await engine.ping()
      const beginning = Promise.allSettled([1, 2, 3].map(() => engine.ping()))
      await Promise.all([engine.close(), engine.load?.()])
      for (const outcome of await beginning) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ name: 'IcebergError' })
        else expect(outcome.value).toBe('ready')
      }
    }
  })

  it('happens to running work when the engine is closed', LONG, async () => {
    const engine = await createDuckDbEngine({ scratchDir: lake.path('closing'), threads: 1 })
    const before = lake.leftovers()
    const running = engine.rewrite(lake.task({ schemas: [schema] }, [await input(4_000_000)]))
    const outcome = expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
    await sleep(150)
    await engine.close()
    await outcome
    await expect(engine.ping()).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringContaining('closed'),
    })
    expect(lake.leftovers()).toEqual(before)
    expect(existsSync(lake.path('closing'))).toBe(true)
  })
})

describe('memory', () => {
  it('sorts more than fits by spilling', LONG, async () => {
    const engine = await createDuckDbEngine({
      scratchDir: lake.path('small'),
      memoryLimitBytes: 256 * 1024 ** 2,
      threads: 2,
    })
    const big = await lake.data(
      `SELECT i AS id, md5(i::VARCHAR) || md5((i + 1)::VARCHAR) AS name FROM range(3000000) r(i)`,
      ids,
    )
    const sortOrder = {
      orderId: 1,
      fields: [
        {
          sourceId: 2,
          transform: { kind: 'identity' as const },
          direction: 'asc' as const,
          nullOrder: 'nulls-first' as const,
        },
      ],
    }
    const { rowsWritten } = await engine.rewrite(lake.task({ schemas: [schema] }, [big], { sortOrder }))
    expect(rowsWritten).toBe(3_000_000)
    await engine.close()
  })

  it('that is not sufficient is an error, and the process keeps running', async () => {
    const engine = await createDuckDbEngine({
      scratchDir: lake.path('tiny'),
      memoryLimitBytes: 64 * 1024 ** 2,
      threads: 2,
    })
    const query = 'SELECT list(i) AS c1 FROM range(30000000) r(i)'
    const lists = schemaOf([field(1, 'l', 'list<bigint>')])
    const fields = lists.fields.map((f) => ({
      ...f,
      type: { kind: 'list' as const, elementId: 2, elementRequired: false, element: { kind: 'long' as const } },
    }))
    await expect(engine.append({ io: lake.io, query, output: lake.output(schemaOf(fields)) })).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('ENGINE_MEMORY_LIMIT'),
    })
    await engine.ping()
    await engine.close()
  })
})

describe('files that are not on this machine', () => {
  it('are copied in and out', async () => {
    const engine = await lake.engine()
    const memory = new MemoryFileIO()
    const local = await input(100)
    await memory.create('s3://bucket/a b/é?.parquet', readFileSync(local.dataFile.filePath))
    const remote = { ...local, dataFile: { ...local.dataFile, filePath: 's3://bucket/a b/é?.parquet' } }
    const output = lake.output(schema, { newDataLocation: (_, index) => `s3://bucket/out/${index}.parquet` })
    const { files } = await engine.rewrite({ ...lake.task({ schemas: [schema] }, [remote], { output }), io: memory })
    expect(files.map((file) => file.filePath)).toEqual(['s3://bucket/out/0.parquet'])
    const copy = lake.path('copied.parquet')
    writeFileSync(copy, await memory.read('s3://bucket/out/0.parquet'))
    expect(column(await readAll([{ ...remote.dataFile, filePath: copy }]), 'id')).toHaveLength(100)
  })
})

describe('the scratch folder', () => {
  it('is cleaned of files of ended processes, and of nothing else', async () => {
    const scratch = lake.path('swept')
    const make = (name: string, owner?: object): string => {
      const folder = join(scratch, name)
      mkdirSync(join(folder, 'run-x'), { recursive: true })
      writeFileSync(join(folder, 'run-x', 'part.parquet'), 'half')
      if (owner) writeFileSync(join(folder, 'owner.json'), JSON.stringify(owner))
      return folder
    }
    const { hostname } = await import('node:os')
    const dead = make('lockhouse-engine-dead', { pid: 2 ** 22 + 1, host: hostname() })
    const reborn = make('lockhouse-engine-reborn', { pid: process.pid, host: hostname() })
    const alive = make('lockhouse-engine-alive', { pid: process.ppid, host: hostname() })
    const elsewhere = make('lockhouse-engine-elsewhere', { pid: 1, host: 'another-machine' })
    const abandoned = make('lockhouse-engine-abandoned', { pid: 1, host: 'another-machine' })
    const hourAgo = new Date(Date.now() - 3_600_000)
    utimesSync(join(abandoned, 'owner.json'), hourAgo, hourAgo)
    const fresh = make('lockhouse-engine-fresh')
    const foreign = make('something-else')
    const target = make('target')
    symlinkSync(target, join(scratch, 'lockhouse-engine-link'))
    const first = await createDuckDbEngine({ scratchDir: scratch })
    const second = await createDuckDbEngine({ scratchDir: scratch })
    expect([dead, reborn, abandoned].filter(existsSync)).toEqual([])
    expect(
      [alive, elsewhere, fresh, foreign, target].filter((path) => !existsSync(join(path, 'run-x', 'part.parquet'))),
    ).toEqual([])
    await first.ping()
    await first.close()
    await second.ping()
    await second.close()
  })

  it('must be writable, with a path that is not a glob', async () => {
    await expect(createDuckDbEngine({ scratchDir: lake.path('a[b]') })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    const file = lake.path('a-file')
    writeFileSync(file, '')
    await expect(createDuckDbEngine({ scratchDir: file })).rejects.toMatchObject({ code: 'IO_FAILED' })
    expect(tmpdir()).not.toContain('[')
  })
})

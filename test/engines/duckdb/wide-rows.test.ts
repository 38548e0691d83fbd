import { afterAll, expect, it } from 'vitest'
import { createDuckDbEngine } from '../../../src/engines/duckdb/duckdb-engine.ts'
import { maxVectorBytes } from '../../../src/engines/duckdb/session/width.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import { LONG } from '../../support/effort.ts'
import { field, footer, Lake, schemaOf } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

it('a rewrite of wide files writes smaller row groups when usual ones exceed its memory', async () => {
  const fields = Array.from({ length: 600 }, (_, at) => field(at + 1, `c${at}`, 'double'))
  const columns = fields.map(({ name }) => `random() AS ${name}`).join(', ')
  const ids = fields.map(({ id, name }) => `${name}: ${id}`).join(', ')
  const inputs = []
  for (let file = 0; file < 6; file += 1) inputs.push(await lake.data(`SELECT ${columns} FROM range(4000)`, `{${ids}}`))
  const engine = await createDuckDbEngine({
    scratchDir: lake.path('wide'),
    memoryLimitBytes: 160 * 2 ** 20,
    threads: 2,
  })
  try {
    const task = lake.task({ schemas: [schemaOf(fields)] }, inputs, { verifyValues: true })
    const { files, rowsWritten, values } = await engine.rewrite(task)
    expect([rowsWritten, values?.isEqual]).toEqual([24_000, true])
    const groups = files.flatMap(({ filePath }) =>
      footer(filePath).row_groups.map(({ num_rows: rows }) => Number(rows)),
    )
    expect(Math.max(...groups)).toBeLessThanOrEqual(4096)
  } finally {
    await engine.close()
  }
})

const TEXT = schemaOf([field(1, 'id', 'long'), field(2, 'text', 'string')])

async function withEngine(memoryMiB: number, work: (engine: Engine) => Promise<void>): Promise<void> {
  const scratchDir = lake.path(`memory-${memoryMiB}`)
  const engine = await createDuckDbEngine({ scratchDir, memoryLimitBytes: memoryMiB * 2 ** 20, threads: 2 })
  try {
    await work(engine)
  } finally {
    await engine.close()
  }
}

/** Files of one row group each, whose texts have 2 MB. */
async function wideTexts(files: number, rows: number): Promise<readonly FileScanTask[]> {
  const inputs: FileScanTask[] = []
  for (let file = 0; file < files; file += 1) {
    const text = `repeat(md5((i + ${file * rows})::VARCHAR), 65536)`
    inputs.push(await lake.data(`SELECT i AS id, ${text} AS text FROM range(${rows}) r(i)`, '{id: 1, text: 2}'))
  }
  return inputs
}

interface TextsOptions {
  readonly page: string
  readonly more?: Readonly<Record<string, string>>
}

async function rewriteTexts(
  engine: Engine,
  { page, more }: TextsOptions,
  inputs: readonly FileScanTask[],
): Promise<unknown> {
  const properties = { 'write.parquet.page-version': page, ...more }
  const task = lake.task({ schemas: [TEXT], properties }, inputs, { verifyValues: true })
  const { rowsWritten, values } = await engine.rewrite(task)
  return [rowsWritten, values?.isEqual]
}

it.each(['v1', 'v2'])('a rewrite of row groups of wide texts fits into its memory with pages %s', async (page) => {
  const inputs = await wideTexts(2, 30)
  await withEngine(256, async (engine) => expect(await rewriteTexts(engine, { page }, inputs)).toEqual([60, true]))
})

it('a rewrite of wide texts writes the Bloom filter of another column', async () => {
  const inputs = await wideTexts(2, 30)
  const more = { 'write.parquet.bloom-filter-enabled.column.id': 'true' }
  await withEngine(256, async (engine) => {
    expect(await rewriteTexts(engine, { page: 'v1', more }, inputs)).toEqual([60, true])
  })
})

it.each(['v1', 'v2'])('a rewrite of 120 texts of 2 MB fits into 1 GB with pages %s', LONG, async (page) => {
  const inputs = await wideTexts(1, 120)
  await withEngine(1024, async (engine) => expect(await rewriteTexts(engine, { page }, inputs)).toEqual([120, true]))
})

it('a rewrite of 3,000 columns fits into 1 GB', { ...LONG, timeout: 300_000 }, async () => {
  const fields = Array.from({ length: 3000 }, (_, at) => field(at + 1, `c${at}`, 'double'))
  const columns = fields.map(({ id, name }) => `i * ${id} % 97 + 0.5::DOUBLE AS ${name}`).join(', ')
  const ids = fields.map(({ id, name }) => `${name}: ${id}`).join(', ')
  const inputs: FileScanTask[] = []
  for (let file = 0; file < 6; file += 1)
    inputs.push(await lake.data(`SELECT ${columns} FROM range(3000) r(i)`, `{${ids}}`))
  await withEngine(1024, async (engine) => {
    const { rowsWritten, values } = await engine.rewrite(
      lake.task({ schemas: [schemaOf(fields)] }, inputs, { verifyValues: true }),
    )
    expect([rowsWritten, values?.isEqual]).toEqual([18_000, true])
  })
})

it('a rewrite of texts that exceed its memory names the setting to change', async () => {
  const inputs = await wideTexts(1, 60)
  await withEngine(64, async (engine) => {
    const rewriting = rewriteTexts(engine, { page: 'v1' }, inputs)
    await expect(rewriting).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('ENGINE_MEMORY_LIMIT'),
    })
  })
})

it('maxVectorBytes accepts more files than a call has arguments', () => {
  const files = Array.from({ length: 300_000 }, (_, at) => ({ vectorBytes: at % 1000 }))
  expect([maxVectorBytes(files), maxVectorBytes([])]).toEqual([999, 0])
})

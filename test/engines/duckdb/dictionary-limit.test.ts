import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ScratchFolder } from '../../../src/engines/duckdb/session/scratch.ts'
import { DuckDbSession } from '../../../src/engines/duckdb/session/session.ts'
import type { DuckDbRun } from '../../../src/engines/duckdb/session/session.ts'
import { dictionaryLimit } from '../../../src/engines/duckdb/write/dictionary-limit.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { field, Lake, list, schemaOf } from './harness/lake.ts'

const lake = new Lake()
let scratch: ScratchFolder
let session: DuckDbSession
let run: DuckDbRun

beforeAll(async () => {
  scratch = await ScratchFolder.create(lake.path('limits'))
  session = new DuckDbSession({ scratch, memoryLimitBytes: 512 * 1024 ** 2, threads: 1 })
  run = await session.open('a test')
})
afterAll(async () => {
  await run.close()
  await session.close()
  await scratch.remove()
  await lake.close()
})

const ROWS = 500_000
const ROW_GROUP_ROWS = 122_880
const LARGEST = 10_240

/** The limit for one column; `value` is SQL of the row number `i`. */
function limitOf(value: string, { rowCount = ROWS, type = field(1, 'x', 'long') } = {}): Promise<number> {
  return dictionaryLimit(run, {
    rows: `SELECT ${value} AS c1, i AS c2 FROM range(${ROWS}) r(i)`,
    fields: [type, field(2, 'id', 'long')],
    rowCount,
    rowGroupRows: ROW_GROUP_ROWS,
  })
}

describe('the limit of dictionaries', () => {
  it('is small when all columns have few or mostly distinct values', async () => {
    expect(await limitOf('i % 50')).toBe(1000)
    expect(await limitOf('i')).toBe(1000)
    expect(await limitOf(`'text ' || (hash(i) % 200000)`)).toBe(1000)
  })

  it.each([400, 1000, 2000, 5000, 9000])('is enough for a column with %i distinct values', async (distinct) => {
    const limit = await limitOf(`hash(i) % ${distinct}`)
    expect(limit).toBeGreaterThanOrEqual(distinct)
    expect(limit).toBeLessThanOrEqual(LARGEST)
  })

  it('is enough for a column that gets new values all the time', async () => {
    expect(await limitOf('i // 40')).toBeGreaterThanOrEqual(ROW_GROUP_ROWS / 40)
  })

  it('is the largest when a column has no values at first', async () => {
    expect(await limitOf('CASE WHEN i > 20000 THEN i % 50 END')).toBe(LARGEST)
    expect(await limitOf('NULL::BIGINT')).toBe(LARGEST)
  })

  it('is the largest for nested columns, and for rows too few or not counted', async () => {
    expect(await limitOf('[i % 50]', { type: field(1, 'x', list(3, 'long')) })).toBe(LARGEST)
    expect(await limitOf('i % 50', { rowCount: 4 * ROW_GROUP_ROWS - 1 })).toBe(LARGEST)
    const uncounted = { rows: 'not even SQL', fields: [field(1, 'x', 'long')], rowCount: undefined }
    expect(await dictionaryLimit(run, { ...uncounted, rowGroupRows: ROW_GROUP_ROWS })).toBe(LARGEST)
  })
})

/** Whether every chunk of a column has a dictionary, by column. */
async function dictionaries(files: readonly DataFile[]): Promise<Record<string, boolean>> {
  const rows = await lake.sql(`
    SELECT path_in_schema AS name, bool_and(dictionary_page_offset IS NOT NULL) AS found
    FROM parquet_metadata([${files.map(({ filePath }) => `'${filePath}'`).join(', ')}]) GROUP BY ALL`)
  return Object.fromEntries(rows.map(({ name, found }) => [String(name), found === true]))
}

describe('a rewrite', () => {
  const schema = schemaOf([field(1, 'id', 'long'), field(2, 'kind', 'int'), field(3, 'customer', 'string')])
  const rows = (customers: number): string =>
    `SELECT i AS id, (i % 50)::INTEGER AS kind, 'customer ' || (hash(i) % ${customers}) AS customer FROM range(${ROWS}) r(i)`
  const ids = '{id: 1, kind: 2, customer: 3}'

  it('gives columns with few distinct values a dictionary, and no others', async () => {
    const engine = await lake.engine()
    const inputs = [await lake.data(rows(5000), ids)]
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, inputs, { verifyValues: true }))
    expect(await dictionaries(files)).toEqual({ id: false, kind: true, customer: true })
  })

  it('gives a column a dictionary that has few distinct values only after sorting', async () => {
    const engine = await lake.engine()
    const inputs = [await lake.data(rows(30_000), ids)]
    const unsorted = await engine.rewrite(lake.task({ schemas: [schema] }, inputs))
    expect(await dictionaries(unsorted.files)).toEqual({ id: false, kind: true, customer: false })
    const by = { sourceId: 3, transform: { kind: 'identity' }, direction: 'asc', nullOrder: 'nulls-first' } as const
    const sortOrder = { orderId: 1, fields: [by] }
    const sorted = await engine.rewrite(lake.task({ schemas: [schema] }, inputs, { sortOrder }))
    expect(await dictionaries(sorted.files)).toEqual({ id: false, kind: true, customer: true })
  })
})

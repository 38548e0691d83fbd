import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDuckDbSandbox } from '../../../../src/engines/duckdb/worker/sandbox.ts'
import type { CompareTask, Engine, QueryInput } from '../../../../src/engines/engine.ts'
import type { QueryComparison } from '../../../../src/engines/query-comparison.ts'
import type { SqlSandbox } from '../../../../src/engines/sql-sandbox.ts'
import { LONG } from '../../../support/effort.ts'
import { field, Lake, schemaOf, tableMetadata } from '../harness/lake.ts'

const MIB = 2 ** 20
const FIELDS = [field(1, 'id', 'long'), field(2, 'name', 'string'), field(3, 'amount', 'double')]
const IDS = '{id: 1, name: 2, amount: 3}'
const ROWS = `SELECT i::BIGINT AS id, 'n' || (i % 3) AS name, i / 2 AS amount FROM range(6) t(i)`

const lake = new Lake()
let engine: Engine
let sandbox: SqlSandbox
let input: QueryInput
beforeAll(async () => {
  engine = await lake.engine()
  sandbox = createDuckDbSandbox()
  const metadata = tableMetadata({ schemas: [schemaOf(FIELDS)] })
  const inputs = [await lake.data(ROWS, IDS)]
  input = { name: 'rows_in', io: lake.io, metadata, fields: FIELDS, columnsBy: 'name', inputs }
})
afterAll(async () => {
  await sandbox.close()
  await lake.close()
})

const described = async (query: string) => ({
  query,
  columns: await sandbox.describe([{ name: 'rows_in', columns: sandbox.columnsOf(FIELDS) }], query),
})

async function compare(candidate: string, base?: string, more: Partial<CompareTask> = {}): Promise<QueryComparison> {
  return engine.compareQueries({
    inputs: [input],
    candidate: await described(candidate),
    ...(base === undefined ? {} : { base: await described(base) }),
    limits: { seconds: 60, memoryBytes: 128 * MIB, diskBytes: 256 * MIB },
    maxExactValues: 1000,
    sample: { maxRows: 20, maxBytes: 10_000, maxTextLength: 100 },
    ...more,
  })
}

const ALL = 'SELECT * FROM rows_in'

describe('comparing two queries over the same rows', () => {
  it('finds no difference between equal results, in whatever order', async () => {
    const found = await compare(ALL, `${ALL} ORDER BY id DESC`)
    expect(found).toMatchObject({
      inputRows: [6],
      isDistinctExact: true,
      candidate: { rows: 6, nulls: [0, 0, 0], distinct: [6, 3, 6], rowsOnlyHere: 0, sample: [] },
      base: { rows: 6, nulls: [0, 0, 0], distinct: [6, 3, 6], rowsOnlyHere: 0, sample: [] },
    })
  })

  it('counts and shows the rows of one result only', async () => {
    const found = await compare(`${ALL} WHERE id < 4`, `${ALL} WHERE id > 0`)
    expect(found.candidate).toMatchObject({ rows: 4, rowsOnlyHere: 1, sample: [['0', 'n0', 0]] })
    expect(found.base).toMatchObject({
      rows: 5,
      rowsOnlyHere: 2,
      sample: [
        ['4', 'n1', 2],
        ['5', 'n2', 2.5],
      ],
    })
  })

  it('counts equal rows as often as they occur, and shows each once', async () => {
    const found = await compare(
      `SELECT name FROM rows_in UNION ALL SELECT name FROM rows_in`,
      'SELECT name FROM rows_in',
    )
    expect(found.candidate).toMatchObject({ rows: 12, rowsOnlyHere: 6, sample: [['n0'], ['n1'], ['n2']] })
    expect(found.base).toMatchObject({ rows: 6, rowsOnlyHere: 0, sample: [] })
  })

  it('treats NULLs and NaNs as equal, but not zeros of different sign, at any depth', async () => {
    const nothing = `SELECT NULL::DOUBLE AS x, 'nan'::DOUBLE AS y FROM rows_in`
    expect((await compare(nothing, nothing)).candidate).toMatchObject({
      nulls: [6, 0],
      distinct: [0, 1],
      rowsOnlyHere: 0,
    })
    const zero = (sign: string) => `SELECT ${sign}0.0::DOUBLE AS x, [{'a': 1.5::DOUBLE}] AS y FROM rows_in`
    expect((await compare(zero(''), zero('-'))).candidate.rowsOnlyHere).toBe(6)
    const deep = (sign: string) => `SELECT [{'a': ${sign}0.0::DOUBLE}] AS y FROM rows_in`
    expect((await compare(deep(''), deep(''))).candidate.rowsOnlyHere).toBe(0)
    expect((await compare(deep(''), deep('-'))).candidate.rowsOnlyHere).toBe(6)
    const nested = (value: string) => `SELECT ${value} AS s, map {'k': [id]} AS m FROM rows_in`
    const nullStruct = await compare(nested("{'a': NULL::INT}"), nested('NULL::STRUCT(a INT)'))
    expect(nullStruct.candidate).toMatchObject({ rowsOnlyHere: 6, distinct: [1, 6] })
  })

  it('compares columns of different types as text, and pairs names whatever their case', async () => {
    const found = await compare('SELECT id::INTEGER AS ID FROM rows_in', 'SELECT id FROM rows_in')
    expect(found.candidate).toMatchObject({ rowsOnlyHere: 0, sample: [] })
    const decimals = await compare('SELECT id::DECIMAL(9,1) AS id FROM rows_in', 'SELECT id FROM rows_in')
    expect(decimals.candidate).toMatchObject({ rowsOnlyHere: 6 })
  })

  it('compares the columns that both have, and shows all of them', async () => {
    const found = await compare(
      `SELECT id, name, 1 AS extra FROM rows_in WHERE id < 5`,
      'SELECT id, amount, name FROM rows_in',
    )
    expect(found.candidate).toMatchObject({ rowsOnlyHere: 0, distinct: [5, 3, 1] })
    expect(found.base).toMatchObject({ rowsOnlyHere: 1, sample: [['5', 2.5, 'n2']] })
    const nothing = await compare('SELECT 1 AS a FROM rows_in', 'SELECT 2 AS b FROM rows_in')
    expect([nothing.candidate.rowsOnlyHere, nothing.base?.rowsOnlyHere]).toEqual([6, 6])
  })

  it('takes everything as new without a base, or when the base fails on a value', async () => {
    const alone = await compare(ALL)
    expect(alone.candidate).toMatchObject({ rows: 6, rowsOnlyHere: 6 })
    expect(alone.candidate.sample).toHaveLength(6)
    expect(alone.base).toBeUndefined()
    const broken = await compare(ALL, 'SELECT name::INTEGER AS name FROM rows_in')
    expect(broken.candidate).toMatchObject({ rows: 6, rowsOnlyHere: 6 })
    expect(broken.base).toBeUndefined()
    expect(broken.baseProblem).toContain('Could not convert string')
    await expect(compare('SELECT name::INTEGER AS name FROM rows_in', ALL)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })

  it('gives both queries the same time', async () => {
    const stamped = 'SELECT id, now() AS at, current_date AS day FROM rows_in'
    expect((await compare(stamped, stamped)).candidate.rowsOnlyHere).toBe(0)
  })

  it('reads only the first rows of an input when asked, the same for both', async () => {
    const found = await compare(ALL, ALL, { inputs: [{ ...input, maxRows: 2 }] })
    expect(found).toMatchObject({ inputRows: [2], candidate: { rows: 2, rowsOnlyHere: 0 }, base: { rows: 2 } })
  })

  it('reads inputs with deletes next to others of which only some rows are read', async () => {
    const { inputs } = input
    const [first] = inputs
    const path = first?.dataFile.filePath ?? ''
    const deleted = inputs.map((one) => ({ ...one, deletes: [] as unknown[] }))
    const deletes = [await lake.positionDeletes([[path, 0]])]
    const others = [
      { ...input, name: 'rows_in', inputs: deleted.map((one) => ({ ...one, deletes })) },
      { ...input, name: 'more_rows', maxRows: 3 },
    ]
    const query = {
      query: 'SELECT a.id FROM rows_in a JOIN more_rows b ON a.id = b.id',
      columns: [{ name: 'id', engineType: 'BIGINT', type: { kind: 'long' } }],
    } as const
    const found = await compare(ALL, undefined, { inputs: others, candidate: query })
    expect(found).toMatchObject({ inputRows: [5, 3], candidate: { rows: 2, distinct: [2] } })
  })

  it('compares inputs without rows', async () => {
    const found = await compare(ALL, `${ALL} WHERE id > 1`, { inputs: [{ ...input, inputs: [] }] })
    expect(found).toMatchObject({
      inputRows: [0],
      candidate: { rows: 0, nulls: [0, 0, 0], rowsOnlyHere: 0, sample: [] },
    })
  })

  it('approximates the number of distinct values of large results, of every kind of column', async () => {
    const wide = `SELECT *, {'a': id} AS s, [id] AS l, map {name: id} AS m, 'x'::BLOB AS b FROM rows_in`
    const found = await compare(wide, wide, { maxExactValues: 10 })
    expect(found.isDistinctExact).toBe(false)
    for (const side of [found.candidate, found.base]) expect(side?.distinct[1]).toBe(3)
    expect(found.candidate.distinct).toHaveLength(7)
  })

  it('bounds its samples', async () => {
    const long = `SELECT repeat(name, 1000) || id AS long, id FROM rows_in`
    const cut = await compare(long, undefined, { sample: { maxRows: 2, maxBytes: 10_000, maxTextLength: 10 } })
    expect(cut.candidate.sample).toEqual([
      ['n0n0n0n0n0…', '0'],
      ['n1n1n1n1n1…', '1'],
    ])
    expect(cut.candidate.isSampleCut).toBe(true)
    const small = await compare(ALL, undefined, { sample: { maxRows: 20, maxBytes: 30, maxTextLength: 10 } })
    expect(small.candidate.sample.length).toBeLessThan(6)
    expect(small.candidate).toMatchObject({ isSampleCut: true, rowsOnlyHere: 6 })
  })

  it('stops at its limits, and when cancelled, and leaves nothing behind', { ...LONG, timeout: 180_000 }, async () => {
    const endless = 'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) AS n FROM t'
    const limits = { seconds: 1, memoryBytes: 128 * MIB, diskBytes: 256 * MIB }
    await expect(compare(endless, ALL, { limits })).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('longer than 1 s'),
    })
    await expect(compare(ALL, endless, { limits })).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    const huge = `SELECT a.range AS a, b.range AS b, hash(a.range * b.range) AS h FROM range(10000) a, range(10000) b`
    await expect(compare(huge, ALL, { limits: { ...limits, seconds: 60, diskBytes: 20 * MIB } })).rejects.toMatchObject(
      { code: 'LIMIT_EXCEEDED', message: expect.stringContaining('20 MiB') },
    )
    const controller = new AbortController()
    const query = { inputs: [input], candidate: await described(endless), limits, maxExactValues: 0 }
    const running = engine.compareQueries(
      { ...query, limits: { ...limits, seconds: 60 }, sample: { maxRows: 1, maxBytes: 1, maxTextLength: 1 } },
      { signal: controller.signal },
    )
    controller.abort()
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(lake.leftovers()).toEqual([])
    expect(readdirSync(lake.scratch, { recursive: true }).filter((name) => String(name).includes('query-'))).toEqual([])
  })

  it('spills what does not fit into memory', { ...LONG, timeout: 180_000 }, async () => {
    const many = (more: string) =>
      `SELECT a.range * 1000 + b.range AS n, hash(a.range + b.range) AS h FROM range(2000) a, range(1000) b ${more}`
    const found = await compare(many(''), many('WHERE a.range < 1999'), {
      limits: { seconds: 60, memoryBytes: 64 * MIB, diskBytes: 2048 * MIB },
    })
    expect(found.candidate).toMatchObject({ rows: 2_000_000, rowsOnlyHere: 1000 })
    expect(found.base).toMatchObject({ rows: 1_999_000, rowsOnlyHere: 0 })
  })
})

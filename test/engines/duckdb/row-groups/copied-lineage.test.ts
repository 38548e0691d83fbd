import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { decompress } from 'fzstd'
import { parquetReadObjects } from 'hyparquet'
import type { ParquetQueryFilter } from 'hyparquet'
import { afterAll, describe, expect, it } from 'vitest'
import {
  binaryField,
  integerField,
  readStructs,
  structField,
  structList,
} from '../../../../src/engines/duckdb/parquet/compact-struct.ts'
import type { RowGroupCopyResult } from '../../../../src/engines/row-group-copy.ts'
import { isIcebergError } from '../../../../src/iceberg/errors.ts'
import { LAST_UPDATED, ROW_ID } from '../../../../src/iceberg/schema/lineage-columns.ts'
import type { FileScanTask } from '../../../../src/iceberg/scan/scan.ts'
import { valueFromBytes } from '../../../../src/iceberg/values/values.ts'
import { isLongRun, runs } from '../../../support/effort.ts'
import { footer, Lake, schemaOf, task } from '../harness/lake.ts'
import { COLUMNS } from './columns.ts'
import { footerOf, inFirst, inGroup, inStruct, set, withChangedFooter } from './changed-footer.ts'
import type { Change } from './changed-footer.ts'
import { copyTask } from './copy-task.ts'

const lake = new Lake()
afterAll(() => lake.close())

/** How often a file stores a lineage column: not as a column, or as one in which every n-th row is null (0: none, 1: all). */
type Stored = 'no' | 0 | 1 | 2 | 7

interface FileShape {
  readonly rows: number
  readonly rowGroupRows: number
  readonly rowIds: Stored
  readonly sequences: Stored
  /** Where the lineage columns are among the others. */
  readonly place: 'first' | 'last' | 'around'
  readonly firstRowId: number | undefined
  readonly sequenceNumber: number
}

interface TableCase {
  readonly columns: readonly number[]
  readonly codec: string
  readonly options: string
  readonly files: readonly FileShape[]
  readonly outputFiles: number
}

const storage = fc.constantFrom<Stored>('no', 'no', 0, 1, 2, 7)

const fileShape = fc.record<FileShape>({
  rows: fc.oneof(
    { weight: 15, arbitrary: fc.integer({ min: 1, max: 5000 }) },
    { weight: 1, arbitrary: fc.constant(40_000) },
  ),
  rowGroupRows: fc.constantFrom(2048, 4096, 122_880),
  rowIds: storage,
  sequences: storage,
  place: fc.constantFrom('first', 'last', 'around'),
  firstRowId: fc.option(fc.integer({ min: 0, max: 2 ** 40 }), { nil: undefined, freq: 5 }),
  sequenceNumber: fc.integer({ min: 0, max: 2 ** 33 }),
})

const tableCase = fc.record<TableCase>({
  columns: fc.subarray([...COLUMNS.keys()], { minLength: 1 }),
  codec: fc.constantFrom('zstd', 'snappy', 'uncompressed', 'gzip'),
  options: fc.constantFrom('', ', WRITE_BLOOM_FILTER true, DICTIONARY_SIZE_LIMIT 100000', ', PARQUET_VERSION V2'),
  files: fc.array(fileShape, { minLength: 1, maxLength: 4 }),
  outputFiles: fc.constantFrom(1, 1, 2),
})

/** Row id and sequence number of row `i` of the table, as a file stores them. */
const STORED = [
  {
    id: ROW_ID.id,
    name: '_row_id',
    sql: '(i * 7919) % 1000003',
    value: (i: number) => (BigInt(i) * 7919n) % 1_000_003n,
  },
  { id: LAST_UPDATED.id, name: '_last_updated_sequence_number', sql: 'i % 13', value: (i: number) => BigInt(i) % 13n },
] as const

const isNull = (every: Stored, i: number): boolean => every === 'no' || (every !== 0 && i % every === 0)

async function makeFile(
  shape: FileShape,
  { columns, codec, options }: TableCase,
  before: number,
): Promise<FileScanTask> {
  const chosen = COLUMNS.filter((_, at) => columns.includes(at))
  const own = chosen.map(({ field: { name }, sql, ids }) => ({ select: `${sql} AS ${name}`, ids }))
  const lineage = STORED.flatMap(({ id, name, sql }, at) => {
    const every = at === 0 ? shape.rowIds : shape.sequences
    if (every === 'no') return []
    const value = every === 0 ? sql : `CASE WHEN i % ${every} = 0 THEN NULL ELSE ${sql} END`
    return [{ select: `(${value})::BIGINT AS ${name}`, ids: `${name}: ${id}` }]
  })
  const all = {
    first: [...lineage, ...own],
    last: [...own, ...lineage],
    around: [...lineage.slice(0, 1), ...own, ...lineage.slice(1)],
  }[shape.place]
  const query = `SELECT ${all.map(({ select }) => select).join(', ')} FROM range(${before}, ${before + shape.rows}) r(i)`
  const ids = `{${all.map((column) => column.ids).join(', ')}}`
  const more = `, COMPRESSION ${codec}, ROW_GROUP_SIZE ${shape.rowGroupRows}${options}`
  const { firstRowId, sequenceNumber } = shape
  const { dataFile } = await lake.data(query, `${ids}${more}`, firstRowId === undefined ? {} : { firstRowId })
  return task(dataFile, [], sequenceNumber)
}

/** What readers must see in a file: the stored value, else what the file gives. */
function expectedLineage({ rows, rowIds, sequences, firstRowId, sequenceNumber }: FileShape, before: number) {
  const [rowId, sequence] = STORED
  return Array.from({ length: rows }, (_, position) => {
    const i = before + position
    const inherited = firstRowId === undefined ? null : BigInt(firstRowId + position)
    const updated = firstRowId === undefined ? null : BigInt(sequenceNumber)
    return [isNull(rowIds, i) ? inherited : rowId.value(i), isNull(sequences, i) ? updated : sequence.value(i)] as const
  })
}

const COMPRESSORS = {
  ZSTD: (input: Uint8Array): Uint8Array => decompress(input),
  GZIP: (input: Uint8Array): Uint8Array => new Uint8Array(gunzipSync(input)),
}

function fileBytes(path: string): ArrayBuffer {
  const bytes = readFileSync(path)
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)
}

/** Row lineage by hyparquet, which knows nothing of the engine. */
async function lineageByHyparquet(path: string, filter?: ParquetQueryFilter) {
  const rows = await parquetReadObjects({
    file: fileBytes(path),
    compressors: COMPRESSORS,
    columns: [ROW_ID.name, LAST_UPDATED.name],
    ...(filter === undefined ? {} : { filter, useOffsetIndex: true }),
  })
  return rows.map((row) => [row[ROW_ID.name] ?? null, row[LAST_UPDATED.name] ?? null])
}

const rowsWithoutLineage = (path: string) =>
  lake.sql(`
    SELECT COLUMNS(name -> name NOT IN ('file_row_number', '_row_id', '_last_updated_sequence_number'))
    FROM read_parquet('${path}', file_row_number = true) ORDER BY file_row_number`)

const lineageByDuckDb = (path: string) =>
  lake.sql(`
    SELECT _row_id, _last_updated_sequence_number FROM read_parquet('${path}', file_row_number = true) ORDER BY file_row_number`)

/** One text of many rows, which are compared much faster so. */
const text = (rows: readonly unknown[]): string =>
  rows
    .map((row) => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)))
    .join('\n')

function copied(copy: RowGroupCopyResult) {
  if (copy.kind === 'refused') throw new Error(copy.reason)
  return copy.result
}

async function makeTable(shape: TableCase) {
  const inputs: FileScanTask[] = []
  const lineage: (readonly [bigint | null, bigint | null])[] = []
  for (const file of shape.files) {
    inputs.push(await makeFile(file, shape, lineage.length))
    for (const row of expectedLineage(file, lineage.length)) lineage.push(row)
  }
  const table = {
    schemas: [schemaOf(COLUMNS.filter((_, at) => shape.columns.includes(at)).map((column) => column.field))],
    properties: { 'write.parquet.compression-codec': shape.codec },
    formatVersion: 3 as const,
  }
  return { inputs, lineage, table }
}

/** Copies a table and compares what readers find with the model. */
async function expectKept(shape: TableCase): Promise<void> {
  const engine = await lake.engine()
  const { inputs, lineage, table } = await makeTable(shape)
  const outputFiles = Math.min(shape.outputFiles, inputs.length)
  const result = copied(await engine.copyRowGroups(copyTask(lake, table, inputs, { outputFiles })))
  expect(result).toMatchObject({ rowsRead: lineage.length, rowsWritten: lineage.length, values: { isEqual: true } })
  const before = await Promise.all(inputs.map(({ dataFile }) => rowsWithoutLineage(dataFile.filePath)))
  const after = await Promise.all(result.files.map(({ filePath }) => rowsWithoutLineage(filePath)))
  expect(text(after.flat())).toBe(text(before.flat()))
  const byHyparquet = await Promise.all(result.files.map(({ filePath }) => lineageByHyparquet(filePath)))
  expect(text(byHyparquet.flat())).toBe(text(lineage))
  const byDuckDb = (await Promise.all(result.files.map(({ filePath }) => lineageByDuckDb(filePath)))).flat()
  expect(text(byDuckDb.map((row) => Object.values(row)))).toBe(text(lineage))
  let at = 0
  for (const file of result.files) {
    expectMetrics(file, lineage.slice(at, (at += file.recordCount)))
    expect(file.firstRowId).toBeUndefined()
  }
}

function expectMetrics(
  file: ReturnType<typeof copied>['files'][number],
  rows: readonly (readonly [bigint | null, bigint | null])[],
): void {
  for (const [at, { id }] of STORED.entries()) {
    const values = rows.flatMap((row) => row[at] ?? [])
    expect(file.valueCounts?.get(id)).toBe(rows.length)
    expect(file.nullValueCounts?.get(id)).toBe(rows.length - values.length)
    const bound = (side: 'lowerBounds' | 'upperBounds') => {
      const bytes = file[side]?.get(id)
      return bytes === undefined ? undefined : valueFromBytes({ kind: 'long' }, bytes)
    }
    const [lower, upper] = [bound('lowerBounds'), bound('upperBounds')]
    // files that are copied as they are have the bounds of their inputs, and the files of this test have none
    if (lower === undefined || upper === undefined) continue
    expect(values.length).toBeGreaterThan(0)
    expect(lower).toBe(values.reduce((a, b) => (a < b ? a : b)))
    expect(upper).toBe(values.reduce((a, b) => (a > b ? a : b)))
  }
}

const PLAIN_FILE: FileShape = {
  rows: 5000,
  rowGroupRows: 2048,
  rowIds: 'no',
  sequences: 'no',
  place: 'last',
  firstRowId: 100,
  sequenceNumber: 3,
}
const PLAIN_TABLE: TableCase = { columns: [0, 1], codec: 'zstd', options: '', files: [PLAIN_FILE], outputFiles: 1 }

describe('a file with copied row groups of version 3', () => {
  it('keeps the row ids and sequence numbers of all rows, in random tables', async () => {
    let [tables, rows] = [0, 0]
    const check = async (shape: TableCase): Promise<void> => {
      await expectKept(shape)
      tables += 1
      rows += shape.files.reduce((sum, file) => sum + file.rows, 0)
    }
    await fc.assert(fc.asyncProperty(tableCase, check), { numRuns: isLongRun ? 200 : 8 })
    process.stderr.write(`\n${tables} random tables with ${rows} rows keep their row ids\n`)
  }, 1_800_000)

  it('has pages of row ids where the page indexes say', async () => {
    const engine = await lake.engine()
    const files = [
      { ...PLAIN_FILE, rows: 100_000, rowGroupRows: 122_880 },
      { ...PLAIN_FILE, rows: 70_000, rowGroupRows: 122_880, firstRowId: 500_000, sequenceNumber: 9 },
    ]
    const { inputs, table } = await makeTable({ ...PLAIN_TABLE, files })
    const [file] = copied(await engine.copyRowGroups(copyTask(lake, table, inputs))).files
    const path = file?.filePath ?? ''
    for (const id of [100n, 32_867n, 32_868n, 100_099n, 500_000n, 569_999n]) {
      const found = await lineageByHyparquet(path, { [ROW_ID.name]: { $eq: id } })
      expect(found).toEqual([[id, id < 500_000n ? 3n : 9n]])
      // the statistics of row groups are used to skip
      expect(
        await lake.sql(`SELECT count(*)::INTEGER AS n FROM read_parquet('${path}') WHERE _row_id = ${id}`),
      ).toEqual([{ n: 1 }])
    }
    expect(await lineageByHyparquet(path, { [ROW_ID.name]: { $eq: 100_100n } })).toEqual([])
  })

  it('stores ids of rows in few bytes when they follow each other', async () => {
    const engine = await lake.engine()
    const { inputs, table } = await makeTable({ ...PLAIN_TABLE, files: [{ ...PLAIN_FILE, rows: 100_000 }, PLAIN_FILE] })
    const [file] = copied(await engine.copyRowGroups(copyTask(lake, table, inputs))).files
    const bytes = STORED.map(({ id }) => file?.columnSizes?.get(id) ?? Infinity)
    expect(bytes[0]).toBeLessThan(105_000 * 4)
    expect(bytes[1]).toBeLessThan(105_000)
  })

  it('copies the other columns byte for byte', async () => {
    const engine = await lake.engine()
    const files = [PLAIN_FILE, { ...PLAIN_FILE, rowIds: 2, place: 'first' } as const]
    const { inputs, table } = await makeTable({ ...PLAIN_TABLE, files })
    const [file] = copied(await engine.copyRowGroups(copyTask(lake, table, inputs))).files
    const chunks = (path: string) => {
      const bytes = readFileSync(path)
      const own = footer(path).row_groups.flatMap(({ columns }) => columns.flatMap(({ meta_data }) => meta_data ?? []))
      return own
        .filter(({ path_in_schema: [name = ''] }) => !name.startsWith('_'))
        .map((meta) => {
          const start = Number(meta.dictionary_page_offset || meta.data_page_offset)
          return bytes.subarray(start, start + Number(meta.total_compressed_size)).toString('base64')
        })
    }
    const before = inputs.flatMap(({ dataFile }) => chunks(dataFile.filePath))
    expect(before).toHaveLength(12)
    expect(chunks(file?.filePath ?? '')).toEqual(before)
  })

  it('gives no ids to rows of a file from before the upgrade to version 3', async () => {
    await expectKept({
      ...PLAIN_TABLE,
      files: [
        { ...PLAIN_FILE, firstRowId: undefined },
        { ...PLAIN_FILE, firstRowId: undefined, rowIds: 2, sequences: 7 },
        PLAIN_FILE,
      ],
    })
    await expectKept({ ...PLAIN_TABLE, files: [{ ...PLAIN_FILE, firstRowId: undefined }] })
  })

  it('keeps ids when another copy of its own is copied again', async () => {
    const engine = await lake.engine()
    for (const codec of ['snappy', 'zstd']) {
      const first = await makeTable({ ...PLAIN_TABLE, codec, files: [PLAIN_FILE, PLAIN_FILE] })
      const joined = copied(await engine.copyRowGroups(copyTask(lake, first.table, first.inputs))).files
      // first row ids of new files must not matter, because their rows store theirs
      const again = joined.map((file) => task({ ...file, firstRowId: 1_800_000 }, [], 50))
      const [file] = copied(await engine.copyRowGroups(copyTask(lake, first.table, [...again, ...first.inputs]))).files
      const expected = [...first.lineage, ...first.lineage]
      expect(await lineageByHyparquet(file?.filePath ?? '')).toEqual(expected)
      const last = copied(await engine.copyRowGroups(copyTask(lake, first.table, [...again, ...again]))).files
      expect(await lineageByHyparquet(last[0]?.filePath ?? '')).toEqual(expected)
    }
  })
})

/** Leaf of the row ids in the files of {@link lyingFile}, and of the sequence numbers after it. */
const ROW_ID_LEAF = 2

/** Changes the chunk of a leaf in the first row group. */
const inLeaf = (leaf: number, change: Change): Change => inGroup(inFirst(1, change, leaf))

/** A file that stores every other row id, and all sequence numbers, with another footer. */
async function lyingFile(change: Change): Promise<FileScanTask> {
  const { inputs } = await makeTable({ ...PLAIN_TABLE, files: [{ ...PLAIN_FILE, rowIds: 2, sequences: 0 }] })
  const { dataFile } = inputs[0] ?? task(lake.dataFile(''))
  const bytes = withChangedFooter(new Uint8Array(readFileSync(dataFile.filePath)), change)
  return task(
    { ...dataFile, filePath: lake.write(bytes), fileSizeInBytes: bytes.length },
    [],
    PLAIN_FILE.sequenceNumber,
  )
}

const noNulls: Change = set(12, structField(new Map([[3, integerField(0)]])))

describe('a file whose footer lies about its row ids', () => {
  it.each<[string, Change]>([
    ['says that no row id is null', inLeaf(ROW_ID_LEAF, inStruct(3, noNulls))],
    ['says nothing about nulls', inLeaf(ROW_ID_LEAF, inStruct(3, set(12, undefined)))],
    [
      'has wrong bounds',
      inLeaf(
        ROW_ID_LEAF,
        inStruct(3, set(12, structField(new Map([5, 6].map((id) => [id, binaryField(new Uint8Array(8))]))))),
      ),
    ],
  ])('keeps them when it %s', async (_, change) => {
    const engine = await lake.engine()
    const shape = { ...PLAIN_FILE, rowIds: 2, sequences: 0 } as const
    const { table } = await makeTable({ ...PLAIN_TABLE, files: [] })
    const inputs = [await lyingFile(change), await lyingFile((fields) => fields)]
    const [file] = copied(await engine.copyRowGroups(copyTask(lake, table, inputs))).files
    const expected = expectedLineage(shape, 0)
    expect(text(await lineageByHyparquet(file?.filePath ?? ''))).toBe(text([...expected, ...expected]))
  })

  it.each<[string, Change, RegExp]>([
    ['another number of values', inLeaf(ROW_ID_LEAF, inStruct(3, set(5, integerField(7)))), /entries|row ids/],
    ['another codec', inLeaf(ROW_ID_LEAF, inStruct(3, set(4, integerField(1, 5)))), /./],
    ['another place', inLeaf(ROW_ID_LEAF, inStruct(3, set(9, integerField(7)))), /overlap|outside/],
    ['another size', inLeaf(ROW_ID_LEAF, inStruct(3, set(7, integerField(40)))), /pages of a column|page header/],
    ['another type', inFirst(2, set(1, integerField(4, 5)), ROW_ID_LEAF + 1), /not the form of its type/],
    [
      'two columns of one id',
      inFirst(2, set(9, integerField(ROW_ID.id, 5)), ROW_ID_LEAF + 2),
      /not a column of the table/,
    ],
    ['too few column orders', set(7, structList([])), /order for each column/],
    [
      'a chunk too few',
      inGroup((group) => set(1, structList(readStructs(group.get(1), 'a test').slice(0, 3)))(group)),
      /one chunk/,
    ],
  ])('is refused with %s', async (_, change, reason) => {
    const engine = await lake.engine()
    const { table } = await makeTable({ ...PLAIN_TABLE, files: [] })
    const before = lake.leftovers().length
    const inputs = [await lyingFile((fields) => fields), await lyingFile(change)]
    const copy = await engine.copyRowGroups(copyTask(lake, table, inputs))
    expect(copy.kind === 'refused' ? copy.reason : 'copied').toMatch(reason)
    expect(lake.leftovers()).toHaveLength(before)
  })

  it('never ends the process or changes a row id when its bytes are random', async () => {
    const engine = await lake.engine()
    const { table } = await makeTable({ ...PLAIN_TABLE, files: [] })
    const good = await lyingFile((fields) => fields)
    const bytes = new Uint8Array(readFileSync(good.dataFile.filePath))
    const { start } = footerOf(bytes)
    const expected = expectedLineage({ ...PLAIN_FILE, rowIds: 2, sequences: 0 }, 0)
    const flips = fc.array(
      fc.tuple(fc.integer({ min: start, max: bytes.length - 1 }), fc.integer({ min: 0, max: 255 })),
      {
        minLength: 1,
        maxLength: 3,
      },
    )
    await fc.assert(
      fc.asyncProperty(flips, async (changes) => {
        const bad = bytes.slice()
        for (const [at, value] of changes) bad[at] = value
        const file = task({ ...good.dataFile, filePath: lake.write(bad) }, [], PLAIN_FILE.sequenceNumber)
        const copy = await engine.copyRowGroups(copyTask(lake, table, [good, file])).catch((error: unknown) => error)
        if (isIcebergError(copy)) return
        const result = copy as RowGroupCopyResult
        expect(['copied', 'refused']).toContain(result.kind)
        if (result.kind === 'refused') return
        const found = await lineageByHyparquet(result.result.files[0]?.filePath ?? '')
        // the good file's rows come first; a changed footer may name other pages for the other file
        expect(text(found.slice(0, expected.length))).toBe(text(expected))
        expect(found).toHaveLength(2 * expected.length)
      }),
      { numRuns: runs(200, 20) },
    )
  }, 300_000)
})

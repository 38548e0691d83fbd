import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import {
  concat,
  encodeStruct,
  integerField,
  readStored,
  readStructs,
  structField,
  structList,
  textField,
} from '../../../../src/engines/duckdb/parquet/compact-struct.ts'
import type { StoredStruct } from '../../../../src/engines/duckdb/parquet/compact-struct.ts'
import type { FileScanTask } from '../../../../src/iceberg/scan/scan.ts'
import { isIcebergError } from '../../../../src/iceberg/errors.ts'
import { field, Lake, schemaOf, task } from '../harness/lake.ts'
import { isWholeRun, runs } from '../../../support/effort.ts'
import { footerOf, inChunk, inGroup, inMeta, inStruct, set, withChangedFooter } from './changed-footer.ts'
import type { Change } from './changed-footer.ts'
import { copyTask } from './copy-task.ts'

const lake = new Lake()
afterAll(() => lake.close())

const SHAPE = { schemas: [schemaOf([field(1, 'id', 'long'), field(2, 'name', 'string')])] }
const IDS = '{id: 1, name: 2}, COMPRESSION zstd, ROW_GROUP_SIZE 2048'
const ROWS = 3000
const ROW_GROUPS = isWholeRun ? 1_000_000 : 300_000

const plain = (rows = ROWS): Promise<FileScanTask> =>
  lake.data(`SELECT i AS id, 'name ' || i AS name FROM range(${rows}) r(i)`, IDS)

/** A data file whose footer was changed; the manifest says what the file should have. */
async function withFooter(change: Change): Promise<FileScanTask> {
  const { dataFile } = await plain()
  const whole = withChangedFooter(new Uint8Array(readFileSync(dataFile.filePath)), change)
  return task({ ...dataFile, filePath: lake.write(whole), fileSizeInBytes: whole.length })
}

/** Row groups of which the first has a row less, and the second one more. */
const otherRows = (fields: StoredStruct): readonly Uint8Array[] =>
  readStructs(fields.get(4), 'a test').map((group, at) =>
    encodeStruct(set(3, integerField(at === 0 ? 2047 : ROWS - 2047))(readStored(group, 'a test'))),
  )

const REFUSED: readonly (readonly [what: string, change: Change, reason: RegExp])[] = [
  ['an unknown field of the file', set(20, integerField(7)), /its footer has the field 20/],
  ['an unknown field of a row group', inGroup(set(9, integerField(7))), /a row group has the field 9/],
  ['an unknown field of a chunk', inChunk(set(12, integerField(7))), /a column chunk has the field 12/],
  [
    'an unknown field of the chunk metadata',
    inMeta(set(30, integerField(7))),
    /the metadata of a column chunk has the field 30/,
  ],
  ['an encryption algorithm', set(8, structField(new Map())), /encrypted/],
  ['an encrypted column', inChunk(set(8, structField(new Map()))), /encrypted columns/],
  ['columns in another file', inChunk(set(1, textField('other.parquet'))), /another file/],
  ['another row count than its row groups', set(3, integerField(ROWS + 1)), /another number of rows than the file/],
  [
    'another row count than the manifest',
    (f) => set(3, integerField(ROWS - 1))(inGroup(set(3, integerField(2047)))(f)),
    /another number of rows than its manifest/,
  ],
  ['an absurd offset', inMeta(set(9, integerField(2 ** 50))), /outside of the file/],
  ['overlapping chunks', inMeta(set(7, integerField(40_000))), /overlap|outside/],
  ['a chunk that ends too early', inMeta(set(7, integerField(60))), /pages of a column|page header/],
  ['another number of values', inMeta(set(5, integerField(5))), /has 5 values in a row group of 2,048 rows/],
  ['another codec', inMeta(set(4, integerField(1, 5))), /another codec/],
  ['a page index without a length', inChunk(set(4, integerField(100))), /no offset or no length/],
  [
    'an unknown writer',
    set(6, textField('parquet-mr version 1.8.1 (build x)')),
    /written by "parquet-mr version 1.8.1/,
  ],
  ['no writer', set(6, undefined), /written by ""/],
  [
    'metadata about geometries',
    set(
      5,
      structList([
        encodeStruct(
          new Map([
            [1, textField('geo')],
            [2, textField('{}')],
          ]),
        ),
      ]),
    ),
    /metadata "geo"/,
  ],
  ['no row groups', set(4, undefined), /another number of rows/],
]

describe('a file that lies or that is not understood', () => {
  it.each(REFUSED)('is not copied when it has %s', async (_, change, reason) => {
    const engine = await lake.engine()
    const before = lake.leftovers().length
    const copy = await engine.copyRowGroups(copyTask(lake, SHAPE, [await plain(), await withFooter(change)]))
    expect(copy.kind === 'refused' ? copy.reason : 'copied').toMatch(reason)
    expect(lake.leftovers()).toHaveLength(before)
  })

  it.each(REFUSED)('is rewritten without a loss, or named by a typed error, when it has %s', async (_, change) => {
    const engine = await lake.engine()
    const before = lake.leftovers().length
    const input = await withFooter(change)
    const task = lake.task(SHAPE, [await plain(), input], { verifyValues: true })
    const result = await engine.rewrite(task).catch((error: unknown) => error)
    if (result instanceof Error) {
      expect(result).toMatchObject({ code: expect.stringMatching(/^(CORRUPT_FILE|UNSUPPORTED|ROWS_NOT_CONSERVED)$/) })
      // values that are missing are noticed when all rows are counted
      const isNamed = isIcebergError(result, 'ROWS_NOT_CONSERVED') || result.message.includes(input.dataFile.filePath)
      expect(isNamed, result.message).toBe(true)
      expect(lake.leftovers()).toHaveLength(before)
    } else expect(result).toMatchObject({ rowsRead: 2 * ROWS, rowsWritten: 2 * ROWS, values: { isEqual: true } })
  })

  it('is not copied when its row groups have other rows than values', async () => {
    const engine = await lake.engine()
    const file = await withFooter((fields) => set(4, structList(otherRows(fields)))(fields))
    const copy = await engine.copyRowGroups(copyTask(lake, SHAPE, [await plain(), file]))
    expect(copy).toMatchObject({ kind: 'refused', reason: 'a column has 2,048 values in a row group of 2,047 rows' })
  })

  it('is refused in bounded memory when it has very many row groups', async () => {
    const engine = await lake.engine()
    const input = await withFooter((fields) => {
      const [group = new Uint8Array()] = readStructs(fields.get(4), 'a test')
      const empty = encodeStruct(set(3, integerField(0))(readStored(group, 'a test')))
      return set(4, structList(Array.from({ length: ROW_GROUPS / 2 }, () => empty)))(fields)
    })
    const small = await withFooter((fields) => {
      const tiny = encodeStruct(
        new Map([
          [1, structList([])],
          [2, integerField(0)],
          [3, integerField(0)],
        ]),
      )
      return set(4, structList(Array.from({ length: ROW_GROUPS }, () => tiny)))(fields)
    })
    const memory = process.memoryUsage.rss()
    for (const file of [input, small]) {
      const before = lake.leftovers().length
      const copy = await engine.copyRowGroups(copyTask(lake, SHAPE, [await plain(), file]))
      expect(copy).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/row groups|more than \d+ bytes/) })
      expect(copy.kind === 'refused' && copy.reason).toContain(file.dataFile.filePath)
      await expect(engine.rewrite(lake.task(SHAPE, [await plain(), file]))).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        message: expect.stringContaining(file.dataFile.filePath),
      })
      expect(lake.leftovers()).toHaveLength(before)
    }
    // the files themselves are in the memory of the test
    expect(process.memoryUsage.rss() - memory).toBeLessThan(700 * 1_048_576)
  })

  it('is not copied when its schema differs', async () => {
    const engine = await lake.engine()
    const other = await lake.data("SELECT i::INTEGER AS id, 'x' AS name FROM range(10) r(i)", IDS)
    for (const inputs of [
      [await plain(), other],
      [other, other],
    ]) {
      const copy = await engine.copyRowGroups(copyTask(lake, SHAPE, inputs))
      expect(copy.kind === 'refused' ? copy.reason : 'copied').toMatch(/different Parquet schemas|not the form/)
    }
  })

  it('is not copied when a column was dropped, or was added with a default', async () => {
    const engine = await lake.engine()
    const [id, name] = [field(1, 'id', 'long'), field(2, 'name', 'string')]
    const dropped = copyTask(lake, { schemas: [schemaOf([id])] }, [await plain(), await plain()])
    const added = field(3, 'added', 'long', { initialDefault: 5 })
    const defaulted = copyTask(lake, { schemas: [schemaOf([id, name, added])], formatVersion: 3 }, [
      await plain(),
      await plain(),
    ])
    const reasons = await Promise.all([dropped, defaulted].map((copy) => engine.copyRowGroups(copy)))
    expect(reasons).toMatchObject([
      { kind: 'refused', reason: expect.stringContaining('not a column of the table now') },
      { kind: 'refused', reason: expect.stringContaining('added is missing') },
    ])
  })

  it('is copied with a chunk whose dictionary offset is missing, as old writers left it', async () => {
    const engine = await lake.engine()
    const select = "SELECT i AS id, 'v' || (i % 3) AS name FROM range(3000) r(i)"
    const { dataFile } = await lake.data(select, IDS)
    const bytes = new Uint8Array(readFileSync(dataFile.filePath))
    const { start, fields } = footerOf(bytes)
    // the offset of the first page becomes that of the data
    const old: Change = (meta) => set(11, undefined)(meta.has(11) ? set(9, meta.get(11))(meta) : meta)
    const groups = readStructs(fields.get(4), 'a test').map((group) => {
      const stored = readStored(group, 'a test')
      const chunks = readStructs(stored.get(1), 'a test').map((chunk) =>
        encodeStruct(inStruct(3, old)(readStored(chunk, 'a test'))),
      )
      return encodeStruct(set(1, structList(chunks))(stored))
    })
    const footer = encodeStruct(set(4, structList(groups))(fields))
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, footer.length, true)
    const whole = concat([bytes.subarray(0, start), footer, length, new TextEncoder().encode('PAR1')])
    const file = task({ ...dataFile, filePath: lake.write(whole), fileSizeInBytes: whole.length })
    const copy = await engine.copyRowGroups(copyTask(lake, SHAPE, [await plain(), file]))
    const path = copy.kind === 'copied' ? copy.result.files[0]?.filePath : copy.reason
    expect(
      await lake.sql(
        `SELECT count(*)::INTEGER AS n, count(DISTINCT name)::INTEGER AS names FROM read_parquet('${path}')`,
      ),
    ).toEqual([{ n: 6000, names: 3003 }])
  })

  it('never ends the process or loses a row when its bytes are random or cut off', async () => {
    const engine = await lake.engine()
    const good = await plain()
    const bytes = new Uint8Array(readFileSync(good.dataFile.filePath))
    const { start } = footerOf(bytes)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: start, max: bytes.length - 1 }), fc.integer({ min: 0, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        fc.integer({ min: 0, max: 40 }),
        async (changes, cut) => {
          const bad = bytes.slice(0, bytes.length - (cut > 20 ? cut - 20 : 0))
          for (const [at, value] of changes) if (at < bad.length) bad[at] = value
          const file = task({ ...good.dataFile, filePath: lake.write(bad), fileSizeInBytes: bad.length })
          const copy = await engine.copyRowGroups(copyTask(lake, SHAPE, [good, file])).catch((error: unknown) => error)
          const isTyped = isIcebergError(copy) || (copy as { kind?: string }).kind !== undefined
          expect(isTyped, String(copy)).toBe(true)
          if ((copy as { kind?: string }).kind === 'copied') {
            expect(copy).toMatchObject({ result: { rowsRead: 2 * ROWS, rowsWritten: 2 * ROWS } })
          }
        },
      ),
      { numRuns: runs(400, 40) },
    )
  })
})

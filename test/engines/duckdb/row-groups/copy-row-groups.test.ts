import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { COLUMNS } from './columns.ts'
import { copyTask } from './copy-task.ts'
import { footer, Lake, readAll, schemaOf } from '../harness/lake.ts'
import type { TableShape } from '../harness/lake.ts'
import { runs } from '../../../support/effort.ts'
import type { FileScanTask } from '../../../../src/iceberg/scan/scan.ts'
import { valueFromBytes } from '../../../../src/iceberg/values/values.ts'

const lake = new Lake()
afterAll(() => lake.close())

interface Made {
  readonly shape: TableShape
  readonly inputs: readonly FileScanTask[]
}

interface FileShape {
  readonly rows: number
  readonly rowGroupRows: number
}

/** Writes files of the same columns. */
async function make(
  columns: readonly number[],
  files: readonly FileShape[],
  { codec = 'zstd', options = '' } = {},
): Promise<Made> {
  const chosen = COLUMNS.filter((_, at) => columns.includes(at))
  const select = chosen.map(({ field: { name }, sql }) => `${sql} AS ${name}`).join(', ')
  const ids = `{${chosen.map((column) => column.ids).join(', ')}}`
  const inputs: FileScanTask[] = []
  let before = 0
  for (const { rows, rowGroupRows } of files) {
    const query = `SELECT ${select} FROM range(${before}, ${before + rows}) r(i)`
    const more = `, COMPRESSION ${codec}, ROW_GROUP_SIZE ${rowGroupRows}${options}`
    inputs.push(await lake.data(query, `${ids}${more}`))
    before += rows
  }
  return {
    shape: {
      schemas: [schemaOf(chosen.map((column) => column.field))],
      properties: { 'write.parquet.compression-codec': codec },
    },
    inputs,
  }
}

const fileShapes = fc.array(
  fc.record({ rows: fc.integer({ min: 1, max: 4000 }), rowGroupRows: fc.constantFrom(2048, 4096) }),
  {
    minLength: 1,
    maxLength: 4,
  },
)

describe('a file with copied row groups', () => {
  it('has the rows and row groups of its inputs in their order', async () => {
    const engine = await lake.engine()
    await fc.assert(
      fc.asyncProperty(
        fc.subarray([...COLUMNS.keys()], { minLength: 1 }),
        fileShapes,
        fc.constantFrom('zstd', 'snappy', 'uncompressed', 'gzip'),
        fc.constantFrom('', ', WRITE_BLOOM_FILTER true, DICTIONARY_SIZE_LIMIT 100000', ', PARQUET_VERSION V2'),
        async (columns, files, codec, options) => {
          const { shape, inputs } = await make(columns, files, { codec, options })
          const copy = await engine.copyRowGroups(copyTask(lake, shape, inputs))
          if (copy.kind === 'refused') throw new Error(copy.reason)
          const {
            files: [file],
            ...counts
          } = copy.result
          if (file === undefined) throw new Error('no file')
          const rows = files.reduce((sum, { rows }) => sum + rows, 0)
          expect(counts).toMatchObject({ rowsRead: rows, rowsDeleted: 0, rowsWritten: rows, values: { isEqual: true } })
          const before = await Promise.all(inputs.map(({ dataFile }) => rowsInOrder(dataFile.filePath)))
          expect(await rowsInOrder(file.filePath)).toEqual(before.flat())
          const sources = inputs.flatMap(({ dataFile }) => footer(dataFile.filePath).row_groups)
          const joined = footer(file.filePath)
          expect(joined.row_groups.map(withoutOffsets)).toEqual(sources.map(withoutOffsets))
          expect(joined.row_groups.map(({ ordinal }) => ordinal)).toEqual(sources.map((_, at) => at))
          expect(file.splitOffsets).toHaveLength(sources.length)
          if (['zstd', 'snappy', 'uncompressed'].includes(codec)) {
            expect(await readAll([file])).toEqual(await readAll(inputs.map(({ dataFile }) => dataFile)))
          }
        },
      ),
      { numRuns: runs(200, 5) },
    )
  })
})

function rowsInOrder(path: string) {
  return lake.sql(`
    SELECT * EXCLUDE (file_row_number) FROM read_parquet('${path}', file_row_number = true) ORDER BY file_row_number`)
}

/** A row group without what a copy changes. */
function withoutOffsets({ columns, num_rows, total_byte_size }: ReturnType<typeof footer>['row_groups'][number]) {
  return {
    num_rows,
    total_byte_size,
    columns: columns.map(({ meta_data }) => {
      const { data_page_offset: _, dictionary_page_offset: __, bloom_filter_offset: ___, ...kept } = meta_data ?? {}
      return kept
    }),
  }
}

describe('the manifest entry of a joined file', () => {
  const counted = (values: readonly number[]) => new Map([[1, values[0] ?? 0]])

  it('merges counts and bounds of the replaced files', async () => {
    const engine = await lake.engine()
    const { shape, inputs } = await make(
      [0, 1, 7],
      [
        { rows: 3000, rowGroupRows: 2048 },
        { rows: 10, rowGroupRows: 2048 },
      ],
    )
    const bound = (value: bigint): Map<number, Uint8Array> => {
      const bytes = new Uint8Array(8)
      new DataView(bytes.buffer).setBigInt64(0, value, true)
      return new Map([[1, bytes]])
    }
    const metrics = [
      { lowerBounds: bound(-5n), upperBounds: bound(900n), nanValueCounts: counted([0]) },
      { lowerBounds: bound(3n), upperBounds: bound(999n), nanValueCounts: counted([0]) },
    ]
    const entries = inputs.map((input, at) => ({ ...input, dataFile: { ...input.dataFile, ...metrics[at] } }))
    const copy = await engine.copyRowGroups(copyTask(lake, shape, entries))
    const file = copy.kind === 'copied' ? copy.result.files[0] : undefined
    const read = (bounds: ReadonlyMap<number, Uint8Array> | undefined) =>
      new Map([...(bounds ?? [])].map(([id, bytes]) => [id, valueFromBytes({ kind: 'long' }, bytes)]))
    expect(read(file?.lowerBounds)).toEqual(new Map([[1, -5n]]))
    expect(read(file?.upperBounds)).toEqual(new Map([[1, 999n]]))
    expect(file?.valueCounts).toEqual(
      new Map([
        [1, 3010],
        [2, 3010],
        [8, 3010],
      ]),
    )
    expect(file?.nullValueCounts).toEqual(
      new Map([
        [1, 0],
        [2, 602],
        [8, 0],
      ]),
    )
    expect(file?.nanValueCounts).toEqual(new Map([[1, 0]]))
    expect(file?.recordCount).toBe(3010)
  })

  it('has no NaN count and no bound that one of the files lacks', async () => {
    const engine = await lake.engine()
    const { shape, inputs } = await make(
      [0],
      [
        { rows: 100, rowGroupRows: 2048 },
        { rows: 100, rowGroupRows: 2048 },
      ],
    )
    const known = { lowerBounds: new Map([[1, new Uint8Array(8)]]), nanValueCounts: counted([0]) }
    const entries = inputs.map((input, at) => ({
      ...input,
      dataFile: { ...input.dataFile, ...(at === 0 ? known : {}) },
    }))
    const copy = await engine.copyRowGroups(copyTask(lake, shape, entries))
    const file = copy.kind === 'copied' ? copy.result.files[0] : undefined
    expect(file?.lowerBounds).toEqual(new Map())
    expect(file?.nanValueCounts).toEqual(new Map())
  })
})

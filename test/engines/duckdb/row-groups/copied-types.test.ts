import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import {
  concat,
  encodeStruct,
  readStored,
  readStructs,
  structField,
  structList,
  textField,
} from '../../../../src/engines/duckdb/parquet/compact-struct.ts'
import type { StoredField } from '../../../../src/engines/duckdb/parquet/compact-struct.ts'
import type { FileScanTask } from '../../../../src/iceberg/scan/scan.ts'
import type { NestedField } from '../../../../src/iceberg/schema/types.ts'
import { field, Lake, schemaOf, task } from '../harness/lake.ts'
import { copyTask } from './copy-task.ts'

const lake = new Lake()
afterAll(() => lake.close())

async function copy(column: NestedField, inputs: readonly FileScanTask[], others: readonly NestedField[] = []) {
  const engine = await lake.engine()
  const shape = { schemas: [schemaOf([field(1, 'id', 'long'), column, ...others])], formatVersion: 3 as const }
  return engine.copyRowGroups(copyTask(lake, shape, inputs))
}

/** Files of which column `v` has the SQL. The rows of the first one store their ids, the others have them by their places. */
const files = (sql: string): Promise<FileScanTask[]> =>
  Promise.all(
    [0, 3000].map((from) => {
      const stored = from === 0 ? ', i AS _row_id, 1::BIGINT AS _last_updated_sequence_number' : ''
      const ids = from === 0 ? ', _row_id: 2147483540, _last_updated_sequence_number: 2147483539' : ''
      return lake.data(
        `SELECT i AS id, ${sql} AS v${stored} FROM range(${from}, ${from + 3000}) r(i)`,
        `{id: 1, v: 2${ids}}, COMPRESSION zstd, ROW_GROUP_SIZE 2048`,
        { firstRowId: from },
      )
    }),
  )

/** Expects the row ids of {@link files}, which are those of the column `id`. */
async function expectRowIds(path = ''): Promise<void> {
  const ids = `count(*) FILTER (_row_id = id AND _last_updated_sequence_number = 1)::INTEGER AS ids`
  expect(await lake.sql(`SELECT ${ids}, count(*)::INTEGER AS n FROM read_parquet('${path}')`)).toEqual([
    { ids: 6000, n: 6000 },
  ])
}

/** The same file with a logical type for column `v`, as writers of geometries give it. */
function annotated(
  { dataFile }: FileScanTask,
  kind: number,
  parameters: ReadonlyMap<number, StoredField>,
): FileScanTask {
  const bytes = new Uint8Array(readFileSync(dataFile.filePath))
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - 8, true)
  const start = bytes.length - 8 - length
  const fields = new Map(readStored(bytes.subarray(start, bytes.length - 8), 'a test'))
  const schema = readStructs(fields.get(2), 'a test').map((element) => readStored(element, 'a test'))
  const union = structField(new Map([[kind, structField(parameters)]]))
  const changed = schema.map((element, at) => (at === 2 ? new Map([...element, [10, union] as const]) : element))
  fields.set(2, structList(changed.map(encodeStruct)))
  const footer = encodeStruct(fields)
  const size = new Uint8Array(4)
  new DataView(size.buffer).setUint32(0, footer.length, true)
  const whole = concat([bytes.subarray(0, start), footer, size, new TextEncoder().encode('PAR1')])
  return task({ ...dataFile, filePath: lake.write(whole), fileSizeInBytes: whole.length })
}

describe('row groups with columns that the engine cannot write', () => {
  it.each([
    ['of one shape, which are shredded', `('{"a": ' || i || ', "b": "x' || i % 9 || '"}')::JSON::VARIANT`],
    [
      'of many shapes',
      `CASE WHEN i % 5 = 0 THEN NULL WHEN i % 3 = 0 THEN i::VARIANT ELSE ('{"k' || i % 7 || '": [1, null]}')::JSON::VARIANT END`,
    ],
  ])('are copied with variants %s', async (_, sql) => {
    const inputs = await files(sql)
    const result = await copy(field(2, 'v', 'variant'), inputs)
    if (result.kind === 'refused') {
      // files of different shapes have different schemas
      expect(result.reason).toMatch(/different Parquet schemas/)
      return
    }
    const [file] = result.result.files
    const read = (paths: readonly string[]) =>
      lake.sql(
        `SELECT id, v::VARCHAR AS v FROM read_parquet([${paths.map((path) => `'${path}'`).join(', ')}]) ORDER BY id`,
      )
    expect(await read([file?.filePath ?? ''])).toEqual(await read(inputs.map(({ dataFile }) => dataFile.filePath)))
    expect(file?.valueCounts?.get(2)).toBe(6000)
    expect(file?.columnSizes?.get(2)).toBeGreaterThan(1000)
    expect(file?.lowerBounds?.has(2)).toBe(false)
    await expectRowIds(file?.filePath)
  })

  it.each([
    ['geometry', 17, new Map()],
    ['geometry(srid:3857)', 17, new Map([[1, textField('srid:3857')]])],
    ['geography', 18, new Map()],
    [
      'geography(OGC:CRS84, karney)',
      18,
      new Map<number, StoredField>([
        [1, textField('OGC:CRS84')],
        [2, { type: 5, bytes: Uint8Array.of(8) }],
      ]),
    ],
  ])('are copied with a column of type %s', async (type, kind, parameters) => {
    const inputs = (
      await files(
        `'\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xF0\\x3F\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x40'::BLOB`,
      )
    ).map((file) => annotated(file, kind, parameters))
    const result = await copy(field(2, 'v', type), inputs)
    expect(result).toMatchObject({ kind: 'copied', result: { rowsWritten: 6000 } })
    if (result.kind === 'copied') await expectRowIds(result.result.files[0]?.filePath)
    const other = await copy(
      field(2, 'v', type.startsWith('geometry') ? 'geometry(srid:1)' : 'geography(srid:1)'),
      inputs,
    )
    expect(other).toMatchObject({ kind: 'refused', reason: expect.stringContaining('not the form of its type') })
  })

  it('are copied with a column of type unknown, which files do not store', async () => {
    const result = await copy(field(2, 'v', 'string'), await files(`'x'`), [field(3, 'nothing', 'unknown')])
    expect(result).toMatchObject({ kind: 'copied' })
  })

  it('are not copied when a group is not a variant', async () => {
    const inputs = await files(`{metadata: 'x'::BLOB, other: 'y'::BLOB}`)
    expect(await copy(field(2, 'v', 'variant'), inputs)).toMatchObject({ kind: 'refused' })
  })
})

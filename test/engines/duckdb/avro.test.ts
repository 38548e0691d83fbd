import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import { field, Lake, list, map, schemaOf, struct, tableMetadata, task } from './harness/lake.ts'

const lake = new Lake()
const memory = new MemoryFileIO()
afterAll(() => lake.close())

/** Files that Apache Avro's own Python library wrote. */
const fixtures = fileURLToPath(new URL('../../fixtures/avro-data/', import.meta.url))
const names = ['rows', 'equality-deletes', 'position-deletes', 'no-ids']

beforeAll(async () => {
  for (const name of names) await memory.create(`/data/${name}.avro`, readFileSync(`${fixtures}${name}.avro`))
})

function avro(name: string, recordCount: number, overrides: Partial<DataFile> = {}): DataFile {
  const filePath = `/data/${name}.avro`
  return {
    content: 'data',
    filePath,
    fileFormat: 'avro',
    specId: 0,
    partition: [],
    recordCount,
    fileSizeInBytes: 1,
    ...overrides,
  }
}

// big stays, id was promoted, s.old became s.renamed, s.added is new
const schema = schemaOf([
  field(1, 'id', 'long'),
  field(2, 'big', 'long'),
  field(3, 'name', 'string'),
  field(4, 'price', 'decimal(20,2)'),
  field(5, 'day', 'date'),
  field(6, 'moment', 'timestamptz'),
  field(
    7,
    's',
    struct(field(9, 'renamed', 'long'), field(20, 'added', 'int', { initialDefault: 7 }), field(8, 'x', 'double')),
  ),
  field(10, 'tags', list(11, 'string')),
  field(12, 'm', map(13, 'long', 14, 'string')),
  field(15, 'u', 'uuid'),
  field(16, 'bytes_col', 'binary'),
  field(17, 'extra', 'string', { initialDefault: 'none' }),
])
const shape = { schemas: [schema], formatVersion: 3 as const }
const empty = {
  big: null,
  name: null,
  price: null,
  day: null,
  moment: null,
  s: null,
  tags: null,
  m: null,
  u: null,
  bytes_col: null,
}
const expected = [
  {
    id: '1',
    big: '9007199254740993',
    name: 'häß',
    price: '-12.30',
    day: '1969-12-31',
    moment: '1969-12-31T23:59:59.999999+00:00',
    s: { renamed: '3', added: 7, x: 1.5 },
    tags: ['a', null],
    m: [{ key: '5', value: 'five' }],
    u: 'f79c3e09-677c-4bbd-a479-3f349cb785e7',
    bytes_col: '00ff',
    extra: 'none',
  },
  { id: '2', ...empty, extra: 'none' },
  {
    id: '3',
    big: '-1',
    name: '',
    price: '0.00',
    day: '2024-02-29',
    moment: '2024-02-29T00:00:00.000000+00:00',
    s: { renamed: null, added: 7, x: null },
    tags: [],
    m: [],
    u: null,
    bytes_col: '',
    extra: 'none',
  },
]

async function read(inputs: readonly FileScanTask[]): Promise<unknown[]> {
  const engine = await lake.engine()
  const rows = []
  for await (const row of engine.readRows({ io: memory, metadata: tableMetadata(shape), schema, inputs }))
    rows.push(row)
  return rows.sort((a, b) => Number(a['id']) - Number(b['id']))
}

describe('Avro files', () => {
  it('are read by field id, with every type and evolution at every depth', async () => {
    expect(await read([task(avro('rows', 3))])).toEqual(expected)
  })

  it('can hold equality and position deletes', async () => {
    const equality = {
      file: avro('equality-deletes', 1, { content: 'equality-deletes', equalityIds: [1] }),
      sequenceNumber: 2,
    }
    const position = { file: avro('position-deletes', 1, { content: 'position-deletes' }), sequenceNumber: 2 }
    expect(await read([task(avro('rows', 3), [equality])])).toEqual(expected.slice(0, 2))
    expect(await read([task(avro('rows', 3), [position])])).toEqual([expected[0], expected[2]])
    const engine = await lake.engine()
    const inputs = [task(avro('rows', 3), [position, equality])]
    expect(await engine.countRows({ io: memory, metadata: tableMetadata(shape), schema, inputs })).toBe(1)
  })

  it('are rewritten together with Parquet files', async () => {
    const engine = await lake.engine()
    const parquet = await lake.data(`SELECT 9::BIGINT AS id, 'p' AS name`, '{id: 1, name: 3}')
    await memory.create(parquet.dataFile.filePath, readFileSync(parquet.dataFile.filePath))
    const output = lake.output(schema, { newDataLocation: (_, index) => `/new/${index}.parquet` })
    const result = await engine.rewrite({
      ...lake.task(shape, [task(avro('rows', 3)), parquet], { output }),
      io: memory,
    })
    expect(result).toMatchObject({ rowsRead: 4, rowsWritten: 4 })
    const rows = await read(result.files.map((file) => task(file)))
    expect(rows.filter((row) => (row as { id: string }).id !== '9')).toEqual(expected)
  })

  it('are refused without field ids, and when damaged', async () => {
    await expect(read([task(avro('no-ids', 1))])).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    await memory.create('/data/cut.avro', readFileSync(`${fixtures}rows.avro`).subarray(0, 900))
    await expect(read([task(avro('cut', 3))])).rejects.toMatchObject({ code: 'CORRUPT_FILE' })
    await expect(read([task(avro('rows', 4))])).rejects.toMatchObject({ code: 'CORRUPT_FILE' })
    await expect(read([task(avro('nowhere', 4))])).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
  })
})

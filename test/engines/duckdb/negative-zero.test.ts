import avro from 'avsc'
import { afterAll, describe, expect, it } from 'vitest'
import { AvroContainerWriter } from '../../../src/iceberg/avro/container-writer.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { field, Lake, list, map, readAll, schemaOf, struct, task } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

/** Rows with alternating zeros, in files without dictionaries so that the inputs hold both. */
async function zeros(select: string, fieldIds: string) {
  const path = lake.path(`in/zeros-${crypto.randomUUID()}.parquet`)
  await lake.parquet('SELECT 1 AS x') // makes the folder
  await lake.sql(`COPY (${select}) TO '${path}' (FORMAT parquet, FIELD_IDS ${fieldIds}, DICTIONARY_SIZE_LIMIT 0)`)
  return { dataFile: lake.dataFile(path), sequenceNumber: 1, fileSequenceNumber: 1, deletes: [] }
}

const signed = (i: string): string => `(CASE WHEN ${i} % 2 = 0 THEN 0.0 ELSE '-0.0'::DOUBLE END)`
const signs = (values: readonly unknown[]): string => values.map((value) => (Object.is(value, -0) ? '-' : '+')).join('')

describe('both zeros keep their sign', () => {
  it.each(['double', 'float'])('in a %s column', async (type) => {
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'id', 'long'), field(2, 'd', type)])
    const input = await zeros(`SELECT i AS id, ${signed('i')}::${type} AS d FROM range(100) r(i)`, '{id: 1, d: 2}')
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, [input]))
    const rows = await readAll(files)
    expect(signs(rows.toSorted((a, b) => Number(a['id']) - Number(b['id'])).map((row) => row['d']))).toBe(
      '+-'.repeat(50),
    )
  })

  it('inside structs, lists and maps', async () => {
    const engine = await lake.engine()
    const schema = schemaOf([
      field(1, 'id', 'long'),
      field(2, 's', struct(field(3, 'x', 'double'), field(4, 'l', list(5, 'double')))),
      field(6, 'm', map(7, 'string', 8, 'double')),
    ])
    const select = `SELECT i AS id, CASE WHEN i = 3 THEN NULL ELSE {x: 1.5::DOUBLE, l: [1.0::DOUBLE, ${signed('i')}]} END AS s,
      MAP {'k': ${signed('(i + 1)')}} AS m FROM range(40) r(i)`
    const ids =
      '{id: 1, s: {__duckdb_field_id: 2, x: 3, l: {__duckdb_field_id: 4, element: 5}}, m: {__duckdb_field_id: 6, key: 7, value: 8}}'
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, [await zeros(select, ids)]))
    const [file] = files
    const rows = await lake.sql(
      `SELECT id, signbit(s.l[2]) AS inList, signbit(m['k']) AS inMap FROM '${file?.filePath}' WHERE id <> 3 ORDER BY id`,
    )
    expect(rows).toHaveLength(39)
    for (const row of rows) {
      const odd = Number(row['id']) % 2 === 1
      expect([row['inList'], row['inMap']]).toEqual([odd, !odd])
    }
  })
})

/** Bytes of an Avro data file: records by avsc, which would leave the field ids out of the schema in the header. */
function avroBytes(schema: avro.Schema, records: readonly unknown[]): Uint8Array {
  const type = avro.Type.forSchema(schema)
  const writer = new AvroContainerWriter(JSON.stringify(schema), {})
  for (const record of records) writer.append((sink) => sink.writeFixed(type.toBuffer(record)))
  return writer.finish()
}

/** A file entry for Avro bytes that are written into the lake. */
async function avroFile(schema: avro.Schema, records: readonly unknown[], overrides: Partial<DataFile> = {}) {
  const path = lake.path(`in/${crypto.randomUUID()}.avro`)
  const bytes = avroBytes(schema, records)
  await lake.io.create(path, bytes)
  const dataFile: DataFile = {
    content: 'data',
    filePath: path,
    fileFormat: 'avro',
    specId: 0,
    partition: [],
    recordCount: records.length,
    fileSizeInBytes: bytes.length,
    ...overrides,
  }
  return dataFile
}

const idField = { name: 'id', type: 'int', 'field-id': 1 }
const zero = (i: number): number => (i % 2 === 0 ? 0 : -0)
const byId = (rows: readonly Record<string, unknown>[]) => rows.toSorted((a, b) => Number(a['id']) - Number(b['id']))

describe('both zeros of Avro files keep their sign', () => {
  it.each(['double', 'float'] as const)('in a %s column of a data file', async (type) => {
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'id', 'int'), field(2, 'd', type)])
    const file = await avroFile(
      record('rows', [idField, { name: 'd', type, 'field-id': 2 }]),
      Array.from({ length: 100 }, (_, i) => ({ id: i, d: zero(i) })),
    )
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, [task(file)]))
    expect(signs(byId(await readAll(files)).map((row) => row['d']))).toBe('+-'.repeat(50))
  })

  it('inside structs, lists, and the keys and values of maps', async () => {
    const engine = await lake.engine()
    const schema = schemaOf([
      field(1, 'id', 'int'),
      field(2, 's', struct(field(3, 'x', 'double'), field(4, 'l', list(5, 'double')))),
      field(6, 'm', map(7, 'double', 8, 'double')),
    ])
    const file = await avroFile(
      record('rows', [
        idField,
        {
          name: 's',
          'field-id': 2,
          type: record('r2', [
            { name: 'x', type: 'double', 'field-id': 3 },
            { name: 'l', 'field-id': 4, type: { type: 'array', items: 'double', 'element-id': 5 } },
          ]),
        },
        {
          name: 'm',
          'field-id': 6,
          type: {
            type: 'array',
            logicalType: 'map',
            items: record('k7_v8', [
              { name: 'key', type: 'double', 'field-id': 7 },
              { name: 'value', type: 'double', 'field-id': 8 },
            ]),
          },
        },
      ]),
      Array.from({ length: 40 }, (_, i) => ({
        id: i,
        s: { x: zero(i), l: [zero(i), zero(i + 1)] },
        m: [
          { key: zero(i), value: zero(i + 1) },
          { key: 1, value: zero(i) },
        ],
      })),
    )
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, [task(file)]))
    const rows = await lake.sql(
      `SELECT id, signbit(s.x) AS x, signbit(s.l[1]) AS a, signbit(s.l[2]) AS b, signbit(map_keys(m)[1]) AS k,
        signbit(map_values(m)[1]) AS v, signbit(map_values(m)[2]) AS w FROM '${files[0]?.filePath}' ORDER BY id`,
    )
    expect(rows).toHaveLength(40)
    for (const row of rows) {
      const odd = Number(row['id']) % 2 === 1
      expect(row).toEqual({ id: row['id'], x: odd, a: odd, b: !odd, k: odd, v: !odd, w: odd })
    }
  })

  it('in the keys of equality delete files', async () => {
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'id', 'int'), field(2, 'd', 'double')])
    const keys = record('deletes', [{ name: 'd', type: 'double', 'field-id': 2 }])
    const equality = { content: 'equality-deletes', equalityIds: [2] } as const
    const data = async (): Promise<DataFile> =>
      (
        await zeros(
          `SELECT i::INTEGER AS id, CASE WHEN i = 2 THEN 5.0 WHEN i = 3 THEN 7.0 ELSE ${signed('i')} END AS d FROM range(4) r(i)`,
          '{id: 1, d: 2}',
        )
      ).dataFile
    const left = async (values: readonly number[]): Promise<string> => {
      const deletes = await avroFile(
        keys,
        values.map((d) => ({ d })),
        equality,
      )
      const inputs = [task(await data(), [{ file: deletes, sequenceNumber: 2 }])]
      const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, inputs))
      return byId(await readAll(files))
        .map((row) => String(row['id']))
        .join()
    }
    expect(await left([5, 0, -0])).toBe('3')
    expect(await left([5, -0, 0])).toBe('3')
    expect(await left([5, -0])).toBe('0,3')
    expect(await left([5, 0])).toBe('1,3')
  })
})

describe('both zeros keep their sign when rows are sorted', () => {
  it.each(['double', 'float'])('by the %s column itself', async (type) => {
    const engine = await lake.engine()
    const schema = schemaOf([field(1, 'id', 'long'), field(2, 'd', type)])
    const input = await zeros(`SELECT i AS id, ${signed('i')}::${type} AS d FROM range(100) r(i)`, '{id: 1, d: 2}')
    const sortOrder = {
      orderId: 1,
      fields: [
        { sourceId: 2, transform: { kind: 'identity' }, direction: 'asc', nullOrder: 'nulls-first' },
        { sourceId: 1, transform: { kind: 'identity' }, direction: 'desc', nullOrder: 'nulls-first' },
      ],
    } as const
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, [input], { sortOrder }))
    const rows = await readAll(files)
    expect(signs(byId(rows).map((row) => row['d']))).toBe('+-'.repeat(50))
    // the spec puts -0.0 before 0.0
    expect(signs(rows.map((row) => row['d']))).toBe('-'.repeat(50) + '+'.repeat(50))
    expect(rows.map((row) => Number(row['id'])).slice(0, 2)).toEqual([99, 97])
  })
})

function record(name: string, fields: readonly unknown[]): avro.Schema {
  return { type: 'record', name, fields } as avro.Schema
}

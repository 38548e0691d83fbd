import { afterAll, describe, expect, it } from 'vitest'
import { field, Lake, list, map, readAll, schemaOf, struct } from './harness/lake.ts'

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

describe('both zeros stay what they are', () => {
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

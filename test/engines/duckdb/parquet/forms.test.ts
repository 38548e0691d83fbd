import { statSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { runs } from '../../../support/effort.ts'
import { field, footer, Lake, list, readAll, schemaOf, struct } from '../harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

/** Columns that the engine alone would write in another form. */
const FIELDS = [
  field(1, 'id', 'long', { required: true }),
  field(2, 'name', 'string', { required: true }),
  field(3, 'code', 'fixed[3]'),
  field(4, 'key', 'fixed[5]', { required: true }),
  field(5, 'amount', 'decimal(20,2)'),
  field(6, 'total', 'decimal(38,0)', { required: true }),
  field(7, 'parts', list(8, 'decimal(25,3)')),
  field(9, 'pair', struct(field(10, 'one', 'fixed[2]'), field(11, 'two', 'decimal(19,0)'))),
  field(12, 'plain', 'string'),
]
const SHAPE = { schemas: [schemaOf(FIELDS)] }
const IDS = `{id: 1, name: 2, code: 3, key: 4, amount: 5, total: 6, parts: {__duckdb_field_id: 7, element: 8},
  pair: {__duckdb_field_id: 9, one: 10, two: 11}, plain: 12}`

/** Rows with few (`distinct`) or many different values, and some nulls. */
function rows(from: number, count: number, distinct: number): string {
  const bytes = (length: number): string => `encode(lpad((i % ${distinct})::VARCHAR, ${length}, 'x')[1:${length}])`
  const unless = (every: number, sql: string): string => `CASE WHEN i % ${every} = 0 THEN NULL ELSE ${sql} END`
  const amount = `((i % ${distinct}) * CASE WHEN i % 2 = 0 THEN -123456789012345 ELSE 77 END)`
  return `SELECT i AS id, 'name ' || (i % ${distinct}) AS name, ${unless(4, bytes(3))} AS code, ${bytes(5)} AS key,
    ${unless(5, `(${amount}::HUGEINT)::DECIMAL(20,2)`)} AS amount, (${amount}::HUGEINT * 1000000007)::DECIMAL(38,0) AS total,
    ${unless(6, `[NULL, (${amount}::HUGEINT)::DECIMAL(25,3)]`)} AS parts,
    ${unless(7, `{one: ${unless(3, bytes(2))}, two: ${amount}::DECIMAL(19,0)}`)} AS pair, 'p' || i AS plain
    FROM range(${from}, ${from + count}) r(i)`
}

/** The forms of the leaves of a file, as an independent reader sees them. */
function forms(path: string): readonly string[] {
  return footer(path)
    .schema.slice(1)
    .flatMap(({ name, type, type_length: length, repetition_type: repetition }) =>
      type === undefined ? [] : [`${name} ${type}${length === undefined ? '' : `(${length})`} ${repetition}`],
    )
}

const FORMS = [
  'id INT64 REQUIRED',
  'name BYTE_ARRAY REQUIRED',
  'code FIXED_LEN_BYTE_ARRAY(3) OPTIONAL',
  'key FIXED_LEN_BYTE_ARRAY(5) REQUIRED',
  'amount FIXED_LEN_BYTE_ARRAY(9) OPTIONAL',
  'total FIXED_LEN_BYTE_ARRAY(16) REQUIRED',
  'element FIXED_LEN_BYTE_ARRAY(11) OPTIONAL',
  'one FIXED_LEN_BYTE_ARRAY(2) OPTIONAL',
  'two FIXED_LEN_BYTE_ARRAY(9) OPTIONAL',
  'plain BYTE_ARRAY OPTIONAL',
]

const text = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'bigint' ? `${inner}` : inner instanceof Uint8Array ? [...inner] : inner,
  )

describe('files of a table with required columns, fixed bytes and wide decimals', () => {
  it('have the forms of the specification, and the rows and metrics of their inputs', async () => {
    const engine = await lake.engine()
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3000 }),
        fc.constantFrom(3, 100_000),
        fc.constantFrom('v1', 'v2'),
        async (count, distinct, page) => {
          const inputs = [
            await lake.data(rows(0, count, distinct), IDS),
            await lake.data(rows(count, 500, distinct), IDS),
          ]
          const properties = { 'write.parquet.page-version': page, 'write.parquet.row-group-size-bytes': '200000' }
          const task = lake.task({ ...SHAPE, properties }, inputs, { verifyValues: true })
          const { files, values } = await engine.rewrite(task)
          expect(values).toMatchObject({ isEqual: true })
          const [file] = files
          const path = file?.filePath ?? ''
          expect(forms(path)).toEqual(FORMS)
          expect(file?.fileSizeInBytes).toBe(statSync(path).size)
          if (page === 'v2') return // the independent reader of the test does not read all encodings
          const found = (await readAll(files)).map(text)
          const expected = (await readAll(inputs.map(({ dataFile }) => dataFile))).map(text)
          expect(found.toSorted()).toEqual(expected.toSorted())
        },
      ),
      { numRuns: runs(60, 3) },
    )
  })

  it.each(['gzip', 'brotli', 'uncompressed', 'zstd'])('are recoded with the codec %s', async (codec) => {
    const engine = await lake.engine()
    const properties = { 'write.parquet.compression-codec': codec }
    const task = lake.task({ ...SHAPE, properties }, [await lake.data(rows(0, 3000, 50), IDS)], { verifyValues: true })
    const { files, values } = await engine.rewrite(task)
    expect(values).toMatchObject({ isEqual: true })
    expect(forms(files[0]?.filePath ?? '')).toEqual(FORMS)
  })

  it('have bounds of the table, and the sizes of the new pages', async () => {
    const engine = await lake.engine()
    const { files } = await engine.rewrite(lake.task(SHAPE, [await lake.data(rows(1, 3000, 100_000), IDS)]))
    const [file] = files
    const chunks = footer(file?.filePath ?? '').row_groups.flatMap(({ columns }) => columns)
    const sizes = FIELDS.length > 0 ? [1, 2, 3, 4, 5, 6].map((id) => file?.columnSizes?.get(id)) : []
    expect(sizes).toEqual(chunks.slice(0, 6).map(({ meta_data }) => Number(meta_data?.total_compressed_size)))
    expect(
      [file?.lowerBounds?.get(3), file?.upperBounds?.get(4)].map((bytes) => String.fromCharCode(...(bytes ?? []))),
    ).toEqual(['100', 'xxxx9'])
    expect(file?.nullValueCounts?.get(3)).toBe(750)
  })

  it('keep a required column optional when the table breaks its rule', async () => {
    const engine = await lake.engine()
    const schemas = [schemaOf([field(1, 'id', 'long', { required: true })])]
    const input = await lake.data('SELECT CASE WHEN i = 3 THEN NULL ELSE i END AS id FROM range(9) r(i)', '{id: 1}')
    const { files, values } = await engine.rewrite(lake.task({ schemas }, [input], { verifyValues: true }))
    expect(values).toMatchObject({ isEqual: true })
    expect(forms(files[0]?.filePath ?? '')).toEqual(['id INT64 OPTIONAL'])
  })

  it('are refused with a codec that is not written again, if they have fixed bytes', async () => {
    const engine = await lake.engine()
    const properties = { 'write.parquet.compression-codec': 'lz4' }
    const input = await lake.data(rows(0, 5, 5), IDS)
    await expect(engine.rewrite(lake.task({ ...SHAPE, properties }, [input]))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining(
        'column code has type fixed[3], which the embedded engine cannot write with the codec lz4',
      ),
    })
  })

  it('are refused when bytes have another length than their type', async () => {
    const engine = await lake.engine()
    const schemas = [schemaOf([field(1, 'code', 'fixed[3]')])]
    const input = await lake.data("SELECT encode('abcd') AS code", '{code: 1}')
    await expect(engine.rewrite(lake.task({ schemas }, [input]))).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
    expect(lake.leftovers().filter((path) => path.includes('/scratch/'))).toEqual([])
  })
})

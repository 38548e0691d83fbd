import { afterAll, describe, expect, it } from 'vitest'
import { isIcebergError } from '../../../../src/iceberg/errors.ts'
import type { FileScanTask } from '../../../../src/iceberg/scan/scan.ts'
import type { NestedField } from '../../../../src/iceberg/schema/types.ts'
import { field, Lake, list, map, readAll, schemaOf, struct, task } from '../harness/lake.ts'
import { group, ID, leaf, listOf, mapOf, repeated, text } from '../harness/parquet-nodes.ts'
import { CONVERTED, parquetBytes } from '../harness/parquet-writer.ts'
import type { ParquetNode, ParquetOptions, ParquetValue } from '../harness/parquet-writer.ts'

const lake = new Lake()
afterAll(() => lake.close())

const MAPPING = 'schema.name-mapping.default'
const INT = field(2, 'v', 'int')

function input(
  columns: readonly ParquetNode[],
  row: Readonly<Record<string, ParquetValue>>,
  options?: ParquetOptions,
): FileScanTask {
  return task(lake.dataFile(lake.write(parquetBytes(columns, [row], options))))
}

async function refusal(
  fields: readonly NestedField[],
  inputs: readonly FileScanTask[],
  properties: Record<string, string> = {},
): Promise<unknown> {
  const engine = await lake.engine()
  const before = lake.leftovers()
  const rewriting = engine.rewrite(lake.task({ schemas: [schemaOf(fields)], properties }, inputs))
  const error: unknown = await rewriting.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(lake.leftovers()).toEqual(before)
  return error
}

/** Matches the refusal of the first input, by its name. */
function namesFile([file]: readonly FileScanTask[], part = ''): unknown {
  const path = file?.dataFile.filePath ?? 'no file'
  return expect.toSatisfy(
    (error: unknown) =>
      isIcebergError(error, 'UNSUPPORTED') && error.message.includes(path) && error.message.includes(part),
  )
}

interface Refused {
  readonly title: string
  readonly columns: readonly ParquetNode[]
  readonly row: Readonly<Record<string, ParquetValue>>
  readonly target: NestedField
}

const REFUSED: readonly Refused[] = [
  {
    title: 'a map without a value',
    columns: [mapOf('v', 2, repeated('key_value', undefined, text('key', 3)))],
    row: { v: { key_value: [{ key: 'a' }] } },
    target: field(2, 'v', map(3, 'string', 4, 'int')),
  },
  {
    title: 'a map whose outer group is annotated as MAP_KEY_VALUE',
    columns: [group('v', 2, [repeated('map', undefined, text('key', 3), leaf('value', 4))], CONVERTED.MAP_KEY_VALUE)],
    row: { v: { map: [{ key: 'a', value: 1 }] } },
    target: field(2, 'v', map(3, 'string', 4, 'int')),
  },
  {
    title: 'a map whose value is before its key',
    columns: [mapOf('v', 2, repeated('key_value', undefined, leaf('value', 4), text('key', 3)))],
    row: { v: { key_value: [{ key: 'a', value: 1 }] } },
    target: field(2, 'v', map(3, 'string', 4, 'int')),
  },
  {
    title: 'a list without annotation',
    columns: [group('v', 2, [repeated('list', undefined, leaf('element', 3))])],
    row: { v: { list: [{ element: 1 }] } },
    target: field(2, 'v', list(3, 'int')),
  },
  {
    title: 'a list of structs with one member in two levels',
    columns: [listOf('v', 2, repeated('array', 3, leaf('a', 4)))],
    row: { v: { array: [{ a: 1 }] } },
    target: field(2, 'v', list(3, struct(field(4, 'a', 'int')))),
  },
  {
    title: 'a column in a struct where the table has it at the top',
    columns: [group('s', 9, [leaf('v', 2)])],
    row: { s: { v: 1 } },
    target: INT,
  },
  {
    title: 'a struct without a member that the table has',
    columns: [group('v', 2, [leaf('gone', 8)])],
    row: { v: { gone: 1 } },
    target: field(2, 'v', struct(field(4, 'a', 'int'))),
  },
  {
    title: 'a hidden list beside names that differ in case',
    columns: [listOf('v', 2, repeated('list', 99, leaf('element', 3))), leaf('w', 7), leaf('W', 8)],
    row: { v: { list: [{ element: 1 }] }, w: 1, W: 2 },
    target: field(2, 'v', list(3, 'int')),
  },
  {
    title: 'two members with one field id',
    columns: [group('v', 2, [leaf('a', 4), leaf('b', 4)])],
    row: { v: { a: 1, b: 2 } },
    target: field(2, 'v', struct(field(4, 'a', 'int'))),
  },
]

describe('a rewrite refuses, before it writes and by name,', () => {
  it.each(REFUSED)('$title', async ({ columns, row, target }) => {
    const inputs = [input([ID, ...columns], { id: 1n, ...row })]
    expect(await refusal([field(1, 'id', 'long'), target], inputs)).toEqual(namesFile(inputs))
  })

  it('a file with field ids of which a mapped column has none', async () => {
    const mapping = JSON.stringify([
      { 'field-id': 1, names: ['id'] },
      { 'field-id': 2, names: ['v'] },
    ])
    const inputs = [input([ID, leaf('v')], { id: 1n, v: 5 })]
    const fields = [field(1, 'id', 'long'), INT]
    expect(await refusal(fields, inputs, { [MAPPING]: mapping })).toEqual(namesFile(inputs, 'none for column v'))
  })

  it('a struct with field ids of which a mapped member has none', async () => {
    const inner = [{ 'field-id': 3, names: ['a'] }]
    const mapping = JSON.stringify([{ 'field-id': 2, names: ['v'], fields: inner }])
    const inputs = [input([group('v', 2, [leaf('a'), leaf('b', 4)])], { v: { a: 1, b: 2 } })]
    const fields = [field(2, 'v', struct(field(3, 'a', 'int'), field(4, 'b', 'int')))]
    expect(await refusal(fields, inputs, { [MAPPING]: mapping })).toEqual(namesFile(inputs, 'none for column a'))
  })

  it('a column whose mapped name differs in case', async () => {
    const mapping = JSON.stringify([{ 'field-id': 2, names: ['v'] }])
    const inputs = [input([leaf('V')], { V: 5 })]
    expect(await refusal([INT], inputs, { [MAPPING]: mapping })).toEqual(namesFile(inputs, 'column V'))
  })

  it('two columns that are mapped to one field id', async () => {
    const mapping = JSON.stringify([{ 'field-id': 2, names: ['v', 'old'] }])
    const inputs = [input([leaf('v'), leaf('old')], { v: 5, old: 6 })]
    expect(await refusal([INT], inputs, { [MAPPING]: mapping })).toEqual(namesFile(inputs, 'v and old'))
  })

  it.each([3, 5])('a file that is compressed with codec %i', async (codec) => {
    const inputs = [input([leaf('v', 2)], { v: 5 }, { codec })]
    expect(await refusal([INT], inputs)).toEqual(namesFile(inputs, 'compressed with LZ'))
  })

  it('a column of integers with the encoding BYTE_STREAM_SPLIT', async () => {
    const inputs = [input([leaf('v', 2)], { v: 5 }, { encodings: [3, 9] })]
    expect(await refusal([INT], inputs)).toEqual(namesFile(inputs, 'BYTE_STREAM_SPLIT'))
  })
})

describe('a file whose pages the engine meets only while it reads rows', () => {
  it.each([
    ['bit-packed values', 'UNSUPPORTED', 'Unsupported page encoding', { encoding: 4 }],
    ['a byte stream split of integers', 'UNSUPPORTED', 'BYTE_STREAM_SPLIT', { encoding: 9 }],
    ['a dictionary that is not there', 'CORRUPT_FILE', 'dictionary', { encoding: 2 }],
    ['no values', 'CORRUPT_FILE', 'buffer', { content: new Uint8Array() }],
    ['a damaged delta encoding', 'CORRUPT_FILE', 'Varint', { encoding: 5, content: new Uint8Array(50).fill(255) }],
    ['a page of another kind', 'CORRUPT_FILE', 'page header', { type: 3 }],
  ])('gets the code for %s: %s', async (_, code, part, page) => {
    const inputs = [input([leaf('v', 2)], { v: 5 }, { page })]
    expect(await refusal([INT], inputs)).toMatchObject({ code, message: expect.stringContaining(part) })
  })
})

const NANOS_PER_DAY = 86_400_000_000_000n
const EPOCH_DAY = 2_440_588

function int96(day: number, nanos: bigint): Uint8Array {
  const bytes = new Uint8Array(12)
  const view = new DataView(bytes.buffer)
  view.setBigInt64(0, nanos, true)
  view.setInt32(8, day, true)
  return bytes
}

const TIME: ParquetNode = { ...leaf('t', 2), physical: 'INT96' }

describe('timestamps of type INT96', () => {
  it.each([
    ['after the year 294247', int96(EPOCH_DAY + 106_751_992, 0n)],
    ['of day 2^31 - 1', int96(2 ** 31 - 1, 0n)],
    ['before 4713 BC', int96(-1, 0n)],
    ['with negative nanoseconds', int96(EPOCH_DAY, -1n)],
    ['with nanoseconds of many days', int96(EPOCH_DAY, NANOS_PER_DAY * 1000n)],
  ])('are refused by name %s', async (_, value) => {
    const fields = [field(1, 'id', 'long'), field(2, 't', 'timestamptz')]
    const inputs = [input([ID, TIME], { id: 1n, t: value })]
    expect(await refusal(fields, inputs)).toEqual(namesFile(inputs, 'column t'))
    const nested = [
      input([ID, listOf('v', 3, repeated('list', undefined, TIME))], { id: 1n, v: { list: [{ t: value }] } }),
    ]
    expect(await refusal([field(3, 'v', list(2, 'timestamp'))], nested)).toEqual(namesFile(nested, 'column v'))
  })

  it.each([
    ['Julian day 0', int96(0, 0n), -EPOCH_DAY],
    ['the epoch', int96(EPOCH_DAY, 0n), 0],
    ['the year 200000', int96(EPOCH_DAY + 72_000_000, 0n), 72_000_000],
  ])('keep %s through a rewrite', async (_, value, day) => {
    const engine = await lake.engine()
    const inputs = [
      input([ID, TIME, leaf('after', 5)], { id: 1n, t: value, after: 7 }),
      input([ID, TIME], { id: 1n, t: null }),
    ]
    const schema = schemaOf([field(2, 't', 'timestamp'), field(5, 'after', 'int')])
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, inputs, { verifyValues: true }))
    const path = files[0]?.filePath ?? ''
    const found = await lake.sql(`SELECT epoch_us(t)::VARCHAR AS t, after FROM '${path}' ORDER BY after`)
    expect(found).toEqual([
      { t: String(BigInt(day) * 86_400_000_000n), after: 7 },
      { t: null, after: null },
    ])
    expect(await readAll(files)).toHaveLength(2)
  })
})

describe('timestamps in milliseconds', () => {
  const MILLIS: ParquetNode = { ...leaf('t', 2), physical: 'INT64', converted: CONVERTED.TIMESTAMP_MILLIS }
  const LONG_MAX = 2n ** 63n - 1n

  it.each([LONG_MAX, -LONG_MAX])('are refused when microseconds do not hold %s', async (value) => {
    const inputs = [input([ID, MILLIS], { id: 1n, t: value })]
    for (const type of ['timestamp', 'timestamptz']) {
      const error = await refusal([field(1, 'id', 'long'), field(2, 't', type)], inputs)
      expect(error).toMatchObject({ code: 'CORRUPT_FILE', message: expect.stringContaining('out of the range') })
    }
  })

  it('keep their values through a rewrite', async () => {
    const engine = await lake.engine()
    const inputs = [input([MILLIS], { t: -1n }), input([MILLIS], { t: null })]
    const schema = schemaOf([field(2, 't', 'timestamptz')])
    const { files } = await engine.rewrite(lake.task({ schemas: [schema] }, inputs, { verifyValues: true }))
    const path = files[0]?.filePath ?? ''
    const found = await lake.sql(`SELECT epoch_us(t)::VARCHAR AS t FROM '${path}' ORDER BY t`)
    expect(found).toEqual([{ t: '-1000' }, { t: null }])
  })
})

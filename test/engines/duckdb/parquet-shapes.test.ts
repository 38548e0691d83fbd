import { afterAll, describe, expect, it } from 'vitest'
import type { SortOrder } from '../../../src/iceberg/partitioning/sort-order.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import { childFields } from '../../../src/iceberg/schema/schema.ts'
import type { NestedField } from '../../../src/iceberg/schema/types.ts'
import { readAll, field, Lake, list, map, schemaOf, struct, task } from './harness/lake.ts'
import { group, ID, leaf, listOf, mapOf, repeated, text } from './harness/parquet-nodes.ts'
import { CONVERTED, parquetBytes } from './harness/parquet-writer.ts'
import type { ParquetNode, ParquetOptions, ParquetValue } from './harness/parquet-writer.ts'

const lake = new Lake()
afterAll(() => lake.close())

function input(
  columns: readonly ParquetNode[],
  rows: readonly Readonly<Record<string, ParquetValue>>[],
  options?: ParquetOptions,
): FileScanTask {
  return task(lake.dataFile(lake.write(parquetBytes(columns, rows, options))))
}

interface Rewriting {
  readonly fields: readonly NestedField[]
  readonly inputs: readonly FileScanTask[]
  readonly properties?: Record<string, string>
  readonly sortOrder?: SortOrder
}

async function rewrite({ fields, inputs, properties = {}, ...rest }: Rewriting): Promise<Record<string, unknown>[]> {
  const engine = await lake.engine()
  const table = { schemas: [schemaOf(fields)], properties }
  const { files, values } = await engine.rewrite(lake.task(table, inputs, { verifyValues: true, ...rest }))
  expect(values?.isEqual ?? true).toBe(true)
  return readAll(files)
}

interface Shape {
  readonly title: string
  readonly column: ParquetNode
  readonly type: NestedField['type']
  /** Values in the file's own form, and as rows have them. */
  readonly values: readonly (readonly [file: ParquetValue, row: unknown])[]
}

const INTS = list(3, 'int')
const PAIR = struct(field(4, 'a', 'int'), field(5, 'b', 'int'))
const TEXTS_TO_INTS = map(3, 'string', 4, 'int')

/** The shapes of LogicalTypes.md ("Lists", "Maps", and their backward-compatibility rules), with field ids at any level. */
const SHAPES: readonly Shape[] = [
  {
    title: 'a list of three levels',
    column: listOf('v', 2, repeated('list', undefined, leaf('element', 3))),
    type: INTS,
    values: [
      [{ list: [{ element: 1 }, { element: null }] }, [1, null]],
      [{ list: [] }, []],
      [null, null],
    ],
  },
  {
    title: 'a list whose repeated group has a field id',
    column: listOf('v', 2, repeated('list', 99, leaf('element', 3))),
    type: INTS,
    values: [
      [{ list: [{ element: 1 }, { element: null }] }, [1, null]],
      [{ list: [] }, []],
      [null, null],
    ],
  },
  {
    title: 'a list whose repeated group has the field id of another column',
    column: listOf('v', 2, repeated('list', 1, leaf('element', 3))),
    type: INTS,
    values: [[{ list: [{ element: 7 }] }, [7]]],
  },
  {
    title: 'a required list whose repeated group has a field id',
    column: { ...listOf('v', 2, repeated('list', 99, leaf('element', 3, 'required'))), repetition: 'required' },
    type: INTS,
    values: [
      [{ list: [{ element: 1 }] }, [1]],
      [{ list: [] }, []],
    ],
  },
  {
    title: 'a list of two levels',
    column: listOf('v', 2, leaf('element', 3, 'repeated')),
    type: INTS,
    values: [
      [{ element: [1, 2] }, [1, 2]],
      [{ element: [] }, []],
      [null, null],
    ],
  },
  {
    title: 'a list of structs in two levels',
    column: listOf('v', 2, repeated('array', 3, leaf('a', 4), leaf('b', 5))),
    type: list(3, PAIR),
    values: [
      [
        {
          array: [
            { a: 1, b: null },
            { a: null, b: 2 },
          ],
        },
        [
          { a: 1, b: null },
          { a: null, b: 2 },
        ],
      ],
      [{ array: [] }, []],
      [null, null],
    ],
  },
  {
    title: 'a list of lists whose repeated groups have field ids',
    column: listOf('v', 2, repeated('list', 98, listOf('element', 3, repeated('list', 99, leaf('element', 4))))),
    type: list(3, list(4, 'int')),
    values: [[{ list: [{ element: { list: [{ element: 1 }] } }, { element: null }] }, [[1], null]]],
  },
  {
    title: 'a list of lists in two levels each',
    column: listOf('v', 2, { ...listOf('array', 3, leaf('array', 4, 'repeated')), repetition: 'repeated' }),
    type: list(3, list(4, 'int')),
    values: [[{ array: [{ array: [1, 2] }, { array: [] }] }, [[1, 2], []]]],
  },
  {
    title: 'a struct with a list whose repeated group has a field id',
    column: group('v', 2, [listOf('l', 3, repeated('list', 99, leaf('element', 4))), leaf('z', 5)]),
    type: struct(field(3, 'l', list(4, 'int')), field(5, 'z', 'int')),
    values: [
      [
        { l: { list: [{ element: 1 }] }, z: 2 },
        { l: [1], z: 2 },
      ],
      [null, null],
    ],
  },
  {
    title: 'a list of structs whose repeated group has a field id',
    column: listOf('v', 2, repeated('bag', 99, group('array_element', 3, [leaf('a', 4), leaf('b', 5)]))),
    type: list(3, PAIR),
    values: [[{ bag: [{ array_element: { a: 1, b: 2 } }, { array_element: null }] }, [{ a: 1, b: 2 }, null]]],
  },
  {
    title: 'a map whose repeated group has a field id',
    column: mapOf('v', 2, repeated('key_value', 99, text('key', 3), leaf('value', 4))),
    type: TEXTS_TO_INTS,
    values: [
      [
        {
          key_value: [
            { key: 'a', value: 1 },
            { key: 'b', value: null },
          ],
        },
        { a: 1, b: null },
      ],
      [{ key_value: [] }, {}],
      [null, null],
    ],
  },
  {
    title: 'a map whose repeated group is annotated as MAP_KEY_VALUE and has a field id',
    column: mapOf('v', 2, {
      ...repeated('map', 99, text('key', 3), leaf('value', 4)),
      converted: CONVERTED.MAP_KEY_VALUE,
    }),
    type: TEXTS_TO_INTS,
    values: [[{ map: [{ key: 'a', value: 1 }] }, { a: 1 }]],
  },
  {
    title: 'a map of structs whose repeated group has a field id',
    column: mapOf('v', 2, repeated('key_value', 99, text('key', 3), group('value', 6, [leaf('a', 4), leaf('b', 5)]))),
    type: map(3, 'string', 6, PAIR),
    values: [[{ key_value: [{ key: 'a', value: { a: 1, b: 2 } }] }, { a: { a: 1, b: 2 } }]],
  },
  {
    title: 'a map of lists in two levels',
    column: mapOf(
      'v',
      2,
      repeated('key_value', undefined, text('key', 3), listOf('value', 4, leaf('element', 5, 'repeated'))),
    ),
    type: map(3, 'string', 4, list(5, 'int')),
    values: [[{ key_value: [{ key: 'a', value: { element: [1, 2] } }] }, { a: [1, 2] }]],
  },
]

/** Maps as objects, bytes as text, and null for what is not there. */
function plain(value: unknown): unknown {
  if (value === undefined) return null
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

function withoutIds(node: ParquetNode): ParquetNode {
  const { name, repetition, physical, converted, children } = node
  return {
    name,
    repetition,
    ...(physical === undefined ? {} : { physical }),
    ...(converted === undefined ? {} : { converted }),
    ...(children === undefined ? {} : { children: children.map(withoutIds) }),
  }
}

/** The name mapping of columns by their own names. */
function mappingOf(fields: readonly NestedField[]): unknown {
  return fields.map(({ id, name, type }) => ({ 'field-id': id, names: [name], fields: mappingOf(childFields(type)) }))
}

/** Rows in the order of their ids, as a rewrite promises none. */
function inOrder(rows: readonly Readonly<Record<string, unknown>>[]): unknown[] {
  return rows.toSorted((a, b) => Number(a['id']) - Number(b['id'])).map(plain)
}

describe.each(SHAPES)('$title', ({ column, type, values }) => {
  const rows = values.map(([value], at) => ({ id: BigInt(at), v: value }))
  const expected = values.map(([, value], at) => ({ id: BigInt(at), v: value }))

  it.each([true, false])('keeps its values through a rewrite when statistics are %s', async (hasStatistics) => {
    const inputs = [input([ID, column], rows, { hasStatistics }), input([ID, column], rows, { hasStatistics })]
    const found = await rewrite({ fields: [field(1, 'id', 'long'), field(2, 'v', type)], inputs })
    expect(inOrder(found)).toEqual(inOrder([...expected, ...expected]))
  })

  it('keeps its values through a rewrite of renamed columns with a member that the table added', async () => {
    const inputs = [input([ID, column], rows), input([ID], [{ id: 50n }])]
    const fields = [field(2, 'renamed', type), field(1, 'id', 'long'), field(7, 'new', 'int')]
    const found = await rewrite({ fields, inputs })
    const all = [...expected, { id: 50n, v: null }]
    expect(inOrder(found)).toEqual(inOrder(all.map(({ id, v }) => ({ renamed: v, id, new: null }))))
  })

  it('keeps its values through a sorted rewrite with deletes, without and with a name mapping', async () => {
    const fields = [field(1, 'id', 'long'), field(2, 'v', type)]
    const mapping = JSON.stringify(mappingOf(fields))
    const plainFile = input([ID, column].map(withoutIds), rows)
    const mapped = await rewrite({
      fields,
      inputs: [plainFile],
      properties: { 'schema.name-mapping.default': mapping },
    })
    expect(inOrder(mapped)).toEqual(inOrder(expected))
    const odd = input([ID, column], rows)
    const deletes = [
      await lake.positionDeletes([[odd.dataFile.filePath, 0]]),
      await lake.equalityDeletes('SELECT 1::BIGINT AS id', '{id: 1}', [1]),
    ]
    const sortOrder: SortOrder = {
      orderId: 1,
      fields: [{ sourceId: 1, transform: { kind: 'identity' }, direction: 'desc', nullOrder: 'nulls-last' }],
    }
    const found = await rewrite({ fields, inputs: [{ ...odd, deletes }, input([ID, column], rows)], sortOrder })
    expect(inOrder(found)).toEqual(inOrder([...expected.slice(2), ...expected]))
  })

  it('appears in previews', async () => {
    const engine = await lake.engine()
    const { metadata, io } = lake.task({ schemas: [schemaOf([field(1, 'id', 'long'), field(2, 'v', type)])] }, [])
    const schema = schemaOf([field(2, 'v', type)])
    const found: unknown[] = []
    for await (const row of engine.readRows({ io, metadata, schema, inputs: [input([ID, column], rows)] }))
      found.push(row['v'] === null)
    expect(found).toEqual(values.map(([, value]) => value === null))
  })
})

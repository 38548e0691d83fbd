import type { NestedField } from '../../../../src/iceberg/schema/types.ts'
import { field, list, map, struct } from './lake.ts'
import { group, leaf, listOf, mapOf, repeated, text } from './parquet-nodes.ts'
import { CONVERTED } from './parquet-writer.ts'
import type { ParquetNode, ParquetValue } from './parquet-writer.ts'

/** A column of a form that the Parquet specification allows, and its values. */
export interface ParquetShape {
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
export const PARQUET_SHAPES: readonly ParquetShape[] = [
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

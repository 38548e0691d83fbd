import { describe, expect, it } from 'vitest'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import type { NestedField, SimpleTypeName, Type } from '../../../src/iceberg/schema/types.ts'
import { mapColumns } from '../../../src/streaming/sink/column-mapping.ts'

const field = (
  id: number,
  name: string,
  type: SimpleTypeName | Type,
  more: Partial<NestedField> = {},
): NestedField => ({
  id,
  name,
  required: false,
  type: typeof type === 'string' ? { kind: type } : type,
  ...more,
})
const schema = (...fields: NestedField[]): Schema => ({ schemaId: 0, identifierFieldIds: [], fields })

describe('columns of two tables', () => {
  it('are matched by name, exact case first', () => {
    const source = schema(field(1, 'a', 'int'), field(2, 'A', 'int'), field(3, 'Name', 'string'))
    const sink = schema(field(7, 'A', 'int'), field(8, 'a', 'int'), field(9, 'name', 'string'))
    expect(mapColumns(source, sink).pairs).toEqual([
      [2, 7],
      [1, 8],
      [3, 9],
    ])
  })

  it('are not matched when several names differ only in case', () => {
    const source = schema(field(1, 'A', 'int'), field(2, 'a', 'int'))
    const { pairs, missing } = mapColumns(source, schema(field(7, 'a', 'int')))
    expect(pairs).toEqual([[2, 7]])
    expect(missing.map(({ path }) => path)).toEqual(['A'])
    expect(mapColumns(schema(field(1, 'a', 'int')), schema(field(7, 'A', 'int'), field(8, 'À', 'int'))).pairs).toEqual([
      [1, 7],
    ])
    expect(
      mapColumns(schema(field(1, 'ab', 'int')), schema(field(7, 'AB', 'int'), field(8, 'Ab', 'int'))).pairs,
    ).toEqual([])
  })

  it('stay matched by id after the first match, even when names are swapped', () => {
    const source = schema(field(1, 'b', 'int'), field(2, 'a', 'int'))
    const sink = schema(field(7, 'a', 'int'), field(8, 'b', 'int'))
    expect(
      mapColumns(source, sink, [
        [1, 7],
        [2, 8],
      ]).pairs,
    ).toEqual([
      [1, 7],
      [2, 8],
    ])
    expect(mapColumns(source, sink).pairs).toEqual([
      [2, 7],
      [1, 8],
    ])
    const readded = schema(field(1, 'b', 'int'), field(3, 'x', 'int'))
    expect(
      mapColumns(readded, schema(field(7, 'a', 'int'), field(8, 'x', 'int')), [
        [1, 7],
        [2, 8],
      ]).pairs,
    ).toEqual([
      [1, 7],
      [3, 8],
    ])
  })

  it('accept legal promotions, and refuse others by name', () => {
    const source = schema(
      field(1, 'i', 'int'),
      field(2, 'f', 'float'),
      field(3, 'd', { kind: 'decimal', precision: 9, scale: 2 }),
      field(4, 'l', 'long'),
      field(5, 's', 'string'),
      field(6, 't', 'timestamptz'),
    )
    const good = schema(
      field(1, 'i', 'long'),
      field(2, 'f', 'double'),
      field(3, 'd', { kind: 'decimal', precision: 18, scale: 2 }),
      field(4, 'l', 'long'),
      field(5, 's', 'string'),
      field(6, 't', 'timestamptz'),
    )
    expect(mapColumns(source, good)).toMatchObject({ problems: [], missing: [] })
    const bad = schema(
      field(1, 'i', 'float'),
      field(2, 'f', 'string'),
      field(3, 'd', { kind: 'decimal', precision: 18, scale: 3 }),
      field(4, 'l', 'int'),
      field(5, 's', 'binary'),
      field(6, 't', 'timestamp'),
    )
    expect(mapColumns(source, bad).problems).toHaveLength(6)
  })

  it('check required columns', () => {
    const source = schema(field(1, 'a', 'int'), field(2, 'b', 'int', { required: true }))
    const sink = schema(
      field(1, 'a', 'int', { required: true }),
      field(2, 'b', 'int', { required: true }),
      field(3, 'c', 'int', { required: true }),
      field(4, 'd', 'int', { required: true, writeDefault: 5 }),
    )
    const { problems, reads } = mapColumns(source, sink)
    expect(problems).toHaveLength(2)
    expect(problems.join()).toMatch(/a of the sink is required.*column c of the sink is required/)
    expect(reads[3]?.initialDefault).toBe(5)
  })

  it('are matched inside structs, lists and maps', () => {
    const inner = (ids: number, names: readonly string[]): Type => ({
      kind: 'struct',
      fields: names.map((name, at) => field(ids + at, name, 'int')),
    })
    const source = schema(
      field(1, 's', inner(10, ['a', 'b'])),
      field(2, 'l', { kind: 'list', elementId: 20, elementRequired: false, element: inner(21, ['x', 'y']) }),
      field(3, 'm', {
        kind: 'map',
        keyId: 30,
        key: { kind: 'string' },
        valueId: 31,
        valueRequired: false,
        value: { kind: 'int' },
      }),
    )
    const sink = schema(
      field(5, 's', inner(50, ['b', 'a', 'c'])),
      field(6, 'l', { kind: 'list', elementId: 60, elementRequired: false, element: inner(61, ['y', 'x']) }),
      field(7, 'm', {
        kind: 'map',
        keyId: 70,
        key: { kind: 'string' },
        valueId: 71,
        valueRequired: false,
        value: { kind: 'long' },
      }),
    )
    const { pairs, problems, missing } = mapColumns(source, sink)
    expect({ problems, missing }).toEqual({ problems: [], missing: [] })
    expect(new Map(pairs)).toEqual(
      new Map([
        [1, 5],
        [11, 50],
        [10, 51],
        [2, 6],
        [20, 60],
        [22, 61],
        [21, 62],
        [3, 7],
        [30, 70],
        [31, 71],
      ]),
    )
    expect(mapColumns(schema(field(1, 's', 'int')), schema(field(5, 's', inner(50, ['a'])))).problems).toHaveLength(1)
    expect(
      mapColumns(schema(field(1, 's', inner(10, ['a', 'z']))), schema(field(5, 's', inner(50, ['a'])))).missing.map(
        ({ path }) => path,
      ),
    ).toEqual(['s.z'])
  })
})

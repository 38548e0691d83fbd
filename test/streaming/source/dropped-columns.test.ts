import { describe, expect, it } from 'vitest'
import { parseTableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import type { NestedField } from '../../../src/iceberg/schema/types.ts'
import { batchSchema, dropsTheSame } from '../../../src/streaming/source/dropped-columns.ts'

const field = (id: number, name: string, type: unknown = 'string') => ({ id, name, required: false, type })
const struct = (...fields: object[]) => ({ type: 'struct', fields })
const list = (id: number, element: unknown) => ({ type: 'list', 'element-id': id, 'element-required': false, element })

/** A table whose schemas came one after the other; the last is current. */
function table(...schemas: readonly (readonly object[])[]) {
  const document = {
    'format-version': 2,
    'table-uuid': '5d9111ed-e56c-4ceb-9040-09d3be71926b',
    location: '/t',
    'last-sequence-number': 0,
    'last-updated-ms': 1,
    'last-column-id': 99,
    schemas: schemas.map((fields, at) => ({ type: 'struct', 'schema-id': at, fields })),
    'current-schema-id': schemas.length - 1,
    'partition-specs': [{ 'spec-id': 0, fields: [] }],
    'default-spec-id': 0,
    'last-partition-id': 999,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    'default-sort-order-id': 0,
  }
  return parseTableMetadata(new TextEncoder().encode(JSON.stringify(document)))
}

const names = (fields: readonly NestedField[]): unknown[] =>
  fields.map(({ id, name, type }) => (type.kind === 'struct' ? [id, name, names(type.fields)] : [id, name]))
const all = new Set([1, 2, 3])
const none = new Set<number>()
const rows = { appended: [], others: [], hasUnknown: false }

describe('the columns of a batch', () => {
  it('are those of the source when no column was dropped', () => {
    const metadata = table([field(1, 'a')], [field(1, 'b'), field(2, 'c')])
    const { schema, dropped } = batchSchema(metadata, { ...rows, appended: [0], others: [0] }, all)
    expect(names(schema.fields)).toEqual([
      [1, 'b'],
      [2, 'c'],
    ])
    expect(dropped).toEqual([])
    expect(dropsTheSame(metadata, 0, 1)).toBe(true)
  })

  it('include columns that were dropped after the rows were appended, at any depth', () => {
    const before = [field(1, 'a'), field(2, 'b'), field(3, 's', struct(field(4, 'x'), field(5, 'y')))]
    const metadata = table(before, [field(1, 'a'), field(3, 's', struct(field(4, 'z')))])
    const { schema, dropped } = batchSchema(metadata, { ...rows, appended: [0] }, none)
    expect(names(schema.fields)).toEqual([
      [1, 'a'],
      [
        3,
        's',
        [
          [4, 'z'],
          [5, 'y'],
        ],
      ],
      [2, 'b'],
    ])
    expect(dropped).toEqual([2, 5])
    expect(dropsTheSame(metadata, 0, 1)).toBe(false)
  })

  it('include dropped fields of structs in lists', () => {
    const metadata = table(
      [field(1, 'l', list(2, struct(field(3, 'x'), field(4, 'y'))))],
      [field(1, 'l', list(2, struct(field(3, 'x'))))],
    )
    const { schema, dropped } = batchSchema(metadata, { ...rows, appended: [0] }, none)
    const [{ type }] = schema.fields as [NestedField]
    expect(type.kind === 'list' && type.element.kind === 'struct' && names(type.element.fields)).toEqual([
      [3, 'x'],
      [4, 'y'],
    ])
    expect(dropped).toEqual([4])
  })

  it('have the dropped column instead of a later one of the same name, in any case', () => {
    const metadata = table([field(1, 'a'), field(2, 'b')], [field(1, 'a')], [field(1, 'a'), field(3, 'B')])
    expect(names(batchSchema(metadata, { ...rows, appended: [0] }, none).schema.fields)).toEqual([
      [1, 'a'],
      [2, 'b'],
    ])
  })

  it('keep both when an older column was renamed to the name of a dropped one', () => {
    const metadata = table([field(1, 'a'), field(2, 'b')], [field(1, 'b')])
    expect(names(batchSchema(metadata, { ...rows, appended: [0] }, none).schema.fields)).toEqual([
      [1, 'b'],
      [2, 'b_dropped_2'],
    ])
  })

  it('include dropped columns of rows from before the pipeline only if it has copied them', () => {
    const metadata = table([field(1, 'a'), field(2, 'b'), field(3, 'c')], [field(1, 'a')])
    const { dropped } = batchSchema(metadata, { ...rows, others: [0] }, new Set([1, 3]))
    expect(dropped).toEqual([3])
  })

  it('include each dropped column that was copied when the schema of rows is unknown', () => {
    const metadata = table([field(1, 'a'), field(2, 'b'), field(3, 'c')], [field(1, 'a')])
    expect(batchSchema(metadata, { ...rows, hasUnknown: true }, new Set([1, 2])).dropped).toEqual([2])
  })

  it('are refused when rows of an unknown schema may have values of one of two columns', () => {
    const metadata = table([field(1, 'a'), field(2, 'b')], [field(1, 'a')], [field(1, 'a'), field(3, 'B')])
    const unknown = { ...rows, hasUnknown: true }
    expect(() => batchSchema(metadata, unknown, new Set([1, 2]))).toThrow('column B has the name of a column')
    expect(batchSchema(metadata, unknown, new Set([1, 3])).dropped).toEqual([])
  })

  it('are refused when rows have an unknown schema, and a copied column is in no schema any more', () => {
    const metadata = table([field(1, 'a')])
    expect(() => batchSchema(metadata, { ...rows, hasUnknown: true }, new Set([1, 2]))).toThrow('was removed')
    expect(batchSchema(metadata, rows, new Set([1, 2])).dropped).toEqual([])
  })
})

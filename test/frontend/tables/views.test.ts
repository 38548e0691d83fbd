import { describe, expect, test } from 'vitest'
import type { Column } from '../../../frontend/src/api/types.ts'
import {
  describePartition,
  describePartitioning,
  describeSortOrder,
} from '../../../frontend/src/features/tables/tabs/field-text.ts'
import { schemaRows, shortType, shownRows } from '../../../frontend/src/features/tables/tabs/schema-tree.ts'
import { parseListSearch, parseTableSearch } from '../../../frontend/src/features/tables/search.ts'

const column = (id: number, path: string, type = 'string', comment: string | null = null): Column => ({
  id,
  path,
  name: path,
  type,
  nullable: true,
  comment,
})

describe('the schema as a tree', () => {
  const columns = [
    column(1, 'id', 'long'),
    column(2, 'address', 'struct<city: string, geo: struct<lat: double>>'),
    column(3, 'address.city'),
    column(4, 'address.geo', 'struct<lat: double>'),
    column(5, 'address.geo.lat', 'double', 'north of the equator'),
    column(6, 'address2'),
    column(7, 'dotted.name'),
  ]
  const rows = schemaRows(columns)

  test('fields are below their parent; a dot in a name creates no child', () => {
    expect(rows.map(({ name, depth, hasFields }) => [name, depth, hasFields])).toEqual([
      ['id', 0, false],
      ['address', 0, true],
      ['city', 1, false],
      ['geo', 1, true],
      ['lat', 2, false],
      ['address2', 0, false],
      ['dotted.name', 0, false],
    ])
  })

  test('a collapsed field hides all of its descendants', () => {
    const shown = shownRows(rows, new Set(['address']), '')
    expect(shown.map(({ column: { id } }) => id)).toEqual([1, 2, 6, 7])
    expect(shownRows(rows, new Set(['address.geo']), '').map(({ column: { id } }) => id)).toEqual([1, 2, 3, 4, 6, 7])
  })

  test('a filter finds names, types and comments with their parents, collapsed or not', () => {
    const found = (text: string) => shownRows(rows, new Set(['address']), text).map(({ column: { id } }) => id)
    expect(found('EQUATOR')).toEqual([2, 4, 5])
    expect(found('long')).toEqual([1])
    expect(found('nothing like it')).toEqual([])
  })

  test('a type is short when its fields are shown', () => {
    expect(rows.map(shortType)).toEqual(['long', 'struct<…>', 'string', 'struct<…>', 'double', 'string', 'string'])
    const list = schemaRows([column(1, 'tags', 'list<string>')])
    expect(list.map(shortType)).toEqual(['list<string>'])
  })
})

describe('partitioning and order in words', () => {
  const columns = [
    { id: 1, path: 'at' },
    { id: 2, path: 'who.name' },
  ]

  test('transforms, identity, dropped partition fields and missing columns', () => {
    const field = (source_id: number, transform: string) => ({ field_id: 1000, source_id, name: 'x', transform })
    expect(describePartitioning([field(1, 'day'), field(2, 'identity'), field(2, 'void')], columns)).toBe(
      'day(at), who.name',
    )
    expect(describePartitioning([field(9, 'bucket[16]')], columns)).toBe('bucket[16](#9)')
    expect(describePartitioning([], columns)).toBe('')
  })

  test('only a non-default null order is shown', () => {
    const field = (direction: string, null_order: string) => ({
      source_id: 1,
      transform: 'identity',
      direction,
      null_order,
    })
    expect(describeSortOrder([field('asc', 'nulls-first'), field('desc', 'nulls-first')], columns)).toBe(
      'at asc, at desc nulls first',
    )
  })

  test('values of a partition, including null', () => {
    expect(describePartition({ day: '2026-03-11', region: null })).toBe('day=2026-03-11, region=null')
    expect(describePartition({})).toBe('')
  })
})

describe('addresses of tables', () => {
  test('the default tab is not written; unknown tabs and empty values are left out', () => {
    expect(parseTableSearch({ tab: 'overview', q: '', sort: 'size', other: 'x' })).toEqual({ sort: 'size' })
    expect(parseTableSearch({ tab: 'files', op: 'op-1' })).toEqual({ tab: 'files', op: 'op-1' })
    expect(parseTableSearch({ tab: 'nothing' })).toEqual({})
  })

  test('the list keeps its filter', () => {
    expect(parseListSearch({ q: 'ord', namespace: 'sales', sort: '-score' })).toEqual({
      q: 'ord',
      namespace: 'sales',
      sort: '-score',
    })
  })
})

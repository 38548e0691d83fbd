import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  isUnpartitioned,
  lastPartitionFieldId,
  parsePartitionSpec,
  partitionKey,
} from '../../../src/iceberg/partitioning/partitioning.ts'
import { partitionPath, partitionSpecToJson, partitionType } from '../../../src/iceberg/partitioning/partitioning.ts'
import type { PartitionSpec, PartitionTuple } from '../../../src/iceberg/partitioning/partitioning.ts'
import { parseSchema } from '../../../src/iceberg/schema/schema.ts'
import { parseSortOrder, sortOrderToJson } from '../../../src/iceberg/partitioning/sort-order.ts'
import type { PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { runs } from '../../support/effort.ts'

const specJson = {
  'spec-id': 4,
  fields: [
    { name: 'ts_day', transform: 'day', 'source-id': 1, 'field-id': 1000 },
    { name: 'name_trunc', transform: 'truncate[4]', 'source-id': 2, 'field-id': 1003 },
    { name: 'old', transform: 'void', 'source-id': 9, 'field-id': 1001 },
  ],
}

describe('partition spec', () => {
  it('is written as it was read', () => {
    expect(partitionSpecToJson(parsePartitionSpec(specJson))).toEqual(specJson)
  })

  it('counts missing field ids from 1000', () => {
    const spec = parsePartitionSpec({
      'spec-id': 0,
      fields: [
        { name: 'a', transform: 'identity', 'source-id': 1 },
        { name: 'b', transform: 'identity', 'source-id': 2 },
      ],
    })
    expect(spec.fields.map((field) => field.fieldId)).toEqual([1000, 1001])
    expect(lastPartitionFieldId(spec)).toBe(1001)
    expect(lastPartitionFieldId({ specId: 0, fields: [] })).toBe(999)
  })

  it('keeps transforms of several columns as unknown', () => {
    const json = { 'spec-id': 0, fields: [{ name: 'z', transform: 'zorder', 'source-ids': [1, 2], 'field-id': 1000 }] }
    const spec = parsePartitionSpec(json)
    expect(spec.fields[0]).toMatchObject({
      sourceId: 1,
      sourceIds: [1, 2],
      transform: { kind: 'unknown', text: 'zorder' },
    })
    expect(partitionSpecToJson(spec)).toEqual(json)
  })

  it.each([
    [{ fields: [] }, /"spec-id" is missing/],
    [{ 'spec-id': 0, fields: [{ name: 'a', transform: 'identity' }] }, /"source-id" is missing/],
    [{ 'spec-id': 0, fields: [{ 'source-id': 1, transform: 'identity' }] }, /"name" is missing/],
    [{ 'spec-id': 0, fields: [{ 'source-id': 1, name: 'a' }] }, /"transform" is missing/],
    [
      {
        'spec-id': 0,
        fields: [
          { 'source-id': 1, name: 'a', transform: 'day', 'field-id': 7 },
          { 'source-id': 1, name: 'b', transform: 'year', 'field-id': 7 },
        ],
      },
      /id 7 is used twice/,
    ],
  ])('refuses %j', (json, message) => {
    expect(() => parsePartitionSpec(json)).toThrow(message)
  })

  it('is unpartitioned without fields and when all are void', () => {
    expect(isUnpartitioned({ specId: 0, fields: [] })).toBe(true)
    expect(isUnpartitioned(parsePartitionSpec(specJson))).toBe(false)
    expect(
      isUnpartitioned({ specId: 1, fields: [{ fieldId: 1000, sourceId: 1, name: 'x', transform: { kind: 'void' } }] }),
    ).toBe(true)
  })
})

describe('partition types', () => {
  const column = (
    id: number,
    name: string,
    type: string,
  ): { id: number; name: string; required: boolean; type: string } => ({ id, name, required: false, type })
  const first = parseSchema({
    type: 'struct',
    'schema-id': 0,
    fields: [column(1, 'ts', 'timestamp'), column(2, 'name', 'string'), column(3, 'n', 'int')],
  })
  const second = parseSchema({
    type: 'struct',
    'schema-id': 1,
    fields: [column(1, 'ts', 'timestamp'), column(3, 'n', 'long')],
  })
  const spec = parsePartitionSpec(specJson)

  it('find columns that only an older schema has, and none for unknown columns', () => {
    expect(partitionType(spec, [first, second])).toEqual([{ kind: 'date' }, { kind: 'string' }, { kind: 'unknown' }])
  })

  it('use the newest schema', () => {
    const byN = parsePartitionSpec({ 'spec-id': 0, fields: [{ name: 'n', transform: 'identity', 'source-id': 3 }] })
    expect(partitionType(byN, [second, first])).toEqual([{ kind: 'long' }])
    expect(partitionType(byN, [first, second])).toEqual([{ kind: 'long' }])
  })

  it('are int for buckets and hours even if the column was dropped', () => {
    const gone = parsePartitionSpec({
      'spec-id': 0,
      fields: [
        { name: 'b', transform: 'bucket[4]', 'source-id': 77 },
        { name: 'd', transform: 'day', 'source-id': 78 },
        { name: 'i', transform: 'identity', 'source-id': 79 },
      ],
    })
    expect(partitionType(gone, [first]).map((type) => type.kind)).toEqual(['int', 'date', 'unknown'])
  })
})

describe('partition keys', () => {
  const spec: PartitionSpec = {
    specId: 1,
    fields: [1, 2].map((id) => ({
      fieldId: 999 + id,
      sourceId: id,
      name: `f${id}`,
      transform: { kind: 'identity' } as const,
    })),
  }
  const strings: readonly PrimitiveType[] = [{ kind: 'string' }, { kind: 'string' }]
  const key = (tuple: PartitionTuple, types = strings, of = spec): string => partitionKey(of, types, tuple)
  const text = fc.option(fc.string({ unit: fc.constantFrom('|', ':', '1', 's', 'n', 'null', 'a') }), { nil: null })

  it('are equal exactly for equal tuples', () => {
    fc.assert(
      fc.property(fc.tuple(text, text), fc.tuple(text, text), (a, b) => {
        expect(key(a) === key(b)).toBe(a[0] === b[0] && a[1] === b[1])
      }),
      { numRuns: runs(2000) },
    )
  })

  it('cannot be confused by values that look like keys', () => {
    expect(key(['a|sb', 'c'])).not.toBe(key(['a', 'b|sc']))
    expect(key(['null', null])).not.toBe(key([null, 'null']))
  })

  it('differ between specs', () => {
    expect(key(['a', 'b'])).not.toBe(key(['a', 'b'], strings, { ...spec, specId: 2 }))
  })

  it('compare bytes and NaN by content', () => {
    const types: readonly PrimitiveType[] = [{ kind: 'binary' }, { kind: 'double' }]
    const tuple = (): readonly Value[] => [Uint8Array.of(1, 2), Number.NaN]
    expect(key(tuple(), types)).toBe(key(tuple(), types))
    expect(key([null, 0], types)).not.toBe(key([null, -0], types))
  })
})

describe('partition paths', () => {
  it('escape names and values and write null', () => {
    const spec: PartitionSpec = {
      specId: 0,
      fields: [
        { fieldId: 1000, sourceId: 1, name: 'a', transform: { kind: 'identity' } },
        { fieldId: 1001, sourceId: 2, name: 'ts month', transform: { kind: 'month' } },
        { fieldId: 1002, sourceId: 3, name: 'b', transform: { kind: 'bucket', buckets: 4 } },
      ],
    }
    const types: readonly PrimitiveType[] = [{ kind: 'string' }, { kind: 'int' }, { kind: 'int' }]
    expect(partitionPath(spec, types, ['x/y=ü ~!', -1, 3])).toBe('a=x%2Fy%3D%C3%BC+%7E%21/ts+month=1969-12/b=3')
    expect(partitionPath(spec, types, [null, null, null])).toBe('a=null/ts+month=null/b=null')
    expect(partitionPath(spec, types, ['..', 0, 0])).toBe('a=../ts+month=1970-01/b=0')
    expect(partitionPath(spec, types, ['\ud800', 0, 0])).toBe('a=%3F/ts+month=1970-01/b=0')
    expect(partitionPath({ specId: 0, fields: [] }, [], [])).toBe('')
  })
})

describe('sort order', () => {
  const json = {
    'order-id': 3,
    fields: [
      { transform: 'identity', 'source-id': 2, direction: 'asc', 'null-order': 'nulls-first' },
      { transform: 'bucket[4]', 'source-id': 3, direction: 'desc', 'null-order': 'nulls-last' },
    ],
  }

  it('is written as it was read', () => {
    expect(sortOrderToJson(parseSortOrder(json))).toEqual(json)
  })

  it('refuses unknown directions', () => {
    expect(() => parseSortOrder({ 'order-id': 1, fields: [{ ...json.fields[0], direction: 'up' }] })).toThrow(
      /"direction": must be asc or desc/,
    )
    expect(() => parseSortOrder({ fields: [] })).toThrow(/"order-id" is missing/)
  })
})

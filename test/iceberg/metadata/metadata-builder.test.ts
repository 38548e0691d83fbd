import { describe, expect, it } from 'vitest'

import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { createTableMetadata } from '../../../src/iceberg/metadata/builder.ts'
import type { NewTableOptions } from '../../../src/iceberg/metadata/builder.ts'
import { currentSchema, parseTableMetadata, serializeTableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { parseTransform } from '../../../src/iceberg/partitioning/transforms.ts'
import { walkFields } from '../../../src/iceberg/schema/schema.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import { parseTypeText } from '../../../src/iceberg/schema/type-json.ts'
import { caught } from '../../support/caught.ts'

/** Columns with their ids from 100 down, so that fresh ids show. */
function schemaOf(columns: Readonly<Record<string, string>>, required: readonly string[] = []): Schema {
  const fields = Object.entries(columns).map(([name, type], index) => ({
    id: 100 - index,
    name,
    required: required.includes(name),
    type: parseTypeText(type),
  }))
  return { schemaId: 9, fields, identifierFieldIds: [] }
}

const base: Omit<NewTableOptions, 'schema'> = {
  location: 'file:///w/t/',
  uuid: '9c12d441-03fe-4693-9a96-a0705ddf69c1',
  nowMs: 1_700_000_000_000,
}
const field = (
  sourceId: number,
  name: string,
  transform: string,
): { fieldId: number; sourceId: number; name: string; transform: ReturnType<typeof parseTransform> } => ({
  fieldId: 5,
  sourceId,
  name,
  transform: parseTransform(transform),
})

describe('metadata of a new table', () => {
  it('numbers the fields of a struct before their nested fields', () => {
    const metadata = createTableMetadata({
      ...base,
      schema: schemaOf({
        a: 'struct<x: int, y: map<string, struct<p: int, q: int>>, z: int>',
        b: 'list<struct<m: int>>',
        c: 'int',
      }),
    })
    expect(
      Object.fromEntries([...walkFields(currentSchema(metadata))].map(({ path, field: at }) => [path, at.id])),
    ).toEqual({
      a: 1,
      b: 2,
      c: 3,
      'a.x': 4,
      'a.y': 5,
      'a.z': 6,
      'a.y.key': 7,
      'a.y.value': 8,
      'a.y.value.p': 9,
      'a.y.value.q': 10,
      'b.element': 11,
      'b.element.m': 12,
    })
    expect(metadata.lastColumnId).toBe(12)
  })

  it('maps partition spec, sort order and identifier fields to the new ids', () => {
    const schema = { ...schemaOf({ a: 'string', ts: 'timestamptz', id: 'long' }, ['id']), identifierFieldIds: [98] }
    const metadata = createTableMetadata({
      ...base,
      schema,
      partitionSpec: { specId: 4, fields: [field(99, 'ts_day', 'day'), field(100, 'a', 'identity')] },
      sortOrder: {
        orderId: 8,
        fields: [{ sourceId: 98, transform: { kind: 'identity' }, direction: 'asc', nullOrder: 'nulls-first' }],
      },
    })
    expect(metadata.partitionSpecs).toEqual([
      {
        specId: 0,
        fields: [
          { fieldId: 1000, sourceId: 2, name: 'ts_day', transform: { kind: 'day' } },
          { fieldId: 1001, sourceId: 1, name: 'a', transform: { kind: 'identity' } },
        ],
      },
    ])
    expect([
      metadata.lastPartitionId,
      metadata.defaultSortOrderId,
      metadata.sortOrders[0]?.fields[0]?.sourceId,
    ]).toEqual([1001, 1, 3])
    expect(currentSchema(metadata)).toMatchObject({ schemaId: 0, identifierFieldIds: [3] })
  })

  it.each([[2], [3]] as const)('of version %i reads back unchanged', (formatVersion) => {
    const metadata = createTableMetadata({
      ...base,
      schema: schemaOf({ a: 'int' }),
      formatVersion,
      properties: { owner: 'x', 'format-version': '1' },
    })
    expect(parseTableMetadata(serializeTableMetadata(metadata))).toEqual(metadata)
    expect(metadata).toMatchObject({
      formatVersion,
      location: 'file:///w/t',
      lastPartitionId: 999,
      lastSequenceNumber: 0,
      lastUpdatedMs: base.nowMs,
    })
    expect({ ...metadata.properties }).toEqual({ 'write.parquet.compression-codec': 'zstd', owner: 'x' })
    expect(metadata.nextRowId).toBe(formatVersion === 3 ? 0 : undefined)
    expect(metadata.json['current-snapshot-id']).toBe(formatVersion === 3 ? null : -1)
  })

  it.each<[string, Partial<NewTableOptions>, RegExp]>([
    ['a type of version 3 in version 2', { schema: schemaOf({ a: 'list<timestamp_ns>' }) }, /needs format version 3/],
    [
      'a partition of a column that is not there',
      { partitionSpec: { specId: 0, fields: [field(1, 'x', 'identity')] } },
      /no field with id 1/,
    ],
    [
      'a transform that does not take the type',
      { partitionSpec: { specId: 0, fields: [field(100, 'd', 'day')] } },
      /cannot be applied to type int/,
    ],
    [
      'an unknown transform',
      { partitionSpec: { specId: 0, fields: [field(100, 'd', 'zorder')] } },
      /unknown transform/,
    ],
    [
      'a partition field with the name of another column',
      { partitionSpec: { specId: 0, fields: [field(100, 'b', 'bucket[4]')] } },
      /has the name of another column/,
    ],
    [
      'two equal partition fields',
      { partitionSpec: { specId: 0, fields: [field(100, 'p', 'bucket[4]'), field(100, 'q', 'bucket[4]')] } },
      /repeats/,
    ],
    [
      'an optional identifier',
      { schema: { ...schemaOf({ a: 'int', b: 'int' }), identifierFieldIds: [100] } },
      /not required/,
    ],
    [
      'a partition inside a list',
      {
        schema: {
          schemaId: 0,
          identifierFieldIds: [],
          fields: [
            {
              id: 1,
              name: 'l',
              required: false,
              type: { kind: 'list', elementId: 2, element: { kind: 'int' }, elementRequired: false },
            },
          ],
        },
        partitionSpec: { specId: 0, fields: [field(2, 'p', 'identity')] },
      },
      /inside a list/,
    ],
  ])('refuses %s', (_, options, message) => {
    const error = caught(() => createTableMetadata({ ...base, schema: schemaOf({ a: 'int', b: 'int' }), ...options }))
    expect(isIcebergError(error, 'INVALID_ARGUMENT')).toBe(true)
    expect(String(error)).toMatch(message)
  })
})

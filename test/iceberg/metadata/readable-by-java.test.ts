import { describe, expect, it } from 'vitest'

import { stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import type { JsonObject } from '../../../src/iceberg/json/lossless-json.ts'
import { createTableMetadata } from '../../../src/iceberg/metadata/builder.ts'
import { parseTableMetadata, serializeTableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { checkReadableByJava } from '../../../src/iceberg/metadata/readable-by-java.ts'
import { parsePartitionSpec } from '../../../src/iceberg/partitioning/partitioning.ts'
import { parseSchema } from '../../../src/iceberg/schema/schema.ts'
import { applyUpdates } from '../../../src/iceberg/update/apply/apply-updates.ts'
import { createFromUpdates } from '../../../src/iceberg/update/apply/create-from-updates.ts'
import type { TableUpdate } from '../../../src/iceberg/update/table-update.ts'
import { v2Document } from './documents.ts'

const nowMs = 1_700_000_000_000
const column = (id: number, name: string, type: JsonObject | string = 'int'): JsonObject => ({
  id,
  name,
  type,
  required: false,
})
const ID = column(1, 'id', 'long')
const S = column(2, 's', 'string')
const P = column(3, 'p')
const STRUCT = column(10, 'a', { type: 'struct', fields: [column(11, 'b')] })
const LIST = column(20, 'l', { type: 'list', 'element-id': 21, element: 'int', 'element-required': false })
const MAP = column(30, 'm', {
  type: 'map',
  'key-id': 31,
  key: 'string',
  'value-id': 32,
  value: 'int',
  'value-required': false,
})
const part = (name: string, transform: string, source = 2): JsonObject => ({
  'source-id': source,
  'field-id': 1000,
  name,
  transform,
})
const sort = (source = 2, transform = 'identity'): JsonObject => ({
  transform,
  'source-id': source,
  direction: 'asc',
  'null-order': 'nulls-first',
})

interface Layout {
  readonly schemas: readonly (readonly JsonObject[])[]
  readonly specs?: readonly (readonly JsonObject[])[]
  readonly orders?: readonly (readonly [id: number, fields: readonly JsonObject[]])[]
  /** Ids of the current schema, the default spec and the default sort order. */
  readonly current?: readonly [number, number, number]
}

function table({ schemas, specs = [[]], orders = [[0, []]], current = [0, 0, 0] }: Layout): TableMetadata {
  const document: JsonObject = {
    ...v2Document(),
    'last-column-id': 50,
    schemas: schemas.map((fields, id) => ({ type: 'struct', 'schema-id': id, fields: [...fields] })),
    'current-schema-id': current[0],
    'partition-specs': specs.map((fields, id) => ({ 'spec-id': id, fields: [...fields] })),
    'default-spec-id': current[1],
    'sort-orders': orders.map(([id, fields]) => ({ 'order-id': id, fields: [...fields] })),
    'default-sort-order-id': current[2],
    snapshots: [],
    refs: {},
    'current-snapshot-id': -1,
    'snapshot-log': [],
  }
  return parseTableMetadata(stringifyJson(document))
}

// what TableMetadataParser of iceberg-core 1.11.0 does with each of these documents
const LOADED: readonly (readonly [string, Layout])[] = [
  ['names that differ in case', { schemas: [[ID, column(3, 'A'), column(4, 'a')]] }],
  ['a short name that a column has', { schemas: [[LIST, column(4, 'l.x')]] }],
  ['a bucket with the name of its column', { schemas: [[ID, S]], specs: [[part('s', 'bucket[4]')]] }],
  [
    'a column in an older schema with the name of a partition field',
    {
      schemas: [
        [ID, S, P],
        [ID, S],
      ],
      specs: [[part('p', 'bucket[4]')]],
      current: [1, 0, 0],
    },
  ],
  ['an older spec of a dropped column', { schemas: [[ID]], specs: [[part('p', 'bucket[4]')], []], current: [0, 1, 0] }],
  ['a void field of a dropped column', { schemas: [[ID]], specs: [[part('p', 'void')]] }],
  ['an unknown transform', { schemas: [[ID, S]], specs: [[part('p', 'zorder')]] }],
  [
    'an older order of a dropped column',
    {
      schemas: [[ID]],
      orders: [
        [0, []],
        [1, [sort()]],
      ],
    },
  ],
  [
    'an older order whose transform does not fit',
    {
      schemas: [[ID, S]],
      orders: [
        [0, []],
        [1, [sort(2, 'year')]],
      ],
    },
  ],
]

const REFUSED: readonly (readonly [string, Layout, string])[] = [
  ['a column a.b beside a{b}', { schemas: [[ID, STRUCT, column(5, 'a.b')]] }, 'the full name "a.b": 11 and 5'],
  ['a column l.element beside a list', { schemas: [[LIST, column(5, 'l.element')]] }, '"l.element": 21 and 5'],
  ['a column m.key beside a map', { schemas: [[MAP, column(5, 'm.key')]] }, 'the full name "m.key": 31 and 5'],
  ['a column m.value before a map', { schemas: [[column(5, 'm.value'), MAP]] }, 'the full name "m.value": 5 and 32'],
  ['these in an older schema', { schemas: [[STRUCT, column(5, 'a.b')], [ID]], current: [1, 0, 0] }, '"a.b": 11 and 5'],
  [
    'a column with the name of a partition field',
    { schemas: [[ID, S, P]], specs: [[part('p', 'identity')]] },
    'column 3 has the name of the partition field "p" of spec 0, which is made of column 2',
  ],
  [
    'a column with the name of a partition field of an older spec',
    { schemas: [[ID, S, P]], specs: [[part('p', 'bucket[4]')], []], current: [0, 1, 0] },
    'column 3 has the name of the partition field "p" of spec 0',
  ],
  [
    'a column with the name of a void field',
    { schemas: [[ID, S, P]], specs: [[part('p', 'void')]] },
    'column 3 has the name of the partition field "p"',
  ],
  [
    'a field of a struct with the name of a partition field',
    { schemas: [[ID, S, STRUCT]], specs: [[part('a.b', 'bucket[4]')]] },
    'column 11 has the name of the partition field "a.b"',
  ],
  ['a partition field without a name', { schemas: [[ID, S]], specs: [[part('', 'bucket[4]')]] }, 'has no name'],
  [
    'a transform of an older spec that does not fit the type',
    { schemas: [[ID, S]], specs: [[part('y', 'year')], []], current: [0, 1, 0] },
    'transform year cannot be applied to type string',
  ],
  [
    'a default spec of a dropped column',
    { schemas: [[ID]], specs: [[part('p', 'bucket[4]')]] },
    'partition field "p" of the default spec needs the column with id 2',
  ],
  [
    'a default spec of the elements of a list',
    { schemas: [[LIST]], specs: [[part('p', 'identity', 21)]] },
    'is made of values in a list or map',
  ],
  ['fields in sort order 0', { schemas: [[ID, S]], orders: [[0, [sort()]]] }, 'sort order 0 has fields'],
  [
    'fields in a sort order 0 that is not the default',
    {
      schemas: [[ID, S]],
      orders: [
        [0, [sort()]],
        [1, [sort()]],
      ],
      current: [0, 0, 1],
    },
    'sort order 0 has fields',
  ],
  [
    'no fields in another sort order',
    { schemas: [[ID, S]], orders: [[1, []]], current: [0, 0, 1] },
    'order 1 has no fields',
  ],
  [
    'a default sort order of a dropped column',
    { schemas: [[ID]], orders: [[1, [sort()]]], current: [0, 0, 1] },
    'the default sort order needs the column with id 2',
  ],
  [
    'a transform of the default sort order that does not fit the type',
    { schemas: [[ID, S]], orders: [[1, [sort(2, 'year')]]], current: [0, 0, 1] },
    'transform year cannot be applied to type string',
  ],
]

describe('a layout', () => {
  it.each(LOADED)('with %s is accepted, because Java loads it', (_what, layout) => {
    expect(() => checkReadableByJava(table(layout))).not.toThrow()
  })

  it.each(REFUSED)('with %s is refused, because Java does not load it', (_what, layout, problem) => {
    const metadata = table(layout)
    expect(() => checkReadableByJava(metadata)).toThrow(problem)
    // a table that is so already can be changed otherwise
    const changed = applyUpdates(metadata, [{ action: 'set-properties', updates: { a: 'b' } }], { nowMs })
    expect(changed.properties).toMatchObject({ a: 'b' })
    expect(() => checkReadableByJava(parseTableMetadata(serializeTableMetadata(changed)), metadata)).not.toThrow()
  })
})

describe('a change', () => {
  const setSchema = (...fields: JsonObject[]): TableUpdate[] => [
    { action: 'add-schema', schema: { type: 'struct', 'schema-id': 0, fields } },
    { action: 'set-current-schema', 'schema-id': -1 },
  ]
  const unpartition: TableUpdate[] = [
    { action: 'add-spec', spec: { 'spec-id': 1, fields: [] } },
    { action: 'set-default-spec', 'spec-id': -1 },
  ]
  const bucketed = table({ schemas: [[ID, S]], specs: [[part('p', 'bucket[4]')]] })

  it.each<[string, TableMetadata, readonly TableUpdate[]]>([
    ['two columns of one full name', table({ schemas: [[ID]] }), setSchema(ID, STRUCT, column(5, 'a.b'))],
    ['a column named as a partition field', bucketed, setSchema(ID, S, P)],
    ['a column named as a partition field of an older spec', bucketed, [...unpartition, ...setSchema(ID, S, P)]],
    [
      'another column with the old name of a partition source',
      table({ schemas: [[ID, S]], specs: [[part('s', 'identity')]] }),
      setSchema(ID, column(2, 'old', 'string'), column(3, 's')),
    ],
  ])('to %s is refused', (_what, base, updates) => {
    expect(() => applyUpdates(base, updates, { nowMs })).toThrow('Other engines could not load the table')
  })

  it('that renames the source of a bucket to the name of the bucket is accepted, as Java does', () => {
    const renamed = applyUpdates(bucketed, setSchema(ID, column(2, 'p', 'string')), { nowMs })
    expect(renamed.currentSchemaId).toBe(1)
  })

  it('that repairs a table is accepted, also in several steps', () => {
    const broken = table({
      schemas: [[ID, STRUCT, column(5, 'a.b'), column(6, 'a.c')]],
      specs: [[part('id', 'bucket[4]', 10)]],
    })
    const step = applyUpdates(broken, setSchema(ID, STRUCT, column(5, 'other'), column(6, 'a.c')), { nowMs })
    expect(step.currentSchemaId).toBe(1)
  })
})

describe('a new table', () => {
  const schema = { type: 'struct', 'schema-id': 0, fields: [ID, S, STRUCT, column(5, 'a.b')] }

  it('with such a layout is refused', () => {
    const options = { location: '/wh/t', uuid: crypto.randomUUID(), nowMs }
    expect(() => createTableMetadata({ ...options, schema: parseSchema(schema) })).toThrow('the full name "a.b"')
    const fields = [ID, S, P]
    const partitionSpec = parsePartitionSpec({ 'spec-id': 0, fields: [part('p', 'bucket[4]')] })
    const other = parseSchema({ ...schema, fields })
    expect(() => createTableMetadata({ ...options, schema: other, partitionSpec })).toThrow('"p"')
  })

  it('with such a layout is refused at the end of a staged creation', () => {
    const updates: TableUpdate[] = [
      { action: 'add-schema', schema },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'add-spec', spec: { 'spec-id': 0, fields: [] } },
      { action: 'set-default-spec', 'spec-id': -1 },
      { action: 'set-location', location: '/wh/t' },
    ]
    expect(() => createFromUpdates(updates, nowMs)).toThrow('the full name "a.b"')
  })
})

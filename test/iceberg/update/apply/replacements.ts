import type { JsonObject, JsonValue } from '../../../../src/iceberg/json/lossless-json.ts'
import type { TableUpdate } from '../../../../src/iceberg/update/table-update.ts'

/** A layout of a table as a client of the REST protocol sends it. */
export interface Layout {
  readonly fields: readonly JsonObject[]
  readonly identifiers?: readonly number[]
  readonly spec?: readonly JsonObject[]
  readonly order?: readonly JsonObject[]
}

/** A replacement of a table (`REPLACE TABLE`, `CREATE OR REPLACE TABLE`). */
export interface Replacement {
  readonly name: string
  readonly versions: readonly (1 | 2 | 3)[]
  readonly before: Layout
  readonly after: Layout
}

const field = (id: number, name: string, type: JsonValue, required = false): JsonObject => ({
  id,
  name,
  type,
  required,
})
const partition = (source: number, name: string, transform = 'identity', id = 1000): JsonObject => ({
  'source-id': source,
  'field-id': id,
  name,
  transform,
})
const sorted = (source: number): JsonObject => ({
  'source-id': source,
  transform: 'identity',
  direction: 'asc',
  'null-order': 'nulls-first',
})
const nested = (id: number, child: number): JsonObject =>
  field(id, 's', { type: 'struct', fields: [field(child, 'a', 'int')] })

const COLUMNS = [field(1, 'id', 'long'), field(2, 'p', 'string')]
const PARTITIONED: Layout = { fields: COLUMNS, spec: [partition(2, 'p')] }

/** Replacements of every shape, with the ids that Iceberg's Java client would send. */
export const REPLACEMENTS: readonly Replacement[] = [
  { name: 'keeps the layout', versions: [1, 2, 3], before: PARTITIONED, after: PARTITIONED },
  {
    name: 'drops the partition column',
    versions: [2, 3],
    before: PARTITIONED,
    after: { fields: [field(1, 'id', 'long')] },
  },
  {
    name: 'drops the partition column and keeps its place as void',
    versions: [1],
    before: PARTITIONED,
    after: { fields: [field(1, 'id', 'long')], spec: [partition(2, 'p', 'void')] },
  },
  {
    name: 'partitions by another column after a void one',
    versions: [1],
    before: PARTITIONED,
    after: {
      fields: [field(1, 'id', 'long'), field(3, 'q', 'int')],
      spec: [partition(2, 'p', 'void'), partition(3, 'q', 'identity', 1001)],
    },
  },
  {
    name: 'replaces the partition column',
    versions: [2, 3],
    before: PARTITIONED,
    after: {
      fields: [field(1, 'id', 'long'), field(3, 'q', 'int')],
      spec: [partition(3, 'q', 'identity', 1001)],
    },
  },
  {
    name: 'partitions by the same column with another transform',
    versions: [2, 3],
    before: PARTITIONED,
    after: { fields: COLUMNS, spec: [partition(2, 'p_bucket', 'bucket[4]', 1001)] },
  },
  { name: 'ends the partitioning', versions: [2, 3], before: PARTITIONED, after: { fields: COLUMNS } },
  { name: 'begins to partition', versions: [1, 2, 3], before: { fields: COLUMNS }, after: PARTITIONED },
  {
    name: 'gives the same names to other ids',
    versions: [2, 3],
    before: PARTITIONED,
    after: {
      fields: [field(3, 'id', 'long'), field(4, 'p', 'string')],
      spec: [partition(4, 'p', 'identity', 1001)],
    },
  },
  {
    name: 'gives the name of a bucket to a column',
    versions: [2, 3],
    before: { fields: COLUMNS, spec: [partition(2, 'b', 'bucket[4]')] },
    after: { fields: [field(1, 'id', 'long'), field(3, 'b', 'string')] },
  },
  {
    name: 'gives the partition column another type',
    versions: [1, 2, 3],
    before: PARTITIONED,
    after: { fields: [field(1, 'id', 'long'), field(2, 'p', 'long')], spec: [partition(2, 'p')] },
  },
  {
    name: 'drops a struct with the partition column',
    versions: [2, 3],
    before: { fields: [field(1, 'id', 'long'), nested(2, 3)], spec: [partition(3, 's.a')] },
    after: { fields: [field(1, 'id', 'long')] },
  },
  {
    name: 'partitions by a nested column',
    versions: [2, 3],
    before: PARTITIONED,
    after: { fields: [field(1, 'id', 'long'), nested(3, 4)], spec: [partition(4, 's.a', 'identity', 1001)] },
  },
  {
    name: 'drops the sort column',
    versions: [1, 2, 3],
    before: { fields: COLUMNS, order: [sorted(2)] },
    after: { fields: [field(1, 'id', 'long')] },
  },
  {
    name: 'sorts by a new column instead',
    versions: [1, 2, 3],
    before: { fields: COLUMNS, order: [sorted(2)] },
    after: { fields: [field(1, 'id', 'long'), field(3, 'q', 'int')], order: [sorted(3)] },
  },
  {
    name: 'drops the identifier field',
    versions: [2, 3],
    before: { fields: [field(1, 'id', 'long', true), field(2, 'p', 'string')], identifiers: [1] },
    after: { fields: [field(2, 'p', 'string')] },
  },
]

/** The body of a request that creates the table. */
export function creationOf(name: string, { fields, identifiers, spec, order }: Layout, version: number): JsonObject {
  return {
    name,
    schema: schemaOf(fields, identifiers),
    properties: { 'format-version': String(version) },
    ...(spec ? { 'partition-spec': { 'spec-id': 0, fields: [...spec] } } : {}),
    ...(order ? { 'write-order': { 'order-id': 1, fields: [...order] } } : {}),
  }
}

function schemaOf(fields: readonly JsonObject[], identifiers: readonly number[] = []): JsonObject {
  return { type: 'struct', 'schema-id': 0, fields: [...fields], 'identifier-field-ids': [...identifiers] }
}

/** The updates in the order in which Iceberg's Java client sends them: only for what differs. */
export function replacementUpdates({ before, after }: Pick<Replacement, 'before' | 'after'>): readonly TableUpdate[] {
  const { fields, identifiers, spec = [], order = [] } = after
  const partitioning: JsonObject = { 'spec-id': 0, fields: [...spec] }
  const sorting: JsonObject = { 'order-id': order.length, fields: [...order] }
  const differs = (one: unknown, other: unknown): boolean => JSON.stringify(one) !== JSON.stringify(other)
  const schemas: TableUpdate[] = [
    { action: 'add-schema', schema: schemaOf(fields, identifiers) },
    { action: 'set-current-schema', 'schema-id': -1 },
  ]
  const specs: TableUpdate[] = [
    { action: 'add-spec', spec: partitioning },
    { action: 'set-default-spec', 'spec-id': -1 },
  ]
  const orders: TableUpdate[] = [
    { action: 'add-sort-order', 'sort-order': sorting },
    { action: 'set-default-sort-order', 'sort-order-id': -1 },
  ]
  return [
    { action: 'remove-snapshot-ref', 'ref-name': 'main' },
    ...(differs([before.fields, before.identifiers], [fields, identifiers]) ? schemas : []),
    ...(differs(before.spec ?? [], spec) ? specs : []),
    ...(differs(before.order ?? [], order) ? orders : []),
  ]
}

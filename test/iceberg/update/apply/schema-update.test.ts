import { describe, expect, it } from 'vitest'

import { isIcebergError } from '../../../../src/iceberg/errors.ts'
import type { IcebergErrorCode } from '../../../../src/iceberg/errors.ts'
import { stringifyJson } from '../../../../src/iceberg/json/lossless-json.ts'
import type { JsonObject } from '../../../../src/iceberg/json/lossless-json.ts'
import { currentSchema, parseTableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import { fieldById, fieldPath, findField, walkFields } from '../../../../src/iceberg/schema/schema.ts'
import { parseTypeText } from '../../../../src/iceberg/schema/type-json.ts'
import { applyUpdates } from '../../../../src/iceberg/update/apply/apply-updates.ts'
import { checkRequirements } from '../../../../src/iceberg/update/apply/check-requirements.ts'
import { addColumn, dropColumn, renameColumn } from '../../../../src/iceberg/update/apply/schema-update.ts'
import type { SchemaChange } from '../../../../src/iceberg/update/apply/schema-update.ts'
import { caught } from '../../../support/caught.ts'
import { column, v1Document, v2Document, v3Document } from '../../metadata/documents.ts'

const int = parseTypeText('int')
const nested = (id: number, name: string, type: JsonObject): JsonObject => ({ id, name, required: false, type })
const struct = (...fields: JsonObject[]): JsonObject => ({ type: 'struct', fields })

/** Columns: id, name, info{city, zip}, points[{x, y}], tags{k → {v}}, keyed{{a} → int}; partitioned, sorted, with history. */
function table(change: JsonObject = {}): TableMetadata {
  const fields = [
    { ...column(1, 'id', 'long'), required: true, 'x-field': 2n ** 65n },
    column(2, 'name', 'string'),
    nested(3, 'info', struct(column(4, 'city', 'string'), column(5, 'zip', 'string'))),
    nested(6, 'points', {
      type: 'list',
      'element-id': 7,
      'element-required': false,
      element: struct(column(8, 'x', 'int'), column(9, 'y', 'int')),
    }),
    nested(10, 'tags', {
      type: 'map',
      'key-id': 11,
      key: 'string',
      'value-id': 12,
      'value-required': false,
      value: struct(column(13, 'v', 'int')),
    }),
    nested(14, 'keyed', {
      type: 'map',
      'key-id': 15,
      key: struct(column(16, 'a', 'int')),
      'value-id': 17,
      'value-required': false,
      value: 'int',
    }),
    column(18, 'ts', 'timestamp'),
    column(19, 'old_part', 'int'),
    column(20, 'spare', 'int'),
  ]
  return parseTableMetadata(
    stringifyJson({
      ...v2Document(),
      'last-column-id': 25,
      schemas: [
        { type: 'struct', 'schema-id': 0, fields: [...fields, column(25, 'dropped', 'int')] },
        { type: 'struct', 'schema-id': 1, 'identifier-field-ids': [1], 'x-schema': 1, fields },
      ],
      'default-spec-id': 1,
      'partition-specs': [
        { 'spec-id': 0, fields: [{ name: 'old_part', transform: 'identity', 'source-id': 19, 'field-id': 1000 }] },
        {
          'spec-id': 1,
          fields: [
            { name: 'ts_day', transform: 'day', 'source-id': 18, 'field-id': 1001 },
            { name: 'zip', transform: 'identity', 'source-id': 5, 'field-id': 1002 },
          ],
        },
      ],
      'last-partition-id': 1002,
      ...change,
    }),
  )
}

/** The table after a change, committed as a catalog would. */
function commit(before: TableMetadata, change: SchemaChange): TableMetadata {
  checkRequirements(before, change.requirements)
  const after = applyUpdates(before, change.updates, { nowMs: 1_700_000_000_000 })
  expect(currentSchema(after)).toEqual({ ...change.schema, schemaId: after.currentSchemaId })
  return after
}

function refusal(run: () => unknown, code: IcebergErrorCode): string {
  const error = caught(run)
  expect(isIcebergError(error, code), String(error)).toBe(true)
  return String(error)
}

const names = (metadata: TableMetadata): string[] => currentSchema(metadata).fields.map((field) => field.name)

describe('adding a column', () => {
  it('gives it an id that no schema ever used', () => {
    const change = addColumn(table(), { name: 'dropped', type: int, doc: 'again' })
    const after = commit(table(), change)
    expect(change.fieldId).toBe(26)
    expect(fieldById(currentSchema(after), 26)).toEqual({
      id: 26,
      name: 'dropped',
      required: false,
      type: int,
      doc: 'again',
    })
    expect([after.lastColumnId, after.currentSchemaId, after.schemas.length]).toEqual([26, 2, 3])
  })

  it('numbers nested fields after the column itself, fields of a struct first', () => {
    const after = commit(
      table(),
      addColumn(table(), { name: 'deep', type: parseTypeText('struct<a: list<struct<b: int>>, c: map<string, int>>') }),
    )
    const added = [...walkFields(currentSchema(after))].filter(({ field }) => field.id > 25)
    expect(Object.fromEntries(added.map(({ path, field }) => [path, field.id]))).toEqual({
      deep: 26,
      'deep.a': 27,
      'deep.c': 28,
      'deep.a.element': 29,
      'deep.a.element.b': 30,
      'deep.c.key': 31,
      'deep.c.value': 32,
    })
  })

  it('puts it first, after another, or last', () => {
    expect(names(commit(table(), addColumn(table(), { name: 'n', type: int, first: true })))[0]).toBe('n')
    expect(names(commit(table(), addColumn(table(), { name: 'n', type: int, after: 'name' }))).slice(1, 3)).toEqual([
      'name',
      'n',
    ])
    expect(names(commit(table(), addColumn(table(), { name: 'n', type: int }))).at(-1)).toBe('n')
  })

  it.each([
    ['info.n', 'info.n', 'city'],
    ['points.n', 'points.element.n', 'points.element.x'],
    ['points.element.n', 'points.element.n', 'x'],
    ['tags.n', 'tags.value.n', 'v'],
    ['tags.value.n', 'tags.value.n', 'tags.value.v'],
  ])('adds %s into the struct as %s', (name, path, after) => {
    const change = addColumn(table(), { name, type: int, after })
    const schema = currentSchema(commit(table(), change))
    expect(fieldPath(schema, change.fieldId)).toBe(path)
  })

  it('keeps unknown keys of schema and fields', () => {
    const after = commit(table(), addColumn(table(), { name: 'n', type: int }))
    expect(after.json['schemas']).toMatchObject([
      {},
      {},
      { 'x-schema': 1, fields: [{ 'x-field': 2n ** 65n }, {}, {}, {}, {}, {}, {}, {}, {}, {}] },
    ])
  })

  it.each<[string, Parameters<typeof addColumn>[1], IcebergErrorCode, RegExp]>([
    ['a name that exists', { name: 'name', type: int }, 'SCHEMA_CHANGE_REFUSED', /already exists/],
    ['a name that differs in case', { name: 'NAME', type: int }, 'SCHEMA_CHANGE_REFUSED', /only in case/],
    ['a nested name that exists', { name: 'points.x', type: int }, 'SCHEMA_CHANGE_REFUSED', /already exists/],
    ['a reserved name', { name: '_row_id', type: int }, 'SCHEMA_CHANGE_REFUSED', /reserved/],
    ['a reserved name in another case', { name: '_FILE', type: int }, 'SCHEMA_CHANGE_REFUSED', /reserved/],
    ['the name of a partition field', { name: 'ts_day', type: int }, 'SCHEMA_CHANGE_REFUSED', /partition field/],
    [
      'the name of a partition field of a nested column',
      { name: 'zip', type: int },
      'SCHEMA_CHANGE_REFUSED',
      /partition field/,
    ],
    [
      'a type of version 3',
      { name: 'n', type: parseTypeText('list<variant>') },
      'SCHEMA_CHANGE_REFUSED',
      /format version 3/,
    ],
    ['a map key', { name: 'keyed.key.b', type: int }, 'SCHEMA_CHANGE_REFUSED', /map keys cannot change/],
    ['a column that is no struct', { name: 'name.b', type: int }, 'SCHEMA_CHANGE_REFUSED', /not a struct/],
    ['a map whose values are no structs', { name: 'keyed.b', type: int }, 'SCHEMA_CHANGE_REFUSED', /not a struct/],
    ['a struct that is not there', { name: 'nope.b', type: int }, 'NO_SUCH_COLUMN', /no column "nope"/],
    ['a place after nothing', { name: 'b', type: int, after: 'nope' }, 'NO_SUCH_COLUMN', /"nope"/],
    ['two places', { name: 'b', type: int, after: 'id', first: true }, 'INVALID_ARGUMENT', /first and after/],
    ['an empty name', { name: ' ', type: int }, 'INVALID_ARGUMENT', /empty/],
    ['a name that ends in a dot', { name: 'info.', type: int }, 'INVALID_ARGUMENT', /empty/],
    ['control characters', { name: 'a\nb', type: int }, 'INVALID_ARGUMENT', /control/],
  ])('refuses %s', (_, options, code, message) => {
    expect(refusal(() => addColumn(table(), options), code)).toMatch(message)
  })

  it('accepts types of version 3 in version 3', () => {
    const v3 = parseTableMetadata(stringifyJson(v3Document()))
    expect(commit(v3, addColumn(v3, { name: 'n', type: parseTypeText('timestamp_ns') })).lastColumnId).toBe(6)
  })

  it('works on version 1', () => {
    const v1 = parseTableMetadata(stringifyJson(v1Document()))
    const after = commit(v1, addColumn(v1, { name: 'n', type: int }))
    expect(after.json['schema']).toMatchObject({ 'x-schema': 1, fields: [{ id: 1 }, { id: 2 }, { id: 3, name: 'n' }] })
  })

  it('conflicts with another change of the schema', () => {
    const change = addColumn(table(), { name: 'n', type: int })
    const meanwhile = commit(table(), addColumn(table(), { name: 'm', type: int }))
    expect(refusal(() => checkRequirements(meanwhile, change.requirements), 'COMMIT_CONFLICT')).toContain(
      'current schema changed',
    )
  })
})

describe('renaming a column', () => {
  it('keeps its id and type', () => {
    const after = commit(table(), renameColumn(table(), { name: 'name', newName: 'label' }))
    expect(findField(currentSchema(after), 'label')).toEqual({
      id: 2,
      name: 'label',
      required: false,
      type: { kind: 'string' },
    })
    expect(findField(currentSchema(after), 'name')).toBeUndefined()
    expect(after.lastColumnId).toBe(25)
  })

  it('works inside structs, and for a change of case', () => {
    expect(
      fieldPath(currentSchema(commit(table(), renameColumn(table(), { name: 'points.x', newName: 'lon' }))), 8),
    ).toBe('points.element.lon')
    expect(names(commit(table(), renameColumn(table(), { name: 'name', newName: 'Name' })))[1]).toBe('Name')
  })

  it('does not change partition fields, sort order and identifier', () => {
    const before = table()
    let after = commit(before, renameColumn(before, { name: 'old_part', newName: 'p' }))
    after = commit(after, renameColumn(after, { name: 'id', newName: 'key' }))
    expect([after.partitionSpecs, after.sortOrders]).toEqual([before.partitionSpecs, before.sortOrders])
    expect(currentSchema(after).identifierFieldIds).toEqual([1])
    after = commit(after, renameColumn(after, { name: 'p', newName: 'old_part' }))
    expect(fieldPath(currentSchema(after), 19)).toBe('old_part')
  })

  it('renames the properties of the column', () => {
    const before = table({
      properties: {
        'write.metadata.metrics.column.info.city': 'full',
        'write.metadata.metrics.column.information': 'none',
        'write.parquet.bloom-filter-enabled.column.info.zip': 'true',
      },
    })
    const after = commit(before, renameColumn(before, { name: 'info', newName: 'place' }))
    expect({ ...after.properties }).toEqual({
      'write.metadata.metrics.column.place.city': 'full',
      'write.metadata.metrics.column.information': 'none',
      'write.parquet.bloom-filter-enabled.column.place.zip': 'true',
    })
  })

  it.each<[string, Parameters<typeof renameColumn>[1], IcebergErrorCode, RegExp]>([
    ['a name that exists', { name: 'name', newName: 'ts' }, 'SCHEMA_CHANGE_REFUSED', /already exists/],
    ['a name that differs in case', { name: 'name', newName: 'TS' }, 'SCHEMA_CHANGE_REFUSED', /only in case/],
    ['its own name', { name: 'name', newName: 'name' }, 'SCHEMA_CHANGE_REFUSED', /already has that name/],
    ['a reserved name', { name: 'name', newName: '_pos' }, 'SCHEMA_CHANGE_REFUSED', /reserved/],
    [
      'the name of a partition column',
      { name: 'name', newName: 'old_part' },
      'SCHEMA_CHANGE_REFUSED',
      /already exists/,
    ],
    [
      'the name of a partition field of another column',
      { name: 'name', newName: 'ts_day' },
      'SCHEMA_CHANGE_REFUSED',
      /partition field/,
    ],
    ['a list element', { name: 'points.element', newName: 'e' }, 'SCHEMA_CHANGE_REFUSED', /element of a list/],
    ['a map value', { name: 'tags.value', newName: 'e' }, 'SCHEMA_CHANGE_REFUSED', /value of a map/],
    ['a field of a map key', { name: 'keyed.key.a', newName: 'e' }, 'SCHEMA_CHANGE_REFUSED', /map keys/],
    ['a column that is not there', { name: 'nope', newName: 'e' }, 'NO_SUCH_COLUMN', /no column "nope"/],
    ['a column in another case, with a hint', { name: 'Name', newName: 'e' }, 'NO_SUCH_COLUMN', /did you mean "name"/],
    ['a dotted name', { name: 'info.city', newName: 'info.town' }, 'INVALID_ARGUMENT', /dot/],
    ['an empty name', { name: 'name', newName: '' }, 'INVALID_ARGUMENT', /empty/],
  ])('refuses %s', (_, options, code, message) => {
    expect(refusal(() => renameColumn(table(), options), code)).toMatch(message)
  })
})

describe('dropping a column', () => {
  it('removes it with its nested fields, and never reuses its id', () => {
    const before = table()
    const dropped = commit(before, dropColumn(before, { name: 'spare' }))
    expect(findField(currentSchema(dropped), 'spare')).toBeUndefined()
    const again = addColumn(dropped, { name: 'spare', type: int })
    expect(again.fieldId).toBe(26)
    const tags = commit(before, dropColumn(before, { name: 'tags' }))
    expect([10, 11, 12, 13].map((id) => fieldById(currentSchema(tags), id))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('reuses an identical earlier schema', () => {
    const before = table()
    const added = commit(before, addColumn(before, { name: 'n', type: int }))
    const back = commit(added, dropColumn(added, { name: 'n' }))
    expect([back.currentSchemaId, back.schemas.length, back.lastColumnId]).toEqual([1, 3, 26])
  })

  it('removes the properties of the column', () => {
    const before = table({ properties: { 'write.metadata.metrics.column.spare': 'full', owner: 'a' } })
    expect({ ...commit(before, dropColumn(before, { name: 'spare' })).properties }).toEqual({ owner: 'a' })
  })

  it('asserts that no new partition field uses it', () => {
    const types = dropColumn(table(), { name: 'spare' }).requirements.map((requirement) => requirement.type)
    expect(types).toEqual([
      'assert-table-uuid',
      'assert-current-schema-id',
      'assert-last-assigned-field-id',
      'assert-last-assigned-partition-id',
      'assert-default-spec-id',
      'assert-default-sort-order-id',
    ])
  })

  it.each<[string, string, IcebergErrorCode, RegExp]>([
    ['a source of the current spec', 'ts', 'SCHEMA_CHANGE_REFUSED', /partition field "ts_day" of spec 1/],
    ['a source of an old spec', 'old_part', 'SCHEMA_CHANGE_REFUSED', /partition field "old_part" of spec 0/],
    ['a struct with a partition source inside', 'info', 'SCHEMA_CHANGE_REFUSED', /needs "info.zip"/],
    ['a nested partition source', 'info.zip', 'SCHEMA_CHANGE_REFUSED', /partition field "zip"/],
    ['a source of the sort order', 'name', 'SCHEMA_CHANGE_REFUSED', /sort order 3/],
    ['an identifier field', 'id', 'SCHEMA_CHANGE_REFUSED', /identifier/],
    ['the last field of a struct', 'tags.v', 'SCHEMA_CHANGE_REFUSED', /last column of its struct/],
    ['a list element', 'points.element', 'SCHEMA_CHANGE_REFUSED', /element of a list/],
    ['a map key', 'tags.key', 'SCHEMA_CHANGE_REFUSED', /key of a map/],
    ['a field of a map key', 'keyed.key.a', 'SCHEMA_CHANGE_REFUSED', /map keys/],
    ['a column that is not there', 'constructor', 'NO_SUCH_COLUMN', /"constructor"/],
  ])('refuses %s', (_, name, code, message) => {
    expect(refusal(() => dropColumn(table(), { name }), code)).toMatch(message)
  })

  it('refuses an identifier field of an earlier schema', () => {
    const now = table()
    const schemas = now.json['schemas']
    if (!Array.isArray(schemas)) throw new Error('the table has no schemas')
    const earlier = {
      type: 'struct',
      'schema-id': 7,
      'identifier-field-ids': [20],
      fields: [{ ...column(20, 'spare', 'int'), required: true }],
    }
    const before = table({ schemas: [...schemas, earlier] })
    const message = refusal(() => dropColumn(before, { name: 'spare' }), 'SCHEMA_CHANGE_REFUSED')
    expect(message).toMatch(/"spare" was, in schema 7, an identifier field/)
    expect(refusal(() => dropColumn(now, { name: 'id' }), 'SCHEMA_CHANGE_REFUSED')).toMatch(/"id" is an identifier/)
  })

  it('refuses the last column of the table', () => {
    const one = parseTableMetadata(
      stringifyJson({ ...v1Document(), schema: struct(column(1, 'x', 'long')), 'partition-spec': [] }),
    )
    expect(refusal(() => dropColumn(one, { name: 'x' }), 'SCHEMA_CHANGE_REFUSED')).toMatch(/last column of its table/)
  })

  it('refuses the source of a void partition field, which readers still need', () => {
    const before = table({
      'default-spec-id': 0,
      'partition-specs': [
        { 'spec-id': 0, fields: [{ name: 'v', transform: 'void', 'source-id': 20, 'field-id': 1000 }] },
      ],
    })
    expect(refusal(() => dropColumn(before, { name: 'spare' }), 'SCHEMA_CHANGE_REFUSED')).toMatch(/"v" of spec 0/)
  })
})

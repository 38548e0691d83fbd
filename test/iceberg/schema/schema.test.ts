import { describe, expect, it } from 'vitest'

import type { JsonObject } from '../../../src/iceberg/json/lossless-json.ts'
import { fieldById, fieldPath, findField, highestFieldId, parentFieldId } from '../../../src/iceberg/schema/schema.ts'
import { parseSchema, schemaToJson, walkFields } from '../../../src/iceberg/schema/schema.ts'

const json: JsonObject = {
  type: 'struct',
  'schema-id': 3,
  'identifier-field-ids': [1],
  fields: [
    { id: 1, name: 'id', required: true, type: 'long', doc: 'key' },
    {
      id: 2,
      name: 'points',
      required: false,
      type: {
        type: 'list',
        'element-id': 3,
        'element-required': true,
        element: {
          type: 'struct',
          fields: [
            { id: 4, name: 'x', required: false, type: 'double' },
            { id: 5, name: 'y', required: false, type: 'double', 'initial-default': 1.5, 'write-default': 2.5 },
          ],
        },
      },
    },
    {
      id: 6,
      name: 'tags',
      required: false,
      type: {
        type: 'map',
        'key-id': 7,
        key: 'string',
        'value-id': 8,
        'value-required': false,
        value: { type: 'struct', fields: [{ id: 9, name: 'v', required: false, type: 'int' }] },
      },
    },
    { id: 10, name: 'a.b', required: false, type: 'int' },
  ],
}

describe('schema', () => {
  const schema = parseSchema(json)

  it('is written as it was read', () => {
    expect(schemaToJson(schema)).toEqual(json)
  })

  it('walks every field with its path and parent', () => {
    expect([...walkFields(schema)].map(({ field, path, parentId }) => [field.id, path, parentId])).toEqual([
      [1, 'id', undefined],
      [2, 'points', undefined],
      [3, 'points.element', 2],
      [4, 'points.element.x', 3],
      [5, 'points.element.y', 3],
      [6, 'tags', undefined],
      [7, 'tags.key', 6],
      [8, 'tags.value', 6],
      [9, 'tags.value.v', 8],
      [10, 'a.b', undefined],
    ])
  })

  it('finds fields by id', () => {
    expect(fieldById(schema, 5)?.name).toBe('y')
    expect(fieldById(schema, 7)).toMatchObject({ name: 'key', required: true })
    expect(fieldPath(schema, 9)).toBe('tags.value.v')
    expect(parentFieldId(schema, 9)).toBe(8)
    expect([fieldById(schema, 11), fieldPath(schema, 11)]).toEqual([undefined, undefined])
    expect(highestFieldId(schema)).toBe(10)
  })

  it.each([
    ['id', 1],
    ['points.element.x', 4],
    ['points.x', 4],
    ['tags.v', 9],
    ['tags.value.v', 9],
    ['tags.key', 7],
    ['a.b', 10],
    ['ID', undefined],
    ['points.element.z', undefined],
    ['__proto__', undefined],
    ['constructor', undefined],
  ])('finds "%s" as %s', (name, id) => {
    expect(findField(schema, name)?.id).toBe(id)
  })

  it('distinguishes columns whose names differ only in case', () => {
    const both = parseSchema({
      type: 'struct',
      fields: [
        { id: 1, name: 'user_id', required: false, type: 'int' },
        { id: 2, name: 'uSeR_Id', required: false, type: 'int' },
      ],
    })
    expect([findField(both, 'user_id')?.id, findField(both, 'uSeR_Id')?.id]).toEqual([1, 2])
  })

  it.each([
    [
      'a repeated id',
      [
        { id: 1, name: 'a', required: true, type: 'int' },
        { id: 1, name: 'b', required: true, type: 'int' },
      ],
      /field id 1 is used twice/,
    ],
    [
      'a repeated name',
      [
        { id: 1, name: 'a', required: true, type: 'int' },
        { id: 2, name: 'a', required: true, type: 'int' },
      ],
      /named "a"/,
    ],
    [
      'an id repeated inside',
      [
        {
          id: 1,
          name: 'a',
          required: true,
          type: { type: 'list', 'element-id': 1, 'element-required': true, element: 'int' },
        },
      ],
      /field id 1 is used twice, the second time by "a.element"/,
    ],
    ['a fractional id', [{ id: 1.5, name: 'a', required: true, type: 'int' }], /"id" must be a 32-bit integer/],
    ['an id beyond 32 bits', [{ id: 2 ** 31, name: 'a', required: true, type: 'int' }], /32-bit/],
  ])('refuses %s', (_, fields, message) => {
    expect(() => parseSchema({ type: 'struct', fields })).toThrow(message)
  })

  it('refuses values that are not a schema', () => {
    expect(() => parseSchema({ fields: [] })).toThrow(/"type" is missing/)
    expect(() => parseSchema({ type: 'list', fields: [] })).toThrow(/must be "struct"/)
    expect(() => parseSchema([])).toThrow(/must be an object/)
  })
})

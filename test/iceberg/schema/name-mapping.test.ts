import { describe, expect, it } from 'vitest'

import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { parseJson, stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import { parseTableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { nameMappingToJson, parseNameMapping, updateNameMapping } from '../../../src/iceberg/schema/name-mapping.ts'
import { parseTypeText } from '../../../src/iceberg/schema/type-json.ts'
import { applyUpdates } from '../../../src/iceberg/update/apply/apply-updates.ts'
import { addColumn, dropColumn, renameColumn } from '../../../src/iceberg/update/apply/schema-update.ts'
import type { SchemaChange } from '../../../src/iceberg/update/apply/schema-update.ts'
import { caught } from '../../support/caught.ts'
import { v2Document } from '../metadata/documents.ts'

const mapping = [
  { 'field-id': 1, names: ['x'], 'x-mapping': 5 },
  { 'field-id': 2, names: ['y', 'why'] },
  {
    'field-id': 3,
    names: ['s'],
    fields: [
      { 'field-id': 4, names: ['a'] },
      { 'field-id': 5, names: ['b'] },
    ],
  },
  { names: ['ignored'] },
]

function tableWith(text: string): TableMetadata {
  return parseTableMetadata(
    stringifyJson({
      ...v2Document(),
      'sort-orders': [{ 'order-id': 0, fields: [] }],
      'default-sort-order-id': 0,
      properties: { 'schema.name-mapping.default': text },
    }),
  )
}

function mappingAfter(...steps: readonly ((metadata: TableMetadata) => SchemaChange)[]): unknown {
  const start = tableWith(stringifyJson(mapping))
  const end = steps.reduce(
    (metadata, step) => applyUpdates(metadata, step(metadata).updates, { nowMs: 1_700_000_000_000 }),
    start,
  )
  return parseJson(end.properties['schema.name-mapping.default'] ?? '')
}

describe('name mapping', () => {
  it('is read and written', () => {
    const parsed = parseNameMapping(stringifyJson(mapping))
    expect(parsed[2]).toEqual({
      fieldId: 3,
      names: ['s'],
      fields: [
        { fieldId: 4, names: ['a'], fields: [] },
        { fieldId: 5, names: ['b'], fields: [] },
      ],
    })
    expect(parsed[3]).toEqual({ names: ['ignored'], fields: [] })
    expect(parseNameMapping(stringifyJson(nameMappingToJson(parsed)))).toEqual(parsed)
  })

  it.each([
    '',
    '{}',
    '[3]',
    '[{"field-id": 1}]',
    '[{"names": [1]}]',
    '[{"names":["a"]},{"names":["a"]}]',
    '[{"field-id":"1","names":["a"]}]',
  ])('refuses %s', (text) => {
    expect(
      isIcebergError(
        caught(() => parseNameMapping(text)),
        'INVALID_METADATA',
      ),
    ).toBe(true)
  })

  it('adds new columns with their nested fields and keeps unknown keys', () => {
    const after = mappingAfter((metadata) =>
      addColumn(metadata, { name: 'n', type: parseTypeText('map<string, list<struct<p: int>>>') }),
    )
    const inside = [
      { 'field-id': 7, names: ['key'] },
      {
        'field-id': 8,
        names: ['value'],
        fields: [{ 'field-id': 9, names: ['element'], fields: [{ 'field-id': 10, names: ['p'] }] }],
      },
    ]
    expect(after).toEqual([...mapping, { 'field-id': 6, names: ['n'], fields: inside }])
  })

  it('adds new columns of a struct at their position', () => {
    expect(mappingAfter((metadata) => addColumn(metadata, { name: 's.c', type: { kind: 'int' } }))).toMatchObject([
      {},
      {},
      { fields: [{}, {}, { 'field-id': 6, names: ['c'] }] },
      {},
    ])
  })

  it('keeps old names of a renamed column', () => {
    expect(mappingAfter((metadata) => renameColumn(metadata, { name: 'y', newName: 'z' }))).toMatchObject([
      {},
      { 'field-id': 2, names: ['y', 'why', 'z'] },
      {},
      {},
    ])
    expect(mappingAfter((metadata) => renameColumn(metadata, { name: 's.a', newName: 'z' }))).toMatchObject([
      {},
      {},
      { fields: [{ names: ['a', 'z'] }, {}] },
      {},
    ])
  })

  it('never maps the name of a dropped or renamed column to a new one', () => {
    const dropped = mappingAfter(
      (metadata) => dropColumn(metadata, { name: 'y' }),
      (metadata) => addColumn(metadata, { name: 'y', type: { kind: 'string' } }),
    )
    expect(dropped).toEqual(mapping)
    const renamed = mappingAfter(
      (metadata) => renameColumn(metadata, { name: 'y', newName: 'z' }),
      (metadata) => addColumn(metadata, { name: 'y', type: { kind: 'string' } }),
    )
    expect(renamed).toMatchObject([{}, { 'field-id': 2, names: ['y', 'why', 'z'] }, {}, {}])
    expect(renamed).toHaveLength(4)
  })

  it('that cannot be read is left unchanged', () => {
    const change = addColumn(tableWith('{"type":"struct"}'), { name: 'n', type: { kind: 'int' } })
    expect(change.updates.map((update) => update.action)).toEqual(['add-schema', 'set-current-schema'])
    expect(() => updateNameMapping('{', { kind: 'rename', fieldId: 1, newName: 'a' })).toThrow(/is not valid JSON/)
  })
})

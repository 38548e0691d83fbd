import { describe, expect, it } from 'vitest'

import { stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import type { JsonObject } from '../../../src/iceberg/json/lossless-json.ts'
import { createTableMetadata } from '../../../src/iceberg/metadata/builder.ts'
import { parseTableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { parseSchema } from '../../../src/iceberg/schema/schema.ts'
import { applyUpdates } from '../../../src/iceberg/update/apply/apply-updates.ts'
import { createFromUpdates } from '../../../src/iceberg/update/apply/create-from-updates.ts'
import { v2Document } from '../metadata/documents.ts'

const nowMs = 1_700_000_000_000
const fields = (count: number, from = 1): JsonObject[] =>
  Array.from({ length: count }, (_, at) => ({ id: from + at, name: `c${from + at}`, type: 'int', required: false }))
const schema = (list: JsonObject[], id = 0): JsonObject => ({ type: 'struct', 'schema-id': id, fields: list })
/** A struct whose fields count as well as itself. */
const struct = (count: number): JsonObject[] => [
  { id: 1, name: 's', required: false, type: { type: 'struct', fields: fields(count - 1, 2) } },
]
const create = (json: JsonObject) =>
  createTableMetadata({ schema: parseSchema(json), location: '/wh/t', uuid: crypto.randomUUID(), nowMs })

describe('a schema', () => {
  it('of a new table may have 20,000 fields on all levels', () => {
    expect(create(schema(fields(20_000))).lastColumnId).toBe(20_000)
    const message = 'the schema has 20001 fields on all levels, and at most 20000 are allowed'
    expect(() => create(schema(fields(20_001)))).toThrow(message)
    expect(() => create(schema(struct(20_001)))).toThrow(message)
  })

  it('of a staged creation has the same limit', () => {
    const add = (json: JsonObject) =>
      createFromUpdates(
        [
          { action: 'add-schema', schema: json },
          { action: 'set-location', location: '/wh/t' },
        ],
        nowMs,
      )
    expect(() => add(schema(fields(20_001)))).toThrow('has 20001 fields')
  })

  it('with more fields, of another system, is read, and may be changed but not widened', () => {
    const wide = {
      ...v2Document(),
      schemas: [schema(fields(20_003))],
      'current-schema-id': 0,
      'last-column-id': 20_003,
    }
    const table = parseTableMetadata(stringifyJson(wide))
    const change = (list: JsonObject[]) =>
      applyUpdates(
        table,
        [
          { action: 'add-schema', schema: schema(list) },
          { action: 'set-current-schema', 'schema-id': -1 },
        ],
        { nowMs },
      )
    expect(change(fields(20_002)).currentSchemaId).toBe(1)
    expect(
      applyUpdates(table, [{ action: 'set-properties', updates: { a: 'b' } }], { nowMs }).properties,
    ).toMatchObject({
      a: 'b',
    })
    expect(() => change(fields(20_004))).toThrow('the schema has 20004 fields on all levels')
  })

  it('is refused when all schemas of the table would have more than 500,000 fields', () => {
    let table = create(schema(fields(20_000)))
    const add = (from: number) =>
      applyUpdates(table, [{ action: 'add-schema', schema: schema(fields(20_000, from)) }], { nowMs })
    for (let at = 1; at < 25; at += 1) table = add(1 + 20_000 * at)
    expect(table.schemas).toHaveLength(25)
    expect(() => add(1_000_001)).toThrow('the schemas of the table would have 520000 fields, and at most 500000')
  })

  it('is refused for a name or doc of too many characters, unless the table has it already', () => {
    const name = 'n'.repeat(1001)
    const long = { id: 1, name, type: 'int', required: false }
    expect(() => create(schema([long]))).toThrow(
      'the name of column 1 has 1001 characters, and at most 1000 are allowed',
    )
    expect(() => create(schema([{ ...long, name: 'a', doc: 'd'.repeat(65_537) }]))).toThrow('the doc of column 1 has')
    const table = parseTableMetadata(
      stringifyJson({ ...v2Document(), schemas: [schema([long])], 'current-schema-id': 0, 'last-column-id': 1 }),
    )
    const more = schema([long, { id: 2, name: 'b', type: 'int', required: false }])
    expect(applyUpdates(table, [{ action: 'add-schema', schema: more }], { nowMs }).schemas).toHaveLength(2)
  })
})

it.each(['add-spec', 'add-sort-order'] as const)('%s is refused with more than 1,000 fields', (action) => {
  const table = create(schema(fields(1001)))
  const change = (count: number) => {
    const list = fields(count).map(({ id, name }) => ({
      'source-id': id ?? 0,
      transform: 'identity',
      ...(action === 'add-spec' ? { name: name ?? '' } : { direction: 'asc', 'null-order': 'nulls-first' }),
    }))
    const update =
      action === 'add-spec'
        ? { action, spec: { 'spec-id': 1, fields: list } }
        : { action, 'sort-order': { 'order-id': 1, fields: list } }
    return applyUpdates(table, [update], { nowMs })
  }
  expect(() => change(1000)).not.toThrow()
  expect(() => change(1001)).toThrow('has 1001 fields, and at most 1000 are allowed')
})

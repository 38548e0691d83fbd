import { describe, expect, it } from 'vitest'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import type { NestedField, Type } from '../../../src/iceberg/schema/types.ts'
import { sparkCopy } from '../../../src/streaming/spark/copy-sql.ts'

type Column = readonly [name: string, type: Type, more?: Partial<NestedField>]

const LONG: Type = { kind: 'long' }
const STRING: Type = { kind: 'string' }

function schema(...columns: readonly Column[]): Schema {
  const fields = columns.map(([name, type, more], at) => ({ id: at + 1, name, required: false, type, ...more }))
  return { schemaId: 0, identifierFieldIds: [], fields }
}

const copy = (source: Schema, sink: Schema) => sparkCopy({ sources: [source], sink, known: [] })

describe('a copy in SQL of Spark', () => {
  it('names the columns of the sink, in its order, and quotes every name', () => {
    const source = schema(['b`; DROP TABLE x --', STRING], ['id', { kind: 'int' }])
    const { query, problems } = copy(source, schema(['id', LONG], ['b`; DROP TABLE x --', STRING]))
    expect(problems).toEqual([])
    expect(query).toBe(
      'SELECT CAST(lockhouse_source_0.`id` AS BIGINT) AS `id`, ' +
        'lockhouse_source_0.`b``; DROP TABLE x --` AS `b``; DROP TABLE x --` FROM lockhouse_source_0',
    )
  })

  it('matches names as the embedded engine does, and leaves out what the source lacks', () => {
    const { query, problems } = copy(schema(['ID', LONG]), schema(['id', LONG], ['note', STRING]))
    expect({ query, problems }).toEqual({
      query: 'SELECT lockhouse_source_0.`ID` AS `id` FROM lockhouse_source_0',
      problems: [],
    })
  })

  it('keeps columns paired that were renamed', () => {
    const renamed = { sources: [schema(['new name', LONG])], sink: schema(['old', LONG]), known: [[1, 1]] as const }
    expect(sparkCopy(renamed).query).toContain('`new name` AS `old`')
  })

  it.each<[string, Schema, Schema, RegExp]>([
    ['a type that Spark lacks', schema(['t', { kind: 'time' }]), schema(['t', { kind: 'time' }]), /column t is time/],
    ['nanoseconds', schema(['t', { kind: 'timestamp_ns' }]), schema(['t', { kind: 'timestamp_ns' }]), /timestamp_ns/],
    ['names that differ in case only', schema(['a', LONG], ['A', LONG]), schema(['a', LONG]), /when case is ignored/],
    ['a default', schema(['a', LONG]), schema(['a', LONG], ['d', LONG, { writeDefault: 7 }]), /column d has a default/],
    [
      'fields of a struct in another order',
      schema(['s', { kind: 'struct', fields: [field(8, 'x'), field(9, 'y')] }]),
      schema(['s', { kind: 'struct', fields: [field(8, 'y'), field(9, 'x')] }]),
      /column s: Spark cannot convert it/,
    ],
  ])('refuses %s', (_, source, sink, problem) => {
    expect(copy(source, sink).problems.join()).toMatch(problem)
  })
})

function field(id: number, name: string): NestedField {
  return { id, name, required: false, type: LONG }
}

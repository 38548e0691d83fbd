import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { isIcebergError } from '../../../src/iceberg/errors.ts'
import {
  canPromote,
  formatType,
  minFormatVersion,
  parseType,
  typeToJson,
} from '../../../src/iceberg/schema/type-json.ts'
import type { NestedField, Type } from '../../../src/iceberg/schema/types.ts'
import { caught } from '../../support/caught.ts'

const primitiveTexts = [
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'timestamp_ns',
  'timestamptz_ns',
  'string',
  'uuid',
  'binary',
  'unknown',
  'variant',
  'decimal(9, 2)',
  'decimal(38, 38)',
  'fixed[16]',
  'geometry',
  'geometry(srid:3857)',
  'geography(OGC:CRS84, karney)',
]

/** Types of any shape; every field id differs. */
function anyType(): fc.Arbitrary<Type> {
  let nextId = 1
  const id = (): number => (nextId += 1)
  const leaf = fc.constantFrom(...primitiveTexts).map((text) => parseType(text))
  return fc.letrec<{ type: Type }>((tie) => ({
    type: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf,
      tie('type').chain((element) =>
        fc.boolean().map((elementRequired): Type => ({ kind: 'list', elementId: id(), element, elementRequired })),
      ),
      fc
        .tuple(tie('type'), tie('type'))
        .map(([key, value]): Type => ({ kind: 'map', keyId: id(), key, valueId: id(), value, valueRequired: false })),
      fc
        .uniqueArray(fc.tuple(fc.string(), tie('type'), fc.option(fc.string(), { nil: undefined })), {
          selector: ([name]) => name,
          maxLength: 4,
        })
        .map((entries): Type => ({
          kind: 'struct',
          fields: entries.map(([name, type, doc]): NestedField => ({
            id: id(),
            name,
            required: false,
            type,
            ...(doc === undefined ? {} : { doc }),
          })),
        })),
    ),
  })).type
}

describe('types in JSON', () => {
  it('reads every primitive type of the spec and writes it back', () => {
    for (const text of primitiveTexts) expect(typeToJson(parseType(text))).toBe(text)
  })

  it('reads decimals and fixed with any spacing', () => {
    expect(parseType('decimal(9,2)')).toEqual({ kind: 'decimal', precision: 9, scale: 2 })
    expect(parseType('decimal( 9 , 2 )')).toEqual({ kind: 'decimal', precision: 9, scale: 2 })
    expect(parseType('fixed[ 3 ]')).toEqual({ kind: 'fixed', length: 3 })
  })

  it('keeps every type through writing and reading', () => {
    fc.assert(
      fc.property(anyType(), (type) => {
        expect(parseType(typeToJson(type))).toEqual(type)
      }),
    )
  })

  it.each([
    'string2',
    'decimal',
    'decimal(39,2)',
    'decimal(0,0)',
    'decimal(5,6)',
    'decimal(-1,0)',
    'fixed[4294967296]',
    'fixed(3)',
    '',
    'list',
    'struct',
  ])('refuses the type "%s"', (text) => {
    expect(
      isIcebergError(
        caught(() => parseType(text)),
        'INVALID_METADATA',
      ),
    ).toBe(true)
  })

  it.each([
    [null],
    [3],
    [[]],
    [{}],
    [{ type: 'list' }],
    [{ type: 'list', 'element-id': 1, 'element-required': true }],
    [{ type: 'map', 'key-id': 1, key: 'int', 'value-id': 1.5, value: 'int', 'value-required': true }],
    [{ type: 'struct' }],
    [{ type: 'struct', fields: [3] }],
    [{ type: 'tuple' }],
    [{ type: 'struct', fields: [{ id: 1, name: 'a', type: 'int' }] }],
  ])('refuses %j', (json) => {
    expect(
      isIcebergError(
        caught(() => parseType(json)),
        'INVALID_METADATA',
      ),
    ).toBe(true)
  })

  it('names the broken field', () => {
    const json = {
      type: 'struct',
      fields: [
        {
          id: 1,
          name: 'a',
          required: true,
          type: { type: 'list', 'element-id': 2, 'element-required': false, element: 'strong' },
        },
      ],
    }
    expect(() => parseType(json)).toThrow(/fields\[0\] \("a"\)\.element: unknown type "strong"/)
  })

  it('refuses deeply nested types instead of overflowing the stack', () => {
    let json: Parameters<typeof parseType>[0] = 'int'
    for (let depth = 0; depth < 5000; depth += 1) {
      json = { type: 'list', 'element-id': depth, 'element-required': false, element: json }
    }
    expect(() => parseType(json)).toThrow(/nested deeper/)
  })
})

describe('types as text', () => {
  it('formats them as the API shows them', () => {
    const type = parseType({
      type: 'struct',
      fields: [
        { id: 1, name: 'a', required: true, type: 'int' },
        {
          id: 2,
          name: 'b',
          required: false,
          type: { type: 'list', 'element-id': 3, 'element-required': false, element: 'string' },
        },
        {
          id: 4,
          name: 'm',
          required: false,
          type: {
            type: 'map',
            'key-id': 5,
            key: 'string',
            'value-id': 6,
            value: 'decimal(10, 2)',
            'value-required': false,
          },
        },
      ],
    })
    expect(formatType(type)).toBe('struct<a: int, b: list<string>, m: map<string, decimal(10,2)>>')
  })
})

describe('type promotion', () => {
  const promotes = (from: string, to: string, version: number): boolean =>
    canPromote(parseType(from), parseType(to), version)

  it.each([
    ['int', 'long'],
    ['float', 'double'],
    ['decimal(9,2)', 'decimal(10,2)'],
    ['int', 'int'],
    ['string', 'string'],
  ])('%s may become %s in every version', (from, to) => {
    expect([1, 2, 3].map((version) => promotes(from, to, version))).toEqual([true, true, true])
  })

  it.each([
    ['date', 'timestamp'],
    ['date', 'timestamp_ns'],
    ['unknown', 'string'],
  ])('%s may become %s only in v3', (from, to) => {
    expect([1, 2, 3].map((version) => promotes(from, to, version))).toEqual([false, false, true])
  })

  it.each([
    ['long', 'int'],
    ['double', 'float'],
    ['decimal(9,2)', 'decimal(9,3)'],
    ['decimal(9,2)', 'decimal(8,2)'],
    ['date', 'timestamptz'],
    ['string', 'binary'],
    ['int', 'decimal(10,0)'],
    ['timestamp', 'timestamp_ns'],
  ])('%s never becomes %s', (from, to) => {
    expect(promotes(from, to, 3)).toBe(false)
  })

  it('finds types that need version 3, at any depth', () => {
    const nested = parseType({ type: 'list', 'element-id': 1, 'element-required': false, element: 'timestamp_ns' })
    expect([minFormatVersion(nested), minFormatVersion(parseType('timestamptz'))]).toEqual([3, 1])
  })
})

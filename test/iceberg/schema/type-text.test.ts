import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { IcebergError, isIcebergError } from '../../../src/iceberg/errors.ts'
import { formatType, parseTypeText } from '../../../src/iceberg/schema/type-json.ts'
import { caught } from '../../support/caught.ts'
import { runs } from '../../support/effort.ts'

describe('types written by users', () => {
  it.each([
    ['STRING', 'string'],
    ['bigint', 'long'],
    ['Integer', 'int'],
    ['decimal(10, 2)', 'decimal(10,2)'],
    ['NUMERIC(5)', 'decimal(5,0)'],
    ['timestamp', 'timestamp'],
    ['timestamptz', 'timestamptz'],
    ['fixed(16)', 'fixed[16]'],
    ['fixed[16]', 'fixed[16]'],
    ['varchar(20)', 'string'],
    [' double ', 'double'],
    ['array<array<int>>', 'list<list<int>>'],
    ['map<string, bigint>', 'map<string, long>'],
    ['geometry(srid:3857)', 'geometry(srid:3857)'],
    ['struct<a:int,b : list<string>>', 'struct<a: int, b: list<string>>'],
    ['STRUCT<`x:y`: date>', 'struct<x:y: date>'],
  ])('%s is %s', (text, canonical) => {
    expect(formatType(parseTypeText(text))).toBe(canonical)
  })

  it.each([
    '',
    'strin',
    'decimal',
    'decimal(40,2)',
    'decimal(2,3)',
    'list',
    'list<int',
    'list<int>>',
    'map<int>',
    'struct<>',
    'struct<a int>',
    'struct<a: int, A: int>',
    'int(3)',
    'int string',
    'fixed',
    'fixed[x]',
    'decimal(1e1,2)',
    'tinyint',
  ])('"%s" is refused as an argument', (text) => {
    expect(
      isIcebergError(
        caught(() => parseTypeText(text)),
        'INVALID_ARGUMENT',
      ),
    ).toBe(true)
  })

  it('reports a clear error for any invalid text', () => {
    const token = fc.constantFrom(
      'struct',
      'list',
      'map',
      '<',
      '>',
      ',',
      ':',
      'int',
      '(',
      ')',
      '[',
      ']',
      '`',
      '1',
      ' ',
      'a',
      'decimal',
    )
    fc.assert(
      fc.property(fc.array(token, { maxLength: 30 }), (tokens) => {
        const error = caught(() => parseTypeText(tokens.join('')))
        expect(error === undefined || error instanceof IcebergError).toBe(true)
      }),
      { numRuns: runs(2000) },
    )
  })

  it('refuses very deep nesting', () => {
    expect(() => parseTypeText('list<'.repeat(10_000))).toThrow(/nested deeper/)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { isIcebergError } from '../../../src/iceberg/errors.ts'
import type { JsonValue } from '../../../src/iceberg/json/lossless-json.ts'
import { parseType, requirePrimitive } from '../../../src/iceberg/schema/type-json.ts'
import type { PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { hexToBytes } from '../../../src/iceberg/values/binary.ts'
import { compareValues, formatValue, truncateLower, truncateUpper } from '../../../src/iceberg/values/values.ts'
import {
  valueFromBytes,
  valueFromJson,
  valueKey,
  valueToBytes,
  valueToJson,
} from '../../../src/iceberg/values/values.ts'
import { caught } from '../../support/caught.ts'
import { runs } from '../../support/effort.ts'

const t = (text: string): PrimitiveType => requirePrimitive(parseType(text), 'test')
const text = fc.string({ unit: 'binary' })
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const unscaled = fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n })

const valuesOf: readonly (readonly [string, fc.Arbitrary<Value>])[] = [
  ['boolean', fc.boolean()],
  ['int', int32],
  ['long', int64],
  ['float', fc.float()],
  ['double', fc.double()],
  ['decimal(38, 9)', unscaled],
  ['date', int32],
  ['time', fc.bigInt({ min: 0n, max: 86_399_999_999n })],
  ['timestamp', int64],
  ['timestamptz', int64],
  ['timestamp_ns', int64],
  ['timestamptz_ns', int64],
  ['string', text],
  ['uuid', fc.uuid()],
  ['fixed[4]', fc.uint8Array({ minLength: 4, maxLength: 4 })],
  ['binary', fc.uint8Array()],
]

/** A value of one of several kinds together with its type. */
const typedValue = fc.oneof(...valuesOf.map(([name, value]) => value.map((item) => ({ type: t(name), value: item }))))
const typedTriple = fc.oneof(
  ...valuesOf.map(([name, value]) => fc.tuple(value, value, value).map((items) => ({ type: t(name), items }))),
)

describe('binary single values', () => {
  it('survive a round trip', () => {
    fc.assert(
      fc.property(typedValue, ({ type, value }) => {
        expect(valueKey(type, valueFromBytes(type, valueToBytes(type, value)))).toBe(valueKey(type, value))
      }),
      { numRuns: runs(3000) },
    )
  })

  it.each<[string, Value, string]>([
    ['boolean', true, '01'],
    ['int', -1, 'ffffffff'],
    ['date', 17486, '4e440000'],
    ['long', 34n, '2200000000000000'],
    ['float', -4.5, '000090c0'],
    ['double', 6, '0000000000001840'],
    ['decimal(14, 2)', 3450n, '0d7a'],
    ['decimal(9, 0)', -128n, '80'],
    ['decimal(9, 0)', 128n, '0080'],
    ['decimal(9, 0)', 0n, '00'],
    ['string', 'é', 'c3a9'],
    ['uuid', 'f79c3e09-677c-4bbd-a479-3f349cb785e7', 'f79c3e09677c4bbda4793f349cb785e7'],
    ['fixed[2]', Uint8Array.of(1, 2), '0102'],
  ])('%s %s is %s', (type, value, hex) => {
    expect(valueToBytes(t(type), value)).toEqual(hexToBytes(hex))
    expect(valueFromBytes(t(type), hexToBytes(hex))).toEqual(value)
  })

  it('are read with the width they had before a promotion', () => {
    expect(valueFromBytes(t('long'), valueToBytes(t('int'), -7))).toBe(-7n)
    expect(valueFromBytes(t('double'), valueToBytes(t('float'), 1.5))).toBe(1.5)
    expect(valueFromBytes(t('decimal(30, 2)'), valueToBytes(t('decimal(5, 2)'), -999n))).toBe(-999n)
    expect(valueFromBytes(t('timestamp'), valueToBytes(t('date'), -1))).toBe(-86_400_000_000n)
    expect(valueFromBytes(t('timestamp_ns'), valueToBytes(t('date'), 1))).toBe(86_400_000_000_000n)
  })

  it('of any wrong length or content are refused with CORRUPT_FILE', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...valuesOf.map(([name]) => name), 'unknown'),
        fc.uint8Array({ maxLength: 80 }),
        (name, bytes) => {
          const error = caught(() => valueFromBytes(t(name), bytes))
          expect(error === undefined || isIcebergError(error, 'CORRUPT_FILE')).toBe(true)
        },
      ),
      { numRuns: runs(3000) },
    )
    for (const [name, hex] of [
      ['int', '00'],
      ['long', '000000'],
      ['uuid', '00'],
      ['decimal(9,2)', ''],
      ['string', 'ff'],
    ] as const) {
      expect(
        isIcebergError(
          caught(() => valueFromBytes(t(name), hexToBytes(hex))),
          'CORRUPT_FILE',
        ),
      ).toBe(true)
    }
  })

  it('are not created from values of another type', () => {
    for (const [name, value] of [
      ['int', 1n],
      ['int', 2 ** 31],
      ['long', 5],
      ['long', 2n ** 63n],
      ['string', 4],
      ['uuid', 'x'],
      ['binary', 'a'],
    ] as const) {
      expect(
        isIcebergError(
          caught(() => valueToBytes(t(name), value)),
          'INVALID_ARGUMENT',
        ),
      ).toBe(true)
    }
  })

  it('do not share memory with the buffer they were read from', () => {
    const buffer = Uint8Array.of(1, 2, 3)
    const value = valueFromBytes(t('binary'), buffer)
    buffer[0] = 9
    expect(value).toEqual(Uint8Array.of(1, 2, 3))
  })
})

describe('order of values', () => {
  it('is total and agrees with equality keys', () => {
    fc.assert(
      fc.property(typedTriple, ({ type, items: [a, b, c] }) => {
        const sign = (x: Value, y: Value): number => Math.sign(compareValues(type, x, y))
        expect(sign(a, b)).toBe(-sign(b, a) + 0)
        expect(sign(a, a)).toBe(0)
        expect(sign(a, b) === 0).toBe(valueKey(type, a) === valueKey(type, b))
        if (sign(a, b) <= 0 && sign(b, c) <= 0) expect(sign(a, c)).toBeLessThanOrEqual(0)
      }),
      { numRuns: runs(3000) },
    )
  })

  it('of strings follows their UTF-8 bytes', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b))
        expect(Math.sign(compareValues(t('string'), a, b))).toBe(bytes)
      }),
    )
    // The emoji is above U+FFFF, though its first UTF-16 unit is below.
    expect(compareValues(t('string'), '\u{1f600}', '\uffff')).toBeGreaterThan(0)
  })

  it('of floats puts -0 before +0 and NaN last', () => {
    const sorted = [Number.NaN, 1, 0, -0, Number.POSITIVE_INFINITY, -1].toSorted((a, b) =>
      compareValues(t('double'), a, b),
    )
    expect(sorted).toEqual([-1, -0, 0, 1, Number.POSITIVE_INFINITY, Number.NaN])
  })

  it('compares int and long across a promotion', () => {
    expect(compareValues(t('long'), 5, 6n)).toBeLessThan(0)
    expect(valueKey(t('int'), 5)).toBe(valueKey(t('long'), 5n))
  })
})

describe('equality keys', () => {
  it('distinguish null from every value', () => {
    expect(valueKey(t('string'), null)).not.toBe(valueKey(t('string'), 'null'))
    expect(valueKey(t('string'), null)).not.toBe(valueKey(t('string'), ''))
  })

  it('treat NaN as equal and the zeros as different', () => {
    expect(valueKey(t('float'), Number.NaN)).toBe(valueKey(t('float'), -Number.NaN))
    expect(valueKey(t('double'), 0)).not.toBe(valueKey(t('double'), -0))
  })
})

describe('truncated bounds', () => {
  const stringOrBytes = fc.oneof(
    text.map((value): { type: PrimitiveType; value: Value } => ({ type: t('string'), value })),
    fc.uint8Array().map((value): { type: PrimitiveType; value: Value } => ({ type: t('binary'), value })),
  )

  it('enclose the value and respect the maximum length', () => {
    fc.assert(
      fc.property(stringOrBytes, fc.integer({ min: 1, max: 8 }), ({ type, value }, length) => {
        const lower = truncateLower(type, value, length)
        const upper = truncateUpper(type, value, length)
        expect(compareValues(type, lower, value)).toBeLessThanOrEqual(0)
        expect(sizeOf(lower)).toBeLessThanOrEqual(length)
        if (upper === undefined) return
        expect(compareValues(type, upper, value)).toBeGreaterThanOrEqual(0)
        expect(sizeOf(upper)).toBeLessThanOrEqual(length)
      }),
      { numRuns: runs(3000) },
    )
  })

  it('never end in half a surrogate pair', () => {
    expect(truncateLower(t('string'), 'a\u{1f600}b', 2)).toBe('a\u{1f600}')
    expect(truncateUpper(t('string'), 'a\ud7ffb', 2)).toBe('a\ue000')
    expect(truncateUpper(t('string'), 'a\u{10ffff}b', 2)).toBe('b')
    expect(truncateUpper(t('string'), '\u{10ffff}\u{10ffff}x', 2)).toBeUndefined()
    expect(truncateUpper(t('binary'), Uint8Array.of(1, 255, 255, 7), 3)).toEqual(Uint8Array.of(2))
    expect(truncateUpper(t('binary'), Uint8Array.of(255, 255), 1)).toBeUndefined()
  })

  it('do not truncate other types', () => {
    expect([truncateLower(t('long'), 5n, 1), truncateUpper(t('long'), 5n, 1)]).toEqual([5n, 5n])
  })
})

function sizeOf(value: Value): number {
  return typeof value === 'string' ? Array.from(value).length : value instanceof Uint8Array ? value.length : 0
}

describe('JSON single values', () => {
  it.each<[string, Value, JsonValue]>([
    ['boolean', true, true],
    ['int', 34, 34],
    ['long', 9_223_372_036_854_775_807n, 9_223_372_036_854_775_807n],
    ['long', 34n, 34],
    ['double', 1.5, 1.5],
    ['decimal(9, 2)', 1420n, '14.20'],
    ['decimal(9, 2)', -5n, '-0.05'],
    ['date', 17486, '2017-11-16'],
    ['date', -(2 ** 31), '-5877641-06-23'],
    ['date', -719_893, '-0001-01-01'],
    ['time', 81_068_123_456n, '22:31:08.123456'],
    ['timestamp', 1_510_871_468_123_456n, '2017-11-16T22:31:08.123456'],
    ['timestamp', -1n, '1969-12-31T23:59:59.999999'],
    ['timestamptz', 1_510_871_468_123_456n, '2017-11-16T22:31:08.123456+00:00'],
    ['timestamp_ns', 1_510_871_468_123_456_789n, '2017-11-16T22:31:08.123456789'],
    ['timestamptz_ns', 1_510_871_468_123_456_789n, '2017-11-16T22:31:08.123456789+00:00'],
    ['string', 'iceberg', 'iceberg'],
    ['uuid', 'f79c3e09-677c-4bbd-a479-3f349cb785e7', 'f79c3e09-677c-4bbd-a479-3f349cb785e7'],
    ['fixed[4]', Uint8Array.of(0, 1, 2, 255), '000102ff'],
    ['binary', Uint8Array.of(0, 1, 2, 255), '000102ff'],
  ])('%s %s is %s (Appendix D)', (type, value, json) => {
    expect(valueToJson(t(type), value)).toEqual(json)
    expect(valueFromJson(t(type), json)).toEqual(value)
  })

  it('survive a round trip', () => {
    fc.assert(
      fc.property(typedValue, ({ type, value }) => {
        if (typeof value === 'number' && !Number.isFinite(value)) return
        expect(valueKey(type, valueFromJson(type, valueToJson(type, value)))).toBe(valueKey(type, value))
      }),
      { numRuns: runs(3000) },
    )
  })

  it('of times with another offset are converted', () => {
    expect(valueFromJson(t('timestamptz'), '1970-01-01T01:00:00+01:00')).toBe(0n)
    expect(valueFromJson(t('timestamptz'), '1970-01-01T00:00:00Z')).toBe(0n)
  })

  it.each<[string, JsonValue]>([
    ['int', 1.5],
    ['int', 2 ** 31],
    ['int', '3'],
    ['long', 2n ** 63n],
    ['long', 1.5],
    ['date', '2017-02-30'],
    ['date', '2017-13-01'],
    ['date', 3],
    ['time', '24:00:00'],
    ['timestamp', '2017-11-16T22:31:08Z'],
    ['timestamptz', '2017-11-16T22:31:08'],
    ['timestamp', '2017-11-16T22:31:08.1234567'],
    ['decimal(9, 2)', '1.234'],
    ['decimal(3, 2)', '10.00'],
    ['decimal(9, 2)', '1e999'],
    ['uuid', 'nope'],
    ['fixed[2]', '00'],
    ['binary', '0'],
    ['binary', 'zz'],
    ['string', 3],
    ['boolean', 'true'],
    ['string', null],
    ['variant', 'x'],
  ])('refuses %s %s', (type, json) => {
    expect(
      isIcebergError(
        caught(() => valueFromJson(t(type), json)),
        'INVALID_METADATA',
      ),
    ).toBe(true)
  })
})

describe('values as text', () => {
  it.each<[string, Value, string]>([
    ['date', 0, '1970-01-01'],
    ['int', 5, '5'],
    ['long', -5n, '-5'],
    ['float', Math.fround(0.1), '0.1'],
    ['double', -0, '-0'],
    ['double', Number.NaN, 'NaN'],
    ['decimal(4, 1)', 15n, '1.5'],
    ['boolean', false, 'false'],
    ['binary', Uint8Array.of(10, 255), '0aff'],
    ['timestamptz', 0n, '1970-01-01T00:00:00.000000+00:00'],
  ])('%s %s is shown as %s', (type, value, shown) => {
    expect(formatValue(t(type), value)).toBe(shown)
  })
})

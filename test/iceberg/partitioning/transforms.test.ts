import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { murmur3, murmur3Long } from '../../../src/iceberg/partitioning/murmur3.ts'
import {
  applyTransform,
  bucketHash,
  formatTransform,
  parseTransform,
} from '../../../src/iceberg/partitioning/transforms.ts'
import { transformResultType } from '../../../src/iceberg/partitioning/transforms.ts'
import { parseType, requirePrimitive } from '../../../src/iceberg/schema/type-json.ts'
import type { PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { hexToBytes } from '../../../src/iceberg/values/binary.ts'
import { caught } from '../../support/caught.ts'

const t = (text: string): PrimitiveType => requirePrimitive(parseType(text), 'test')
const apply = (transform: string, type: string, value: Value | null): Value | null =>
  applyTransform(parseTransform(transform), t(type), value)

describe('transform names', () => {
  it.each([
    'identity',
    'year',
    'month',
    'day',
    'hour',
    'void',
    'bucket[16]',
    'truncate[10]',
    'zorder[2]',
    'bucket(16)',
  ])('%s is kept', (text) => {
    expect(formatTransform(parseTransform(text))).toBe(text)
  })

  it('are read in any case', () => {
    expect(parseTransform('BUCKET[4]')).toEqual({ kind: 'bucket', buckets: 4 })
  })

  it.each(['bucket[0]', 'truncate[0]', 'bucket[2147483648]'])('%s is refused', (text) => {
    expect(
      isIcebergError(
        caught(() => parseTransform(text)),
        'INVALID_METADATA',
      ),
    ).toBe(true)
  })
})

describe('hashes of Appendix B of the spec', () => {
  it.each<[string, Value, number]>([
    ['int', 34, 2017239379],
    ['long', 34n, 2017239379],
    ['decimal(9, 2)', 1420n, -500754589],
    ['date', 17486, -653330422],
    ['time', 81_068_000_000n, -662762989],
    ['timestamp', 1_510_871_468_000_000n, -2047944441],
    ['timestamp', 1_510_871_468_000_001n, -1207196810],
    ['timestamptz', 1_510_871_468_000_000n, -2047944441],
    ['timestamp_ns', 1_510_871_468_000_000_000n, -2047944441],
    ['timestamp_ns', 1_510_871_468_000_001_001n, -1207196810],
    ['timestamptz_ns', 1_510_871_468_000_001_001n, -1207196810],
    ['string', 'iceberg', 1210000089],
    ['uuid', 'f79c3e09-677c-4bbd-a479-3f349cb785e7', 1488055340],
    ['fixed[4]', Uint8Array.of(0, 1, 2, 3), -188683207],
    ['binary', Uint8Array.of(0, 1, 2, 3), -188683207],
  ])('%s %s is %i', (type, value, hash) => {
    expect(bucketHash(t(type), value)).toBe(hash)
  })

  it('of a long equals that of its eight bytes', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const bytes = new Uint8Array(8)
        new DataView(bytes.buffer).setBigInt64(0, value, true)
        expect(murmur3Long(value)).toBe(murmur3(bytes))
      }),
    )
  })

  it.each([
    ['', 0],
    ['00', 0x514e28b7],
    ['0000', 0x30f4c306],
    ['000000', 0x85f0b427],
    ['00000000', 0x2362f9de],
    ['21436587', 0xf55b516b],
    ['214365', 0x7e4a8634],
    ['2143', 0xa0f7b07a],
    ['21', 0x72661cf4],
    ['ffffffff', 0x76293b50],
  ])('of the bytes %s is that of the Murmur3 reference', (hex, hash) => {
    expect(murmur3(hexToBytes(hex)) >>> 0).toBe(hash)
  })
})

describe('transforms', () => {
  it.each<[string, string, Value, Value]>([
    ['truncate[10]', 'int', 1, 0],
    ['truncate[10]', 'int', -1, -10],
    ['truncate[10]', 'long', -1n, -10n],
    ['truncate[50]', 'decimal(9, 2)', 1065n, 1050n],
    ['truncate[50]', 'decimal(9, 2)', -1065n, -1100n],
    ['truncate[3]', 'string', 'iceberg', 'ice'],
    ['truncate[2]', 'string', '\u{1f600}\u{1f601}\u{1f602}', '\u{1f600}\u{1f601}'],
    ['truncate[2]', 'binary', Uint8Array.of(1, 2, 3), Uint8Array.of(1, 2)],
    ['year', 'date', -1, -1],
    ['month', 'date', -1, -1],
    ['month', 'date', 31, 1],
    ['day', 'timestamp', -1n, -1],
    ['hour', 'timestamp', -1n, -1],
    ['hour', 'timestamptz', 3_600_000_000n, 1],
    ['hour', 'timestamp_ns', -3_600_000_000_001n, -2],
    ['year', 'timestamp_ns', -1n, -1],
    ['day', 'date', -5, -5],
    ['identity', 'string', 'x', 'x'],
  ])('%s of %s %s is %s', (transform, type, value, result) => {
    expect(apply(transform, type, value)).toEqual(result)
  })

  it('return null for null, and void returns null for every value', () => {
    for (const name of ['identity', 'bucket[4]', 'truncate[4]', 'void']) expect(apply(name, 'string', null)).toBeNull()
    expect(apply('void', 'string', 'x')).toBeNull()
  })

  it('match the calendar for calendar fields', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date(-62_135_596_800_000), max: new Date(253_402_300_799_999), noInvalidDate: true }),
        (date) => {
          const micros = BigInt(date.getTime()) * 1000n
          expect(apply('year', 'timestamp', micros)).toBe(date.getUTCFullYear() - 1970)
          expect(apply('month', 'timestamp', micros)).toBe((date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth())
          expect(apply('day', 'timestamp', micros)).toBe(Math.floor(date.getTime() / 86_400_000))
          expect(apply('hour', 'timestamp', micros)).toBe(Math.floor(date.getTime() / 3_600_000))
        },
      ),
    )
  })

  it('keep buckets within the number of buckets', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 2 ** 31 - 1 }), (value, buckets) => {
        const bucket = applyTransform({ kind: 'bucket', buckets }, t('string'), value)
        expect(typeof bucket === 'number' && bucket >= 0 && bucket < buckets).toBe(true)
      }),
    )
  })

  it.each([
    ['bucket[4]', 'float'],
    ['bucket[4]', 'boolean'],
    ['truncate[4]', 'double'],
    ['truncate[4]', 'date'],
    ['hour', 'date'],
    ['year', 'string'],
    ['identity', 'variant'],
    ['day', 'time'],
  ])('%s does not take %s', (transform, type) => {
    expect(
      isIcebergError(
        caught(() => transformResultType(parseTransform(transform), t(type))),
        'INVALID_ARGUMENT',
      ),
    ).toBe(true)
    expect(
      isIcebergError(
        caught(() => apply(transform, type, null)),
        'INVALID_ARGUMENT',
      ),
    ).toBe(true)
  })

  it('that are not known are refused, never guessed', () => {
    expect(
      isIcebergError(
        caught(() => apply('zorder[2]', 'int', 1)),
        'UNSUPPORTED',
      ),
    ).toBe(true)
  })

  it('have the result types of the spec', () => {
    expect(transformResultType(parseTransform('day'), t('timestamp'))).toEqual(t('date'))
    expect(transformResultType(parseTransform('hour'), t('timestamp'))).toEqual(t('int'))
    expect(transformResultType(parseTransform('truncate[2]'), t('decimal(9, 2)'))).toEqual(t('decimal(9, 2)'))
    expect(transformResultType(parseTransform('void'), t('string'))).toEqual(t('string'))
  })
})

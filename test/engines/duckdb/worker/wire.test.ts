import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeFrame, FrameReader } from '../../../../src/engines/duckdb/worker/frames.ts'
import { fromWire, toWire } from '../../../../src/engines/duckdb/worker/value-codec.ts'
import { runs } from '../../../support/effort.ts'

const throughJson = (value: unknown): unknown => fromWire(JSON.parse(JSON.stringify(toWire(value))))

const leaf = fc.oneof(
  fc.bigInt(),
  fc.double(),
  fc.constantFrom(-0, Number.NaN, Infinity, -Infinity, 2 ** 53, -(2n ** 63n)),
  fc.string(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array(),
)
const key = fc.oneof(fc.bigInt(), fc.integer(), fc.string(), fc.boolean())
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('value')),
    fc.array(fc.tuple(key, tie('value'))).map((entries) => new Map(entries)),
    fc
      .array(fc.tuple(fc.oneof(fc.string(), fc.constantFrom('$', 'v', '__proto__', 'constructor')), tie('value')))
      .map((entries) => Object.fromEntries(entries)),
  ),
})).value

describe('a value sent to a worker and back', () => {
  it('arrives unchanged', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(isDeepStrictEqual(throughJson(value), value)).toBe(true)
      }),
      { numRuns: runs(2000) },
    )
  })

  it('keeps the sign of zero and members with the name of the mark', () => {
    expect(Object.is(throughJson(-0), -0)).toBe(true)
    expect(throughJson({ $: 'bigint', v: '12' })).toEqual({ $: 'bigint', v: '12' })
  })

  it('is refused when it cannot be a sent value', () => {
    for (const wire of [
      { $: 'function', v: '1' },
      { $: 'bigint', v: 'x' },
      { $: 'map', v: [[1]] },
      { $: 'map', v: 3 },
      { $: 1 },
    ])
      expect(() => fromWire(wire), JSON.stringify(wire)).toThrow(/./)
  })

  it('cannot change the prototype of the decoded value', () => {
    const made = throughJson(JSON.parse('{"__proto__": {"isAdmin": true}}')) as { isAdmin?: boolean }
    expect(made.isAdmin).toBeUndefined()
    expect(Object.keys(made)).toEqual(['__proto__'])
  })
})

describe('messages', () => {
  it('are put together from pieces of any size', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 8 }), fc.integer({ min: 1, max: 50 }), (sent, size) => {
        const bytes = Buffer.concat(sent.map(encodeFrame))
        const reader = new FrameReader(1_000_000)
        const read: unknown[] = []
        for (let at = 0; at < bytes.length; at += size) read.push(...reader.push(bytes.subarray(at, at + size)))
        expect(JSON.stringify(read)).toBe(JSON.stringify(sent))
      }),
    )
  })

  it('are refused when they are too long, before they have arrived', () => {
    const reader = new FrameReader(10)
    expect(() => reader.push(encodeFrame('x'.repeat(100)).subarray(0, 4))).toThrow(/longer than 10/)
    expect(() => new FrameReader(100).push(Buffer.from([0, 0, 0, 2, 0x7b, 0x7b]))).toThrow(/JSON/)
  })
})

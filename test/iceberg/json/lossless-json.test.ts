import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { JsonFloat } from '../../../src/iceberg/json/json-float.ts'
import { isJsonObject } from '../../../src/iceberg/json/json-fields.ts'
import { MAX_JSON_DEPTH, parseJson, stringifyJson, stringifyVersion } from '../../../src/iceberg/json/lossless-json.ts'
import type { JsonValue } from '../../../src/iceberg/json/lossless-json.ts'
import { runs } from '../../support/effort.ts'

const corrupt = expect.objectContaining({ code: 'CORRUPT_FILE' })
const bytes = (text: string) => new TextEncoder().encode(text)

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

describe('parseJson', () => {
  it('keeps 64-bit ids exact and makes only unsafe integers bigint', () => {
    expect(parseJson('{"id": 6838723292707092922, "n": 9007199254740991, "m": 9007199254740992, "k": -1}')).toEqual({
      id: 6838723292707092922n,
      n: 9007199254740991,
      m: 9007199254740992n,
      k: -1,
    })
    expect(parseJson('[-9007199254740991, -9223372036854775808]')).toEqual([-9007199254740991, -9223372036854775808n])
  })

  it('distinguishes whole numbers written as floats, and prints them as floats again', () => {
    const text = '{"a":5.0,"b":-0.0,"c":1e3,"d":5,"e":1.5,"f":[1.0],"g":1e+300}'
    expect(parseJson(text)).toEqual({
      a: new JsonFloat(5),
      b: new JsonFloat(-0),
      c: new JsonFloat(1000),
      d: 5,
      e: 1.5,
      f: [new JsonFloat(1)],
      g: new JsonFloat(1e300),
    })
    expect(stringifyJson(parseJson(text))).toBe(text.replace('1e3,', '1000.0,'))
    expect(JSON.stringify(parseJson('[5.0]'))).toBe('[5]')
  })

  it('reads bytes, skips a byte order mark and refuses other encodings', () => {
    expect(parseJson(bytes('"grün 🐟"'))).toBe('grün 🐟')
    expect(parseJson(bytes('\ufeff{}'))).toEqual({})
    expect(() => parseJson(new Uint8Array([0x22, 0xff, 0x22]))).toThrow(corrupt)
  })

  it.each([
    '',
    ' ',
    '{',
    '[',
    '[1,]',
    '{"a":1,}',
    '{"a"}',
    '{a:1}',
    "{'a':1}",
    '01',
    '+1',
    '.5',
    '1.',
    '1e',
    '-',
    '--1',
    '0x10',
    'NaN',
    'Infinity',
    'nul',
    'True',
    '"',
    '"a',
    '"\\x"',
    '"\\u12"',
    '"\t"',
    '"\n"',
    '1 2',
    '[1 2]',
    '{"a" 1}',
    '1e999',
    '-1e999',
    '[1]]',
    '{}{}',
    '\u00a01',
    '[,1]',
    '// c\n1',
  ])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(corrupt)
    expect(() => JSON.parse(text.replaceAll(/-?1e999/g, 'x'))).toThrow(SyntaxError)
  })

  it('reports the position of the syntax error', () => {
    expect(() => parseJson('{\n  "a": 1,\n  "b": x\n}')).toThrow('line 3, column 8')
  })

  it('limits nesting and digits instead of overflowing the stack', () => {
    expect(stringifyJson(parseJson(nested(MAX_JSON_DEPTH)))).toBe(nested(MAX_JSON_DEPTH))
    expect(() => parseJson(nested(MAX_JSON_DEPTH + 1))).toThrow(corrupt)
    expect(() => parseJson('{"a":'.repeat(1_000_000))).toThrow(corrupt)
    expect(() => parseJson('9'.repeat(100_000))).toThrow(corrupt)
  })

  it('treats __proto__ as an ordinary key', () => {
    const value = parseJson('{"__proto__": {"polluted": 1}, "a": 2}')
    expect(Object.keys(value as object)).toEqual(['__proto__', 'a'])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(stringifyJson(value)).toBe('{"__proto__":{"polluted":1},"a":2}')
  })

  it('agrees with JSON.parse on everything but unsafe integers', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.integer({ min: 0, max: 3 }), (text, indent) => {
        const spaced = JSON.stringify(JSON.parse(text), null, indent)
        expect(withoutFloats(parseJson(spaced))).toEqual(asLossless(JSON.parse(spaced), spaced))
      }),
      { numRuns: runs(500) },
    )
  })

  it('fails like JSON.parse on damaged text', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 2 }), (text, at, patch) => {
        const damaged = text.slice(0, at % (text.length + 1)) + patch + text.slice((at % (text.length + 1)) + 1)
        expect(accepts(() => parseJson(damaged))).toBe(accepts(() => parseFinite(damaged)))
      }),
      { numRuns: runs(2000) },
    )
  })
})

describe('stringifyJson', () => {
  it('prints bigint as digits and keeps the sign of zero', () => {
    expect(stringifyJson({ id: -9223372036854775808n, z: -0, f: 1.5, s: 'é"\n', e: [], o: {}, n: null })).toBe(
      '{"id":-9223372036854775808,"z":-0,"f":1.5,"s":"é\\"\\n","e":[],"o":{},"n":null}',
    )
  })

  it('indents like JSON.stringify', () => {
    const value = { a: [1, { b: [] }], c: { d: {} }, e: 'x' }
    expect(stringifyJson(value, 2)).toBe(JSON.stringify(value, null, 2))
  })

  it('refuses values that JSON cannot represent, naming their path', () => {
    expect(() => stringifyJson({ a: [1, Number.NaN] })).toThrow('"a.1"')
    expect(() => stringifyJson([Infinity])).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    expect(() => stringifyJson({ a: undefined as unknown as JsonValue })).toThrow('undefined')
  })

  it('refuses circular values', () => {
    const circular: JsonValue[] = []
    circular.push(circular)
    expect(() => stringifyJson(circular)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  it('survives a round trip', () => {
    const { tree } = fc.letrec<{ tree: JsonValue; leaf: JsonValue }>((tie) => ({
      leaf: fc.oneof(
        fc.string({ unit: 'binary' }),
        fc
          .double({ noNaN: true, noDefaultInfinity: true })
          .filter((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
        fc.bigInt({ min: -(2n ** 127n), max: 2n ** 127n }).filter((n) => !Number.isSafeInteger(Number(n))),
        fc.boolean(),
        fc.constant(null),
      ),
      tree: fc.oneof(
        { maxDepth: 4 },
        tie('leaf'),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(fc.string({ unit: 'binary' }), tie('tree'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }))
    fc.assert(
      fc.property(tree, fc.constantFrom(0, 2), (value, indent) => {
        expect(parseJson(stringifyJson(value, indent))).toEqual(value)
        expect(parseJson(bytes(stringifyJson(parseJson(stringifyJson(value)))).slice())).toBeDefined()
      }),
      { numRuns: runs(500) },
    )
  })
})

describe('stringifyVersion', () => {
  it('prints every version of a document as stringifyJson does', () => {
    const value = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>
    const entries = fc.dictionary(fc.string(), fc.oneof(value, fc.array(value)), { maxKeys: 5, noNullPrototype: true })
    fc.assert(
      fc.property(entries, fc.array(fc.tuple(fc.string(), value), { maxLength: 5 }), (first, changes) => {
        let version = first
        expect(stringifyVersion(version)).toBe(stringifyJson(version))
        for (const [key, changed] of changes) {
          const before = version[key]
          version = { ...version, [key]: Array.isArray(before) ? [...before, changed] : changed }
          expect(stringifyVersion(version)).toBe(stringifyJson(version))
        }
      }),
      { numRuns: runs(300) },
    )
  })

  it('refuses what JSON cannot represent, at any depth, and names the place each time', () => {
    for (const wrong of [{ a: [1, Number.NaN] }, { a: { b: [Number.NaN] } }, { a: Number.NaN }]) {
      for (let time = 0; time < 2; time += 1) expect(() => stringifyVersion(wrong)).toThrow('NaN (at "a')
    }
    let deep: JsonValue = 1
    for (let depth = 0; depth < MAX_JSON_DEPTH; depth += 1) deep = [deep]
    expect(() => stringifyVersion({ deep })).toThrow('nesting')
  })
})

function accepts(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch {
    return false
  }
}

/** JSON.parse turns numbers beyond the range of a double into Infinity; ours refuses them. */
function parseFinite(text: string): void {
  JSON.parse(text, (_key, value: unknown) => {
    if (value === Infinity || value === -Infinity) throw new RangeError('out of range')
    return value
  })
}

function withoutFloats(value: JsonValue): unknown {
  if (value instanceof JsonFloat) return value.value
  if (Array.isArray(value)) return value.map(withoutFloats)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([key, member]) => [key, withoutFloats(member)])
  return Object.fromEntries(entries)
}

/** What JSON.parse gives, with integers that it rounded taken from the text again. */
function asLossless(value: unknown, text: string): unknown {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    const token = (text.match(/-?[0-9.eE+]+/g) ?? []).find(
      (found) => Number(found) === value && /^-?[0-9]+$/.test(found),
    )
    return token === undefined ? value : BigInt(token)
  }
  if (Array.isArray(value)) return value.map((element) => asLossless(element, text))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, member]) => [key, asLossless(member, text)])
  return Object.fromEntries(entries)
}

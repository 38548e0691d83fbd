import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { parseDocument } from '../../../src/iceberg/json/document-parser.ts'
import { JsonParser } from '../../../src/iceberg/json/json-parser.ts'
import { MAX_JSON_DEPTH, parseJson } from '../../../src/iceberg/json/lossless-json.ts'
import { runs } from '../../support/effort.ts'

const RULES = { maxDepth: MAX_JSON_DEPTH, refusesRepeats: false }
const bytes = (text: string) => new TextEncoder().encode(text)
const inPieces = (text: string) => parseDocument(bytes(text), MAX_JSON_DEPTH)
const asAWhole = (text: string) => new JsonParser(text, RULES).parse()
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

/** Tokens that one of the two parsers could read otherwise. */
const token = fc.oneof(
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => String(value)),
  fc.constantFrom(
    '5.0',
    '-0',
    '-0.0',
    '1e3',
    '1E+2',
    'true',
    'null',
    '9007199254740993',
    '[]',
    '{}',
    '"12345678901234567"',
  ),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
)
const key = fc.oneof(
  fc.constantFrom('id', 'a', '__proto__', '0', '1', '12345678901234567890', 'ä', '\uFEFF', 'q"', '\\'),
  fc.string({ unit: 'grapheme', maxLength: 4 }),
)
const { value: json } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    token,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(' , ')}]`),
    // keys may be there twice
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map(toObject),
  ),
}))

function toObject(members: readonly (readonly [string, string])[]): string {
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:\n${value}`).join(',\t')}}`
}

describe('a document that is parsed in pieces', () => {
  it('is the same as one that is parsed as a whole, or is left to the other parser', () => {
    let parsed = 0
    const members = fc.array(fc.tuple(key, json), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(members, (list) => {
        const text = ` ${toObject(list)}\r\n`
        const found = inPieces(text)
        if (found === undefined) return
        parsed += 1
        expect(found).toStrictEqual(asAWhole(text))
        expect(Object.keys(found)).toEqual(Object.keys(asAWhole(text) as object))
      }),
      { numRuns: runs(20_000) },
    )
    expect(parsed).toBeGreaterThan(runs(20_000) / 2)
  })

  it('is left to the other parser when the text is damaged', () => {
    const good =
      '{"snapshots": [{"snapshot-id": 6838723292707092922, "summary": {"a": "ü"}}, {"snapshot-id": 1}], "b": 2}'
    const damage = fc.tuple(
      fc.nat(good.length - 1),
      fc.constantFrom('', '"', '{', ']', ',', ':', '\\', '7', 'é', '\u0001', '.'),
    )
    fc.assert(
      fc.property(damage, ([at, text]) => {
        const damaged = good.slice(0, at) + text + good.slice(at + 1)
        const found = inPieces(damaged)
        if (found !== undefined) expect(found).toStrictEqual(asAWhole(damaged))
      }),
      { numRuns: runs(5000) },
    )
    for (const text of [
      '',
      '{',
      '{}',
      '[1]',
      '{"a":1}x',
      '{"a" 1}',
      '{"a":1,}',
      '{"a":[1,]}',
      '{"a":[1}',
      '{"a":"\n"}',
    ]) {
      expect(inPieces(text)).toBeUndefined()
    }
  })

  it('keeps ids of 64 bits exact in elements of its lists', () => {
    const ids = [6838723292707092922n, -9223372036854775808n, 9007199254740993n]
    const snapshots = ids.map((id) => `{"name":"x","snapshot-id":${id},"parent":${id},"n":9007199254740991}`)
    expect(inPieces(`{"snapshots":[${snapshots.join(',')}]}`)).toEqual({
      snapshots: ids.map((id) => ({ name: 'x', 'snapshot-id': id, parent: id, n: 9007199254740991 })),
    })
  })

  it('is not parsed in pieces when a long integer is followed by another value of its key', () => {
    for (const last of ['1', '"6838723292707092922"', '6838723292707092000', '[6838723292707092922]']) {
      const text = `{"list":[{"id":6838723292707092922,"id":${last}}]}`
      const found = inPieces(text)
      if (found !== undefined) expect(found).toStrictEqual(asAWhole(text))
      expect(parseJson(bytes(text.padEnd(300_000)))).toStrictEqual(asAWhole(text))
    }
  })

  it('has the same limits of nesting and of digits', () => {
    expect(inPieces(`{"a":[${nested(MAX_JSON_DEPTH - 2)}]}`)).toBeDefined()
    expect(inPieces(`{"a":[${nested(MAX_JSON_DEPTH - 1)}]}`)).toBeUndefined()
    expect(inPieces(`{"a":${nested(MAX_JSON_DEPTH - 1)}}`)).toBeDefined()
    expect(inPieces(`{"a":${nested(MAX_JSON_DEPTH)}}`)).toBeUndefined()
    expect(inPieces(`{"a":[{"b":${'9'.repeat(1001)}}]}`)).toBeUndefined()
  })

  it('names the line and column of an error in the whole document', () => {
    const text = `{"a":[${'{"b":1},\n'.repeat(40_000)}{"b":01}]}`
    expect(() => parseJson(bytes(text))).toThrow(/line 40001, column 7/)
    const broken = bytes(`{"a":[${'{"b":"x"},'.repeat(40_000)}{"b":"é"}]}`)
    broken[broken.indexOf(0xc3) + 1] = 0x20
    expect(() => parseJson(broken)).toThrow(expect.objectContaining({ code: 'CORRUPT_FILE' }))
  })
})

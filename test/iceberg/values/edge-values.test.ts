import { describe, expect, it } from 'vitest'
import { parseJson, stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import { parseSchema, schemaToJson } from '../../../src/iceberg/schema/schema.ts'
import {
  valueFromBytes,
  valueFromJson,
  valueKey,
  valueToBytes,
  valueToJson,
} from '../../../src/iceberg/values/values.ts'
import { edgeTypes } from '../../support/edge-values.ts'

describe.each(edgeTypes)('extreme values of type %s', (_, type, values) => {
  it('survive a round trip in binary form', () => {
    for (const value of values) {
      expect(valueKey(type, valueFromBytes(type, valueToBytes(type, value)))).toBe(valueKey(type, value))
    }
  })

  it('survive a round trip as JSON text; NaN and infinities have no JSON form', () => {
    for (const value of values) {
      if (typeof value === 'number' && !Number.isFinite(value)) {
        expect(() => valueToJson(type, value)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
        continue
      }
      const text = stringifyJson(valueToJson(type, value))
      expect(valueKey(type, valueFromJson(type, parseJson(text)))).toBe(valueKey(type, value))
    }
  })
})

describe('defaults of float and double columns', () => {
  const document = (value: string): string =>
    `{"type":"struct","fields":[{"id":1,"name":"d","required":false,"type":"double","initial-default":${value},"write-default":${value}}],"schema-id":0}`

  it.each(['5.0', '-0.0', '0.0', '1.5', '1.0E10', '1e-7'])('stay floats when the schema is rewritten: %s', (value) => {
    const schema = parseSchema(parseJson(document(value)), 'schema')
    const again = stringifyJson(schemaToJson(schema))
    // Java reads a whole number without a fraction as an integer, and refuses it as the default of a double
    const [found] = /(?<="initial-default":)[^,}]+/.exec(again) ?? []
    expect(found).toMatch(/[.eE]/)
    expect(Object.is(Number(found), Number(value))).toBe(true)
  })

  it('beyond the range of the type are refused, not read as infinity', () => {
    expect(() => valueFromJson({ kind: 'float' }, parseJson('1e39'))).toThrow('not a float')
    expect(valueFromJson({ kind: 'double' }, parseJson('1e39'))).toBe(1e39)
  })
})

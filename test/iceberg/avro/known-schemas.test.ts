import { describe, expect, it } from 'vitest'

import { parseAvroSchema } from '../../../src/iceberg/avro/avro-schema-parser.ts'
import { readAvroSchema } from '../../../src/iceberg/avro/known-schemas.ts'

const schema = (name: string, doc = '') =>
  new TextEncoder().encode(
    JSON.stringify({ type: 'record', name: 'r', doc, fields: [{ name, type: ['null', 'long'], 'field-id': 1 }] }),
  )

describe('the schema of Avro files', () => {
  it('is parsed once for all files that have the same text', () => {
    const first = readAvroSchema(schema('a'))
    expect(readAvroSchema(schema('a'))).toBe(first)
    expect(readAvroSchema(schema('b'))).toStrictEqual(parseAvroSchema(schema('b')))
    expect(readAvroSchema(schema('b'))).not.toBe(first)
  })

  it('is right for any number of schemas, and for long ones', () => {
    for (let round = 0; round < 2; round += 1) {
      for (let at = 0; at < 200; at += 1) {
        expect(readAvroSchema(schema(`f${at}`))).toStrictEqual(parseAvroSchema(schema(`f${at}`)))
      }
    }
    const long = schema('long', 'x'.repeat(100_000))
    expect(readAvroSchema(long)).toStrictEqual(parseAvroSchema(long))
    expect(readAvroSchema(long)).not.toBe(readAvroSchema(long))
  })

  it('is refused each time when it is damaged', () => {
    const damaged = schema('a').subarray(0, 40)
    for (let round = 0; round < 2; round += 1) {
      expect(() => readAvroSchema(damaged)).toThrow(expect.objectContaining({ code: 'CORRUPT_FILE' }))
    }
    expect(() => readAvroSchema(new Uint8Array([0x22, 0xff, 0x22]))).toThrow(
      expect.objectContaining({ code: 'CORRUPT_FILE' }),
    )
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { toAvroName, uniqueAvroNames } from '../../../src/iceberg/avro/avro-names.ts'
import { readAvroRecords } from '../../../src/iceberg/avro/avro-records.ts'
import { parseAvroSchema } from '../../../src/iceberg/avro/avro-schema-parser.ts'
import { hasFieldIds } from '../../../src/iceberg/avro/avro-schema.ts'
import { ByteCursor } from '../../../src/iceberg/avro/byte-cursor.ts'
import { ByteSink } from '../../../src/iceberg/avro/byte-sink.ts'
import { scalarType } from '../../../src/iceberg/avro/scalar-writer.ts'
import { typedScalarReader } from '../../../src/iceberg/avro/scalar-reader.ts'
import { compileSkipper } from '../../../src/iceberg/avro/skipper.ts'
import { uncompressSnappy } from '../../../src/iceberg/avro/snappy.ts'
import type { PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { compressSnappy, oracleType, writeWithAvsc } from './avsc-oracle.ts'
import { runs } from '../../support/effort.ts'

const corrupt = expect.objectContaining({ name: 'IcebergError', code: 'CORRUPT_FILE' })
const longs = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -300n, max: 300n }),
  fc.constantFrom(2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, -(2n ** 53n), 2n ** 27n, 2n ** 28n, -(2n ** 27n) - 1n),
)

describe('ByteSink and ByteCursor', () => {
  it('agree with avsc on every long', () => {
    const type = oracleType('long')
    fc.assert(
      fc.property(fc.array(longs), (values) => {
        const sink = new ByteSink(1)
        for (const value of values) sink.writeBigInt(value)
        expect(Buffer.from(sink.toBytes())).toEqual(Buffer.concat(values.map((value) => type.toBuffer(value))))
        const cursor = new ByteCursor(sink.toBytes(), 'test')
        expect(values.map(() => cursor.readBigInt())).toEqual(values)
        expect(cursor.remaining).toBe(0)
      }),
    )
  })

  it('read numbers exactly or refuse them', () => {
    fc.assert(
      fc.property(longs, (value) => {
        const sink = new ByteSink()
        sink.writeBigInt(value)
        const cursor = new ByteCursor(sink.toBytes(), 'test')
        if (value >= -(2n ** 53n) && value < 2n ** 53n) {
          expect(BigInt(cursor.readNumber())).toBe(value)
          expect(cursor.remaining).toBe(0)
        } else {
          expect(() => cursor.readNumber()).toThrow(corrupt)
        }
      }),
    )
  })

  it('write numbers as they write bigints', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const [a, b] = [new ByteSink(), new ByteSink()]
        a.writeNumber(value)
        b.writeBigInt(BigInt(value))
        expect(a.toBytes()).toEqual(b.toBytes())
      }),
    )
  })

  it('refuse unterminated or too large numbers', () => {
    for (const bytes of [Array.from({ length: 12 }, () => 0xff), [...Array.from({ length: 9 }, () => 0xff), 0x02]]) {
      expect(() => new ByteCursor(new Uint8Array(bytes), 'test').readNumber()).toThrow(corrupt)
      expect(() => new ByteCursor(new Uint8Array(bytes), 'test').readBigInt()).toThrow(corrupt)
    }
  })
})

const names = fc.constantFrom('a', 'b', 'c')
const { schema: anySchema } = fc.letrec<{ schema: unknown; leaf: unknown }>((tie) => ({
  leaf: fc.constantFrom(
    'boolean',
    'int',
    'long',
    'float',
    'double',
    'bytes',
    'string',
    { type: 'fixed', size: 3 },
    { type: 'enum', symbols: ['x', 'y', 'z'] },
  ),
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('leaf'),
    tie('schema').map((items) => ({ type: 'array', items })),
    tie('schema').map((values) => ({ type: 'map', values })),
    tie('leaf').map((type) => ['null', type]),
    fc.uniqueArray(names, { minLength: 1, maxLength: 3 }).chain((fields) =>
      fc.tuple(...fields.map(() => tie('schema'))).map((types) => ({
        type: 'record',
        fields: fields.map((name, index) => ({ name, type: types[index] })),
      })),
    ),
  ),
}))

/** avsc needs a name for every named type. */
function withNames(schema: unknown, next = { id: 0 }): unknown {
  if (Array.isArray(schema)) return schema.map((branch) => withNames(branch, next))
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([key, value]) => {
    if (key === 'items' || key === 'values' || key === 'type') return [key, withNames(value, next)]
    if (key !== 'fields') return [key, value]
    return [key, value.map((field: { type: unknown }) => ({ ...field, type: withNames(field.type, next) }))]
  })
  const named = ['record', 'fixed', 'enum'].includes(String(Object(schema).type))
  return { ...Object.fromEntries(entries), ...(named && { name: `n${next.id++}` }) }
}

describe('records of any schema', () => {
  it('read back as avsc wrote them, and are skipped exactly', async () => {
    const property = fc.asyncProperty(anySchema, fc.nat(4), async (generated, count) => {
      const schema = { type: 'record', name: 'top', fields: [{ name: 'v', type: withNames(generated) }] }
      const type = oracleType(schema)
      const records = Array.from({ length: count }, () => type.random())
      const bytes = await writeWithAvsc(schema, records)
      const { records: read } = readAvroRecords(bytes)
      expect(read.map(comparable)).toEqual(records.map(comparable))
      const skip = compileSkipper(parseAvroSchema(JSON.stringify(schema)))
      for (const record of records) {
        const cursor = new ByteCursor(type.toBuffer(record), 'test')
        skip(cursor)
        expect(cursor.remaining).toBe(0)
      }
    })
    await fc.assert(property, { numRuns: runs(300) })
  })
})

/** Maps and records as plain objects, buffers as arrays, floats rounded as they are stored. */
function comparable(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value]
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [key, comparable(member)]))
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value === 'number') return Math.fround(value)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, comparable(member)]))
}

const scalars: readonly [PrimitiveType, fc.Arbitrary<Value>][] = [
  [{ kind: 'boolean' }, fc.boolean()],
  [{ kind: 'int' }, fc.integer()],
  [{ kind: 'long' }, longs],
  [{ kind: 'float' }, fc.float()],
  [{ kind: 'double' }, fc.double()],
  [{ kind: 'date' }, fc.integer()],
  [{ kind: 'time' }, longs],
  [{ kind: 'timestamp' }, longs],
  [{ kind: 'timestamptz' }, longs],
  [{ kind: 'timestamp_ns' }, longs],
  [{ kind: 'timestamptz_ns' }, longs],
  [{ kind: 'string' }, fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed())],
  [{ kind: 'uuid' }, fc.uuid()],
  [{ kind: 'binary' }, fc.uint8Array()],
  [{ kind: 'decimal', precision: 9, scale: 2 }, fc.bigInt({ min: -999_999_999n, max: 999_999_999n })],
  [{ kind: 'decimal', precision: 38, scale: 10 }, fc.bigInt({ min: 1n - 10n ** 38n, max: 10n ** 38n - 1n })],
]

describe('single values', () => {
  it.each(scalars.map(([type, values]) => ({ type, values })))('survive a round trip: $type', ({ type, values }) => {
    const { json, write } = scalarType(type, new Set())
    const schema = parseAvroSchema(JSON.stringify(json))
    fc.assert(
      fc.property(values, (value) => {
        const sink = new ByteSink()
        write(sink, value)
        const cursor = new ByteCursor(sink.toBytes(), 'test')
        expect(typedScalarReader(schema, type)(cursor)).toEqual(value)
        expect(cursor.remaining).toBe(0)
      }),
    )
  })

  it.each<[PrimitiveType, unknown, unknown, Value]>([
    [{ kind: 'long' }, 'int', 5, 5n],
    [{ kind: 'double' }, 'float', 1.5, 1.5],
    [{ kind: 'timestamp' }, { type: 'int', logicalType: 'date' }, -1, -86_400_000_000n],
    [{ kind: 'timestamptz_ns' }, { type: 'int', logicalType: 'date' }, 1, 86_400_000_000_000n],
    [{ kind: 'int' }, 'long', 7n, 7],
    [{ kind: 'timestamp' }, { type: 'long', logicalType: 'timestamp-millis' }, 3n, 3000n],
    [
      { kind: 'uuid' },
      { type: 'string', logicalType: 'uuid' },
      'AB000000-0000-0000-0000-00000000000C',
      'ab000000-0000-0000-0000-00000000000c',
    ],
    [
      { kind: 'decimal', precision: 9, scale: 2 },
      { type: 'bytes', logicalType: 'decimal', precision: 9 },
      Buffer.from([0xff, 0x7f]),
      -129n,
    ],
    [
      { kind: 'decimal', precision: 9, scale: 2 },
      { type: 'fixed', name: 'f', size: 4 },
      Buffer.from([0, 0, 1, 0]),
      256n,
    ],
  ])('become %j from %j', (type, avroType, written, expected) => {
    const cursor = new ByteCursor(oracleType(avroType).toBuffer(written), 'test')
    expect(typedScalarReader(parseAvroSchema(JSON.stringify(avroType)), type)(cursor)).toEqual(expected)
  })

  it.each<[PrimitiveType, unknown]>([
    [{ kind: 'string' }, 'long'],
    [{ kind: 'int' }, 'string'],
    [{ kind: 'long' }, 'double'],
    [{ kind: 'boolean' }, 'int'],
    [{ kind: 'uuid' }, 'long'],
    [{ kind: 'float' }, 'double'],
    [{ kind: 'binary' }, 'string'],
    [{ kind: 'int' }, { type: 'array', items: 'int' }],
  ])('cannot become %j from %j', (type, avroType) => {
    expect(() => typedScalarReader(parseAvroSchema(JSON.stringify(avroType)), type)).toThrow(corrupt)
  })

  it.each<[PrimitiveType, Value]>([
    [{ kind: 'int' }, 2 ** 31],
    [{ kind: 'int' }, 1n],
    [{ kind: 'long' }, 2n ** 63n],
    [{ kind: 'long' }, 1],
    [{ kind: 'string' }, true],
    [{ kind: 'uuid' }, 'not a uuid'],
    [{ kind: 'decimal', precision: 2, scale: 0 }, 128n],
    [{ kind: 'boolean' }, 1],
    [{ kind: 'double' }, 1n],
    [{ kind: 'date' }, Number.NaN],
  ])('are refused when they are not of their type: %j', (type, value) => {
    const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => scalarType(type, new Set()).write(new ByteSink(), value)).toThrow(refused)
  })

  it('of type fixed are read, but not written: engines differ in their form', () => {
    const type: PrimitiveType = { kind: 'fixed', length: 2 }
    const { json, write } = scalarType(type, new Set())
    const unsupported = expect.objectContaining({ code: 'UNSUPPORTED' })
    expect(() => write(new ByteSink(), new Uint8Array(2))).toThrow(unsupported)
    const schema = parseAvroSchema(JSON.stringify(json))
    expect(typedScalarReader(schema, type)(new ByteCursor(new Uint8Array([7, 8]), 'test'))).toEqual(
      new Uint8Array([7, 8]),
    )
  })

  it('define a named type once and refer to it after', () => {
    const defined = new Set<string>()
    const type: PrimitiveType = { kind: 'decimal', precision: 5, scale: 1 }
    expect(scalarType(type, defined).json).toMatchObject({ name: 'decimal_5_1', size: 3 })
    expect(scalarType(type, defined).json).toBe('decimal_5_1')
  })
})

describe('uncompressSnappy', () => {
  it('reads what snappyjs writes', () => {
    const texts = fc.array(fc.constantFrom('ab', 'abc', 'xyzxyz', '\u0000'.repeat(90), 'q'), { maxLength: 400 })
    fc.assert(
      fc.property(
        fc.oneof(
          texts.map((parts) => Buffer.from(parts.join(''))),
          fc.uint8Array({ maxLength: 500 }),
        ),
        (input) => {
          const compressed = compressSnappy(input)
          expect(uncompressSnappy(compressed, 1 << 20)).toEqual(new Uint8Array(input))
          if (input.length > 0) expect(uncompressSnappy(compressed, input.length - 1)).toBeUndefined()
        },
      ),
    )
  })

  it('refuses damage, and lengths that would run backwards', () => {
    expect(uncompressSnappy(new Uint8Array([]), 100)).toBeUndefined()
    expect(uncompressSnappy(new Uint8Array([5]), 100)).toBeUndefined()
    expect(uncompressSnappy(new Uint8Array([4, 0xfc, 0x9c, 0xff, 0xff, 0xff, 1, 2]), 100)).toBeUndefined()
    expect(uncompressSnappy(new Uint8Array([4, 0x01, 0x01]), 100)).toBeUndefined()
    expect(uncompressSnappy(new Uint8Array([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), 100)).toBeUndefined()
  })

  it('ends on any input', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (input) => {
        const output = uncompressSnappy(input, 1000)
        expect(output === undefined || output.length <= 1000).toBe(true)
      }),
      { numRuns: runs(5000) },
    )
  })
})

describe('Avro names', () => {
  it.each([
    ['plain_1', 'plain_1'],
    ['9day', '_9day'],
    ['a.b', 'a_x2Eb'],
    ['', '_'],
    ['🐟', '_xD83D_xDC1F'],
    ['ü', '_xFC'],
    ['a b', 'a_x20b'],
    ['day-of', 'day_x2Dof'],
    ['_x', '_x'],
  ])('%j becomes %j', (name, avroName) => {
    expect(toAvroName(name)).toBe(avroName)
  })

  it('are valid and unique for any names', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('9', '_9', '__9', '9_2'))),
        (all) => {
          const made = uniqueAvroNames(all)
          expect(new Set(made).size).toBe(all.length)
          for (const name of made) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_]*$/)
        },
      ),
    )
  })
})

describe('parseAvroSchema', () => {
  it('accepts any name, ids as text, and references to named types', () => {
    const schema = parseAvroSchema(
      JSON.stringify({
        type: 'record',
        name: '9 strange.name',
        namespace: 'x.y',
        fields: [
          { name: '9day', type: { type: 'fixed', name: 'f', size: 2 }, 'field-id': '7' },
          { name: '9day', type: ['null', 'f'], 'field-id': 8 },
          { name: 'z', type: '9 strange.f' },
        ],
      }),
    )
    expect(schema).toMatchObject({ fields: [{ fieldId: 7 }, { fieldId: 8 }, { schema: { kind: 'fixed', size: 2 } }] })
    expect(hasFieldIds(schema)).toBe(true)
    expect(hasFieldIds(parseAvroSchema('{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}'))).toBe(
      false,
    )
  })

  it.each([
    '',
    'int',
    '5',
    'null',
    'true',
    '{}',
    '"unknown"',
    '{"type":"record","name":"r"}',
    '{"type":"array"}',
    '{"type":"map"}',
    '{"type":"fixed","name":"f"}',
    '{"type":"fixed","name":"f","size":-1}',
    '{"type":"enum","name":"e"}',
    '[["int"],3]',
    '{"type":"record","name":"r","fields":[5]}',
    '{"type":"fixed","name":"f","size":1e300}',
  ])('refuses %s', (text) => {
    expect(() => parseAvroSchema(text)).toThrow(corrupt)
  })

  it('refuses types that contain themselves', () => {
    const list = { type: 'record', name: 'n', fields: [{ name: 'next', type: ['null', 'n'] }] }
    expect(() => parseAvroSchema(JSON.stringify(list))).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }))
  })

  it('refuses types that grow exponentially', () => {
    const fields = Array.from({ length: 30 }, (_, n) => {
      const inner = n === 0 ? 'int' : `r${n - 1}`
      return {
        name: `f${n}`,
        type: {
          type: 'record',
          name: `r${n}`,
          fields: [
            { name: 'a', type: inner },
            { name: 'b', type: inner },
          ],
        },
      }
    })
    expect(() => parseAvroSchema(JSON.stringify({ type: 'record', name: 'top', fields }))).toThrow(corrupt)
  })
})

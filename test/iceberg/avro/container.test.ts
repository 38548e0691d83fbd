import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { readAvroRecords } from '../../../src/iceberg/avro/avro-records.ts'
import { ByteSink } from '../../../src/iceberg/avro/byte-sink.ts'
import { openAvroContainer } from '../../../src/iceberg/avro/container-reader.ts'
import { AvroContainerWriter } from '../../../src/iceberg/avro/container-writer.ts'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { readWithAvsc, writeWithAvsc } from './avsc-oracle.ts'
import { runs } from '../../support/effort.ts'

const corrupt = expect.objectContaining({ name: 'IcebergError', code: 'CORRUPT_FILE' })

const schema = {
  type: 'record',
  name: 'row',
  fields: [
    { name: 'id', type: 'long', 'field-id': 1 },
    { name: 'name', type: ['null', 'string'], default: null, 'field-id': 2 },
  ],
}
const rows = Array.from({ length: 500 }, (_, n) => ({
  id: 9007199254740993n * BigInt(n % 1000) - 7n,
  name: n % 7 === 0 ? null : `row ${n} ü🐟`,
}))
const byName = rows.map(
  ({ id, name }) =>
    new Map<string, unknown>([
      ['id', id],
      ['name', name],
    ]),
)
const byId = rows.map(
  ({ id, name }) =>
    new Map<number, unknown>([
      [1, id],
      [2, name],
    ]),
)

describe('Avro containers', () => {
  it.each(['null', 'deflate', 'snappy', 'zstandard'])('reads %s blocks written by avsc', async (codec) => {
    const bytes = await writeWithAvsc(schema, rows, { codec, blockSize: 1000 })
    expect(readAvroRecords(bytes).records).toEqual(byName)
  })

  it('names an unknown codec', async () => {
    const bytes = await writeWithAvsc(schema, rows, { codec: 'lzma' })
    expect(() => readAvroRecords(bytes)).toThrow(corrupt)
    expect(() => readAvroRecords(bytes)).toThrow('"lzma"')
  })

  it('checks the CRC of Snappy blocks', async () => {
    const bytes = await writeWithAvsc(schema, rows, { codec: 'snappy', blockSize: 1_000_000 })
    // The last byte of the CRC stands right before the sync marker that ends the file.
    bytes[bytes.length - 17] = (bytes[bytes.length - 17] ?? 0) ^ 1
    expect(() => readAvroRecords(bytes)).toThrow(corrupt)
  })

  it('writes files that avsc reads', async () => {
    const writer = new AvroContainerWriter(JSON.stringify(schema), { 'format-version': '2' })
    for (const { id, name } of rows) {
      writer.append((sink) => {
        sink.writeBigInt(id)
        sink.writeNumber(name === null ? 0 : 1)
        if (name !== null) sink.writeString(name)
      })
    }
    const bytes = writer.finish()
    expect((await readWithAvsc(bytes)).records).toEqual(rows)
    expect(new TextDecoder().decode(openAvroContainer(bytes).header.get('format-version'))).toBe('2')
    expect(readAvroRecords(bytes).records).toEqual(byId)
  })

  it('splits large files into blocks', () => {
    const writer = new AvroContainerWriter('"bytes"', {})
    const row = crypto.getRandomValues(new Uint8Array(10_000))
    for (let n = 0; n < 50; n++) writer.append((sink) => sink.writeBytes(row))
    let read = 0
    openAvroContainer(writer.finish()).forEachRecord((cursor) => {
      expect(cursor.readBytes()).toEqual(row)
      expect(cursor.end).toBeLessThan(80_000)
      read++
    })
    expect(read).toBe(50)
  })

  it('reads a file without records', () => {
    expect(readAvroRecords(new AvroContainerWriter(JSON.stringify(schema), {}).finish()).records).toEqual([])
  })

  it('recognizes encrypted files', () => {
    const bytes = new TextEncoder().encode('AGS1 and then cipher text')
    expect(() => openAvroContainer(bytes, 'manifest m0.avro')).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }))
    expect(() => openAvroContainer(bytes, 'manifest m0.avro')).toThrow('manifest m0.avro')
  })
})

describe('damaged Avro containers', () => {
  it.each([
    ['nothing', new Uint8Array()],
    ['one byte', new Uint8Array([0x4f])],
    ['Parquet', new TextEncoder().encode('PAR1................PAR1')],
    ['Avro of another version', new TextEncoder().encode('Obj\u0002aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')],
    ['zeros', new Uint8Array(1000)],
    ['only the magic', new TextEncoder().encode('Obj\u0001')],
  ])('refuses %s', (_what, bytes) => {
    expect(() => openAvroContainer(bytes)).toThrow(corrupt)
  })

  it.each(['null', 'deflate', 'snappy', 'zstandard'])(
    'cut at any byte, return whole blocks or fail: %s',
    async (codec) => {
      const bytes = await writeWithAvsc(schema, rows.slice(0, 40), { codec, blockSize: 200 })
      for (let cut = 0; cut < bytes.length; cut++) {
        const read = attempt(() => readAvroRecords(bytes.subarray(0, cut)).records)
        if (read instanceof Error) expect(read).toEqual(corrupt)
        else expect(read).toEqual(byName.slice(0, read.length))
      }
    },
  )

  it.each(['null', 'deflate', 'snappy', 'zstandard'])(
    'never fails in another way when bytes change: %s',
    async (codec) => {
      const bytes = await writeWithAvsc(schema, rows.slice(0, 40), { codec, blockSize: 200 })
      const changes = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 })), {
        minLength: 1,
        maxLength: 3,
      })
      fc.assert(
        fc.property(changes, (patches) => {
          const damaged = bytes.slice()
          for (const [at, byte] of patches) damaged[at] = byte
          const read = attempt(() => readAvroRecords(damaged))
          if (read instanceof Error) expect(isIcebergError(read)).toBe(true)
        }),
        { numRuns: runs(1500) },
      )
    },
  )

  it.each([
    ['a negative count', (sink: ByteSink) => block(sink, { count: -3 })],
    ['more records than bytes', (sink: ByteSink) => block(sink, { count: 2 ** 40 })],
    ['a negative length', (sink: ByteSink) => block(sink, { length: -1 })],
    ['a length beyond the file', (sink: ByteSink) => block(sink, { length: 2 ** 45 })],
    ['a count beyond 2^53', (sink: ByteSink) => block(sink, { count: 2n ** 62n })],
    ['fewer records than bytes', (sink: ByteSink) => block(sink, { count: 0 })],
    ['another sync marker', (sink: ByteSink) => block(sink, { sync: new Uint8Array(16).fill(9) })],
  ])('refuses a block with %s', (_what, write) => {
    expect(() => readAvroRecords(handMade(write))).toThrow(corrupt)
  })

  it('reads the same block when nothing is wrong with it', () => {
    expect(readAvroRecords(handMade((sink) => block(sink, {}))).records).toEqual([new Map([[1, ['x']]])])
  })

  it.each([
    ['array items', [2 ** 34]],
    ['a block of items larger than the file', [-1, 2 ** 34]],
    ['a negative block size', [-1, -5]],
  ])('refuses %s that cannot fit before it allocates', (_what, numbers) => {
    const content = new ByteSink()
    for (const number of numbers) content.writeNumber(number)
    expect(() => readAvroRecords(handMade((sink) => block(sink, { content: content.toBytes() })))).toThrow(corrupt)
  })

  it('refuses text longer than the file and text that is not UTF-8', () => {
    for (const [length, bytes] of [
      [2 ** 33, [0x78]],
      [-1, []],
      [2, [0xc3, 0x28]],
      [1, [0xff]],
    ] as const) {
      const content = new ByteSink()
      content.writeNumber(1)
      content.writeNumber(length)
      content.writeFixed(new Uint8Array(bytes))
      content.writeNumber(0)
      expect(() => readAvroRecords(handMade((sink) => block(sink, { content: content.toBytes() })))).toThrow(corrupt)
    }
  })

  it('keeps replacement characters that are part of the text', () => {
    const content = new ByteSink()
    content.writeNumber(1)
    content.writeString('\ufeffa\ufffdb')
    content.writeNumber(0)
    const { records } = readAvroRecords(handMade((sink) => block(sink, { content: content.toBytes() })))
    expect(records[0]?.get(1)).toEqual(['\ufeffa\ufffdb'])
  })

  it.each(['deflate', 'zstandard'])('refuses a small file that decompresses to a huge size: %s', async (codec) => {
    const bomb = { type: 'array', items: { type: 'record', name: 'r', fields: [{ name: 'b', type: 'bytes' }] } }
    const bytes = await writeWithAvsc(
      { type: 'record', name: 'x', fields: [{ name: 'a', type: bomb }] },
      [{ a: [{ b: Buffer.alloc(64 << 20) }] }],
      { codec },
    )
    expect(bytes.length).toBeLessThan(100_000)
    expect(() => readAvroRecords(bytes)).toThrow(corrupt)
  })
})

interface BlockParts {
  readonly count?: number | bigint
  readonly length?: number
  readonly content?: Uint8Array
  readonly sync?: Uint8Array
}

const SYNC = new Uint8Array(16).fill(5)
const oneRecord = new Uint8Array([2, 2, 0x78, 0])

/** One uncompressed block of records with one array of strings. */
function block(
  sink: ByteSink,
  { count = 1, content = oneRecord, length = content.length, sync = SYNC }: BlockParts,
): void {
  sink.writeBigInt(BigInt(count))
  sink.writeNumber(length)
  sink.writeFixed(content)
  sink.writeFixed(sync)
}

function handMade(write: (sink: ByteSink) => void): Uint8Array {
  const fields = [{ name: 'tags', 'field-id': 1, type: { type: 'array', items: 'string', 'element-id': 2 } }]
  const sink = new ByteSink()
  sink.writeFixed(new TextEncoder().encode('Obj\u0001'))
  sink.writeNumber(1)
  sink.writeString('avro.schema')
  sink.writeString(JSON.stringify({ type: 'record', name: 'r', fields }))
  sink.writeNumber(0)
  sink.writeFixed(SYNC)
  write(sink)
  return sink.toBytes()
}

function attempt<T>(run: () => T): T | Error {
  try {
    return run()
  } catch (error) {
    if (error instanceof Error) return error
    throw error
  }
}

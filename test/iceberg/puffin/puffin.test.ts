import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { encodeDeletionVectorFile, readDeletionVector } from '../../../src/iceberg/puffin/deletion-vector.ts'
import { PositionBitmap } from '../../../src/iceberg/puffin/position-bitmap.ts'
import { encodePuffin, readPuffinBlob, readPuffinFooter } from '../../../src/iceberg/puffin/puffin.ts'
import { fixtureBytes, fixturesRoot, haveFixtures } from '../../support/iceberg-fixtures.ts'

const at = 'mem:/t/data/a.puffin'

async function ioWith(bytes: Uint8Array): Promise<MemoryFileIO> {
  const io = new MemoryFileIO()
  await io.create(at, bytes)
  return io
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'no error'
  } catch (error) {
    if (isIcebergError(error)) return error.code
    throw error
  }
}

describe('Puffin files', () => {
  it('survive a round trip with blobs, ids and properties', async () => {
    const data = new TextEncoder().encode('hello')
    const blob = { type: 'x', fields: [1, 2], snapshotId: 6_838_723_292_707_092_922n, sequenceNumber: 7n, data }
    const file = encodePuffin(
      [
        { ...blob, properties: { a: 'b' } },
        { ...blob, data: new Uint8Array(0) },
      ],
      { c: 'd' },
    )
    const io = await ioWith(file.bytes)
    const footer = await readPuffinFooter(io, at)
    expect(footer.blobs).toEqual(file.blobs)
    expect(footer.blobs[0]?.snapshotId).toBe(6_838_723_292_707_092_922n)
    expect(footer.properties).toEqual({ c: 'd' })
    const [first] = footer.blobs
    if (first === undefined) throw new Error('no blob')
    expect(await readPuffinBlob(io, at, first)).toEqual(data)
  })

  it('are refused when truncated anywhere', async () => {
    const { bytes } = encodePuffin(
      [{ type: 'x', fields: [], snapshotId: 1n, sequenceNumber: 1n, data: new Uint8Array(9) }],
      {},
    )
    for (let length = 0; length < bytes.length; length++) {
      expect(await codeOf(readPuffinFooter(await ioWith(bytes.slice(0, length)), at))).toBe('CORRUPT_FILE')
    }
  })

  it.skipIf(!haveFixtures)('of Java are read, zstd blobs included', async () => {
    const root = 'apache-iceberg/puffin/v1'
    const plain = await ioWith(fixtureBytes(`${root}/sample-metric-data-uncompressed.bin`))
    const zstd = await ioWith(fixtureBytes(`${root}/sample-metric-data-compressed-zstd.bin`))
    const plainFooter = await readPuffinFooter(plain, at)
    const zstdFooter = await readPuffinFooter(zstd, at)
    expect(plainFooter.blobs.map((blob) => blob.type)).toEqual(['some-blob', 'some-other-blob'])
    for (const [index, blob] of plainFooter.blobs.entries()) {
      const packed = zstdFooter.blobs[index]
      if (packed === undefined) throw new Error('blob missing')
      expect(packed.compressionCodec).toBe('zstd')
      expect(await readPuffinBlob(zstd, at, packed)).toEqual(await readPuffinBlob(plain, at, blob))
    }
    const empty = await ioWith(fixtureBytes(`${root}/empty-puffin-uncompressed.bin`))
    expect(await readPuffinFooter(empty, at)).toEqual({ blobs: [], properties: {} })
  })
})

describe('readDeletionVector', () => {
  const { bytes, written } = encodeDeletionVectorFile([
    { referencedDataFile: 'mem:/t/data/a.parquet', positions: PositionBitmap.of([0, 4]) },
    { referencedDataFile: 'mem:/t/data/b.parquet', positions: PositionBitmap.of([1, 2, 3]) },
  ])
  const entry = (index: number, other: Partial<DataFile> = {}): DataFile => {
    const vector = written[index]
    if (vector === undefined) throw new Error('no such vector')
    const { cardinality, ...where } = vector
    return {
      content: 'position-deletes',
      filePath: at,
      fileFormat: 'puffin',
      specId: 0,
      partition: [],
      recordCount: cardinality,
      fileSizeInBytes: bytes.length,
      ...where,
      ...other,
    }
  }

  it('reads each blob of a shared file', async () => {
    const io = await ioWith(bytes)
    expect([...(await readDeletionVector(io, entry(0))).toArray()]).toEqual([0, 4])
    expect([...(await readDeletionVector(io, entry(1))).toArray()]).toEqual([1, 2, 3])
    const footer = await readPuffinFooter(io, at)
    expect(footer.blobs[1]).toMatchObject({
      type: 'deletion-vector-v1',
      fields: [2_147_483_645],
      snapshotId: -1n,
      properties: { 'referenced-data-file': 'mem:/t/data/b.parquet', cardinality: '3' },
    })
  })

  it('checks cardinality, position and completeness', async () => {
    const io = await ioWith(bytes)
    expect(await codeOf(readDeletionVector(io, entry(0, { recordCount: 3 })))).toBe('CORRUPT_FILE')
    expect(await codeOf(readDeletionVector(io, entry(0, { contentOffset: 5 })))).toBe('CORRUPT_FILE')
    expect(await codeOf(readDeletionVector(io, entry(0, { contentSizeInBytes: 10_000 })))).toBe('CORRUPT_FILE')
    const { contentSizeInBytes: _, ...incomplete } = entry(0)
    expect(await codeOf(readDeletionVector(io, incomplete))).toBe('INVALID_METADATA')
  })

  it('refuses a blob without a Puffin file, with a clear message', async () => {
    const bare = bytes.slice(written[0]?.contentOffset, written[1]?.contentOffset)
    const io = await ioWith(bare)
    const file = entry(0, { contentOffset: 0, contentSizeInBytes: bare.length })
    await expect(readDeletionVector(io, file)).rejects.toThrow('bare deletion vector')
  })

  const legacy = 'duckdb-iceberg/legacy_bare_deletion_vector/warehouse/default/legacy_bare_deletion_vector/data'
  it.skipIf(!haveFixtures)('refuses the bare blob that an early writer left', async () => {
    const bare = fixtureBytes(`${legacy}/legacy-bare-deletion-vector.puffin`)
    const file = entry(0, { contentOffset: 0, contentSizeInBytes: bare.length })
    await expect(readDeletionVector(await ioWith(bare), file)).rejects.toThrow('bare deletion vector')
  })

  const spark = 'impala/iceberg_v3/iceberg_v3_deletion_vectors/data'
  it.skipIf(!haveFixtures)('reads those of Spark', async () => {
    const name = readdirSync(join(fixturesRoot, spark)).find((entryName) => entryName.endsWith('.puffin'))
    const io = await ioWith(fixtureBytes(`${spark}/${name}`))
    const footer = await readPuffinFooter(io, at)
    expect(footer.blobs).toHaveLength(2)
    for (const blob of footer.blobs) {
      const file = entry(0, {
        contentOffset: blob.offset,
        contentSizeInBytes: blob.length,
        recordCount: Number(blob.properties['cardinality']),
      })
      expect((await readDeletionVector(io, file)).cardinality).toBe(1)
    }
  })
})

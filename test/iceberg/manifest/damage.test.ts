import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { readManifestList, writeManifestList } from '../../../src/iceberg/manifest/manifest-list.ts'
import { readManifest, readManifestTotals } from '../../../src/iceberg/manifest/reader.ts'
import { writeManifest } from '../../../src/iceberg/manifest/writer.ts'
import type { PrimitiveType } from '../../../src/iceberg/schema/types.ts'
import { added, dataFile, existing, identitySpec, manifestOptions, metadataOf, schemaOf } from './sample-table.ts'
import { runs } from '../../support/effort.ts'

const corrupt = expect.objectContaining({ name: 'IcebergError', code: 'CORRUPT_FILE' })
const types: PrimitiveType[] = [{ kind: 'string' }, { kind: 'decimal', precision: 9, scale: 2 }, { kind: 'uuid' }]
const schema = schemaOf(...types)
const spec = identitySpec(schema)
const partition = ['ü', 5n, '00000000-0000-0000-0000-000000000001']
const bounds = new Map([[1, new Uint8Array([1, 2, 3])]])
const file = dataFile({ partition, columnSizes: new Map([[1, 5]]), lowerBounds: bounds, splitOffsets: [4] })
const entries = [added(file), existing(file, { snapshotId: 3n, sequenceNumber: 2 })]
const metadata = metadataOf([schema], [spec])

const { bytes, manifest } = writeManifest(manifestOptions({ formatVersion: 3, schema, spec, entries }))
const list = writeManifestList({
  formatVersion: 3,
  snapshotId: 1n,
  sequenceNumber: 3,
  nextRowId: 0,
  manifests: [manifest],
})
/** A reader that knows the file only by its bytes. */
const anyLength = { ...manifest, manifestLength: 0 }

describe('a damaged manifest', () => {
  it('cut at any byte is refused', () => {
    for (let cut = 0; cut < bytes.length; cut++) {
      const part = bytes.subarray(0, cut)
      expect(() => readManifest(part, { manifest, metadata })).toThrow(corrupt)
      expect(() => readManifestTotals(part, { manifest, metadata })).toThrow(corrupt)
    }
  })

  it('cut at any byte is refused by its content too, except at the end of a block', () => {
    const readable = []
    for (let cut = 0; cut < bytes.length; cut++) {
      const read = outcome(() => readManifest(bytes.subarray(0, cut), { manifest: anyLength, metadata }))
      if (Array.isArray(read)) readable.push(read.length)
      else expect(read).toEqual(corrupt)
    }
    // Only the file that ends right after its header: a valid Avro file without records.
    expect(readable).toEqual([0])
  })

  it('with changed bytes gives entries or a clear error', () => {
    const patches = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(patches, fc.constantFrom('all' as const, 'no-metrics' as const), (changes, project) => {
        const damaged = bytes.slice()
        for (const [at, byte] of changes) damaged[at] = byte
        expectClear(outcome(() => readManifest(damaged, { manifest: anyLength, metadata, project })))
        expectClear(outcome(() => readManifestTotals(damaged)))
      }),
      { numRuns: runs(3000) },
    )
  })
})

describe('a damaged manifest list', () => {
  it('cut at any byte is refused, except at the end of a block', () => {
    const readable = []
    for (let cut = 0; cut < list.bytes.length; cut++) {
      const read = outcome(() => readManifestList(list.bytes.subarray(0, cut)))
      if (Array.isArray(read)) readable.push(read.length)
      else expect(read).toEqual(corrupt)
    }
    expect(readable).toEqual([0])
  })

  it('with changed bytes gives manifests or a clear error', () => {
    const patches = fc.array(fc.tuple(fc.nat(list.bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(patches, (changes) => {
        const damaged = list.bytes.slice()
        for (const [at, byte] of changes) damaged[at] = byte
        expectClear(outcome(() => readManifestList(damaged)))
      }),
      { numRuns: runs(3000) },
    )
  })
})

function outcome<T>(run: () => T): T | Error {
  try {
    return run()
  } catch (error) {
    if (error instanceof Error) return error
    throw error
  }
}

function expectClear(result: unknown): void {
  expect(result instanceof Error && !isIcebergError(result) ? result : undefined).toBeUndefined()
}

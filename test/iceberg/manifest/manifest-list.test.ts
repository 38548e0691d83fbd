import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { headerText, openAvroContainer } from '../../../src/iceberg/avro/container-reader.ts'
import { readManifestList, writeManifestList } from '../../../src/iceberg/manifest/manifest-list.ts'
import type { ManifestListOptions } from '../../../src/iceberg/manifest/manifest-list.ts'
import type { FieldSummary, ManifestFile } from '../../../src/iceberg/manifest/manifest.ts'
import { readWithAvsc, writeWithAvsc } from '../avro/avsc-oracle.ts'
import { fixtureFiles, haveFixtures, read } from './fixture-files.ts'
import { manifestLine } from './sample-table.ts'

const withCode = (code: string) => expect.objectContaining({ name: 'IcebergError', code })
const sizes = fc.maxSafeInteger().map(Math.abs)
const ids = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })

const counts = {
  addedFilesCount: fc.nat(),
  existingFilesCount: fc.nat(),
  deletedFilesCount: fc.nat(),
  addedRowsCount: fc.nat(),
  existingRowsCount: fc.nat(),
  deletedRowsCount: fc.nat(),
}
const summary: fc.Arbitrary<FieldSummary> = fc.record(
  { containsNull: fc.boolean(), containsNan: fc.boolean(), lowerBound: fc.uint8Array(), upperBound: fc.uint8Array() },
  { requiredKeys: ['containsNull'] },
)
const required = {
  manifestPath: fc.string({ unit: 'grapheme', minLength: 1 }),
  manifestLength: sizes,
  partitionSpecId: fc.nat(),
  content: fc.constantFrom('data' as const, 'deletes' as const),
  sequenceNumber: sizes,
  minSequenceNumber: sizes,
  addedSnapshotId: ids,
  ...counts,
}
const line: fc.Arbitrary<ManifestFile> = fc.record(
  { ...required, partitions: fc.array(summary), keyMetadata: fc.uint8Array() },
  { requiredKeys: Object.keys(required) as (keyof typeof required)[] },
)

const options = (overrides: Partial<ManifestListOptions>): ManifestListOptions => ({
  formatVersion: 2,
  snapshotId: 5n,
  sequenceNumber: 3,
  manifests: [],
  ...overrides,
})
const known = { addedFilesCount: 1, existingFilesCount: 0, deletedFilesCount: 0, deletedRowsCount: 0 }

describe('manifest lists', () => {
  it('survive a round trip in v2', () => {
    fc.assert(
      fc.property(fc.array(line), (manifests) => {
        expect(readManifestList(writeManifestList(options({ manifests })).bytes)).toEqual(manifests)
      }),
    )
  })

  it('survive a round trip in v1, where counts may be unknown and sequence numbers are 0', () => {
    const v1Line = line.map(({ addedFilesCount: _unknown, ...rest }) => {
      return { ...rest, content: 'data' as const, sequenceNumber: 0, minSequenceNumber: 0 }
    })
    fc.assert(
      fc.property(fc.array(v1Line), (manifests) => {
        const { bytes, nextRowId } = writeManifestList(options({ formatVersion: 1, manifests }))
        expect(readManifestList(bytes)).toEqual(manifests)
        expect(nextRowId).toBeUndefined()
      }),
    )
  })

  it('assign the next row ids to v3 data manifests without row ids', () => {
    const manifests = [
      manifestLine({ ...known, manifestPath: 'a', addedRowsCount: 10, existingRowsCount: 5 }),
      manifestLine({ ...known, manifestPath: 'b', addedRowsCount: 7, existingRowsCount: 0, firstRowId: 3 }),
      manifestLine({ ...known, manifestPath: 'c', addedRowsCount: 9, existingRowsCount: 0, content: 'deletes' }),
      manifestLine({ ...known, manifestPath: 'd', addedRowsCount: 1, existingRowsCount: 0 }),
    ]
    const { bytes, nextRowId } = writeManifestList(options({ formatVersion: 3, manifests, nextRowId: 100 }))
    expect(nextRowId).toBe(116)
    expect(readManifestList(bytes).map((manifest) => manifest.firstRowId)).toEqual([100, 3, undefined, 115])
    expect(headerText(openAvroContainer(bytes).header, 'first-row-id')).toBe('100')
  })

  it('need what v2 and v3 require', () => {
    const manifests = [manifestLine(known)]
    expect(() => writeManifestList(options({ manifests }))).toThrow(withCode('INVALID_ARGUMENT'))
    expect(() => writeManifestList(options({ formatVersion: 3, manifests: [] }))).toThrow(withCode('INVALID_ARGUMENT'))
  })

  it('have the header that Java writes', () => {
    const text = (formatVersion: 1 | 2, parent: { parentSnapshotId?: bigint }) => {
      const { header } = openAvroContainer(writeManifestList(options({ formatVersion, ...parent })).bytes)
      const keys = ['format-version', 'snapshot-id', 'parent-snapshot-id', 'sequence-number']
      return keys.map((key) => headerText(header, key))
    }
    expect(text(2, { parentSnapshotId: 6838723292707092922n })).toEqual(['2', '5', '6838723292707092922', '3'])
    expect(text(1, {})).toEqual(['1', '5', 'null', undefined])
  })

  it.skipIf(!haveFixtures).each([
    [1, /iceberg_v1_deprecated\/default\/legacy_v1\/metadata\/snap-[^/]*\.avro$/],
    [3, /iceberg_v3_deletion_vectors\/metadata\/snap-3685752423136077685[^/]*\.avro$/],
  ] as const)('have the Avro schema that Java writes: v%i', async (formatVersion, pattern) => {
    const [path] = fixtureFiles(pattern)
    const { schema: golden } = await readWithAvsc(read(path ?? ''))
    const written = writeManifestList(options({ formatVersion, nextRowId: 0 }))
    expect((await readWithAvsc(written.bytes)).schema).toEqual(golden)
  })

  it('treat missing and negative counts as unknown', async () => {
    const schema = {
      type: 'record',
      name: 'manifest_file',
      fields: [
        { name: 'manifest_path', type: 'string' },
        { name: 'manifest_length', type: 'long' },
        { name: 'partition_spec_id', type: 'int' },
        { name: 'added_snapshot_id', type: ['null', 'long'] },
        { name: 'added_data_files_count', type: ['null', 'int'] },
        { name: 'added_rows_count', type: 'long' },
      ],
    }
    const record = {
      manifest_path: '/m',
      manifest_length: 9n,
      partition_spec_id: 0,
      added_snapshot_id: null,
      added_data_files_count: 4,
      added_rows_count: -1n,
    }
    expect(readManifestList(await writeWithAvsc(schema, [record]))).toEqual([
      {
        manifestPath: '/m',
        manifestLength: 9,
        partitionSpecId: 0,
        content: 'data',
        sequenceNumber: 0,
        minSequenceNumber: 0,
        addedSnapshotId: -1n,
        addedFilesCount: 4,
      },
    ])
  })

  it.each<[string, object, string]>([
    ['without a path', { manifest_path: '', content: 0 }, 'CORRUPT_FILE'],
    ['of a later content type', { manifest_path: '/m', content: 2 }, 'UNSUPPORTED'],
  ])('refuse a manifest %s', async (_what, parts, code) => {
    const schema = {
      type: 'record',
      name: 'manifest_file',
      fields: [
        { name: 'manifest_path', type: 'string' },
        { name: 'manifest_length', type: 'long' },
        { name: 'partition_spec_id', type: 'int' },
        { name: 'content', type: 'int' },
      ],
    }
    const bytes = await writeWithAvsc(schema, [{ manifest_length: 9n, partition_spec_id: 0, ...parts }])
    expect(() => readManifestList(bytes)).toThrow(withCode(code))
  })

  it.skipIf(!haveFixtures)('that are encrypted are unsupported', () => {
    const [path] = fixtureFiles(/manifest-list-v3-encrypted\.avro$/)
    expect(() => readManifestList(read(path ?? ''))).toThrow(withCode('UNSUPPORTED'))
  })
})

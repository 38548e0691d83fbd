import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { headerText, openAvroContainer } from '../../../src/iceberg/avro/container-reader.ts'
import { readManifest, readManifestTotals } from '../../../src/iceberg/manifest/reader.ts'
import { writeManifest } from '../../../src/iceberg/manifest/writer.ts'
import type { ManifestEntryInput, ManifestOptions } from '../../../src/iceberg/manifest/writer.ts'
import type { DataFile, ManifestEntry } from '../../../src/iceberg/manifest/manifest.ts'
import type { PartitionSpec } from '../../../src/iceberg/partitioning/partitioning.ts'
import { parsePartitionFields } from '../../../src/iceberg/partitioning/partitioning.ts'
import { parseSchema } from '../../../src/iceberg/schema/schema.ts'
import { parseJson } from '../../../src/iceberg/json/lossless-json.ts'
import type { PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { readWithAvsc } from '../avro/avsc-oracle.ts'
import { fixtureFiles, haveFixtures, read } from './fixture-files.ts'
import { added, dataFile, existing, identitySpec, manifestOptions, metadataOf, schemaOf } from './sample-table.ts'
import { runs } from '../../support/effort.ts'

const refused = expect.objectContaining({ name: 'IcebergError', code: 'INVALID_ARGUMENT' })
const versions = [1, 2, 3] as const

/** Writes and reads back. */
function roundTrip(options: ManifestOptions): ManifestEntry[] {
  const { bytes, manifest } = writeManifest(options)
  return readManifest(bytes, { manifest, metadata: metadataOf([options.schema], [options.spec]) })
}

const ids = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })
const sizes = fc.maxSafeInteger().map(Math.abs)
const mapOf = <V>(values: fc.Arbitrary<V>) =>
  fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 31 - 1 }), values), { maxLength: 5 }).map((pairs) => new Map(pairs))
const text = fc.string({ unit: 'binary', minLength: 1 }).filter((path) => path.isWellFormed())

const partitionTypes: readonly PrimitiveType[] = [
  { kind: 'long' },
  { kind: 'string' },
  { kind: 'decimal', precision: 20, scale: 3 },
  { kind: 'uuid' },
  { kind: 'double' },
  { kind: 'decimal', precision: 20, scale: 3 },
  { kind: 'binary' },
  { kind: 'date' },
  { kind: 'boolean' },
]
const partitionValues: readonly fc.Arbitrary<Value>[] = [
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  text,
  fc.bigInt({ min: -(10n ** 20n) + 1n, max: 10n ** 20n - 1n }),
  fc.uuid(),
  fc.double(),
  fc.bigInt({ min: 0n, max: 999n }),
  fc.uint8Array({ maxLength: 20 }),
  fc.integer(),
  fc.boolean(),
]
const partition = fc.tuple(...partitionValues.map((values) => fc.option(values)))

const metricsOf = {
  columnSizes: mapOf(sizes),
  valueCounts: mapOf(sizes),
  nullValueCounts: mapOf(sizes),
  nanValueCounts: mapOf(sizes),
  lowerBounds: mapOf(fc.uint8Array()),
  upperBounds: mapOf(fc.uint8Array()),
}
const required = { filePath: text, partition, recordCount: fc.nat(1e9), fileSizeInBytes: sizes }
const dataFiles = fc
  .record(
    {
      ...required,
      ...metricsOf,
      keyMetadata: fc.uint8Array(),
      splitOffsets: fc.array(sizes),
      sortOrderId: fc.nat(),
      firstRowId: fc.nat(),
    },
    { requiredKeys: ['filePath', 'partition', 'recordCount', 'fileSizeInBytes'] },
  )
  .map((parts) => dataFile(parts))
const deleteFiles = fc
  .record(
    {
      ...required,
      ...metricsOf,
      content: fc.constantFrom('position-deletes' as const, 'equality-deletes' as const),
      equalityIds: fc.array(fc.nat()),
      referencedDataFile: text,
      contentOffset: sizes,
      contentSizeInBytes: sizes,
    },
    { requiredKeys: ['filePath', 'partition', 'recordCount', 'fileSizeInBytes', 'content'] },
  )
  .map((parts) => dataFile({ ...parts, fileFormat: 'puffin' }))

const schema = schemaOf(...partitionTypes)
const spec = identitySpec(schema)
const numbers = fc.record({ snapshotId: ids, sequenceNumber: fc.nat(), fileSequenceNumber: fc.nat() })
const entriesOf = (files: fc.Arbitrary<DataFile>) =>
  fc.array(
    fc.oneof(
      files.map(added),
      fc
        .tuple(fc.constantFrom('existing' as const, 'deleted' as const), files, numbers)
        .map(([status, file, given]): ManifestEntryInput => ({ status, dataFile: file, ...given })),
    ),
    { maxLength: 6 },
  )

/** What should come back: fields that the version does not have are gone, inherited ones are there. */
function expectedEntries(options: ManifestOptions): unknown[] {
  const { formatVersion, snapshotId } = options
  const sequenceNumber = formatVersion === 1 ? 0 : options.sequenceNumber
  return options.entries.map((entry) => {
    const {
      nanValueCounts,
      firstRowId: _inherited,
      referencedDataFile,
      contentOffset,
      contentSizeInBytes,
      ...file
    } = entry.dataFile
    const blob = { contentOffset, contentSizeInBytes }
    const keeps = formatVersion > 1 && entry.status !== 'added'
    return {
      status: entry.status,
      snapshotId: entry.snapshotId ?? snapshotId,
      sequenceNumber: keeps ? entry.sequenceNumber : sequenceNumber,
      fileSequenceNumber: keeps ? entry.fileSequenceNumber : sequenceNumber,
      dataFile: {
        ...file,
        nanValueCounts,
        ...(formatVersion > 1 && { referencedDataFile }),
        ...(formatVersion > 2 && blob),
      },
    }
  })
}

describe('writeManifest', () => {
  it.each(versions)('v%i data manifests survive a round trip', (formatVersion) => {
    fc.assert(
      fc.property(entriesOf(dataFiles), ids, fc.nat(), (entries, snapshotId, sequenceNumber) => {
        const options = manifestOptions({ formatVersion, schema, spec, entries, snapshotId, sequenceNumber })
        expect(roundTrip(options)).toEqual(expectedEntries(options))
      }),
      { numRuns: runs(150) },
    )
  })

  it.each([2, 3] as const)('v%i delete manifests survive a round trip', (formatVersion) => {
    fc.assert(
      fc.property(entriesOf(deleteFiles), (entries) => {
        const options = manifestOptions({ formatVersion, schema, spec, entries, content: 'deletes' })
        expect(roundTrip(options)).toEqual(expectedEntries(options))
      }),
      { numRuns: runs(150) },
    )
  })

  it.each(versions)('v%i totals match the entries', (formatVersion) => {
    fc.assert(
      fc.property(entriesOf(dataFiles), (entries) => {
        const { bytes, manifest } = writeManifest(manifestOptions({ formatVersion, schema, spec, entries }))
        const live = entries.filter((entry) => entry.status !== 'deleted')
        const totals = readManifestTotals(bytes, { manifest, metadata: metadataOf([schema], [spec]) })
        expect([...totals.sizes]).toEqual(live.map((entry) => entry.dataFile.fileSizeInBytes))
        expect(totals.partitionKeys).toEqual(readManifestTotals(bytes).partitionKeys)
        expect(manifest).toMatchObject({
          addedFilesCount: entries.filter((entry) => entry.status === 'added').length,
          deletedRowsCount: sum(entries.filter((entry) => entry.status === 'deleted')),
          manifestLength: bytes.length,
        })
      }),
      { numRuns: 50 },
    )
  })

  it('is read by avsc, 64-bit ids included', async () => {
    const entry = existing(dataFile({ lowerBounds: new Map([[1, new Uint8Array([1, 2])]]) }), {
      snapshotId: 9223372036854775807n,
      sequenceNumber: 3,
    })
    const { records } = await readWithAvsc(
      writeManifest(manifestOptions({ entries: [added(dataFile()), entry] })).bytes,
    )
    expect(records).toMatchObject([
      { status: 1, snapshot_id: null, sequence_number: null, file_sequence_number: null },
      {
        status: 0,
        snapshot_id: 9223372036854775807n,
        sequence_number: 3n,
        file_sequence_number: 3n,
        data_file: { content: 0, file_format: 'PARQUET', lower_bounds: [{ key: 1, value: new Uint8Array([1, 2]) }] },
      },
    ])
  })

  it.each(versions)('v%i has the header that readers need', (formatVersion) => {
    const { bytes } = writeManifest(manifestOptions({ formatVersion, schema, spec, entries: [] }))
    const { header } = openAvroContainer(bytes)
    const value = (key: string) => headerText(header, key) ?? 'missing'
    expect(parseSchema(parseJson(value('schema')))).toEqual(schema)
    const fields = parseJson(value('partition-spec'))
    expect(parsePartitionFields(Array.isArray(fields) ? fields : [], 'test')).toEqual(spec.fields)
    expect([value('schema-id'), value('partition-spec-id'), value('format-version')]).toEqual([
      '0',
      '0',
      `${formatVersion}`,
    ])
    expect(headerText(header, 'content')).toBe(formatVersion === 1 ? undefined : 'data')
  })

  it.skipIf(!haveFixtures)('has the Avro schema that Java writes, field by field', async () => {
    const [path] = fixtureFiles(/iceberg_v3_deletion_vectors\/metadata\/5e791f63[^/]*-m0\.avro$/)
    const { schema: golden } = await readWithAvsc(read(path ?? ''))
    const { schema: ours } = await readWithAvsc(writeManifest(manifestOptions({ formatVersion: 3 })).bytes)
    expect(ours).toEqual(golden)
    const v2 = await readWithAvsc(writeManifest(manifestOptions({ formatVersion: 2 })).bytes)
    expect(fieldIds(v2.schema)).toEqual(fieldIds(golden).filter((id) => ![142, 144, 145].includes(Number(id))))
  })

  it('creates unique names that Avro allows, and keeps the original ones', async () => {
    const odd = ['9day', 'a.b', '🐟', 'a_x2Eb', '', 'c6', 'c7', 'c8', 'c9']
    const oddSpec = identitySpec(schema, odd)
    const values = [1n, 'x', 5n, crypto.randomUUID(), -0, null, new Uint8Array(4), 3, true]
    const options = manifestOptions({ schema, spec: oddSpec, entries: [added(dataFile({ partition: values }))] })
    const { schema: avroSchema, records } = await readWithAvsc(writeManifest(options).bytes)
    expect(Object.keys(Object(records[0]?.['data_file']).partition)).toEqual([
      '_9day',
      'a_x2Eb',
      '_xD83D_xDC1F',
      'a_x2Eb_2',
      '_',
      'c6',
      'c7',
      'c8',
      'c9',
    ])
    expect(JSON.stringify(avroSchema)).toContain('"iceberg-field-name":"9day"')
    expect(roundTrip(options)[0]?.dataFile.partition).toEqual(values)
  })

  it('shows the lowest sequence number of live entries', () => {
    const given = { snapshotId: 1n, fileSequenceNumber: 1 }
    const entries: ManifestEntryInput[] = [
      { status: 'deleted', sequenceNumber: 1, ...given, dataFile: dataFile() },
      { status: 'added', sequenceNumber: 4, dataFile: dataFile() },
      { status: 'existing', sequenceNumber: 6, ...given, dataFile: dataFile() },
    ]
    const written = writeManifest(manifestOptions({ entries }))
    expect(written.manifest).toMatchObject({ sequenceNumber: 7, minSequenceNumber: 4 })
    expect(
      roundTrip(manifestOptions({ entries })).map((entry) => [entry.sequenceNumber, entry.fileSequenceNumber]),
    ).toEqual([
      [1, 1],
      [4, 7],
      [6, 1],
    ])
    expect(writeManifest(manifestOptions({})).manifest.minSequenceNumber).toBe(7)
    expect(writeManifest(manifestOptions({ formatVersion: 1 })).manifest).toMatchObject({
      sequenceNumber: 0,
      minSequenceNumber: 0,
    })
  })

  it.each<[string, Partial<ManifestOptions>]>([
    [
      'an existing entry without a snapshot id',
      {
        entries: [{ status: 'existing', sequenceNumber: 1, fileSequenceNumber: 1, dataFile: dataFile() }],
      },
    ],
    [
      'an existing entry without a sequence number',
      {
        entries: [{ status: 'existing', snapshotId: 1n, fileSequenceNumber: 1, dataFile: dataFile() }],
      },
    ],
    [
      'a deleted entry without a file sequence number',
      {
        entries: [{ status: 'deleted', sequenceNumber: 1, dataFile: dataFile() }],
      },
    ],
    ['a delete file among data', { entries: [added(dataFile({ content: 'position-deletes' }))] }],
    ['a data file among deletes', { content: 'deletes' }],
    ['a file of another spec', { entries: [added(dataFile({ specId: 1 }))] }],
    ['a tuple of another width', { entries: [added(dataFile({ partition: [1] }))] }],
    [
      'deletes in v1',
      { formatVersion: 1, content: 'deletes', entries: [added(dataFile({ content: 'position-deletes' }))] },
    ],
    [
      'a partition value of another type',
      {
        schema: schemaOf({ kind: 'long' }),
        spec: identitySpec(schemaOf({ kind: 'long' })),
        entries: [added(dataFile({ partition: ['x'] }))],
      },
    ],
  ])('refuses %s', (_what, overrides) => {
    expect(() => writeManifest(manifestOptions(overrides))).toThrow(refused)
  })

  it('keeps partition fields of a dropped column', () => {
    const goneSpec: PartitionSpec = {
      specId: 0,
      fields: [{ fieldId: 1000, sourceId: 99, name: 'gone', transform: { kind: 'void' } }],
    }
    const options = manifestOptions({ spec: goneSpec, entries: [added(dataFile({ partition: [null] }))] })
    expect(roundTrip(options)[0]?.dataFile.partition).toEqual([null])
    expect(writeManifest(options).manifest.partitions).toEqual([{ containsNull: true, containsNan: false }])
  })
})

const sum = (entries: readonly ManifestEntryInput[]) =>
  entries.reduce((rows, entry) => rows + entry.dataFile.recordCount, 0)
const fieldIds = (schemaJson: unknown) => JSON.stringify(schemaJson).match(/(?<="field-id":)\d+/g) ?? []

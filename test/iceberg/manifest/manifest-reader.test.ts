import { describe, expect, it } from 'vitest'

import { AvroContainerWriter } from '../../../src/iceberg/avro/container-writer.ts'
import { openAvroContainer } from '../../../src/iceberg/avro/container-reader.ts'
import { readManifest, readManifestTotals } from '../../../src/iceberg/manifest/reader.ts'
import { writeManifest } from '../../../src/iceberg/manifest/writer.ts'
import type { ManifestEntryInput } from '../../../src/iceberg/manifest/writer.ts'
import type { ManifestFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { PrimitiveType } from '../../../src/iceberg/schema/types.ts'
import { oracleType, readWithAvsc, writeWithAvsc } from '../avro/avsc-oracle.ts'
import {
  added,
  dataFile,
  existing,
  identitySpec,
  manifestLine,
  manifestOptions,
  metadataOf,
  schemaOf,
} from './sample-table.ts'

const withCode = (code: string) => expect.objectContaining({ name: 'IcebergError', code })
const unpartitioned = { specId: 0, fields: [] }
const metadata = metadataOf([schemaOf({ kind: 'long' })], [unpartitioned])

/** A manifest made by avsc from hand-written parts: without field ids, unless the schema text is patched in. */
async function foreignManifest(fields: readonly object[], file: readonly object[], records: readonly object[]) {
  const dataFileType = { type: 'record', name: 'data_file', fields: file }
  const schema = {
    type: 'record',
    name: 'manifest_entry',
    fields: [...fields, { name: 'data_file', type: dataFileType }],
  }
  return writeWithAvsc(schema, records)
}

const fileFields = [
  { name: 'file_path', type: 'string' },
  { name: 'file_format', type: 'string' },
  { name: 'partition', type: { type: 'record', name: 'p', fields: [] } },
  { name: 'record_count', type: 'long' },
  { name: 'file_size_in_bytes', type: 'long' },
]
const file = { file_path: '/f', file_format: 'ORC', partition: {}, record_count: 3n, file_size_in_bytes: 9n }

describe('values that entries inherit', () => {
  const explicit: ManifestEntryInput = existing(dataFile({ filePath: '/e' }), { snapshotId: 5n, sequenceNumber: 2 })
  const { bytes } = writeManifest(manifestOptions({ entries: [added(dataFile()), explicit] }))

  it('are taken from the manifest list, for added entries only', () => {
    const manifest = manifestLine({ sequenceNumber: 12, addedSnapshotId: 99n })
    expect(readManifest(bytes, { manifest, metadata })).toMatchObject([
      { status: 'added', snapshotId: 99n, sequenceNumber: 12, fileSequenceNumber: 12 },
      { status: 'existing', snapshotId: 5n, sequenceNumber: 2, fileSequenceNumber: 2 },
    ])
  })

  it('are 0 for v1 manifests, in newer tables too', () => {
    const v1 = writeManifest(manifestOptions({ formatVersion: 1, entries: [added(dataFile()), explicit] }))
    expect(readManifest(v1.bytes, { manifest: v1.manifest, metadata })).toMatchObject([
      { sequenceNumber: 0, fileSequenceNumber: 0, snapshotId: manifestOptions().snapshotId },
      { sequenceNumber: 0, fileSequenceNumber: 0, snapshotId: 5n },
    ])
  })

  it('are refused for existing entries of a v2 manifest', async () => {
    const entry = { status: 0, sequence_number: null, data_file: file }
    const sequence = { name: 'sequence_number', type: ['null', 'long'] }
    const orphan = await foreignManifest([{ name: 'status', type: 'int' }, sequence], fileFields, [entry])
    expect(() => readManifest(orphan, { manifest: manifestLine(), metadata })).toThrow(withCode('INVALID_METADATA'))
    expect(readManifest(orphan, { manifest: manifestLine({ sequenceNumber: 0 }), metadata })).toHaveLength(1)
  })

  it('use the data sequence number if the file sequence number is missing', async () => {
    const fields = [
      { name: 'status', type: 'int' },
      { name: 'sequence_number', type: ['null', 'long'] },
    ]
    const records = [{ status: 0, sequence_number: 3n, data_file: file }]
    const [entry] = readManifest(await foreignManifest(fields, fileFields, records), {
      manifest: manifestLine(),
      metadata,
    })
    expect(entry).toMatchObject({ sequenceNumber: 3, fileSequenceNumber: 3, dataFile: { fileFormat: 'orc' } })
  })

  it('assign v3 row ids to live entries that have none', () => {
    const numbers = { snapshotId: 5n, sequenceNumber: 2 }
    const deleted: ManifestEntryInput = { ...existing(dataFile(), numbers), status: 'deleted' }
    const entries = [
      added(dataFile({ recordCount: 10 })),
      existing(dataFile({ recordCount: 4, firstRowId: 77 }), numbers),
      deleted,
      added(dataFile({ recordCount: 5 })),
      existing(dataFile({ recordCount: 5 }), numbers),
    ]
    const v3 = writeManifest(manifestOptions({ formatVersion: 3, entries }))
    const rowIds = (manifest: ManifestFile) =>
      readManifest(v3.bytes, { manifest, metadata }).map((entry) => entry.dataFile.firstRowId)
    expect(rowIds({ ...v3.manifest, firstRowId: 1000 })).toEqual([1000, 77, undefined, 1010, 1015])
    expect(rowIds(v3.manifest)).toEqual([undefined, undefined, undefined, undefined, undefined])
  })
})

describe('partition values', () => {
  const written: PrimitiveType[] = [{ kind: 'int' }, { kind: 'float' }, { kind: 'decimal', precision: 9, scale: 2 }]
  const promoted: PrimitiveType[] = [{ kind: 'long' }, { kind: 'double' }, { kind: 'decimal', precision: 18, scale: 2 }]
  const schema = schemaOf(...written)
  const spec = identitySpec(schema)
  const entries = [added(dataFile({ partition: [7, 1.5, -250n] }))]
  const { bytes, manifest } = writeManifest(manifestOptions({ schema, spec, entries }))

  it('have the types to which columns were promoted later', () => {
    const today = metadataOf([{ ...schemaOf(...promoted), schemaId: 1 }, schema], [spec])
    expect(readManifest(bytes, { manifest, metadata: today })[0]?.dataFile.partition).toEqual([7n, 1.5, -250n])
    const keys = readManifestTotals(bytes, { manifest, metadata: today }).partitionKeys
    expect([...keys.keys()]).toEqual([...readManifestTotals(bytes).partitionKeys.keys()])
  })

  it('come in the order of the spec, null where the manifest has no such field', () => {
    const [a, b, c] = spec.fields
    if (a === undefined || b === undefined || c === undefined) throw new Error('three fields')
    const other = { specId: 0, fields: [c, { ...a, fieldId: 1005 }, a] }
    const read = readManifest(bytes, { manifest, metadata: metadataOf([schema], [other]) })
    expect(read[0]?.dataFile.partition).toEqual([-250n, null, 7])
  })

  it('of a spec that the table no longer has are read with the header', () => {
    expect(readManifest(bytes, { manifest, metadata: metadataOf([schema], []) })[0]?.dataFile).toMatchObject({
      specId: 0,
      partition: [7, 1.5, -250n],
    })
  })

  it('of an unknown transform are read as stored in the file', () => {
    const transform = { kind: 'unknown' as const, text: 'zorder[3]' }
    const odd = { specId: 0, fields: spec.fields.map((field) => ({ ...field, transform })) }
    expect(readManifest(bytes, { manifest, metadata: metadataOf([schema], [odd]) })[0]?.dataFile.partition).toEqual([
      7,
      1.5,
      -250n,
    ])
  })

  it('are refused when they do not fit the type', () => {
    const text = schemaOf({ kind: 'string' }, { kind: 'float' }, { kind: 'long' })
    expect(() => readManifest(bytes, { manifest, metadata: metadataOf([text], [spec]) })).toThrow(
      withCode('CORRUPT_FILE'),
    )
  })

  it('of an unknown spec are refused', async () => {
    const bare = await foreignManifest([{ name: 'status', type: 'int' }], fileFields, [{ status: 1, data_file: file }])
    const line = manifestLine({ partitionSpecId: 8 })
    expect(() => readManifest(bare, { manifest: line, metadata })).toThrow(withCode('INVALID_METADATA'))
  })
})

describe('fixed partition values', () => {
  const binary = schemaOf({ kind: 'binary' })
  const fixed = schemaOf({ kind: 'fixed', length: 3 })
  const values = [new Uint8Array([0, 0, 0]), new Uint8Array([1, 2, 3]), null]
  const entries = values.map((value, index) => added(dataFile({ partition: [value], recordCount: index })))
  const { bytes, manifest } = writeManifest(manifestOptions({ schema: binary, spec: identitySpec(binary), entries }))
  const partitionField = '"name":"c1","type":["null","bytes"]'
  const fixedField = '"name":"c1","type":["null",{"type":"fixed","name":"fixed_3","size":3}]'
  const context = { manifest: { ...manifest, manifestLength: 1 }, metadata: metadataOf([fixed], [identitySpec(fixed)]) }

  it('are read in the length-prefixed form of Java', async () => {
    const ofJava = await rewriteSchema(bytes, (text) => text.replace(partitionField, fixedField))
    expect(readManifest(ofJava, context).map((entry) => entry.dataFile.partition)).toEqual(
      values.map((value) => [value]),
    )
    expect(readManifestTotals(ofJava, context).partitionKeys.size).toBe(3)
  })

  it('are read in the form of the Avro specification', async () => {
    const { schema, records } = await readWithAvsc(bytes)
    const text = JSON.stringify(schema).replace(partitionField, fixedField)
    const type = oracleType(JSON.parse(text))
    const writer = new AvroContainerWriter(text, {})
    for (const record of records) writer.append((sink) => sink.writeFixed(type.toBuffer(withBuffers(record))))
    expect(readManifest(writer.finish(), context).map((entry) => entry.dataFile)).toEqual(
      readManifest(bytes, { manifest, metadata: metadataOf([binary], [identitySpec(binary)]) }).map(
        (entry) => entry.dataFile,
      ),
    )
  })

  it('that are damaged are still refused', async () => {
    const ofJava = await rewriteSchema(bytes, (text) => text.replace(partitionField, fixedField.replace('3}', '4}')))
    ofJava[ofJava.length - 20] = (ofJava[ofJava.length - 20] ?? 0) ^ 255
    expect(() => readManifest(ofJava, context)).toThrow(withCode('CORRUPT_FILE'))
  })
})

describe('manifests of other writers', () => {
  it('without field ids are read by the well-known names', async () => {
    const bare = await foreignManifest(
      [
        { name: 'data_sequence_number', type: 'long' },
        { name: 'status', type: 'int' },
      ],
      [...fileFields, { name: 'equality_ids', type: ['null', { type: 'array', items: 'long' }] }],
      [{ status: 1, data_sequence_number: 4n, data_file: { ...file, equality_ids: [1n, 2n] } }],
    )
    expect(readManifest(bare, { manifest: manifestLine(), metadata })).toMatchObject([
      { status: 'added', sequenceNumber: 4, dataFile: { filePath: '/f', recordCount: 3, equalityIds: [1, 2] } },
    ])
  })

  it('with field ids under other names are read by id', async () => {
    const { bytes, manifest } = writeManifest(manifestOptions({ formatVersion: 3 }))
    const renamed = await rewriteSchema(bytes, (text) =>
      text.replaceAll('"file_path"', '"9 strange.name"').replaceAll('"status"', '"file_path"'),
    )
    expect(readManifest(renamed, { manifest: { ...manifest, manifestLength: 1 }, metadata })).toEqual(
      readManifest(bytes, { manifest, metadata }),
    )
  })

  it('that lack a required field are refused, naming it', async () => {
    const [, ...fewer] = fileFields
    const bare = await foreignManifest([{ name: 'status', type: 'int' }], fewer, [])
    const readIt = () => readManifest(bare, { manifest: manifestLine(), metadata })
    expect(readIt).toThrow(withCode('CORRUPT_FILE'))
    expect(readIt).toThrow('file_path (field id 100)')
  })

  it.each<[string, object, string]>([
    ['an unknown status', { status: 3, data_file: file }, 'CORRUPT_FILE'],
    ['a negative status', { status: -1, data_file: file }, 'CORRUPT_FILE'],
    ['a negative record count', { status: 1, data_file: { ...file, record_count: -1n } }, 'CORRUPT_FILE'],
    ['a size beyond 2^53', { status: 1, data_file: { ...file, file_size_in_bytes: 2n ** 60n } }, 'CORRUPT_FILE'],
  ])('with %s are refused', async (_what, record, code) => {
    const bytes = await foreignManifest([{ name: 'status', type: 'int' }], fileFields, [record])
    expect(() => readManifest(bytes, { manifest: manifestLine(), metadata })).toThrow(withCode(code))
  })

  it('with content of a later version are unsupported', async () => {
    const fields = [...fileFields, { name: 'content', type: 'int' }]
    const record = { status: 1, data_file: { ...file, content: 3 } }
    const bytes = await foreignManifest([{ name: 'status', type: 'int' }], fields, [record])
    expect(() => readManifest(bytes, { manifest: manifestLine(), metadata })).toThrow(withCode('UNSUPPORTED'))
    expect(() => readManifestTotals(bytes)).toThrow(withCode('UNSUPPORTED'))
  })

  it('that are encrypted are unsupported', () => {
    const manifest = manifestLine({ keyMetadata: new Uint8Array([1]) })
    const bytes = new TextEncoder().encode('AGS1..............')
    expect(() => readManifest(bytes, { manifest, metadata })).toThrow(withCode('UNSUPPORTED'))
  })
})

/** avsc takes buffers only. */
function withBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value)
  if (Array.isArray(value)) return value.map(withBuffers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withBuffers(member)]))
}

/** The same records under a changed schema text: names may change, types must not. */
async function rewriteSchema(bytes: Uint8Array, change: (text: string) => string): Promise<Uint8Array> {
  const { schema, records } = await readWithAvsc(bytes)
  const type = oracleType(schema)
  const writer = new AvroContainerWriter(change(JSON.stringify(schema)), {})
  for (const record of records) writer.append((sink) => sink.writeFixed(type.toBuffer(withBuffers(record))))
  const changed = writer.finish()
  expect(openAvroContainer(changed).schema).not.toEqual(openAvroContainer(bytes).schema)
  return changed
}

import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { IcebergError, isIcebergError } from '../../../src/iceberg/errors.ts'
import { isJsonObject } from '../../../src/iceberg/json/json-fields.ts'
import { stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../../../src/iceberg/json/lossless-json.ts'
import {
  currentSchema,
  currentSnapshot,
  currentSortOrder,
  currentSpec,
  parseTableMetadata,
} from '../../../src/iceberg/metadata/metadata.ts'
import {
  propertyBool,
  propertyCount,
  propertyDouble,
  propertyLong,
  schemaOf,
  snapshotById,
} from '../../../src/iceberg/metadata/metadata.ts'
import { serializeTableMetadata, tableMetadataFromJson } from '../../../src/iceberg/metadata/metadata.ts'
import { caught } from '../../support/caught.ts'
import { firstSnapshotId, secondSnapshotId, snapshot, v1Document, v2Document, v3Document } from './documents.ts'
import { runs } from '../../support/effort.ts'

const parse = (json: JsonObject): ReturnType<typeof parseTableMetadata> => parseTableMetadata(stringifyJson(json))

describe('reading table metadata', () => {
  it('reads a version 2 document', () => {
    const metadata = parse(v2Document())
    expect(metadata).toMatchObject({ formatVersion: 2, lastSequenceNumber: 34, lastColumnId: 5, encrypted: false })
    expect(currentSnapshot(metadata)?.snapshotId).toBe(secondSnapshotId)
    expect(snapshotById(metadata, secondSnapshotId)?.parentSnapshotId).toBe(firstSnapshotId)
    expect(currentSchema(metadata).identifierFieldIds).toEqual([1])
    expect(schemaOf(metadata, secondSnapshotId).schemaId).toBe(1)
    expect(currentSpec(metadata).fields[0]?.fieldId).toBe(1000)
    expect(currentSortOrder(metadata).orderId).toBe(3)
    expect(metadata.refs['audit']).toEqual({ snapshotId: firstSnapshotId, type: 'tag', maxRefAgeMs: 10_000_000n })
    expect(metadata.statistics).toEqual([
      { snapshotId: firstSnapshotId, statisticsPath: 's3://a/1.puffin', fileSizeInBytes: 413 },
    ])
    expect(metadata.partitionStatistics).toHaveLength(1)
    expect(metadata.snapshotLog.map((entry) => entry.snapshotId)).toEqual([firstSnapshotId, secondSnapshotId])
    expect(metadata.metadataLog).toHaveLength(1)
    expect(metadata.nextRowId).toBeUndefined()
  })

  it('reads a version 1 document as version 2 terms', () => {
    const metadata = parse(v1Document())
    expect(metadata.schemas.map((schema) => schema.schemaId)).toEqual([0])
    expect(metadata.partitionSpecs).toMatchObject([{ specId: 0, fields: [{ fieldId: 1000, sourceId: 1 }] }])
    expect(metadata.sortOrders).toEqual([{ orderId: 0, fields: [] }])
    expect(metadata).toMatchObject({
      lastSequenceNumber: 0,
      lastPartitionId: 1000,
      defaultSpecId: 0,
      defaultSortOrderId: 0,
    })
    expect(metadata.refs['main']).toEqual({ snapshotId: 7n, type: 'branch' })
    expect(metadata.snapshots[0]?.sequenceNumber).toBe(0)
  })

  it('accepts a version 1 document without uuid and partition spec', () => {
    const { 'table-uuid': _, 'partition-spec': __, ...rest } = v1Document()
    const metadata = parse(rest)
    expect([metadata.tableUuid, metadata.lastPartitionId, currentSpec(metadata).fields]).toEqual(['', 999, []])
  })

  it('accepts inline manifests of version 1', () => {
    const metadata = parse({
      ...v1Document(),
      snapshots: [{ 'snapshot-id': 7, 'timestamp-ms': 5, manifests: ['a.avro', 'b.avro'] }],
    })
    expect(currentSnapshot(metadata)).toMatchObject({ manifests: ['a.avro', 'b.avro'] })
    expect(currentSnapshot(metadata)?.manifestList).toBeUndefined()
  })

  it('reads the row ids and encryption of version 3', () => {
    expect(parse(v3Document()).nextRowId).toBe(100)
    expect(parse({ ...v3Document(), 'encryption-keys': [{ 'key-id': 'a' }] }).encrypted).toBe(true)
    expect(parse({ ...v3Document(), 'encryption-keys': [] }).encrypted).toBe(false)
  })

  it.each([[-1], [null], ['absent']])('treats a current-snapshot-id of %s as none', (value) => {
    const { 'current-snapshot-id': _, refs: __, ...rest } = v2Document()
    const metadata = parse(value === 'absent' ? rest : { ...rest, 'current-snapshot-id': value })
    expect(metadata.currentSnapshotId).toBeUndefined()
    expect(Object.keys(metadata.refs)).toEqual([])
    expect(currentSnapshot(metadata)).toBeUndefined()
  })

  it('recognizes gzip by its first bytes', () => {
    const bytes = gzipSync(stringifyJson(v2Document()))
    expect(parseTableMetadata(bytes).currentSnapshotId).toBe(secondSnapshotId)
    expect(
      isIcebergError(
        caught(() => parseTableMetadata(bytes.subarray(0, 200))),
        'CORRUPT_FILE',
      ),
    ).toBe(true)
    expect(
      isIcebergError(
        caught(() => parseTableMetadata(Uint8Array.of(0x1f, 0x8b))),
        'CORRUPT_FILE',
      ),
    ).toBe(true)
  })

  it('keeps names that JavaScript objects already have', () => {
    const properties = JSON.parse('{"__proto__": "a", "constructor": "b"}') as JsonObject
    const metadata = parse({ ...v2Document(), properties })
    expect(Object.entries(metadata.properties)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
    expect(new TextDecoder().decode(serializeTableMetadata(metadata))).toContain('"__proto__":"a"')
  })
})

describe('writing table metadata', () => {
  it.each([
    ['1', v1Document()],
    ['2', v2Document()],
    ['3', v3Document()],
  ])('keeps every key and digit of version %s', (_, document) => {
    const text = stringifyJson(document)
    expect(new TextDecoder().decode(serializeTableMetadata(parseTableMetadata(text)))).toBe(text)
  })

  it('keeps random unknown keys and 64-bit ids', () => {
    const integer = fc
      .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
      .map((value): JsonValue => (Number.isSafeInteger(Number(value)) ? Number(value) : value))
    const leaf = fc.oneof(fc.string(), integer, fc.boolean(), fc.constant(null))
    const extra = fc.dictionary(
      fc.string().map((name) => `x-${name}`),
      fc.oneof(leaf, fc.array(leaf)),
      { maxKeys: 5 },
    )
    const snapshotId = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })
    fc.assert(
      fc.property(extra, extra, snapshotId, (top, inner, id) => {
        const document: JsonObject = {
          ...v2Document(),
          ...top,
          'current-snapshot-id': id,
          snapshots: [{ ...snapshot(id, 1, 5), ...inner }],
          refs: { main: { 'snapshot-id': id, type: 'branch', ...inner } },
          statistics: [],
        }
        const text = stringifyJson(document)
        const metadata = parseTableMetadata(text)
        expect(new TextDecoder().decode(serializeTableMetadata(metadata))).toBe(text)
        expect(metadata.currentSnapshotId).toBe(id)
      }),
    )
  })
})

describe('broken table metadata', () => {
  const required = [
    'format-version',
    'table-uuid',
    'location',
    'last-sequence-number',
    'last-updated-ms',
    'last-column-id',
    'schemas',
    'current-schema-id',
    'partition-specs',
    'default-spec-id',
    'last-partition-id',
    'sort-orders',
    'default-sort-order-id',
  ]

  it.each(required)('without %s is refused, naming the key', (key) => {
    const { [key]: _, ...rest } = v2Document()
    const error = caught(() => parse(rest))
    expect(isIcebergError(error, 'INVALID_METADATA')).toBe(true)
    expect(String(error)).toContain(`"${key}" is missing`)
  })

  it('without next-row-id is refused in version 3', () => {
    const { 'next-row-id': _, ...rest } = v3Document()
    expect(() => parse(rest)).toThrow(/"next-row-id" is missing/)
  })

  it.each<[JsonObject, RegExp]>([
    [{ 'last-updated-ms': 9_000_000_000_000_000 }, /"last-updated-ms" must be a time in milliseconds/],
    [{ 'format-version': 0 }, /"format-version" 0 does not exist/],
    [{ 'format-version': '2' }, /"format-version" must be a 32-bit integer/],
    [{ 'current-schema-id': 9 }, /"current-schema-id" is 9/],
    [{ 'default-spec-id': 9 }, /"default-spec-id" is 9/],
    [{ 'default-sort-order-id': 9 }, /"default-sort-order-id" is 9/],
    [{ 'current-snapshot-id': 5 }, /"current-snapshot-id" is 5/],
    [{ 'current-snapshot-id': 4.59e18 }, /"current-snapshot-id"/],
    [{ 'current-snapshot-id': firstSnapshotId }, /branch "main" is at 9223372036854775807/],
    [{ 'last-sequence-number': 33 }, /sequence number 34/],
    [
      { refs: { main: { 'snapshot-id': secondSnapshotId, type: 'branch' }, gone: { 'snapshot-id': 1, type: 'tag' } } },
      /"gone" names snapshot 1/,
    ],
    [{ refs: { main: { 'snapshot-id': secondSnapshotId, type: 'head' } } }, /"branch" or "tag"/],
    [{ snapshots: [snapshot(secondSnapshotId, 1, 1), snapshot(secondSnapshotId, 2, 2)] }, /used twice/],
    [
      { snapshots: [{ 'snapshot-id': secondSnapshotId, 'timestamp-ms': 5 }] },
      /snapshots\[0\]: key "manifest-list" is missing/,
    ],
    [{ snapshots: [{ ...snapshot(secondSnapshotId, -1, 1) }] }, /must not be negative/],
    [{ properties: { a: 1 } }, /"a" must be a string/],
    [{ schemas: [] }, /"current-schema-id" is 1/],
    [{ 'partition-specs': [] }, /must not be empty/],
    [{ 'metadata-log': [{}] }, /metadata-log\[0\]: key "metadata-file" is missing/],
    [{ statistics: {} }, /"statistics" must be an array/],
  ])('%# with a wrong value is refused', (change, message) => {
    const error = caught(() => tableMetadataFromJson({ ...v2Document(), ...change }))
    expect(isIcebergError(error, 'INVALID_METADATA')).toBe(true)
    expect(String(error)).toMatch(message)
  })

  it('of a future version is unsupported', () => {
    expect(
      isIcebergError(
        caught(() => parse({ ...v2Document(), 'format-version': 4 })),
        'UNSUPPORTED',
      ),
    ).toBe(true)
  })

  it('that is not an object is refused', () => {
    for (const text of ['[]', '3', 'null', '"x"']) {
      expect(
        isIcebergError(
          caught(() => parseTableMetadata(text)),
          'INVALID_METADATA',
        ),
      ).toBe(true)
    }
    for (const text of ['', '{', 'PAR1'])
      expect(
        isIcebergError(
          caught(() => parseTableMetadata(text)),
          'CORRUPT_FILE',
        ),
      ).toBe(true)
  })

  it('gives a clear error wherever it is damaged', () => {
    const documents = [v1Document(), v2Document(), v3Document()]
    const junk = fc.oneof(
      fc.constant(null),
      fc.constant(''),
      fc.integer(),
      fc.double(),
      fc.constant([]),
      fc.constant({}),
      fc.boolean(),
      fc.constant(2n ** 64n),
      fc.constant('x'),
    )
    fc.assert(
      fc.property(fc.constantFrom(...documents), fc.infiniteStream(fc.nat()), junk, (document, choices, value) => {
        const error = caught(() => tableMetadataFromJson(replaceSomewhere(document, choices, value as JsonValue)))
        expect(error === undefined || error instanceof IcebergError, String(error)).toBe(true)
      }),
      { numRuns: runs(3000) },
    )
  })
})

/** A copy with one value, found by walking down at random, replaced. */
function replaceSomewhere(document: JsonObject, choices: Iterator<number>, value: JsonValue): JsonObject {
  const replace = (node: JsonValue): JsonValue => {
    const entries = Array.isArray(node) ? [...node.entries()] : isJsonObject(node) ? Object.entries(node) : []
    const choice = Number(choices.next().value)
    const picked = entries[choice % Math.max(1, entries.length)]
    if (picked === undefined || choice % 5 === 0) return value
    const [key, inner] = picked
    if (Array.isArray(node)) return node.with(Number(key), replace(inner))
    return isJsonObject(node) ? { ...node, [key]: replace(inner) } : value
  }
  const result = replace(document)
  return isJsonObject(result) ? result : document
}

describe('table properties', () => {
  const metadata = parse({
    ...v2Document(),
    properties: {
      n: '12',
      big: '9223372036854775807',
      above: '9223372036854775808',
      bad: 'x',
      t: 'True',
      f: 'no',
      d: '0.25',
    },
  })

  it('are read as numbers and booleans with defaults', () => {
    expect([
      propertyLong(metadata, 'n', 1n),
      propertyLong(metadata, 'none', 1n),
      propertyLong(metadata, 'big', 1n),
    ]).toEqual([12n, 1n, 2n ** 63n - 1n])
    expect(propertyCount(metadata, 'big', 1)).toBe(Number.MAX_SAFE_INTEGER)
    expect([
      propertyBool(metadata, 't', false),
      propertyBool(metadata, 'f', true),
      propertyBool(metadata, 'none', true),
    ]).toEqual([true, false, true])
    expect([propertyDouble(metadata, 'd', 1), propertyDouble(metadata, 'none', 1)]).toEqual([0.25, 1])
  })

  it('that are invalid are named', () => {
    expect(() => propertyLong(metadata, 'bad', 1n)).toThrow(/table property "bad": "x" is not a 64-bit integer/)
    expect(() => propertyDouble(metadata, 'bad', 1)).toThrow(/"bad"/)
    expect(propertyLong(metadata, 'constructor', 5n)).toBe(5n)
    expect(() => propertyLong(metadata, 'above', 1n)).toThrow(/"9223372036854775808" is not a 64-bit integer/)
  })
})

import type { JsonObject } from '../../../src/iceberg/json/lossless-json.ts'

/** A 64-bit id that a double cannot hold. */
export const firstSnapshotId = 3_051_729_675_574_597_004n
export const secondSnapshotId = 9_223_372_036_854_775_807n

/** A version 2 document with two snapshots, a tag, and a key that nobody knows at every level. */
export function v2Document(): JsonObject {
  return {
    'format-version': 2,
    'table-uuid': '9c12d441-03fe-4693-9a96-a0705ddf69c1',
    location: 's3://bucket/test/location',
    'last-sequence-number': 34,
    'last-updated-ms': 1_602_638_573_590,
    'last-column-id': 5,
    'current-schema-id': 1,
    schemas: [
      { type: 'struct', 'schema-id': 0, fields: [column(1, 'x', 'long')] },
      {
        type: 'struct',
        'schema-id': 1,
        'identifier-field-ids': [1],
        'x-schema': { a: 1 },
        fields: [
          { ...column(1, 'x', 'long'), required: true, 'x-field': 12_345_678_901_234_567_890n },
          column(2, 'y', 'string'),
          {
            ...column(3, 's', 'int'),
            type: { type: 'struct', 'x-type': true, fields: [column(4, 'a', 'int'), column(5, 'b', 'date')] },
          },
        ],
      },
    ],
    'default-spec-id': 0,
    'partition-specs': [
      {
        'spec-id': 0,
        'x-spec': 1,
        fields: [{ name: 'x', transform: 'identity', 'source-id': 1, 'field-id': 1000, 'x-part': 2 }],
      },
    ],
    'last-partition-id': 1000,
    'default-sort-order-id': 3,
    'sort-orders': [
      {
        'order-id': 3,
        'x-order': 0,
        fields: [{ transform: 'identity', 'source-id': 2, direction: 'asc', 'null-order': 'nulls-first' }],
      },
    ],
    properties: { owner: 'a', __proto__x: 'b' },
    'current-snapshot-id': secondSnapshotId,
    snapshots: [
      snapshot(firstSnapshotId, 33, 1_515_100_955_770),
      { ...snapshot(secondSnapshotId, 34, 1_555_100_955_770), 'parent-snapshot-id': firstSnapshotId, 'schema-id': 1 },
    ],
    refs: {
      main: { 'snapshot-id': secondSnapshotId, type: 'branch', 'x-ref': 7 },
      audit: { 'snapshot-id': firstSnapshotId, type: 'tag', 'max-ref-age-ms': 10_000_000, 'x-ref': 8 },
    },
    statistics: [
      {
        'snapshot-id': firstSnapshotId,
        'statistics-path': 's3://a/1.puffin',
        'file-size-in-bytes': 413,
        'file-footer-size-in-bytes': 42,
        'blob-metadata': [],
      },
    ],
    'partition-statistics': [
      { 'snapshot-id': firstSnapshotId, 'statistics-path': 's3://a/1.parquet', 'file-size-in-bytes': 43 },
    ],
    'snapshot-log': [
      { 'snapshot-id': firstSnapshotId, 'timestamp-ms': 1_515_100_955_770 },
      { 'snapshot-id': secondSnapshotId, 'timestamp-ms': 1_555_100_955_770 },
    ],
    'metadata-log': [
      { 'metadata-file': 's3://bucket/test/location/metadata/v1.json', 'timestamp-ms': 1_515_100_000_000 },
    ],
    'x-top': [1, { deep: 2n ** 80n }],
  }
}

/** A version 1 document as old writers left it: one schema, one spec, no refs, no logs, no sort order. */
export function v1Document(): JsonObject {
  return {
    'format-version': 1,
    'table-uuid': 'd20125c8-7284-442c-9aea-15fee620737c',
    location: 's3://bucket/test/location',
    'last-updated-ms': 1_602_638_573_874,
    'last-column-id': 2,
    schema: {
      type: 'struct',
      'x-schema': 1,
      fields: [{ ...column(1, 'x', 'long'), required: true }, column(2, 'y', 'string')],
    },
    'partition-spec': [{ name: 'x', transform: 'identity', 'source-id': 1, 'field-id': 1000 }],
    properties: {},
    'current-snapshot-id': 7,
    snapshots: [{ 'snapshot-id': 7, 'timestamp-ms': 1_602_638_573_000, 'manifest-list': 's3://a/1.avro' }],
    'x-top': true,
  }
}

/** A version 3 document without snapshots. */
export function v3Document(): JsonObject {
  return {
    ...v2Document(),
    'format-version': 3,
    'next-row-id': 100,
    'last-sequence-number': 0,
    'current-snapshot-id': null,
    snapshots: [],
    refs: {},
    statistics: [],
    'partition-statistics': [],
    'snapshot-log': [],
  }
}

/** An optional column. */
export function column(id: number, name: string, type: string): JsonObject {
  return { id, name, required: false, type }
}

/** A snapshot with an unknown key. */
export function snapshot(id: bigint, sequenceNumber: number, timestampMs: number): JsonObject {
  return {
    'snapshot-id': id,
    'sequence-number': sequenceNumber,
    'timestamp-ms': timestampMs,
    'manifest-list': `s3://a/b/${id}.avro`,
    summary: { operation: 'append' },
    'x-snapshot': 2n ** 70n,
  }
}

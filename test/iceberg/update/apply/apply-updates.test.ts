import { describe, expect, it } from 'vitest'

import { isIcebergError } from '../../../../src/iceberg/errors.ts'
import { stringifyJson } from '../../../../src/iceberg/json/lossless-json.ts'
import type { JsonObject } from '../../../../src/iceberg/json/lossless-json.ts'
import {
  currentSnapshot,
  parseTableMetadata,
  serializeTableMetadata,
} from '../../../../src/iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import { applyUpdates } from '../../../../src/iceberg/update/apply/apply-updates.ts'
import type { TableUpdate } from '../../../../src/iceberg/update/table-update.ts'
import { caught } from '../../../support/caught.ts'
import {
  column,
  firstSnapshotId,
  secondSnapshotId,
  snapshot,
  v1Document,
  v2Document,
  v3Document,
} from '../../metadata/documents.ts'

const nowMs = 1_700_000_000_000
const thirdSnapshotId = 8_000_000_000_000_000_003n

const read = (json: JsonObject): TableMetadata => parseTableMetadata(stringifyJson(json))
const v1 = read(v1Document())
const v2 = read(v2Document())
const v3 = read(v3Document())

/** Applies updates and checks what must hold after every change: the base is untouched and the result can be read. */
function apply(base: TableMetadata, updates: readonly TableUpdate[], previousMetadataLocation?: string): TableMetadata {
  const before = stringifyJson(base.json)
  const after = applyUpdates(base, updates, {
    nowMs,
    ...(previousMetadataLocation === undefined ? {} : { previousMetadataLocation }),
  })
  expect(stringifyJson(base.json)).toBe(before)
  expect(parseTableMetadata(serializeTableMetadata(after))).toEqual(after)
  return after
}

function refusal(
  base: TableMetadata,
  updates: readonly TableUpdate[],
  code: 'INVALID_ARGUMENT' | 'COMMIT_CONFLICT' | 'UNSUPPORTED',
): string {
  const error = caught(() => applyUpdates(base, updates, { nowMs }))
  expect(isIcebergError(error, code), String(error)).toBe(true)
  return String(error)
}

const newSnapshot = (id: bigint, sequenceNumber: number, more: JsonObject = {}): TableUpdate => ({
  action: 'add-snapshot',
  snapshot: { ...snapshot(id, sequenceNumber, nowMs - 5), ...more },
})
const setMain = (id: bigint, more: JsonObject = {}): TableUpdate => ({
  ...more,
  action: 'set-snapshot-ref',
  'ref-name': 'main',
  type: 'branch',
  'snapshot-id': id,
})

describe('no change', () => {
  it('returns the base itself', () => {
    expect(applyUpdates(v2, [], { nowMs, previousMetadataLocation: 'x' })).toBe(v2)
    const nothing: readonly TableUpdate[] = [
      { action: 'set-properties', updates: { owner: 'a' } },
      { action: 'remove-properties', removals: ['none'] },
      { action: 'set-current-schema', 'schema-id': 1 },
      { action: 'remove-snapshots', 'snapshot-ids': [5n] },
      { action: 'remove-snapshot-ref', 'ref-name': 'constructor' },
      { action: 'upgrade-format-version', 'format-version': 2 },
      { action: 'set-location', location: v2.location },
      setMain(secondSnapshotId),
    ]
    expect(applyUpdates(v2, nothing, { nowMs })).toBe(v2)
  })
})

describe('a new snapshot', () => {
  const after = apply(
    v2,
    [newSnapshot(thirdSnapshotId, 35, { 'parent-snapshot-id': secondSnapshotId }), setMain(thirdSnapshotId)],
    's3://old.json',
  )

  it('becomes current', () => {
    expect(currentSnapshot(after)).toMatchObject({
      snapshotId: thirdSnapshotId,
      sequenceNumber: 35,
      parentSnapshotId: secondSnapshotId,
    })
    expect(after.refs['main']).toEqual({ snapshotId: thirdSnapshotId, type: 'branch' })
    expect(after.lastSequenceNumber).toBe(35)
    expect(after.lastUpdatedMs).toBe(nowMs)
  })

  it('is recorded in the history, and the old document in the metadata log', () => {
    expect(after.snapshotLog.at(-1)).toEqual({ snapshotId: thirdSnapshotId, timestampMs: nowMs - 5 })
    expect(after.metadataLog.at(-1)).toEqual({ metadataFile: 's3://old.json', timestampMs: v2.lastUpdatedMs })
  })

  it('keeps unknown keys at every level', () => {
    expect(after.json['x-top']).toEqual(v2.json['x-top'])
    expect(after.json['schemas']).toEqual(v2.json['schemas'])
    expect(after.json['refs']).toMatchObject({ main: { 'x-ref': 7 }, audit: { 'x-ref': 8 } })
    expect(after.json['snapshots']).toMatchObject([
      { 'x-snapshot': 2n ** 70n },
      { 'x-snapshot': 2n ** 70n },
      { 'x-snapshot': 2n ** 70n },
    ])
    expect(after.json['partition-specs']).toEqual(v2.json['partition-specs'])
    expect(after.json['statistics']).toEqual(v2.json['statistics'])
  })

  it('keeps integers exact', () => {
    expect(new TextDecoder().decode(serializeTableMetadata(after))).toContain(
      `"current-snapshot-id":${thirdSnapshotId}`,
    )
  })

  it('with a used sequence number is a conflict', () => {
    const child = { 'parent-snapshot-id': secondSnapshotId }
    expect(refusal(v2, [newSnapshot(5n, 34, child)], 'COMMIT_CONFLICT')).toContain('sequence number 34')
    expect(refusal(v2, [newSnapshot(5n, 0, child)], 'COMMIT_CONFLICT')).toContain('sequence number 0')
  })

  it('without a parent may have a used sequence number, because it replaces the table', () => {
    const after = apply(v2, [newSnapshot(5n, 33), setMain(5n)])
    expect([after.currentSnapshotId, after.json['last-sequence-number']]).toEqual([5n, 34])
  })

  it.each<[string, TableUpdate, RegExp]>([
    ['an id that exists', newSnapshot(firstSnapshotId, 35), /already exists/],
    ['no manifest list', newSnapshot(5n, 35, { 'manifest-list': null, manifests: ['a'] }), /no manifest list/],
    ['no operation', newSnapshot(5n, 35, { summary: {} }), /operation/],
    ['an unknown schema', newSnapshot(5n, 35, { 'schema-id': 9 }), /schema 9/],
    [
      'a time long before the last one',
      newSnapshot(5n, 35, { 'timestamp-ms': 1_555_100_955_770 - 60_001 }),
      /check the clock/,
    ],
  ])('with %s is refused', (_, update, message) => {
    expect(refusal(v2, [update], 'INVALID_ARGUMENT')).toMatch(message)
  })

  it('may be a little behind the clock of the last writer', () => {
    const early = apply(v2, [newSnapshot(5n, 35, { 'timestamp-ms': 1_555_100_955_770 - 60_000 }), setMain(5n)])
    expect(early.lastUpdatedMs).toBe(nowMs)
  })

  it('that is replaced in the same change is never recorded as current', () => {
    const both = apply(v2, [newSnapshot(5n, 35), setMain(5n), newSnapshot(6n, 36), setMain(6n)])
    expect(both.snapshotLog.map((entry) => entry.snapshotId)).toEqual([firstSnapshotId, secondSnapshotId, 6n])
    expect(both.snapshots).toHaveLength(4)
  })
})

describe('row ids of version 3', () => {
  it('advance by the added rows', () => {
    const after = apply(v3, [newSnapshot(5n, 1, { 'first-row-id': 100, 'added-rows': 7 }), setMain(5n)])
    expect([after.nextRowId, currentSnapshot(after)?.firstRowId, currentSnapshot(after)?.addedRows]).toEqual([
      107, 100, 7,
    ])
  })

  it('already assigned are a conflict; missing ones are refused', () => {
    expect(refusal(v3, [newSnapshot(5n, 1, { 'first-row-id': 99, 'added-rows': 7 })], 'COMMIT_CONFLICT')).toContain(
      '99',
    )
    expect(refusal(v3, [newSnapshot(5n, 1)], 'INVALID_ARGUMENT')).toContain('first-row-id')
    expect(refusal(v3, [newSnapshot(5n, 1, { 'first-row-id': 100 })], 'INVALID_ARGUMENT')).toContain('added-rows')
  })
})

describe('branches and tags', () => {
  it('are created, changed and removed', () => {
    const tagged = apply(v2, [
      {
        action: 'set-snapshot-ref',
        'ref-name': '__proto__',
        type: 'tag',
        'snapshot-id': firstSnapshotId,
        'max-ref-age-ms': 2n ** 63n - 1n,
      },
    ])
    expect(Object.keys(tagged.refs)).toEqual(['main', 'audit', '__proto__'])
    const gone = apply(tagged, [{ action: 'remove-snapshot-ref', 'ref-name': '__proto__' }])
    expect(gone.refs).toEqual(v2.refs)
  })

  it('after a rollback, main has the older snapshot and the history records the time', () => {
    const after = apply(v2, [setMain(firstSnapshotId, { 'min-snapshots-to-keep': 3 })])
    expect(after.currentSnapshotId).toBe(firstSnapshotId)
    expect(after.refs['main']?.minSnapshotsToKeep).toBe(3)
    expect(after.snapshotLog.at(-1)).toEqual({ snapshotId: firstSnapshotId, timestampMs: nowMs })
  })

  it('without main there is no current snapshot', () => {
    const after = apply(v2, [{ action: 'remove-snapshot-ref', 'ref-name': 'main' }])
    expect([after.currentSnapshotId, after.json['current-snapshot-id']]).toEqual([undefined, -1])
  })

  it.each<[string, string, JsonObject, RegExp]>([
    ['a snapshot that is not there', 'b', { type: 'branch', 'snapshot-id': 5 }, /does not exist/],
    ['main as a tag', 'main', { type: 'tag', 'snapshot-id': firstSnapshotId }, /must be a branch/],
    [
      'a tag with the retention of a branch',
      't',
      { type: 'tag', 'snapshot-id': firstSnapshotId, 'min-snapshots-to-keep': 1 },
      /tag "t"/,
    ],
    ['retention of zero', 'b', { type: 'branch', 'snapshot-id': firstSnapshotId, 'max-snapshot-age-ms': 0 }, /above 0/],
    ['an empty name', '', { type: 'branch', 'snapshot-id': firstSnapshotId }, /name/],
  ])('refuse %s', (_, name, ref, message) => {
    expect(refusal(v2, [{ ...ref, action: 'set-snapshot-ref', 'ref-name': name }], 'INVALID_ARGUMENT')).toMatch(message)
  })
})

describe('removed snapshots', () => {
  const after = apply(v2, [
    { action: 'remove-snapshot-ref', 'ref-name': 'audit' },
    { action: 'remove-snapshots', 'snapshot-ids': [firstSnapshotId] },
  ])

  it('stay while a reference points to them, even one created after the removal was planned', () => {
    const message = refusal(v2, [{ action: 'remove-snapshots', 'snapshot-ids': [firstSnapshotId] }], 'COMMIT_CONFLICT')
    expect(message).toMatch(/audit points to it/)
  })

  it('are removed with their statistics', () => {
    expect(after.snapshots.map((entry) => entry.snapshotId)).toEqual([secondSnapshotId])
    expect(Object.keys(after.refs)).toEqual(['main'])
    expect([after.statistics, after.partitionStatistics]).toEqual([[], []])
  })

  it('cut the history', () => {
    expect(after.snapshotLog.map((entry) => entry.snapshotId)).toEqual([secondSnapshotId])
    const moved = apply(v2, [
      setMain(firstSnapshotId),
      newSnapshot(9n, 35),
      setMain(9n),
      { action: 'remove-snapshots', 'snapshot-ids': [secondSnapshotId] },
    ])
    expect(moved.snapshotLog.map((entry) => entry.snapshotId)).toEqual([firstSnapshotId, 9n])
  })

  it('are compared exactly, not as doubles', () => {
    expect(
      applyUpdates(
        v2,
        [{ action: 'remove-snapshots', 'snapshot-ids': [firstSnapshotId + 1n, secondSnapshotId - 1n] }],
        { nowMs },
      ),
    ).toBe(v2)
  })

  it('leave no current snapshot when the current one is removed', () => {
    const none = apply(v2, [
      { action: 'remove-snapshot-ref', 'ref-name': 'main' },
      { action: 'remove-snapshots', 'snapshot-ids': [secondSnapshotId] },
    ])
    expect([none.currentSnapshotId, Object.keys(none.refs)]).toEqual([undefined, ['audit']])
  })
})

describe('schemas', () => {
  const schema = {
    type: 'struct',
    'schema-id': 77,
    fields: [{ ...column(1, 'x', 'long'), required: true }, column(2, 'y', 'string'), column(6, 'z', 'int')],
    'identifier-field-ids': [1],
  }

  it('get the next id and become current', () => {
    const after = apply(v2, [
      { action: 'add-schema', schema },
      { action: 'set-current-schema', 'schema-id': -1 },
    ])
    expect([after.currentSchemaId, after.lastColumnId, after.schemas.map((entry) => entry.schemaId)]).toEqual([
      2,
      6,
      [0, 1, 2],
    ])
  })

  it('that exist are not added again', () => {
    const back = apply(v2, [
      { action: 'add-schema', schema: { type: 'struct', 'schema-id': 5, fields: [column(1, 'x', 'long')] } },
    ])
    expect(back).toBe(v2)
  })

  it.each<[string, readonly TableUpdate[], RegExp]>([
    ['nothing was added', [{ action: 'set-current-schema', 'schema-id': -1 }], /no schema was added/],
    ['the id is unknown', [{ action: 'set-current-schema', 'schema-id': 8 }], /no schema 8/],
    [
      'the sort order needs a column that is gone',
      [{ action: 'set-current-schema', 'schema-id': 0 }],
      /sort field 0 needs the column with id 2/,
    ],
    ['the current one would go', [{ action: 'remove-schemas', 'schema-ids': [1] }], /current schema/],
    [
      'the type needs version 3',
      [{ action: 'add-schema', schema: { type: 'struct', fields: [column(1, 'x', 'timestamp_ns')] } }],
      /format version 3/,
    ],
    [
      'an identifier is optional',
      [
        {
          action: 'add-schema',
          schema: { type: 'struct', 'identifier-field-ids': [1], fields: [column(1, 'x', 'int')] },
        },
      ],
      /not required/,
    ],
  ])('are refused when %s', (_, updates, message) => {
    expect(refusal(v2, updates, 'INVALID_ARGUMENT')).toMatch(message)
  })

  it('that nothing uses can be removed', () => {
    expect(
      apply(v2, [{ action: 'remove-schemas', 'schema-ids': [0, 55] }]).schemas.map((entry) => entry.schemaId),
    ).toEqual([1])
  })
})

describe('partition specs and sort orders', () => {
  const day = { fields: [{ name: 'y_trunc', transform: 'truncate[4]', 'source-id': 2 }] }

  it('get the next ids', () => {
    const after = apply(v2, [
      { action: 'add-spec', spec: day },
      { action: 'set-default-spec', 'spec-id': -1 },
      {
        action: 'add-sort-order',
        'sort-order': {
          'order-id': 1,
          fields: [{ transform: 'identity', 'source-id': 1, direction: 'desc', 'null-order': 'nulls-last' }],
        },
      },
      { action: 'set-default-sort-order', 'sort-order-id': -1 },
    ])
    expect(after).toMatchObject({ defaultSpecId: 1, lastPartitionId: 1001, defaultSortOrderId: 4 })
    expect(after.partitionSpecs[1]?.fields[0]).toMatchObject({ fieldId: 1001, sourceId: 2 })
  })

  it('are unsorted as order 0', () => {
    const after = apply(v2, [
      { action: 'add-sort-order', 'sort-order': { 'order-id': 9, fields: [] } },
      { action: 'set-default-sort-order', 'sort-order-id': -1 },
    ])
    expect([after.defaultSortOrderId, after.sortOrders.length]).toEqual([0, 2])
  })

  it('that exist are reused', () => {
    const spec = { 'spec-id': 4, fields: [{ name: 'x', transform: 'identity', 'source-id': 1, 'field-id': 1000 }] }
    expect(
      applyUpdates(
        v2,
        [
          { action: 'add-spec', spec },
          { action: 'set-default-spec', 'spec-id': -1 },
        ],
        { nowMs },
      ),
    ).toBe(v2)
  })

  it('are removed when nothing uses them, except the default', () => {
    const two = apply(v2, [{ action: 'add-spec', spec: day }])
    expect(apply(two, [{ action: 'remove-partition-specs', 'spec-ids': [1] }]).partitionSpecs).toHaveLength(1)
    expect(refusal(two, [{ action: 'remove-partition-specs', 'spec-ids': [0] }], 'INVALID_ARGUMENT')).toContain(
      'default',
    )
  })

  it('are refused for missing columns', () => {
    expect(
      refusal(
        v2,
        [{ action: 'add-spec', spec: { fields: [{ name: 'q', transform: 'identity', 'source-id': 50 }] } }],
        'INVALID_ARGUMENT',
      ),
    ).toContain('50')
    expect(refusal(v2, [{ action: 'set-default-spec', 'spec-id': 3 }], 'INVALID_ARGUMENT')).toContain(
      'no partition spec 3',
    )
    expect(refusal(v2, [{ action: 'set-default-sort-order', 'sort-order-id': 8 }], 'INVALID_ARGUMENT')).toContain(
      'no sort order 8',
    )
  })
})

describe('properties, location and statistics', () => {
  it('change as requested', () => {
    const after = apply(v2, [
      { action: 'set-properties', updates: { a: '1', owner: 'b' } },
      { action: 'remove-properties', removals: ['__proto__x'] },
      { action: 'set-location', location: 's3://elsewhere' },
      { action: 'remove-statistics', 'snapshot-id': firstSnapshotId },
      { action: 'remove-partition-statistics', 'snapshot-id': firstSnapshotId },
    ])
    expect({ ...after.properties }).toEqual({ owner: 'b', a: '1' })
    expect([after.location, after.statistics, after.partitionStatistics]).toEqual(['s3://elsewhere', [], []])
  })

  it('keep as many old metadata files as the table property says', () => {
    let metadata = apply(v2, [{ action: 'set-properties', updates: { 'write.metadata.previous-versions-max': '3' } }])
    for (let version = 0; version < 6; version += 1) {
      metadata = apply(
        metadata,
        [{ action: 'set-properties', updates: { version: String(version) } }],
        `v${version}.json`,
      )
    }
    expect(metadata.metadataLog.map((entry) => entry.metadataFile)).toEqual(['v3.json', 'v4.json', 'v5.json'])
  })

  it('never decrease the time of the last change', () => {
    const later = applyUpdates(v2, [{ action: 'set-properties', updates: { a: '1' } }], { nowMs: 5 })
    expect(later.lastUpdatedMs).toBe(v2.lastUpdatedMs)
  })

  it('refuse unknown actions', () => {
    const update = { action: 'set-everything' } as unknown as TableUpdate
    expect(refusal(v2, [update], 'UNSUPPORTED')).toContain('set-everything')
  })
})

describe('version 1 documents', () => {
  it('stay version 1, with the keys that version 1 readers use', () => {
    const schema = {
      type: 'struct',
      fields: [{ ...column(1, 'x', 'long'), required: true }, column(2, 'y', 'string'), column(3, 'z', 'int')],
    }
    const after = apply(
      v1,
      [
        { action: 'add-schema', schema },
        { action: 'set-current-schema', 'schema-id': -1 },
      ],
      'old.json',
    )
    expect(after.formatVersion).toBe(1)
    expect(after.json['schema']).toMatchObject({
      'schema-id': 1,
      fields: [{ name: 'x' }, { name: 'y' }, { name: 'z' }],
    })
    expect(after.json['partition-spec']).toEqual(v1.json['partition-spec'])
    expect(after.json['schemas']).toMatchObject([{ 'schema-id': 0, 'x-schema': 1 }, { 'schema-id': 1 }])
    expect(after.json['refs']).toEqual({ main: { 'snapshot-id': 7, type: 'branch' } })
    expect(after.json['last-sequence-number']).toBeUndefined()
    expect(after.json['x-top']).toBe(true)
  })

  it('accept only snapshots without a sequence number', () => {
    const { 'sequence-number': _, ...rest } = snapshot(9n, 1, nowMs)
    const after = apply(v1, [{ action: 'add-snapshot', snapshot: rest }, setMain(9n)])
    expect([after.currentSnapshotId, after.lastSequenceNumber]).toEqual([9n, 0])
    expect(refusal(v1, [newSnapshot(9n, 1)], 'INVALID_ARGUMENT')).toContain('sequence number')
  })

  it('are upgraded on request only', () => {
    const after = apply(v1, [{ action: 'upgrade-format-version', 'format-version': 3 }])
    expect(after).toMatchObject({ formatVersion: 3, lastSequenceNumber: 0, nextRowId: 0, currentSnapshotId: 7n })
    expect(['schema' in after.json, 'partition-spec' in after.json]).toEqual([false, false])
    expect(after.json['snapshots']).toMatchObject([{ 'sequence-number': 0 }])
    expect(refusal(v2, [{ action: 'upgrade-format-version', 'format-version': 1 }], 'INVALID_ARGUMENT')).toContain(
      'lowered',
    )
    expect(refusal(v2, [{ action: 'upgrade-format-version', 'format-version': 4 }], 'UNSUPPORTED')).toContain('4')
    const inline = read({
      ...v1Document(),
      snapshots: [{ 'snapshot-id': 7, 'timestamp-ms': 5, manifests: ['a.avro'] }],
    })
    expect(refusal(inline, [{ action: 'upgrade-format-version', 'format-version': 2 }], 'INVALID_ARGUMENT')).toContain(
      'inline',
    )
  })

  it('without snapshots use the form of their version', () => {
    const empty = read({ ...v1Document(), 'current-snapshot-id': -1, snapshots: [] })
    expect(apply(empty, [{ action: 'set-location', location: 'x' }]).json['current-snapshot-id']).toBe(-1)
    expect(
      apply(empty, [{ action: 'upgrade-format-version', 'format-version': 3 }]).json['current-snapshot-id'],
    ).toBeNull()
  })
})

import { describe, expect, it } from 'vitest'

import { stringifyJson } from '../../../../src/iceberg/json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../../../../src/iceberg/json/lossless-json.ts'
import { parseTableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import { applyUpdates } from '../../../../src/iceberg/update/apply/apply-updates.ts'
import { mergeUpdates } from '../../../../src/iceberg/update/apply/merge-updates.ts'
import { readUpdates } from '../../../../src/iceberg/update/read-changes.ts'
import type { TableUpdate } from '../../../../src/iceberg/update/table-update.ts'
import { growthOf, LINEAR } from '../../../support/growth.ts'
import { column, v2Document } from '../../metadata/documents.ts'

const nowMs = 1_700_000_000_000
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

/** A table with snapshots 1 to `count`, each with a tag and a statistics file. */
function tableWith(count: number): TableMetadata {
  const ids = range(count).map((at) => at + 1)
  const file = (id: number) => ({ 'snapshot-id': id, 'statistics-path': `/wh/t/metadata/${id}.puffin` })
  const document: JsonObject = {
    ...v2Document(),
    'last-sequence-number': count,
    'current-snapshot-id': -1,
    snapshots: ids.map((id) => ({
      'snapshot-id': id,
      'sequence-number': id,
      'timestamp-ms': nowMs - count + id,
      'manifest-list': `/wh/t/metadata/snap-${id}.avro`,
      summary: { operation: 'append' },
    })),
    refs: Object.fromEntries(ids.map((id) => [`tag-${id}`, { type: 'tag', 'snapshot-id': id }])),
    statistics: ids.map(file),
    'snapshot-log': [],
    'metadata-log': [],
  }
  return parseTableMetadata(stringifyJson(document))
}

const removals = (count: number): TableUpdate[] =>
  range(count).flatMap((at): TableUpdate[] => [
    { action: 'remove-snapshot-ref', 'ref-name': `tag-${at + 1}` },
    { action: 'remove-statistics', 'snapshot-id': BigInt(at + 1) },
    { action: 'remove-snapshots', 'snapshot-ids': [BigInt(at + 1)] },
  ])

describe('a change with many updates', () => {
  it.each<[string, number, (size: number) => () => unknown]>([
    [
      'removes snapshots with their tags and statistics, each with an update of its own',
      500,
      (size) => {
        const table = tableWith(size)
        const updates = removals(size)
        return () => applyUpdates(table, updates, { nowMs })
      },
    ],
    [
      'sets properties, each with an update of its own',
      600,
      (size) => {
        const table = tableWith(1)
        const updates = range(size).map((at): TableUpdate => ({
          action: 'set-properties',
          updates: { [`name-${at}`]: 'v' },
        }))
        return () => applyUpdates(table, updates, { nowMs })
      },
    ],
    [
      'removes properties, each with an update of its own',
      600,
      (size) => {
        const names = range(size).map((at) => `name-${at}`)
        const updates = Object.fromEntries(names.map((name) => [name, 'v']))
        const table = applyUpdates(tableWith(1), [{ action: 'set-properties', updates }], { nowMs })
        const removing = names.map((name): TableUpdate => ({ action: 'remove-properties', removals: [name] }))
        return () => applyUpdates(table, removing, { nowMs })
      },
    ],
    [
      'puts snapshots back',
      500,
      (size) => {
        const table = tableWith(size)
        const removed = applyUpdates(table, removals(size), { nowMs })
        const { snapshots, statistics } = table.json as { snapshots: JsonObject[]; statistics: JsonObject[] }
        const none = { 'snapshot-log': [], schemas: [], 'partition-specs': [], 'partition-statistics': [] }
        const restore: TableUpdate = { action: 'restore-snapshots', snapshots, statistics, ...none }
        return () => applyUpdates(removed, [restore], { nowMs })
      },
    ],
  ])('%s in a time that grows with their number', async (_what, size, prepare) => {
    expect(await growthOf(size, prepare)).toBeLessThan(LINEAR)
  })

  it('reads a schema once when many updates make it the current one', async () => {
    const schemaOf = (id: number, size: number): JsonValue => ({
      type: 'struct',
      'schema-id': id,
      fields: range(size).map((at) => ({ ...column(at + 1, `column_${id}_${at}`, 'long'), required: false })),
    })
    const growth = await growthOf(25, (size) => {
      const document = { ...v2Document(), schemas: [schemaOf(0, 1000), schemaOf(1, 1000)], 'last-column-id': 1000 }
      const table = parseTableMetadata(stringifyJson({ ...document, 'current-schema-id': 0 }))
      const updates = range(size).map((at): TableUpdate => ({
        action: 'set-current-schema',
        'schema-id': (at + 1) % 2,
      }))
      return () => applyUpdates(table, updates, { nowMs })
    })
    expect(growth).toBeLessThan(LINEAR)
  })

  it('has the result of its updates one after the other', () => {
    const table = tableWith(6)
    const updates: TableUpdate[] = [
      { action: 'set-properties', updates: { a: '1', b: '1' } },
      { action: 'set-properties', updates: { b: '2', c: '2' } },
      { action: 'remove-properties', removals: ['a'] },
      { action: 'remove-properties', removals: ['c', 'none'] },
      { action: 'set-properties', updates: { a: '3' } },
      ...removals(3),
      { action: 'set-statistics', statistics: { 'snapshot-id': 5n, 'statistics-path': '/wh/t/metadata/5b.puffin' } },
      { action: 'remove-partition-statistics', 'snapshot-id': 4n },
      { action: 'remove-statistics', 'snapshot-id': 4n },
    ]
    const atOnce = applyUpdates(table, updates, { nowMs })
    const oneByOne = updates.reduce((next, update) => applyUpdates(next, [update], { nowMs }), table)
    expect(atOnce).toEqual(oneByOne)
    expect(atOnce.snapshots.map(({ snapshotId }) => snapshotId)).toEqual([4n, 5n, 6n])
    expect(atOnce.properties).toMatchObject({ a: '3', b: '2' })
    expect(mergeUpdates(updates)).toHaveLength(6)
  })

  it('is refused when its updates are more than 1,000 steps', () => {
    const tag = (at: number): JsonObject => ({
      action: 'set-snapshot-ref',
      'ref-name': `tag-${at}`,
      type: 'tag',
      'snapshot-id': 1,
    })
    expect(readUpdates(range(1000).map(tag))).toHaveLength(1000)
    expect(() => readUpdates(range(1001).map(tag))).toThrow('a commit may have at most 1000 steps, this one has 1001')
    const remove = range(9000).map((at) => ({ action: 'remove-snapshots', 'snapshot-ids': [at] }))
    expect(readUpdates(remove)).toHaveLength(9000)
  })
})

import { describe, expect, it } from 'vitest'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { tableMetadataFromJson } from '../../../src/iceberg/metadata/metadata.ts'
import { createTableMetadata } from '../../../src/iceberg/metadata/builder.ts'
import type { JsonObject } from '../../../src/iceberg/json/lossless-json.ts'
import { partitionSpecToJson } from '../../../src/iceberg/partitioning/partitioning.ts'
import { schemaToJson } from '../../../src/iceberg/schema/schema.ts'
import { applyUpdates } from '../../../src/iceberg/update/apply/apply-updates.ts'
import { planExpiry, planExpiryOf } from '../../../src/iceberg/update/expire-snapshots.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { stageRowDelta } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import { byPart, fixtureSchema, TableFixture, unpartitioned } from '../../support/table-fixture.ts'

const DAY = 86_400_000
const NOW = 1_800_000_000_000

interface SnapshotSpec {
  /** Days before now. */
  readonly age: number
  readonly parent?: number
}

/** A table whose snapshots are numbered; `refs` as in metadata. */
function history(
  snapshots: Readonly<Record<number, SnapshotSpec>>,
  refs: Readonly<Record<string, JsonObject>>,
  properties: Readonly<Record<string, string>> = {},
): TableMetadata {
  const base = createTableMetadata({
    schema: fixtureSchema,
    location: 'mem:/t',
    properties,
    uuid: '00000000-0000-4000-8000-000000000001',
    nowMs: NOW - 100 * DAY,
  })
  const list = Object.entries(snapshots).map(([id, { age, parent }], index): JsonObject => ({
    'snapshot-id': Number(id),
    ...(parent === undefined ? {} : { 'parent-snapshot-id': parent }),
    'sequence-number': index + 1,
    'timestamp-ms': NOW - age * DAY,
    summary: { operation: 'append' },
    'manifest-list': `mem:/t/metadata/snap-${id}.avro`,
    'schema-id': 0,
  }))
  return tableMetadataFromJson({
    ...base.json,
    snapshots: list,
    'last-sequence-number': list.length,
    'current-snapshot-id': refs['main']?.['snapshot-id'] ?? -1,
    refs,
  })
}

const at = (id: number, type = 'branch', more: JsonObject = {}): JsonObject => ({ 'snapshot-id': id, type, ...more })

/** 1 ← 2 ← 3 ← 4, of 20, 10, 4 and 1 days. */
const line = { 1: { age: 20 }, 2: { age: 10, parent: 1 }, 3: { age: 4, parent: 2 }, 4: { age: 1, parent: 3 } }

function expired(metadata: TableMetadata, request: Partial<Parameters<typeof planExpiry>[1]> = {}): number[] {
  return planExpiry(metadata, { nowMs: NOW, ...request }).expiredSnapshotIds.map(Number)
}

describe('planExpiry on one branch', () => {
  const table = history(line, { main: at(4) })

  it('keeps five days by default', () => {
    expect(expired(table)).toEqual([1, 2])
  })

  it('keeps a snapshot exactly as old as the limit', () => {
    expect(expired(table, { olderThanMs: NOW - 10 * DAY })).toEqual([1])
    expect(expired(table, { olderThanMs: NOW - 10 * DAY + 1 })).toEqual([1, 2])
  })

  it('never expires the current snapshot, and keeps the requested number', () => {
    expect(expired(table, { olderThanMs: NOW })).toEqual([1, 2, 3])
    expect(expired(table, { olderThanMs: NOW, retainLast: 3 })).toEqual([1])
    expect(expired(table, { olderThanMs: NOW, retainLast: 9 })).toEqual([])
    expect(planExpiry(table, { nowMs: NOW, olderThanMs: NOW, retainLast: 9 }).updates).toEqual([])
  })

  it('stops at the first one that is too old, regardless of its ancestors', () => {
    const skewed = { ...line, 1: { age: 0 } }
    expect(expired(history(skewed, { main: at(4) }))).toEqual([1, 2])
  })

  it('follows the table properties', () => {
    const properties = { 'history.expire.max-snapshot-age-ms': '1', 'history.expire.min-snapshots-to-keep': '2' }
    expect(expired(history(line, { main: at(4) }, properties))).toEqual([1, 2])
  })

  it('keeps everything under ages of 2^63-1 ms, of the table or of main', () => {
    const forever = '9223372036854775807'
    const properties = { 'history.expire.max-snapshot-age-ms': forever, 'history.expire.max-ref-age-ms': forever }
    expect(expired(history(line, { main: at(4), t: at(1, 'tag') }, properties))).toEqual([])
    const main = at(4, 'branch', { 'max-snapshot-age-ms': 2n ** 63n - 1n })
    expect(expired(history(line, { main }), { olderThanMs: NOW })).toEqual([])
  })

  it('refuses a negative age, which would expire everything', () => {
    for (const name of ['max-snapshot-age-ms', 'max-ref-age-ms']) {
      const table = history(line, { main: at(4) }, { [`history.expire.${name}`]: '-9223372036854775808' })
      expect(() => expired(table)).toThrow(expect.objectContaining({ code: 'INVALID_METADATA' }))
    }
  })

  it('expires named snapshots in addition to old ones', () => {
    expect(expired(table, { snapshotIds: [3n] })).toEqual([1, 2, 3])
    expect(expired(table, { snapshotIds: [2n], olderThanMs: 0 })).toEqual([2])
  })

  it('refuses snapshots that must not or cannot be expired', () => {
    const refused =
      (request: Partial<Parameters<typeof planExpiry>[1]>, on = table) =>
      () =>
        expired(on, request)
    expect(refused({ snapshotIds: [4n] })).toThrow('Cannot expire 4. Still referenced by refs: [main]')
    expect(refused({ snapshotIds: [4n] })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    expect(refused({ snapshotIds: [77n] })).toThrow(expect.objectContaining({ code: 'NO_SUCH_SNAPSHOT' }))
    for (const retainLast of [0, -1, 1.5]) {
      expect(refused({ retainLast })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    }
    const noGc = history(line, { main: at(4) }, { 'gc.enabled': 'FALSE' })
    expect(refused({}, noGc)).toThrow(expect.objectContaining({ code: 'GC_DISABLED' }))
  })

  it('has nothing to do on a table without snapshots', () => {
    const empty = createTableMetadata({ schema: fixtureSchema, location: 'mem:/t', uuid: 'u', nowMs: 1 })
    expect(planExpiry(empty, { nowMs: NOW }).updates).toEqual([])
  })
})

describe('planExpiry with refs', () => {
  it('keeps the head of a tag, but not its ancestors', () => {
    expect(expired(history(line, { main: at(4), keep: at(2, 'tag') }), { olderThanMs: NOW })).toEqual([1, 3])
  })

  it('keeps a history for every branch', () => {
    const forked = { ...line, 5: { age: 9, parent: 2 }, 6: { age: 8, parent: 5 } }
    const table = history(forked, { main: at(4), side: at(6) })
    expect(expired(table)).toEqual([1, 2, 5])
    expect(expired(table, { retainLast: 2 })).toEqual([1, 2])
    expect(expired(table, { retainLast: 3 })).toEqual([1])
    expect(expired(table, { retainLast: 4 })).toEqual([])
  })

  it('gives retention of a ref precedence over table and request', () => {
    const young = history(line, { main: at(4, 'branch', { 'max-snapshot-age-ms': 15 * DAY }) })
    expect(expired(young, { olderThanMs: NOW })).toEqual([1])
    const many = history(line, { main: at(4, 'branch', { 'min-snapshots-to-keep': 3 }) })
    expect(expired(many, { olderThanMs: NOW, retainLast: 1 })).toEqual([1])
    const few = history(line, { main: at(4, 'branch', { 'min-snapshots-to-keep': 1, 'max-snapshot-age-ms': 1 }) })
    expect(expired(few, { olderThanMs: 0, retainLast: 9 })).toEqual([1, 2, 3])
  })

  it('removes refs that are too old, never main, and then the snapshots that only they kept', () => {
    const refs = {
      main: at(4),
      old: at(2, 'tag', { 'max-ref-age-ms': 9 * DAY }),
      young: at(3, 'tag', { 'max-ref-age-ms': 4 * DAY }),
    }
    const table = history(line, refs)
    const plan = planExpiry(table, { nowMs: NOW, olderThanMs: NOW })
    expect(plan.removedRefs).toEqual(['old'])
    expect(plan.expiredSnapshotIds).toEqual([1n, 2n])
    expect(plan.updates[0]).toEqual({ action: 'remove-snapshot-ref', 'ref-name': 'old' })
    const all = history(
      line,
      { main: at(4, 'branch', { 'max-ref-age-ms': 1 }), t: at(1, 'tag') },
      { 'history.expire.max-ref-age-ms': '1' },
    )
    expect(planExpiry(all, { nowMs: NOW }).removedRefs).toEqual(['t'])
  })

  it('keeps young snapshots that no ref reaches', () => {
    const staged = { ...line, 7: { age: 2, parent: 4 }, 8: { age: 6, parent: 4 } }
    expect(expired(history(staged, { main: at(4) }))).toEqual([1, 2, 8])
    expect(expired(history(staged, { main: at(4) }), { snapshotIds: [7n] })).toEqual([1, 2, 7, 8])
  })

  it('refuses a named snapshot that is the head of a kept ref, but not one whose ref also expires', () => {
    const table = history(line, { main: at(4), a: at(2, 'tag'), b: at(1, 'tag', { 'max-ref-age-ms': DAY }) })
    expect(() => expired(table, { snapshotIds: [2n] })).toThrow('refs: [a]')
    expect(expired(table, { snapshotIds: [1n] })).toEqual([1])
  })

  it('asserts that no ref has moved', () => {
    const table = history(line, { main: at(4), keep: at(2, 'tag') })
    const { requirements } = planExpiry(table, { nowMs: NOW })
    expect(requirements).toContainEqual({ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': 4n })
    expect(requirements).toContainEqual({ type: 'assert-ref-snapshot-id', ref: 'keep', 'snapshot-id': 2n })
  })
})

describe('removed with expired snapshots', () => {
  it('are their statistics', () => {
    const table = history(line, { main: at(4) })
    const stats = (id: number): JsonObject => ({
      'snapshot-id': id,
      'statistics-path': `mem:/t/metadata/${id}.stats`,
      'file-size-in-bytes': 1,
      'file-footer-size-in-bytes': 1,
      'blob-metadata': [],
    })
    const partition = { 'snapshot-id': 2, 'statistics-path': 'mem:/t/metadata/p.parquet', 'file-size-in-bytes': 1 }
    const withStats = tableMetadataFromJson({
      ...table.json,
      statistics: [stats(1), stats(4)],
      'partition-statistics': [partition],
    })
    const plan = planExpiry(withStats, { nowMs: NOW })
    expect(plan.updates).toEqual([
      { action: 'remove-statistics', 'snapshot-id': 1n },
      { action: 'remove-partition-statistics', 'snapshot-id': 2n },
      { action: 'remove-snapshots', 'snapshot-ids': [1n, 2n] },
    ])
    const after = applyUpdates(withStats, plan.updates, { nowMs: NOW })
    expect(after.statistics.map((file) => file.snapshotId)).toEqual([4n])
    expect(after.partitionStatistics).toEqual([])
    expect(after.snapshots.map((snapshot) => snapshot.snapshotId)).toEqual([3n, 4n])
  })

  it('are schemas and specs that nothing uses, if requested', async () => {
    const t = await TableFixture.create({ partitionSpec: byPart })
    const append = async (specId: number): Promise<void> => {
      const files = [await t.dataFile(specId === 0 ? [1] : [], { specId })]
      await t.commit((table) => stageAppend(table, { files, operationId: 'a', now: t.now }))
    }
    await append(0)
    const two = { ...fixtureSchema, fields: fixtureSchema.fields.slice(0, 2) }
    await t.update([
      { action: 'add-schema', schema: schemaToJson(two) },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'add-spec', spec: partitionSpecToJson({ ...unpartitioned, specId: 1 }) },
      { action: 'set-default-spec', 'spec-id': -1 },
    ])
    await append(1)
    const request = { nowMs: t.nowMs, olderThanMs: t.nowMs, cleanExpiredMetadata: true }
    // the old file is still live, and its spec with it
    expect(await planExpiryOf(t.table, request)).toMatchObject({ removedSpecIds: [], removedSchemaIds: [0] })
    // without a look at the files, a column that only the old schema has keeps it
    expect(planExpiry(t.table.metadata, request)).toMatchObject({ removedSpecIds: [], removedSchemaIds: [] })
    // so does a live equality delete on such a column
    const deletes = await t.equalityDeletes([], { specId: 1, equalityIds: [3] })
    const delta = { dataFiles: [], deleteFiles: [deletes], operationId: 'd', now: t.now }
    await t.commit((table) => stageRowDelta(table, delta))
    const later = { ...request, nowMs: t.nowMs, olderThanMs: t.nowMs }
    const plan = await planExpiryOf(t.table, later)
    expect(plan).toMatchObject({ removedSpecIds: [], removedSchemaIds: [] })
    expect(plan.expiredSnapshotIds).toHaveLength(2)
    expect((await planExpiryOf(t.table, { ...later, cleanExpiredMetadata: false })).removedSchemaIds).toEqual([])
  })
})

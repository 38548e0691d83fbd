import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { IcebergError } from '../../../../src/iceberg/errors.ts'
import { isJsonObject } from '../../../../src/iceberg/json/json-fields.ts'
import { stringifyJson } from '../../../../src/iceberg/json/lossless-json.ts'
import type { JsonObject } from '../../../../src/iceberg/json/lossless-json.ts'
import { currentSchema, parseTableMetadata, serializeTableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import { fieldPath, walkFields } from '../../../../src/iceberg/schema/schema.ts'
import { parseTypeText } from '../../../../src/iceberg/schema/type-json.ts'
import { applyUpdates } from '../../../../src/iceberg/update/apply/apply-updates.ts'
import { addColumn, dropColumn, renameColumn } from '../../../../src/iceberg/update/apply/schema-update.ts'
import type { TableUpdate } from '../../../../src/iceberg/update/table-update.ts'
import { snapshot, v1Document, v2Document, v3Document } from '../../metadata/documents.ts'
import { runs } from '../../../support/effort.ts'

/** One thing that somebody does to the table; `pick` chooses among what the table has at that time. */
interface Step {
  readonly kind: 'append' | 'expire' | 'rollback' | 'tag' | 'untag' | 'add' | 'rename' | 'drop' | 'properties'
  readonly pick: number
  readonly id: bigint
  readonly name: string
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'append',
    'append',
    'expire',
    'rollback',
    'tag',
    'untag',
    'add',
    'rename',
    'drop',
    'properties',
  ),
  pick: fc.nat(),
  id: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }),
  name: fc.constantFrom('a', 'b', 'y', 's.c', 's.a', 'S', '__proto__', 'constructor'),
})

function updatesFor(metadata: TableMetadata, { kind, pick, id, name }: Step): readonly TableUpdate[] {
  const chosen = metadata.snapshots[pick % Math.max(1, metadata.snapshots.length)]
  const paths = [...walkFields(currentSchema(metadata))].map(({ path }) => path)
  const path = paths[pick % paths.length] ?? ''
  switch (kind) {
    case 'append':
      return append(metadata, id)
    case 'expire':
      return [{ action: 'remove-snapshots', 'snapshot-ids': chosen ? [chosen.snapshotId] : [] }]
    case 'rollback':
    case 'tag': {
      if (!chosen) return []
      const ref = kind === 'tag' ? { 'ref-name': name, type: 'tag' } : { 'ref-name': 'main', type: 'branch' }
      return [{ action: 'set-snapshot-ref', 'snapshot-id': chosen.snapshotId, ...ref }]
    }
    case 'untag':
      return [{ action: 'remove-snapshot-ref', 'ref-name': name }]
    case 'add':
      return addColumn(metadata, { name, type: parseTypeText(pick % 2 ? 'int' : 'struct<p: int, q: list<int>>') })
        .updates
    case 'rename':
      return renameColumn(metadata, { name: path, newName: name.replace('.', '_') }).updates
    case 'drop':
      return dropColumn(metadata, { name: path }).updates
    case 'properties':
      return [{ action: 'set-properties', updates: { [name]: String(pick) } }]
  }
}

function append(metadata: TableMetadata, id: bigint): readonly TableUpdate[] {
  const { 'sequence-number': _, ...rest } = snapshot(id, 0, metadata.lastUpdatedMs + 1)
  const json: JsonObject = {
    ...rest,
    ...(metadata.formatVersion >= 2 ? { 'sequence-number': metadata.lastSequenceNumber + 1 } : {}),
    ...(metadata.nextRowId === undefined ? {} : { 'first-row-id': metadata.nextRowId, 'added-rows': 3 }),
  }
  return [
    { action: 'add-snapshot', snapshot: json },
    { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id },
  ]
}

/** What must hold between a document and the next one, whatever was done. */
function checkStep(before: TableMetadata, after: TableMetadata): void {
  expect(parseTableMetadata(serializeTableMetadata(after))).toEqual(after)
  expect(after.json['x-top']).toEqual(before.json['x-top'])
  expect(after.formatVersion).toBe(before.formatVersion)
  expect(after.lastUpdatedMs).toBeGreaterThanOrEqual(before.lastUpdatedMs)
  expect(after.lastColumnId).toBeGreaterThanOrEqual(before.lastColumnId)
  expect(after.lastSequenceNumber).toBeGreaterThanOrEqual(before.lastSequenceNumber)
  expect(after.nextRowId ?? 0).toBeGreaterThanOrEqual(before.nextRowId ?? 0)
  expect(after.refs['main']?.snapshotId).toBe(after.currentSnapshotId)
  for (const old of before.schemas)
    expect(after.schemas.find((schema) => schema.schemaId === old.schemaId)).toEqual(old)
  const ids = new Set(after.snapshots.map((entry) => entry.snapshotId))
  const snapshots = Array.isArray(after.json['snapshots']) ? after.json['snapshots'].filter(isJsonObject) : []
  for (const entry of snapshots) expect(Object.hasOwn(entry, 'x-snapshot') || entry['snapshot-id'] === 7).toBe(true)
  for (const ref of Object.values(after.refs)) expect(ids.has(ref.snapshotId)).toBe(true)
  if (ids.size < before.snapshots.length)
    for (const entry of after.snapshotLog) expect(ids.has(entry.snapshotId)).toBe(true)
}

describe('a random history of a table', () => {
  it.each([
    ['1', v1Document()],
    ['2', v2Document()],
    ['3', v3Document()],
  ])('of version %s keeps the document sound', (_, document) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        let metadata = parseTableMetadata(stringifyJson(document))
        const names = new Map<number, Set<string>>()
        for (const [index, next] of steps.entries()) {
          const text = stringifyJson(metadata.json)
          const after = attempt(metadata, next, index)
          expect(stringifyJson(metadata.json)).toBe(text)
          checkStep(metadata, after)
          noteIds(after, names)
          metadata = after
        }
      }),
      { numRuns: runs(150) },
    )
  })
})

/** The table after a step, or as it was when the step is refused; anything but an IcebergError is a bug. */
function attempt(metadata: TableMetadata, next: Step, index: number): TableMetadata {
  try {
    return applyUpdates(metadata, updatesFor(metadata, next), {
      nowMs: 1_700_000_000_000 + index,
      previousMetadataLocation: `v${index}.json`,
    })
  } catch (error) {
    if (error instanceof IcebergError && error.code !== 'INVALID_METADATA') return metadata
    throw error
  }
}

/** An id stands for one column for ever: its type never changes here, and it never comes back after it was dropped. */
function noteIds(metadata: TableMetadata, seen: Map<number, Set<string>>): void {
  for (const schema of metadata.schemas) {
    for (const { field } of walkFields(schema)) {
      const kinds = seen.get(field.id) ?? new Set()
      kinds.add(field.type.kind)
      seen.set(field.id, kinds)
      expect([fieldPath(schema, field.id), kinds.size]).toEqual([fieldPath(schema, field.id), 1])
    }
  }
}

import { describe, expect, it } from 'vitest'

import { isIcebergError } from '../../../../src/iceberg/errors.ts'
import { tableMetadataFromJson } from '../../../../src/iceberg/metadata/metadata.ts'
import { checkRequirements } from '../../../../src/iceberg/update/apply/check-requirements.ts'
import type { TableRequirement } from '../../../../src/iceberg/update/table-update.ts'
import { caught } from '../../../support/caught.ts'
import { firstSnapshotId, secondSnapshotId, v2Document } from '../../metadata/documents.ts'

const metadata = tableMetadataFromJson(v2Document())

const holding: readonly TableRequirement[] = [
  { type: 'assert-table-uuid', uuid: '9C12D441-03fe-4693-9a96-a0705ddf69c1' },
  { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': secondSnapshotId },
  { type: 'assert-ref-snapshot-id', ref: 'audit', 'snapshot-id': firstSnapshotId },
  { type: 'assert-ref-snapshot-id', ref: 'constructor', 'snapshot-id': null },
  { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 5 },
  { type: 'assert-current-schema-id', 'current-schema-id': 1 },
  { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': 1000 },
  { type: 'assert-default-spec-id', 'default-spec-id': 0 },
  { type: 'assert-default-sort-order-id', 'default-sort-order-id': 3 },
]

const broken: readonly (readonly [TableRequirement, RegExp])[] = [
  [{ type: 'assert-create' }, /already exists/],
  [
    { type: 'assert-table-uuid', uuid: 'd20125c8-7284-442c-9aea-15fee620737c' },
    /^IcebergError: Requirement failed: UUID does not match/,
  ],
  [
    { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': secondSnapshotId - 1n },
    /branch or tag main has changed: expected 9223372036854775806/,
  ],
  [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }, /branch or tag main was created concurrently/],
  [{ type: 'assert-ref-snapshot-id', ref: 'gone', 'snapshot-id': 5n }, /branch or tag gone is missing, expected 5/],
  [
    { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 4 },
    /last assigned field id changed: expected 4, found 5/,
  ],
  [{ type: 'assert-current-schema-id', 'current-schema-id': 0 }, /current schema changed/],
  [{ type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': 1 }, /partition id/],
  [{ type: 'assert-default-spec-id', 'default-spec-id': 1 }, /default partition spec changed/],
  [{ type: 'assert-default-sort-order-id', 'default-sort-order-id': 0 }, /sort order/],
]

describe('commit requirements', () => {
  it('pass when they hold', () => {
    expect(() => checkRequirements(metadata, holding)).not.toThrow()
    expect(() => checkRequirements(undefined, [{ type: 'assert-create' }])).not.toThrow()
  })

  it.each(broken)('%# conflict when they do not hold', (requirement, message) => {
    const error = caught(() => checkRequirements(metadata, [...holding, requirement]))
    expect(isIcebergError(error, 'COMMIT_CONFLICT')).toBe(true)
    expect(String(error)).toMatch(message)
  })

  it('conflict when the table no longer exists', () => {
    for (const requirement of holding) {
      expect(
        isIcebergError(
          caught(() => checkRequirements(undefined, [requirement])),
          'COMMIT_CONFLICT',
        ),
      ).toBe(true)
    }
  })

  it('that are unknown never pass', () => {
    const requirement = { type: 'assert-moon-phase' } as unknown as TableRequirement
    expect(
      isIcebergError(
        caught(() => checkRequirements(metadata, [requirement])),
        'UNSUPPORTED',
      ),
    ).toBe(true)
  })
})

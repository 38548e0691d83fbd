import { describe, expect, it } from 'vitest'
import { changeRange } from '../../../src/iceberg/changes/change-range.ts'
import { createTableMetadata } from '../../../src/iceberg/metadata/builder.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import type { Snapshot } from '../../../src/iceberg/metadata/snapshots.ts'

type Given = readonly [id: bigint, parent?: bigint | undefined, summary?: Readonly<Record<string, string>>]

/** Metadata with these snapshots, of which the last is current. */
function history(...given: readonly Given[]): TableMetadata {
  const fresh = createTableMetadata({
    schema: { schemaId: 0, identifierFieldIds: [], fields: [] },
    location: '/t',
    properties: {},
    formatVersion: 2,
    nowMs: 0,
    uuid: '00000000-0000-4000-8000-000000000000',
  })
  const snapshots = given.map(([snapshotId, parentSnapshotId, summary = { operation: 'append' }], at): Snapshot => ({
    snapshotId,
    ...(parentSnapshotId === undefined ? {} : { parentSnapshotId }),
    sequenceNumber: at + 1,
    timestampMs: at,
    summary,
    manifestList: `/t/${snapshotId}.avro`,
  }))
  const current = snapshots.at(-1)?.snapshotId
  return { ...fresh, snapshots, ...(current === undefined ? {} : { currentSnapshotId: current }) }
}

const idsOf = ({ before, snapshots }: ReturnType<typeof changeRange>) => [
  before?.snapshotId,
  snapshots.map(({ snapshotId }) => snapshotId),
]

describe('changeRange', () => {
  const line = history([1n], [2n, 1n], [3n, 2n])

  it('returns the snapshots after the first one, oldest first', () => {
    expect(idsOf(changeRange(line, { from: 1n, to: 3n }))).toEqual([1n, [2n, 3n]])
    expect(idsOf(changeRange(line, { from: 3n, to: 3n }))).toEqual([3n, []])
    expect(idsOf(changeRange(line, {}))).toEqual([2n, [3n]])
    expect(idsOf(changeRange(line, { to: 1n }))).toEqual([undefined, [1n]])
    expect(idsOf(changeRange(history(), {}))).toEqual([undefined, []])
  })

  it('keeps ids of 64 bits exact', () => {
    const wide = history([9_007_199_254_740_993n], [9_007_199_254_740_992n, 9_007_199_254_740_993n])
    expect(idsOf(changeRange(wide, { from: 9_007_199_254_740_993n }))).toEqual([
      9_007_199_254_740_993n,
      [9_007_199_254_740_992n],
    ])
  })

  it.each([
    ['a snapshot that the table never had', line, { from: 7n }, 'NO_SUCH_SNAPSHOT', /no snapshot 7/],
    ['an unknown end', line, { to: 7n }, 'NO_SUCH_SNAPSHOT', /no snapshot 7/],
    ['a table without snapshots', history(), { from: 1n }, 'NO_SUCH_SNAPSHOT', /no snapshot 1/],
    ['the wrong order', line, { from: 3n, to: 2n }, 'NOT_AN_ANCESTOR', /newer than snapshot 2: exchange/],
    [
      'a snapshot that was rolled back',
      history([1n], [2n, 1n], [3n, 1n]),
      { from: 2n },
      'NOT_AN_ANCESTOR',
      /rolled back, or they are on different branches/,
    ],
    [
      'an expired start',
      history([2n, 1n], [3n, 2n]),
      { from: 1n },
      'NOT_AN_ANCESTOR',
      /snapshot 1 has expired.*snapshot 2/,
    ],
    [
      'an expired parent',
      history([2n, 1n]),
      {},
      'NOT_AN_ANCESTOR',
      /snapshot 1, the parent of snapshot 2, has expired/,
    ],
    [
      'a snapshot between that expired',
      history([1n], [3n, 2n], [4n, 3n]),
      { from: 1n },
      'NOT_AN_ANCESTOR',
      /because snapshot 2 before snapshot 3 has expired/,
    ],
    [
      'a first snapshot whose parent id was removed with its parent',
      history([2n, undefined, { operation: 'append', 'total-data-files': '5', 'added-data-files': '1' }]),
      {},
      'NOT_AN_ANCESTOR',
      /the snapshot before snapshot 2 has expired/,
    ],
    ['parents in a circle', history([1n, 2n], [2n, 1n]), { from: 3n }, 'NO_SUCH_SNAPSHOT', /no snapshot 3/],
    ['a snapshot that is its own parent', history([1n, 1n]), {}, 'NOT_AN_ANCESTOR', /the parent of snapshot 1/],
  ])('refuses %s', (_, metadata, request, code, message) => {
    const refused = expect(() => changeRange(metadata, request))
    refused.toThrow(expect.objectContaining({ code }))
    refused.toThrow(message)
  })
})

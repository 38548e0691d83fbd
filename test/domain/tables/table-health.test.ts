import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recommend } from '../../../src/domain/tables/health-advice.ts'
import { measurePartitions, scoreTable, SizeHistogram } from '../../../src/domain/tables/table-health.ts'
import { formatBytes, plural } from '../../../src/lib/text.ts'
import type { PartitionFacts, TableHealthFacts } from '../../../src/domain/tables/table-health.ts'

const MIB = 1024 * 1024
const TARGET = 512 * MIB

function partition(label: string, smallFiles: number, more: Partial<PartitionFacts> = {}): PartitionFacts {
  const bytes = smallFiles * MIB
  return { label, files: smallFiles, bytes, smallFiles, smallBytes: bytes, deleteFiles: 0, ...more }
}

function facts(partitions: readonly PartitionFacts[], more: Partial<TableHealthFacts> = {}): TableHealthFacts {
  const files = partitions.reduce((total, part) => total + part.files, 0)
  const bytes = partitions.reduce((total, part) => total + part.bytes, 0)
  return {
    snapshotCount: 1,
    dataFiles: { count: files, bytes, records: files * 1000 },
    smallFileCount: partitions.reduce((total, part) => total + part.smallFiles, 0),
    positionDeletes: { count: 0, bytes: 0, records: 0 },
    equalityDeletes: { count: 0, bytes: 0, records: 0 },
    deletionVectors: { count: 0, bytes: 0, records: 0 },
    manifestCount: 1,
    manifestBytes: 10_000,
    partitionCount: partitions.length,
    partitions: measurePartitions(partitions, TARGET),
    histogram: [],
    targetFileSizeBytes: TARGET,
    smallFileThresholdBytes: TARGET * 0.75,
    ...more,
  }
}

function penalty(of: TableHealthFacts, name: string): number {
  return scoreTable(of).factors.find((factor) => factor.name === name)?.penalty ?? Number.NaN
}

const healthyParts = (count: number): PartitionFacts[] =>
  Array.from({ length: count }, (_, at) => partition(`day=${at}`, 0, { files: 4, bytes: 4 * TARGET }))

describe('the score', () => {
  it('is 100 for an empty table, a healthy table, and a tiny table', () => {
    expect(scoreTable(facts([])).score).toBe(100)
    expect(scoreTable(facts(healthyParts(20))).score).toBe(100)
    expect(scoreTable(facts([partition('', 4)])).score).toBe(100)
    expect(scoreTable(facts([partition('', 5)])).score).toBeGreaterThan(95)
  })

  it('falls to 60 for small files alone, as documented', () => {
    expect(scoreTable(facts([partition('', 1000)])).score).toBe(60)
    // 49 excess files of 50: weight 49/50 × 0.98
    expect(penalty(facts([partition('', 50)]), 'small_files')).toBeCloseTo(40 * 0.98 * 0.98, 1)
  })

  it('loses at most 10 points for overlaps, and none for few files or what a layout cannot reduce', () => {
    const overlap = { kind: 'sort', columns: ['a'], files: 100, others: 99, overlaps: 99, overlapsAfter: 2 } as const
    const penaltyOf = (more: Partial<NonNullable<TableHealthFacts['overlap']>>): number =>
      penalty(facts(healthyParts(20), { overlap: { ...overlap, ...more } }), 'overlap')
    expect(penaltyOf({})).toBeCloseTo(9.8)
    expect(penaltyOf({ files: 5, others: 4, overlaps: 4, overlapsAfter: 2 })).toBe(0)
    expect(penaltyOf({ overlaps: 40, overlapsAfter: 40 })).toBe(0)
    expect(penaltyOf({ files: 0, others: 0, overlaps: 0, overlapsAfter: 0 })).toBe(0)
    expect(penalty(facts(healthyParts(20)), 'overlap')).toBeNaN()
  })

  it('shows one bad partition even if the rest is healthy', () => {
    const bad = facts([...healthyParts(500), partition('day=bad', 60)])
    const { score, factors } = scoreTable(bad)
    expect(score).toBeLessThanOrEqual(84)
    expect(factors[0]?.detail).toContain('day=bad (60)')
  })

  it.each([
    ['positionDeletes', 0.1, 15],
    ['positionDeletes', 0.2, 30],
    ['deletionVectors', 0.5, 30],
    ['equalityDeletes', 0.05, 15],
    ['equalityDeletes', 0.1, 30],
  ] as const)('takes points for %s of %d of the records', (kind, share, points) => {
    const records = 80_000
    const deletes = { count: 1, bytes: 10, records: records * share }
    expect(penalty(facts(healthyParts(20), { [kind]: deletes }), 'deletes')).toBeCloseTo(points, 1)
  })

  it('takes points for many delete files, but not from a tiny table', () => {
    const deletes = (count: number) => ({ positionDeletes: { count, bytes: 10, records: 0 } })
    expect(penalty(facts(healthyParts(20), deletes(40)), 'deletes')).toBe(0)
    expect(penalty(facts(healthyParts(20), deletes(160)), 'deletes')).toBe(30)
    expect(penalty(facts([partition('', 1)], deletes(2)), 'deletes')).toBeLessThan(8)
  })

  it('takes points for snapshots, manifests and skew between their limits', () => {
    const parts = healthyParts(20)
    expect(penalty(facts(parts, { snapshotCount: 100 }), 'snapshots')).toBe(0)
    expect(penalty(facts(parts, { snapshotCount: 550 }), 'snapshots')).toBe(7.5)
    expect(penalty(facts(parts, { snapshotCount: 5000 }), 'snapshots')).toBe(15)
    expect(penalty(facts(parts, { manifestCount: 101 }), 'manifests')).toBe(0)
    expect(penalty(facts(parts, { manifestCount: 700 }), 'manifests')).toBe(10)
    expect(penalty(facts(parts, { manifestCount: 700, manifestBytes: 700 * 8 * MIB }), 'manifests')).toBe(0)
    const skewed = [...parts, partition('day=big', 0, { files: 1000, bytes: 1000 * TARGET })]
    expect(penalty(facts(skewed), 'skew')).toBeCloseTo((5 * (1000 / (1080 / 21) - 4)) / 16, 1)
  })

  it('is always a whole number from 0 to 100 that its factors add up to', () => {
    const part = fc.record({
      label: fc.string(),
      files: fc.nat(5000),
      bytes: fc.nat(),
      smallFiles: fc.nat(5000),
      smallBytes: fc.nat(),
      deleteFiles: fc.nat(10),
    })
    const totals = fc.record({ count: fc.nat(5000), bytes: fc.nat(), records: fc.nat() })
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 10 }),
        fc.record({ positionDeletes: totals, equalityDeletes: totals, deletionVectors: totals, dataFiles: totals }),
        fc.nat(10_000),
        fc.nat(10_000),
        (parts, kinds, snapshotCount, manifestCount) => {
          const { score, factors } = scoreTable(facts(parts, { ...kinds, snapshotCount, manifestCount }))
          expect(Number.isInteger(score) && score >= 0 && score <= 100).toBe(true)
          const lost = factors.reduce((total, factor) => total + factor.penalty, 0)
          expect(Math.abs(100 - lost - score)).toBeLessThanOrEqual(0.51)
          for (const factor of factors) {
            expect(factor.penalty).toBeGreaterThanOrEqual(0)
            expect(factor.penalty).toBeLessThanOrEqual(factor.max_penalty)
          }
        },
      ),
    )
  })
})

describe('partitions', () => {
  it('count as excess what merging their small files would save', () => {
    expect(measurePartitions([partition('a', 5)], TARGET)).toMatchObject({ excessFiles: 4, worst: { label: 'a' } })
    expect(measurePartitions([partition('a', 4)], TARGET)).toEqual({ excessFiles: 0, largest: partition('a', 4) })
    const large = partition('b', 3, { smallBytes: 3 * 300 * MIB })
    expect(measurePartitions([large], TARGET).excessFiles).toBe(1) // 900 MiB are 2 files
    expect(measurePartitions([], TARGET)).toEqual({ excessFiles: 0 })
  })
})

describe('the histogram', () => {
  it('counts each size into one range, bounds below included', () => {
    const histogram = new SizeHistogram()
    histogram.add([0, MIB - 1, MIB, 8 * MIB, 127 * MIB, 512 * MIB, 5000 * MIB])
    expect(
      histogram.ranges().map(({ fromBytes, toBytes, files }) => [fromBytes / MIB, (toBytes ?? 0) / MIB, files]),
    ).toEqual([
      [0, 1, 2],
      [1, 8, 1],
      [8, 32, 1],
      [32, 128, 1],
      [128, 512, 0],
      [512, 0, 2],
    ])
  })
})

describe('texts', () => {
  it('format sizes and counts', () => {
    expect([0, 1, 1023, 1024, 1536, 384 * MIB, 5.5 * 1024 * MIB].map(formatBytes)).toEqual([
      '0 bytes',
      '1 byte',
      '1023 bytes',
      '1 KiB',
      '1.5 KiB',
      '384 MiB',
      '5.5 GiB',
    ])
    expect([plural(1, 'file'), plural(0, 'file'), plural(1_234_567, 'file')]).toEqual([
      '1 file',
      '0 files',
      '1,234,567 files',
    ])
  })

  it('give advice with figures, and say clearly when nothing needs to be done', () => {
    const healthy = facts([partition('', 3)])
    expect(recommend(healthy, scoreTable(healthy), {})).toBe(
      'Nothing to do (score 100): 3 data files, 3 MiB in total. 3 of them are under 384 MiB, too few in each partition for a rewrite.',
    )
    const sick = facts([partition('day=1', 1295), partition('day=2', 5, { smallFiles: 0, smallBytes: 0 })])
    const compaction = {
      rewrittenFiles: 1295,
      addedFiles: 3,
      rewrittenBytes: 1295 * MIB,
      removedDeleteFiles: 0,
      scoreAfter: 100,
    }
    expect(recommend(sick, scoreTable(sick), { compaction })).toBe(
      'Score 60: 1,295 of 1,300 data files (100 %) are under 384 MiB, 1 MiB on average. ' +
        'Compact: 1,295 data files (1.3 GiB) become 3; the score would be 100; the worst partition is day=1 with 1,295 small files.',
    )
    expect(recommend(sick, scoreTable(sick), { compactionRefused: 'it is encrypted' })).toContain(
      'Compaction is not possible: it is encrypted.',
    )
    expect(recommend(facts([]), scoreTable(facts([])), {})).toBe('The table has no data files; nothing to do.')
  })
})

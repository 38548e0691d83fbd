import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SimulatedLake } from './simulated-lake.ts'
import { LONG } from '../../support/effort.ts'

const keys = fc.array(fc.nat(11), { minLength: 1, maxLength: 6 })
/** Mostly the partitioned spec. */
const spec = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) })

const picks = fc.nat(65_535)

type Step = (lake: SimulatedLake) => Promise<void>

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(keys, spec).map(
      ([k, s]): Step =>
        (lake) =>
          lake.append(k, s),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(keys, spec).map(
      ([k, s]): Step =>
        (lake) =>
          lake.upsert([...new Set(k)], s),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(20), fc.boolean()).map(
      ([n, b]): Step =>
        (lake) =>
          lake.deletePositions(n, b),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(picks, spec).map(
      ([n, s]): Step =>
        (lake) =>
          lake.startRewrite(n, s),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.nat(5).map(
      (n): Step =>
        (lake) =>
          lake.finishRewrite(n),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(picks, spec).map(
      ([n, s]): Step =>
        (lake) =>
          lake.rewriteNow(n, s),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(3).map(
      (n): Step =>
        (lake) =>
          lake.addRef(`ref-${n}`, n % 2 === 0 ? 'tag' : 'branch'),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat(8), fc.integer({ min: 1, max: 3 })).map(
      ([a, n]): Step =>
        (lake) =>
          lake.expire(a, n),
    ),
  },
)

describe.each([2, 3] as const)('random histories of a version %d table', (formatVersion) => {
  it('never lose, change or bring back a row', LONG, async () => {
    const sum = { committed: 0, conflicts: 0, expired: 0, deletedFiles: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
        const lake = await SimulatedLake.create(formatVersion)
        for (const run of steps) await run(lake)
        sum.committed += lake.outcomes.committed
        sum.conflicts += lake.outcomes.conflicts
        sum.expired += lake.outcomes.expired
        sum.deletedFiles += lake.outcomes.deletedFiles
      }),
      { numRuns: Number(process.env['HISTORY_RUNS'] ?? 60) },
    )
    // the histories must have met what they are about
    expect(sum.committed).toBeGreaterThan(5)
    expect(sum.conflicts).toBeGreaterThan(5)
    expect(sum.expired).toBeGreaterThan(5)
    expect(sum.deletedFiles).toBeGreaterThan(5)
  })
})

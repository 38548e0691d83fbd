import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runConversion } from '../../../src/maintenance/delete-conversion/convert-deletes.ts'
import { everyNth } from '../../support/effort.ts'
import type { ModelLake } from '../compaction/model-lake.ts'
import { failEachCall } from '../fault-loop.ts'
import type { Faults } from '../faults.ts'
import { TABLE } from '../memory-table.ts'
import { Workshop } from '../real-lake.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** A run that is not whole fails only each n-th call. */
const STEP = 19
const ENGINE_CALLS = ['convertEqualityDeletes']
describe.each([2, 3] as const)('a conversion of equality deletes in a version %i table', (formatVersion) => {
  it('loses no row and leaves no file when any of its calls fails', async () => {
    const failed = await failEachCall({
      shop,
      formatVersion,
      step: STEP,
      prepare: async (lake, random) => {
        for (let n = 0; n < 3; n += 1) {
          await lake.append(random, 4)
          await lake.upsert(random)
        }
      },
      operate: convert,
    })
    expect(failed).toBeGreaterThan(Math.floor(30 / everyNth(STEP)))
  }, 900_000)
})

/** A conversion in two groups that plans again, because a searched data file is replaced. */
async function convert(lake: ModelLake, faults: Faults): Promise<void> {
  const random = (below: number): number => below >> 1
  let staged = 0
  await runConversion({
    catalog: lake.catalog,
    engine: faults.wrap(shop.engine, ENGINE_CALLS),
    identifier: TABLE,
    request: {},
    limits: { bytes: 1, rows: 1, pairs: 1 },
    operationId: 'op',
    hooks: {
      async onStaged() {
        staged += 1
        if (staged === 1) await faults.pause(() => lake.overwrite(random))
      },
    },
  })
}

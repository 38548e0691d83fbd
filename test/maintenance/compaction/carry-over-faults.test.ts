import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { everyNth } from '../../support/effort.ts'
import { failEachCall } from '../fault-loop.ts'
import type { Faults } from '../faults.ts'
import { TABLE } from '../memory-table.ts'
import { Workshop } from '../real-lake.ts'
import type { ModelLake } from './model-lake.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** A run that is not whole fails only each n-th call. */
const STEP = 9
const ENGINE_CALLS = ['rewrite', 'openRowIndex', 'locate', 'writePositionDeletes']
describe.each([2, 3] as const)('a compaction of a version %i table that carries deletes over', (formatVersion) => {
  it('loses no row and leaves no file when any of its calls fails', async () => {
    const failed = await failEachCall({
      shop,
      formatVersion,
      step: STEP,
      prepare: async (lake, random) => {
        for (let n = 0; n < 3; n += 1) await lake.append(random, 4)
      },
      operate: compact,
    })
    expect(failed).toBeGreaterThan(40 / everyNth(STEP))
  }, 900_000)
})

/** A compaction that carries deletes over twice. */
async function compact(lake: ModelLake, faults: Faults): Promise<void> {
  const random = (below: number): number => below >> 1
  const { engine: inner } = shop
  const engine = overriddenEngine(inner, {
    async rewrite(task, options) {
      const result = await inner.rewrite(task, options)
      await faults.pause(() => lake.delete(random, 2))
      return result
    },
    openRowIndex: async (task, options) => faults.wrap(await inner.openRowIndex(task, options), ENGINE_CALLS),
  })
  let staged = 0
  await runCompaction({
    catalog: lake.catalog,
    engine: faults.wrap(engine, ENGINE_CALLS),
    identifier: TABLE,
    request: { rewrite_all: true },
    operationId: 'op',
    hooks: {
      async onStaged() {
        staged += 1
        if (staged === 1) await faults.pause(() => lake.update(random, 1))
      },
    },
  })
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { everyNth } from '../../support/effort.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'
import { failEachCall } from '../fault-loop.ts'
import type { Faults } from '../faults.ts'
import { TABLE } from '../memory-table.ts'
import { Workshop } from '../real-lake.ts'
import type { ModelLake } from './model-lake.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

const ENGINE_CALLS = ['copyRowGroups', 'rewrite', 'openRowIndex', 'locate', 'writePositionDeletes']

describe('a compaction that copies row groups', () => {
  it.each([
    ['alone', false, 2],
    ['alone in version 3', false, 3],
    ['while another writer deletes rows', true, 2],
  ] as const)(
    'loses no row and leaves no file when any of its calls fails, %s',
    async (_, isDeleting, formatVersion) => {
      let copies = 0
      const step = isDeleting ? 14 : 8
      const failed = await failEachCall({
        shop,
        formatVersion,
        step,
        prepare: async (lake, random) => {
          for (let n = 0; n < 3; n += 1) await lake.append(random, 4)
        },
        operate: async (lake, faults) => {
          copies += await compact(lake, faults, isDeleting)
        },
      })
      expect(failed).toBeGreaterThan(20 / everyNth(step))
      expect(copies).toBeGreaterThan(0)
    },
    900_000,
  )
})

/** Returns how many copies succeeded. */
async function compact(lake: ModelLake, faults: Faults, isDeleting: boolean): Promise<number> {
  let copies = 0
  const { engine: inner } = shop
  const engine = overriddenEngine(inner, {
    async copyRowGroups(task, options) {
      const copy = await inner.copyRowGroups(task, options)
      if (copy.kind === 'copied') copies += 1
      if (isDeleting) await faults.pause(() => lake.delete((below) => below >> 1, 2))
      return copy
    },
    openRowIndex: async (task, options) => faults.wrap(await inner.openRowIndex(task, options), ENGINE_CALLS),
  })
  await runCompaction({
    catalog: lake.catalog,
    engine: faults.wrap(engine, ENGINE_CALLS),
    identifier: TABLE,
    request: { min_row_group_size_bytes: 0, min_input_files: 2 },
    operationId: 'op',
  })
  return copies
}

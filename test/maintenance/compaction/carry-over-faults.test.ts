import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { isLongRun } from '../../support/effort.ts'
import { Faults } from '../faults.ts'
import { TABLE } from '../memory-table.ts'
import { Workshop } from '../real-lake.ts'
import { ModelLake } from './model-lake.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** Deletions may leave orphan files behind, so they do not fail here. */
const FILE_CALLS = ['read', 'readRange', 'create', 'write', 'stat', 'moveIn']
const CATALOG_CALLS = ['loadTable', 'locateTable', 'commit']
const ENGINE_CALLS = ['rewrite', 'openRowIndex', 'locate', 'writePositionDeletes']
/** A short run fails only each n-th call. */
const STEP = isLongRun ? 1 : 9

describe.each([2, 3] as const)('a compaction of a version %i table that carries deletes over', (formatVersion) => {
  it('loses no row and leaves no file when any of its calls fails', async () => {
    let failed = 0
    for (let failing = 1; ; failing += STEP) {
      const faults = new Faults()
      const lake = await ModelLake.create(shop, {
        formatVersion,
        wrapIo: (io) => faults.wrap(io, FILE_CALLS),
        wrapCatalog: (catalog) => faults.wrap(catalog, CATALOG_CALLS),
      })
      const random = (below: number): number => (failing * 7) % below
      for (let n = 0; n < 3; n += 1) await lake.append(random, 4)
      const { hit, error } = await faults.run(failing, () => compact(lake, faults))
      const hint = `call ${failing} failed`
      expect(await lake.differences(), hint).toEqual([])
      // files of a commit with an unknown outcome stay
      if (!isIcebergError(error, 'COMMIT_STATE_UNKNOWN')) {
        const ours = (await lake.list()).filter((file) => file.includes('/op-'))
        expect(await findUnreachable(await lake.load(), ours), hint).toEqual([])
      }
      if (!hit) {
        expect(error).toBeUndefined()
        break
      }
      if (error !== undefined) failed += 1
    }
    expect(failed).toBeGreaterThan(isLongRun ? 40 : 4)
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

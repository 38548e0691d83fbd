import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { runConversion } from '../../../src/maintenance/delete-conversion/convert-deletes.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { isLongRun } from '../../support/effort.ts'
import { ModelLake } from '../compaction/model-lake.ts'
import { Faults } from '../faults.ts'
import { TABLE } from '../memory-table.ts'
import { Workshop } from '../real-lake.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** Deletions may leave orphan files behind, so they do not fail here. */
const FILE_CALLS = ['read', 'readRange', 'create', 'write', 'stat', 'moveIn']
const CATALOG_CALLS = ['loadTable', 'locateTable', 'commit']
const ENGINE_CALLS = ['convertEqualityDeletes']
/** A short run fails only each n-th call. */
const STEP = isLongRun ? 1 : 19

describe.each([2, 3] as const)('a conversion of equality deletes in a version %i table', (formatVersion) => {
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
      for (let n = 0; n < 3; n += 1) {
        await lake.append(random, 4)
        await lake.upsert(random)
      }
      const { hit, error } = await faults.run(failing, () => convert(lake, faults))
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
    expect(failed).toBeGreaterThan(isLongRun ? 40 : 1)
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

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { runDeleteRewrite } from '../../../src/maintenance/position-deletes/rewrite-position-deletes.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { runs } from '../../support/effort.ts'
import type { ModelLake, Random } from '../compaction/model-lake.ts'
import { createRandom, createRandomLake, writeRandomly } from '../compaction/random-writers.ts'
import { TABLE } from '../memory-table.ts'
import { Workshop } from '../real-lake.ts'

const CASES = Number(process.env['DELETES_CASES'] ?? runs(120, 8))
const SEED = Number(process.env['DELETES_SEED'] ?? 41_000)

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** Merges all position deletes while a writer commits before some of the attempts; how many files were merged. */
async function mergeAmongWriters(lake: ModelLake, random: Random): Promise<number> {
  let budget = random(4)
  try {
    const details = await runDeleteRewrite({
      catalog: lake.catalog,
      engine: shop.engine,
      identifier: TABLE,
      request: random(2) === 0 ? { rewrite_all: true } : { min_input_files: 2 },
      operationId: 'op',
      hooks: {
        async onStaged() {
          if (budget === 0) return
          budget -= 1
          await writeRandomly(lake, random)
        },
      },
    })
    return details.rewritten_delete_files_count
  } catch (error) {
    if (!isIcebergError(error, 'COMMIT_CONFLICT')) throw error
    return 0
  }
}

describe('a rewrite of position deletes among random writers', () => {
  it('keeps every row of a table with random deletes, partitions and concurrent changes', async () => {
    let merged = 0
    for (let number = 0; number < CASES; number += 1) {
      const random = createRandom(SEED + number)
      const lake = await createRandomLake(shop, random, 2)
      for (let n = 0; n < 3 + random(5); n += 1) await writeRandomly(lake, random)
      merged += await mergeAmongWriters(lake, random)
      const hint = `DELETES_SEED=${SEED + number} DELETES_CASES=1`
      expect(await lake.differences(), hint).toEqual([])
      const ours = (await lake.list()).filter((file) => file.includes('/op-'))
      expect(await findUnreachable(await lake.load(), ours), hint).toEqual([])
    }
    expect(merged).toBeGreaterThan(CASES)
  }, 900_000)
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { isDeletionVector } from '../../../src/iceberg/puffin/deletion-vector.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { runConversion } from '../../../src/maintenance/delete-conversion/convert-deletes.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { runs } from '../../support/effort.ts'
import type { ModelLake, Random } from '../compaction/model-lake.ts'
import { createRandom, createRandomLake, writeRandomly } from '../compaction/random-writers.ts'
import { TABLE } from '../memory-table.ts'
import { Workshop } from '../real-lake.ts'

const CASES = Number(process.env['DELETES_CASES'] ?? runs(120, 8))
const SEED = Number(process.env['DELETES_SEED'] ?? 52_000)

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** Converts while a writer commits before some of the attempts; how many rows were deleted by position, undefined after conflicts. */
async function convertAmongWriters(lake: ModelLake, random: Random, operationId = 'op-1'): Promise<number | undefined> {
  let budget = random(4)
  // groups of one file, or of all
  const limits = random(2) === 0 ? { bytes: 1, rows: 1, pairs: 1 } : undefined
  try {
    const { converted_rows_count: rows = 0 } = await runConversion({
      catalog: lake.catalog,
      engine: shop.engine,
      identifier: TABLE,
      request: {},
      operationId,
      ...(limits === undefined ? {} : { limits }),
      hooks: {
        async onStaged() {
          if (budget === 0) return
          budget -= 1
          await writeRandomly(lake, random)
        },
      },
    })
    return rows
  } catch (error) {
    if (!isIcebergError(error, 'COMMIT_CONFLICT')) throw error
    return undefined
  }
}

/** Equality deletes and vectors of the table; fails when a data file has two vectors. */
async function countDeletes(lake: ModelLake): Promise<{ readonly equality: number; readonly vectors: number }> {
  const tasks = await planFiles(await lake.load())
  const deletes = tasks.flatMap((task) => task.deletes.map(({ file }) => file))
  return {
    equality: new Set(deletes.filter((file) => file.content === 'equality-deletes')).size,
    vectors: deletes.filter(isDeletionVector).length,
  }
}

describe('a conversion of equality deletes among random writers', () => {
  it('keeps every row of a table with random deletes, partitions and concurrent changes', async () => {
    let [rows, done] = [0, 0]
    for (let number = 0; number < CASES; number += 1) {
      const random = createRandom(SEED + number)
      const lake = await createRandomLake(shop, random)
      for (let n = 0; n < 2 + random(4); n += 1) {
        await (random(2) === 0 ? lake.upsert(random) : writeRandomly(lake, random))
      }
      const deleted = await convertAmongWriters(lake, random)
      const hint = `DELETES_SEED=${SEED + number} DELETES_CASES=1`
      expect(await lake.differences(), hint).toEqual([])
      const ours = (await lake.list()).filter((file) => file.includes('/op-'))
      expect(await findUnreachable(await lake.load(), ours), hint).toEqual([])
      if (deleted === undefined) continue
      rows += deleted
      done += 1
      // without concurrent changes nothing is left
      await convertAmongWriters(lake, () => 0, 'op-2')
      expect(await lake.differences(), hint).toEqual([])
      expect((await countDeletes(lake)).equality, hint).toBe(0)
    }
    expect(rows).toBeGreaterThan(CASES)
    expect(done).toBeGreaterThan(CASES / 2)
  }, 900_000)
})

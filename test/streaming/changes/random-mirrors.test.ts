import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import type { TableIdentifier } from '../../../src/iceberg/metadata/table.ts'
import { createRandom } from '../../maintenance/compaction/random-writers.ts'
import type { Random } from '../../maintenance/compaction/model-lake.ts'
import { TABLE } from '../../maintenance/memory-table.ts'
import { RealLake, Workshop } from '../../maintenance/real-lake.ts'
import { runs } from '../../support/effort.ts'
import { createMirror, drain, openMirror, rowIdsOf, rowsOf } from './mirror-lab.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

const FIRST: TableIdentifier = { namespace: ['ns'], name: 'first' }
const SECOND: TableIdentifier = { namespace: ['ns'], name: 'second' }
const REGIONS = ['eu', 'us', null]

async function writeRandomly(lake: RealLake, random: Random): Promise<void> {
  const region = REGIONS[random(3)] ?? null
  const ids = [...lake.rows.keys()].filter(() => random(3) === 0)
  switch (random(7)) {
    case 0:
    case 1:
      return lake.append(1 + random(6), region)
    case 2:
      return lake.deletePositions(random(5), 1 + random(3))
    case 3:
      return lake.upsert(ids)
    case 4:
    case 5:
      return lake.move(ids, region)
    default:
      return compact(lake, TABLE)
  }
}

async function compact(lake: RealLake, identifier: TableIdentifier): Promise<void> {
  const request = { min_input_files: 2, delete_file_threshold: 1 }
  const operationId = `op-${crypto.randomUUID()}`
  await runCompaction({ catalog: lake.catalog, identifier, engine: shop.engine, request, operationId })
}

describe('mirrors of random histories', () => {
  const seeds = Array.from({ length: runs(24) }, (_, at) => at + 1)

  it.each(seeds)('have the rows of their source, each key once, with seed %i', async (seed) => {
    const random = createRandom(seed)
    const lake = await RealLake.create(shop, {
      formatVersion: seed % 2 === 0 ? 2 : 3,
      partitioned: random(2) === 0,
      properties: random(2) === 0 ? { 'write.delete.granularity': 'file' } : {},
    })
    await lake.append(5, 'eu')
    const links = [
      { source: TABLE, sink: FIRST },
      { source: FIRST, sink: SECOND },
    ]
    for (const link of links) await createMirror(lake, link)
    let sessions = await Promise.all(links.map((link) => openMirror(lake, link)))
    for (let round = 0; round < 5; round += 1) {
      const before = seed % 2 === 1 ? await rowIdsOf(lake, FIRST) : new Map<number, number>()
      for (let n = random(4); n >= 0; n -= 1) await writeRandomly(lake, random)
      if (random(4) === 0) await compact(lake, FIRST)
      if (random(3) === 0) sessions = await Promise.all(links.map((link) => openMirror(lake, link)))
      for (const session of sessions) await drain(session)
      for (const { sink } of links) expect(await rowsOf(lake, sink)).toEqual(lake.expected())
      if (seed % 2 === 1) {
        const after = await rowIdsOf(lake, FIRST)
        expect(new Set(after.values()).size).toBe(after.size)
        const kept = [...before].filter(([id]) => after.has(id))
        expect(kept.map(([id]) => after.get(id))).toEqual(kept.map(([, rowId]) => rowId))
      }
    }
  })
})

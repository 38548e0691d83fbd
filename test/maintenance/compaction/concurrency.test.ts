import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { runExpiry } from '../../../src/maintenance/expiry/expire.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { TABLE } from '../memory-table.ts'
import { RealLake, Workshop } from '../real-lake.ts'
import { runs } from '../../support/effort.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

/** Rounds per format version; each is a compaction with concurrent writers. */
const ROUNDS = Number(process.env['COMPACTION_ROUNDS'] ?? runs(10, 2))
const SEED = Number(process.env['COMPACTION_SEED'] ?? 20_241_105)

let shop: Workshop

beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

describe('a compaction with concurrent writers', () => {
  it.each([
    [2, true],
    [2, false],
    [3, true],
  ] as const)(
    'v%i, partitioned %s: the rows are correct in any order of commits',
    async (formatVersion, partitioned) => {
      const lake = await RealLake.create(shop, { formatVersion, partitioned })
      const random = createRandom(SEED + formatVersion)
      const outcomes = { committed: 0, conflicts: 0, severalCommits: 0 }
      for (let round = 0; round < ROUNDS; round += 1) {
        for (let op = 0; op < 4; op += 1) await write(lake, random)
        await compactAmongWriters(lake, random, { round, outcomes })
        expect(await lake.read(), `seed ${SEED}, round ${round}`).toEqual(lake.expected())
        await expectFilesThere(lake)
      }
      expect(outcomes.committed).toBeGreaterThan(ROUNDS / 2)
      if (ROUNDS >= 10) expect(outcomes.severalCommits + outcomes.conflicts).toBeGreaterThan(0)
    },
    600_000,
  )
})

type Random = (below: number) => number

interface RoundContext {
  readonly round: number
  readonly outcomes: { committed: number; conflicts: number; severalCommits: number }
}

/** Writers run during the rewrite of groups, after it, and while the new metadata file waits for its swap. */
async function compactAmongWriters(lake: RealLake, random: Random, { round, outcomes }: RoundContext): Promise<void> {
  const operationId = `op-${round}`
  let budget = random(4)
  const disturb = async (): Promise<void> => {
    if (budget === 0 || random(2) === 0) return
    budget -= 1
    if (random(6) === 0) await expire(lake, random)
    else await write(lake, random)
  }
  const engine = overriddenEngine(shop.engine, {
    async rewrite(task, options) {
      await disturb()
      const result = await shop.engine.rewrite(task, options)
      await disturb()
      return result
    },
  })
  const request = {
    min_input_files: 2,
    max_concurrent_file_group_rewrites: 1,
    partial_progress: random(3) === 0,
    ...(random(2) === 0 && { delete_file_threshold: 1 }),
    ...(random(3) === 0 && { max_file_group_input_files: 3 }),
  }
  try {
    const details = await runCompaction({
      catalog: lake.catalog,
      engine,
      identifier: TABLE,
      request,
      operationId,
      hooks: { onStaged: disturb },
    })
    if (details.commits_count > 0) outcomes.committed += 1
    if (details.commits_count > 1) outcomes.severalCommits += 1
  } catch (error) {
    if (!isIcebergError(error, 'COMMIT_CONFLICT')) throw error
    outcomes.conflicts += 1
  }
  const ours = (await lake.list()).filter((file) => file.includes(`/${operationId}-`))
  expect(await findUnreachable(await lake.load(), ours), `leftovers of round ${round}`).toEqual([])
}

async function write(lake: RealLake, random: Random): Promise<void> {
  const region = (['eu', 'us', null] as const)[random(3)] ?? null
  const kind = random(5)
  const ids = [...lake.rows.keys()]
  if (kind <= 1 || ids.length === 0) return lake.append(1 + random(6), region)
  if (kind === 2) return lake.deletePositions(random(100), 1 + random(3))
  const picked = Array.from({ length: 1 + random(4) }, () => ids[random(ids.length)] ?? 0)
  return lake.upsert([...new Set(picked)])
}

async function expire(lake: RealLake, random: Random): Promise<void> {
  const nowMs = Date.now() + 10 * 86_400_000
  await runExpiry({ catalog: lake.catalog, identifier: TABLE, request: { retain_last: 1 + random(4) }, nowMs })
}

async function expectFilesThere(lake: RealLake): Promise<void> {
  const table = await lake.load()
  for (const { dataFile, deletes } of await planFiles(table)) {
    for (const { filePath } of [dataFile, ...deletes.map(({ file }) => file)]) {
      expect(await table.io.stat(filePath)).toBeDefined()
    }
  }
}

/** Mulberry32: the same numbers for the same seed. */
function createRandom(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import type { OperationCleanup } from '../../../src/maintenance/operation-hooks.ts'
import { reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { TABLE } from '../memory-table.ts'
import { RealLake, Workshop } from '../real-lake.ts'
import type { StagedCommit } from '../../../src/iceberg/update/staged-commit.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

let shop: Workshop

beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

type Moment = 'recorded' | 'first group' | 'all groups' | 'staged' | 'committed'

/** A compaction whose process dies at a given moment and does nothing afterwards. */
async function crashAt(lake: RealLake, moment: Moment, options: Record<string, unknown> = {}) {
  const operationId = `op-${moment.replace(' ', '-')}`
  const ledger: { cleanup?: OperationCleanup; staged?: StagedCommit } = {}
  const { promise: dead, resolve: die } = Promise.withResolvers<void>()
  const stopHere = (): Promise<never> => {
    die()
    return new Promise(() => {})
  }
  let groups = 0
  const afterGroup = async <T>(result: T): Promise<T> => {
    groups += 1
    return moment === (groups === 1 ? 'first group' : 'all groups') ? stopHere() : result
  }
  const engine = overriddenEngine(shop.engine, {
    rewrite: async (task, run) => afterGroup(await shop.engine.rewrite(task, run)),
    async copyRowGroups(task, run) {
      const copy = await shop.engine.copyRowGroups(task, run)
      return copy.kind === 'copied' ? afterGroup(copy) : copy
    },
  })
  const work = runCompaction({
    catalog: lake.catalog,
    engine,
    identifier: TABLE,
    request: { min_input_files: 2, max_concurrent_file_group_rewrites: 1, ...options },
    operationId,
    hooks: {
      async onCleanup(cleanup) {
        ledger.cleanup = cleanup
        if (moment === 'recorded') await stopHere()
      },
      async onStaged(staged) {
        ledger.staged = staged
        if (moment === 'staged') await stopHere()
      },
    },
  })
  await (moment === 'committed' ? work : Promise.race([dead, work]))
  return { operationId, ...ledger }
}

describe('a compaction whose process dies', () => {
  it.each<Moment>(['first group', 'all groups', 'staged'])(
    'at "%s" of a copy of row groups is recovered; the rows are the same and no file is left over',
    async (moment) => {
      const lake = await RealLake.create(shop, { partitioned: true })
      for (let round = 0; round < 6; round += 1) await lake.append(5, round % 2 === 0 ? 'eu' : 'us')
      const record = await crashAt(lake, moment, { method: 'copy', min_row_group_size_bytes: 0 })
      const ours = async () => (await lake.list()).filter((file) => file.includes(`/${record.operationId}-`))
      expect((await ours()).length).toBeGreaterThan(0)
      const result = await reconcileOperation({ catalog: lake.catalog, identifier: TABLE, ...record })
      expect(result).toMatchObject({ outcome: 'not-committed', failedDeletions: [] })
      expect(await ours()).toEqual([])
      expect(await lake.read()).toEqual(lake.expected())
    },
  )

  it.each<[Moment, 'committed' | 'not-committed']>([
    ['recorded', 'not-committed'],
    ['first group', 'not-committed'],
    ['all groups', 'not-committed'],
    ['staged', 'not-committed'],
    ['committed', 'committed'],
  ])('at "%s" is recovered as %s; the rows are the same and no file is left over', async (moment, outcome) => {
    const lake = await RealLake.create(shop, { partitioned: true })
    for (let round = 0; round < 6; round += 1) await lake.append(5, round % 2 === 0 ? 'eu' : 'us')
    await lake.deletePositions(0, 2)
    const before = await lake.list()
    const record = await crashAt(lake, moment)
    expect(await lake.read()).toEqual(lake.expected())
    await lake.append(2, 'eu') // the table changes before the restart
    const result = await reconcileOperation({ catalog: lake.catalog, identifier: TABLE, ...record })
    expect(result).toMatchObject({ outcome, failedDeletions: [] })
    expect(await lake.read()).toEqual(lake.expected())
    const ours = (await lake.list()).filter((file) => file.includes(`/${record.operationId}-`))
    expect(ours.length > 0).toBe(outcome === 'committed')
    expect(await lake.list()).toEqual(expect.arrayContaining(before))
    for (const { dataFile } of await planFiles(await lake.load()))
      expect(await lake.list()).toContain(dataFile.filePath)
    // a second recovery has nothing to do
    const again = await reconcileOperation({ catalog: lake.catalog, identifier: TABLE, ...record })
    expect(again).toMatchObject({ outcome, deletedFiles: [] })
  })
})

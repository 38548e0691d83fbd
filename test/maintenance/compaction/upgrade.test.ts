import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { TABLE } from '../memory-table.ts'
import { RealLake, Workshop } from '../real-lake.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

async function upgrade(lake: RealLake): Promise<void> {
  await commitTable(lake.catalog, TABLE, async () => ({
    requirements: [],
    updates: [{ action: 'upgrade-format-version', 'format-version': 3 }],
    writtenFiles: [],
  }))
}

const REWRITE = { min_input_files: 2, rewrite_all: true }
/** Row groups of the tests are small. */
const COPY = { min_input_files: 2, method: 'copy', min_row_group_size_bytes: 0 }

interface Disturbance {
  readonly beforeRewrite?: () => Promise<void>
  readonly onStaged?: () => Promise<void>
}

/** Compacts a table; each disturbance happens once. */
async function compact(lake: RealLake, { beforeRewrite, onStaged }: Disturbance, request: object = REWRITE) {
  const pending = { beforeRewrite, onStaged }
  const disturb = async (when: keyof Disturbance): Promise<void> => {
    const work = pending[when]
    pending[when] = undefined
    await work?.()
  }
  const { engine: inner } = shop
  const engine = overriddenEngine(inner, {
    async rewrite(task, options) {
      await disturb('beforeRewrite')
      return inner.rewrite(task, options)
    },
    async copyRowGroups(task, options) {
      if (request === COPY) await disturb('beforeRewrite')
      return inner.copyRowGroups(task, options)
    },
  })
  return runCompaction({
    catalog: lake.catalog,
    engine,
    identifier: TABLE,
    request: { ...request },
    operationId: 'op-upgrade',
    hooks: { onStaged: () => disturb('onStaged') },
  })
}

async function smallFiles(formatVersion: 2 | 3 = 2): Promise<RealLake> {
  const lake = await RealLake.create(shop, { formatVersion })
  for (let n = 0; n < 3; n++) await lake.append(2, 'eu')
  return lake
}

describe('a compaction of a table that gets row ids meanwhile', () => {
  it.each([
    ['beforeRewrite', REWRITE],
    ['onStaged', REWRITE],
    ['beforeRewrite', COPY],
    ['onStaged', COPY],
  ] as const)('keeps them when the table is upgraded to version 3 %s with %o', async (when, request) => {
    const lake = await smallFiles()
    let before: ReadonlyMap<number, number | undefined> = new Map()
    const details = await compact(
      lake,
      {
        [when]: async () => {
          await upgrade(lake)
          await lake.append(1, 'us')
          before = await lake.rowIds()
        },
      },
      request,
    )
    expect([...before.values()]).not.toContain(undefined)
    expect(details.rewritten_data_files_count).toBe(3)
    expect(await lake.rowIds()).toEqual(before)
    expect(await lake.read()).toEqual(lake.expected())
  })

  it.each([
    ['rewriting', REWRITE],
    ['copying', COPY],
  ])('keeps them when the table got its first snapshot of version 3 while %s', async (_, request) => {
    const lake = await smallFiles()
    await upgrade(lake)
    let before: ReadonlyMap<number, number | undefined> = new Map()
    const beforeRewrite = async (): Promise<void> => {
      await lake.append(1, 'us')
      before = await lake.rowIds()
    }
    await compact(lake, { beforeRewrite }, request)
    expect(before.size).toBe(7)
    expect(await lake.rowIds()).toEqual(before)
    expect(await lake.read()).toEqual(lake.expected())
  })

  it('copies files that have no row ids together with files that have some', async () => {
    const lake = await smallFiles()
    await upgrade(lake)
    for (let n = 0; n < 2; n++) await lake.append(2, 'eu')
    const before = await lake.rowIds()
    const details = await compact(lake, {}, COPY)
    expect(details.copied_data_files_count).toBe(5)
    expect(await lake.rowIds()).toEqual(before)
    expect(new Set(before.values()).size).toBe(10)
    expect(await lake.read()).toEqual(lake.expected())
  })

  it.each([
    ['rewriting', REWRITE],
    ['copying', COPY],
  ])('gives ids to all rows when the table is upgraded while %s and no row had one', async (_, request) => {
    const lake = await smallFiles()
    const details = await compact(lake, { beforeRewrite: () => upgrade(lake) }, request)
    expect(details.commits_count).toBe(1)
    const ids = [...(await lake.rowIds()).values()]
    expect(new Set(ids).size).toBe(6)
    expect(ids).not.toContain(undefined)
    expect(await lake.read()).toEqual(lake.expected())
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../../../src/engines/engine.ts'
import { IcebergError, isIcebergError } from '../../../src/iceberg/errors.ts'
import { currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import { loadDeletes, planFiles } from '../../../src/iceberg/scan/scan.ts'
import { loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import type { CompactionDetails } from '../../../src/maintenance/compaction/result.ts'
import { findUnreachable } from '../../../src/maintenance/reachable-files.ts'
import { TABLE } from '../memory-table.ts'
import { Workshop } from '../real-lake.ts'
import { runs } from '../../support/effort.ts'
import { ModelLake, type Random } from './model-lake.ts'
import { createRandom, createRandomLake, writeRandomly } from './random-writers.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

/** Random tables per run; each is compacted among writers. */
const CASES = Number(process.env['CARRY_CASES'] ?? runs(120, 8))
const SEED = Number(process.env['CARRY_SEED'] ?? 20_261_126)

let shop: Workshop
beforeAll(async () => {
  shop = await Workshop.open()
})
afterAll(() => shop.close())

/** When a concurrent writer commits. */
type Moment = 'before rewrite' | 'after rewrite' | 'index' | 'locate' | 'staged'

interface Writer {
  (moment: Moment, time: number): Promise<void>
}

/** The engine, with a writer at work around each of its calls. */
function amongWriters(inner: Engine, write: Writer): Engine {
  const times = new Map<Moment, number>()
  const at = async (moment: Moment): Promise<void> => {
    const time = (times.get(moment) ?? 0) + 1
    times.set(moment, time)
    await write(moment, time)
  }
  return overriddenEngine(inner, {
    async rewrite(task, options) {
      await at('before rewrite')
      const result = await inner.rewrite(task, options)
      await at('after rewrite')
      return result
    },
    async openRowIndex(task, options) {
      const index = await inner.openRowIndex(task, options)
      await at('index')
      return {
        async locate(inputs) {
          const location = await index.locate(inputs)
          await at('locate')
          return location
        },
        writePositionDeletes: (output) => index.writePositionDeletes(output),
        close: () => index.close(),
      }
    },
  })
}

interface Compaction {
  readonly write: Writer
  readonly request?: Readonly<Record<string, unknown>>
  readonly operationId?: string
  readonly wrap?: (engine: Engine) => Engine
}

async function compact(
  lake: ModelLake,
  { write, request, operationId = 'op', wrap = (engine) => engine }: Compaction,
): Promise<CompactionDetails> {
  let staged = 0
  return runCompaction({
    catalog: lake.catalog,
    engine: wrap(amongWriters(shop.engine, write)),
    identifier: TABLE,
    request: { rewrite_all: true, max_concurrent_file_group_rewrites: 1, ...request },
    operationId,
    hooks: {
      async onStaged() {
        staged += 1
        await write('staged', staged)
      },
    },
  })
}

async function expectNoLeftovers(lake: ModelLake, operationId = 'op'): Promise<void> {
  const ours = (await lake.list()).filter((file) => file.includes(`/${operationId}-`))
  expect(await findUnreachable(await lake.load(), ours)).toEqual([])
}

async function createLake(random: Random, formatVersion: 2 | 3, files = 4): Promise<ModelLake> {
  const lake = await ModelLake.create(shop, { formatVersion })
  for (let n = 0; n < files; n += 1) await lake.append(random, 6)
  return lake
}

const LAYOUTS = [
  {},
  { sort_order: 'tag DESC' },
  { strategy: 'zorder', columns: ['d', 'tag', 'n.x'] },
  { strategy: 'hilbert', columns: ['tag', 'd'] },
  { partial_progress: true, max_file_group_input_files: 2 },
] as const

describe.each([2, 3] as const)('a compaction of a version %i table', (formatVersion) => {
  it.each(LAYOUTS)('carries deletes over that arrive while it rewrites, with %o', async (request) => {
    const random = createRandom(1)
    const lake = await createLake(random, formatVersion)
    const details = await compact(lake, {
      request,
      write: async (moment) => {
        if (moment === 'after rewrite') await lake.delete(random, 3)
      },
    })
    expect(await lake.differences()).toEqual([])
    expect(details).toMatchObject({ rewritten_data_files_count: 4, failed_data_files_count: 0, rows_read: 24 })
    // with partial progress, deletes may also hit files of a batch that was committed before, or is still to come
    if (!('partial_progress' in request)) expect(details.carried_over_deletes_count).toBe(3)
    await expectNoLeftovers(lake)
  })

  it('carries deletes over that arrive before each of several commits, and rewrites once', async () => {
    const random = createRandom(2)
    const lake = await createLake(random, formatVersion)
    let rewrites = 0
    const details = await compact(lake, {
      write: async (moment, time) => {
        if (moment === 'before rewrite') rewrites += 1
        if ((moment === 'staged' && time <= 4) || moment === 'after rewrite') await lake.delete(random, 2)
      },
    })
    expect(await lake.differences()).toEqual([])
    expect(rewrites).toBe(1)
    expect(details).toMatchObject({ carried_over_deletes_count: 10, commits_count: 1 })
    const table = await lake.load()
    const snapshot = currentSnapshot(table.metadata)
    if (snapshot === undefined) throw new Error('no snapshot')
    const deletes = await loadDeletes(table, await loadManifests(table, snapshot))
    expect(deletes.map(({ sequenceNumber }) => sequenceNumber)).toEqual([snapshot.sequenceNumber])
    expect(deletes[0]?.file.recordCount).toBe(10)
    expect(snapshot.summary).toMatchObject({
      operation: 'replace',
      [formatVersion === 3 ? 'added-dvs' : 'added-position-delete-files']: '1',
      'total-position-deletes': '10',
    })
    await expectNoLeftovers(lake)
  })

  it('carries deletes over while upserts and appends arrive too', async () => {
    const random = createRandom(3)
    const lake = await createLake(random, formatVersion)
    await lake.upsert(random)
    const details = await compact(lake, {
      write: async (moment, time) => {
        if (time > 3 || moment === 'before rewrite') return
        await lake.upsert(random)
        await lake.update(random, 2)
        await lake.append(random, 1)
      },
    })
    expect(await lake.differences()).toEqual([])
    expect(details.failed_data_files_count).toBe(0)
    await expectNoLeftovers(lake)
  })

  it('carries deletes of whole files over', async () => {
    const random = createRandom(4)
    const lake = await createLake(random, formatVersion)
    const details = await compact(lake, {
      write: async (moment) => {
        if (moment !== 'after rewrite') return
        for (let n = 0; n < 4; n += 1) await lake.deleteFile(random)
      },
    })
    expect(lake.size).toBe(0)
    expect(await lake.differences()).toEqual([])
    expect(details.carried_over_deletes_count).toBe(24)
  })

  it('carries deletes over to rows that moved to other partitions', async () => {
    const random = createRandom(5)
    const lake = await createLake(random, formatVersion)
    await lake.partition()
    const details = await compact(lake, {
      write: async (moment) => {
        if (moment === 'after rewrite' || moment === 'index') await lake.delete(random, 4)
      },
    })
    expect(await lake.differences()).toEqual([])
    expect(details).toMatchObject({ carried_over_deletes_count: 8, failed_data_files_count: 0 })
    const tasks = await planFiles(await lake.load())
    expect(new Set(tasks.map(({ dataFile }) => dataFile.specId))).toEqual(new Set([1]))
    for (const { dataFile, deletes } of tasks) {
      for (const { file } of deletes) expect(file).toMatchObject({ specId: 1, partition: dataFile.partition })
    }
  })

  it('rewrites again when deletes are withdrawn', async () => {
    const random = createRandom(6)
    const lake = await createLake(random, formatVersion)
    await lake.append(random, 2)
    let rewrites = 0
    const details = await compact(lake, {
      write: async (moment, time) => {
        if (moment === 'before rewrite') rewrites += 1
        if (moment === 'after rewrite' && time === 1) await lake.delete(random, 3)
        if (moment === 'staged' && time === 1) await lake.rollBack()
      },
    })
    expect(await lake.differences()).toEqual([])
    expect(rewrites).toBeGreaterThanOrEqual(1)
    expect(details).toMatchObject({ carried_over_deletes_count: 0, failed_data_files_count: 0 })
    await expectNoLeftovers(lake)
  })

  it.each(['ENGINE_FAILED', 'FILE_NOT_FOUND', 'UNSUPPORTED', 'NO_SPACE', 'LIMIT_EXCEEDED', 'CORRUPT_FILE'] as const)(
    'rewrites again when its index ends with %s',
    async (code) => {
      const random = createRandom(11)
      const lake = await createLake(random, formatVersion)
      let rewrites = 0
      const details = await compact(lake, {
        write: async (moment, time) => {
          if (moment === 'before rewrite') rewrites += 1
          if (moment === 'after rewrite' && time === 1) await lake.delete(random, 3)
        },
        wrap: (engine) =>
          overriddenEngine(engine, { openRowIndex: () => Promise.reject(new IcebergError(code, 'no index')) }),
      })
      expect(await lake.differences()).toEqual([])
      expect(rewrites).toBe(2)
      expect(details).toMatchObject({ carried_over_deletes_count: 0, rows_deleted: 3, failed_data_files_count: 0 })
      await expectNoLeftovers(lake)
    },
  )

  it('does only the group again whose file was replaced', async () => {
    const random = createRandom(7)
    const lake = await createLake(random, formatVersion)
    const rewritten: number[] = []
    const details = await compact(lake, {
      request: { max_file_group_input_files: 2 },
      write: async (moment, time) => {
        if (moment !== 'after rewrite') return
        rewritten.push(time)
        if (time === 2) await lake.overwrite(random)
      },
    })
    expect(await lake.differences()).toEqual([])
    expect(rewritten).toHaveLength(3)
    // the file that replaced one of the group is not part of the plan
    expect(details).toMatchObject({ failed_data_files_count: 0, rows_written: 18 })
    await expectNoLeftovers(lake)
  })

  it('ends with a conflict when a delete arrives and conflicts must fail', async () => {
    const random = createRandom(8)
    const lake = await createLake(random, formatVersion)
    const attempt = compact(lake, {
      request: { on_conflict: 'fail' },
      write: async (moment) => {
        if (moment === 'after rewrite') await lake.delete(random, 1)
      },
    })
    await expect(attempt).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    expect(await lake.differences()).toEqual([])
    await expectNoLeftovers(lake)
  })

  it('commits no group when a delete hits one of several and conflicts must fail', async () => {
    const random = createRandom(8)
    const lake = await createLake(random, formatVersion)
    const attempt = compact(lake, {
      request: { on_conflict: 'fail', max_file_group_input_files: 2 },
      write: async (moment, time) => {
        if (moment === 'after rewrite' && time === 2) await lake.delete(random, 1)
      },
    })
    await expect(attempt).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    const { snapshots } = (await lake.load()).metadata
    expect(snapshots.map(({ summary }) => summary?.['operation'])).not.toContain('replace')
    expect(await lake.differences()).toEqual([])
    await expectNoLeftovers(lake)
  })

  it('commits the other groups when a delete hits one, conflicts must fail and progress is partial', async () => {
    const random = createRandom(8)
    const lake = await createLake(random, formatVersion)
    const details = await compact(lake, {
      request: {
        on_conflict: 'fail',
        max_file_group_input_files: 2,
        partial_progress: true,
        partial_progress_max_commits: 1,
      },
      write: async (moment, time) => {
        if (moment === 'after rewrite' && time === 2) await lake.delete(random, 1)
      },
    })
    expect(details).toMatchObject({ rewritten_data_files_count: 2, failed_data_files_count: 2, commits_count: 1 })
    expect(await lake.differences()).toEqual([])
    await expectNoLeftovers(lake)
  })

  it('closes the index of a group before the others are committed when the group is lost', async () => {
    const random = createRandom(12)
    const lake = await createLake(random, formatVersion)
    const events: string[] = []
    let opened = 0
    await compact(lake, {
      request: { max_file_group_input_files: 2 },
      write: async (moment, time) => {
        if (moment === 'staged') events.push('staged')
        if (moment === 'after rewrite' && time === 2) for (let n = 0; n < 4; n += 1) await lake.delete(random, 4)
      },
      wrap: (engine) =>
        overriddenEngine(engine, {
          async openRowIndex(task, options) {
            const index = await engine.openRowIndex(task, options)
            opened += 1
            const number = opened
            events.push(`opened ${number}`)
            return {
              locate: async (inputs) =>
                number === 1 ? { kind: 'impossible', reason: 'as the test wanted' } : index.locate(inputs),
              writePositionDeletes: (output) => index.writePositionDeletes(output),
              close: () => {
                events.push(`closed ${number}`)
                return index.close()
              },
            }
          },
        }),
    })
    // the group is rewritten again and committed last
    expect(events).toEqual(['opened 1', 'opened 2', 'closed 1', 'staged', 'closed 2', 'staged'])
    expect(await lake.differences()).toEqual([])
    await expectNoLeftovers(lake)
  })

  it('ends when its index is opened and the caller cancels', async () => {
    const random = createRandom(9)
    const lake = await createLake(random, formatVersion)
    const controller = new AbortController()
    const attempt = runCompaction({
      catalog: lake.catalog,
      engine: amongWriters(shop.engine, async (moment) => {
        if (moment === 'after rewrite') await lake.delete(random, 1)
        if (moment === 'index') controller.abort()
      }),
      identifier: TABLE,
      request: { rewrite_all: true },
      operationId: 'op',
      signal: controller.signal,
    })
    await expect(attempt).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(await lake.differences()).toEqual([])
    await expectNoLeftovers(lake)
  })
})

describe('a compaction of a table that is upgraded meanwhile', () => {
  it.each([
    ['before rewrite', true],
    ['after rewrite', true],
    ['locate', false],
    ['staged', false],
  ] as const)('keeps deletes and row ids when the upgrade comes %s, writers after it: %s', async (when, hasWriter) => {
    const random = createRandom(10)
    const lake = await createLake(random, 2)
    await compact(lake, {
      write: async (moment, time) => {
        if (time > 1) return
        if (moment === 'after rewrite') await lake.delete(random, 2)
        if (moment !== when) return
        await lake.upgrade()
        if (hasWriter) await lake.delete(random, 2)
      },
    })
    expect(await lake.differences()).toEqual([])
    const tasks = await planFiles(await lake.load())
    expect(tasks.map(({ dataFile }) => dataFile.firstRowId)).not.toContain(undefined)
    for (const { deletes } of tasks) for (const { file } of deletes) expect(file.fileFormat).toBe('puffin')
    await expectNoLeftovers(lake)
  })
})

describe('a compaction among random writers', () => {
  it('keeps every row, value and row id', async () => {
    const outcomes = { carried: 0, conflicts: 0 }
    for (let number = 0; number < CASES; number += 1) {
      const random = createRandom(SEED + number)
      const lake = await createRandomLake(shop, random)
      outcomes.carried += await compactAmongRandomWriters(lake, random, outcomes)
      const hint = `CARRY_SEED=${SEED + number} CARRY_CASES=1`
      expect(await lake.differences(), hint).toEqual([])
      await expectNoLeftovers(lake)
    }
    expect(outcomes.carried).toBeGreaterThan(CASES)
    expect(outcomes.conflicts).toBeLessThan(CASES / 10 + 1)
  }, 900_000)
})

async function compactAmongRandomWriters(
  lake: ModelLake,
  random: Random,
  outcomes: { conflicts: number },
): Promise<number> {
  let budget = 2 + random(6)
  const requests = [...LAYOUTS, { delete_file_threshold: 1, max_file_group_input_files: 3 }]
  try {
    const details = await compact(lake, {
      request: requests[random(requests.length)] ?? {},
      write: async () => {
        if (budget === 0 || random(3) === 0) return
        budget -= 1
        await writeRandomly(lake, random)
      },
    })
    return details.carried_over_deletes_count
  } catch (error) {
    if (!isIcebergError(error, 'COMMIT_CONFLICT')) throw error
    outcomes.conflicts += 1
    return 0
  }
}

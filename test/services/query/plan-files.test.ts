import { beforeAll, describe, expect, it } from 'vitest'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { createFilePlanner, type FilePlanRequest, MAX_FILES } from '../../../src/services/query/plan-files.ts'
import { MemoryTable } from '../../maintenance/memory-table.ts'
import { sleep } from '../../support/waiting.ts'

const STEP = 2000
const COMMITS = 4

/** Slow storage that knows what is read from it. */
class WatchedIO extends MemoryFileIO {
  manifests = 0
  static readonly busy = new Map<WatchedIO, number>()
  static most = 0

  override async read(location: string): Promise<Uint8Array> {
    if (!location.endsWith('.avro')) return super.read(location)
    if (/-m\d+\.avro$/.test(location)) this.manifests += 1
    WatchedIO.busy.set(this, (WatchedIO.busy.get(this) ?? 0) + 1)
    const busy = [...WatchedIO.busy.values()].filter((count) => count > 0).length
    WatchedIO.most = Math.max(WatchedIO.most, busy)
    await sleep(5)
    WatchedIO.busy.set(this, (WatchedIO.busy.get(this) ?? 0) - 1)
    return super.read(location)
  }
}

let made: MemoryTable
beforeAll(async () => {
  made = await MemoryTable.create({ io: new WatchedIO() })
  const files = await made.files(STEP, { fileSizeInBytes: 10, recordCount: 1 })
  for (let commit = 0; commit < COMMITS; commit += 1) {
    const own = files.map((file, at) => ({ ...file, filePath: `/wh/ns/t/data/c${commit}-${at}.parquet` }))
    await made.append(own)
  }
})

/** The table as a request loads it: nothing of it is cached. */
async function request(
  overrides: Partial<FilePlanRequest> = {},
): Promise<FilePlanRequest & { readonly io: WatchedIO }> {
  const loaded = await made.load()
  const io = loaded.io as WatchedIO
  io.manifests = 0
  return {
    label: 'ns.t',
    table: loaded,
    snapshotId: loaded.metadata.currentSnapshotId,
    user: 'ed',
    signal: new AbortController().signal,
    io,
    ...overrides,
  }
}

/** The same table as older writers left it: no manifest list, so no counts. */
async function withoutCounts(): Promise<Table> {
  const table = await made.load()
  const paths = (await made.list()).filter((path) => /-m\d+\.avro$/.test(path))
  const snapshots = table.metadata.snapshots.map((one) => {
    const old = { ...one, manifests: paths }
    delete old.manifestList
    return old
  })
  return { ...table, metadata: { ...table.metadata, snapshots } }
}

describe('the plan of all files', () => {
  it('refuses a table before a manifest is read when its manifest list counts too many files', async () => {
    const one = await request()
    await expect(createFilePlanner().all(one)).rejects.toMatchObject({
      code: 'UNPROCESSABLE',
      message: expect.stringContaining(`ns.t has too many files to query here: a query reads at most ${MAX_FILES}`),
    })
    expect(one.io.manifests).toBe(0)
  })

  it('refuses too many files while manifests are read when no count is known', async () => {
    const one = await request({ table: await withoutCounts() })
    await expect(createFilePlanner().all(one)).rejects.toMatchObject({ code: 'UNPROCESSABLE' })
  })

  it('reads no manifest when the request was cancelled', async () => {
    const stop = new AbortController()
    const one = await request({ signal: stop.signal })
    const [oldest] = one.table.metadata.snapshots
    const planned = createFilePlanner().all({ ...one, snapshotId: oldest?.snapshotId })
    stop.abort()
    await expect(planned).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(one.io.manifests).toBe(0)
  })

  it('is made for one request of a user at a time', async () => {
    const tables = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const table = await MemoryTable.create({ io: new WatchedIO() })
        return table.append(await table.files(2))
      }),
    )
    const planner = createFilePlanner()
    const plan = (user: (at: number) => string) => {
      WatchedIO.most = 0
      return Promise.all(
        tables.map(async (table, at) =>
          planner.all({
            ...(await request()),
            table: { ...table },
            snapshotId: table.metadata.currentSnapshotId,
            user: user(at),
          }),
        ),
      )
    }
    expect((await plan(() => 'ed')).map((files) => files.length)).toEqual([2, 2, 2])
    expect(WatchedIO.most).toBe(1)
    await plan((at) => `user ${at}`)
    expect(WatchedIO.most).toBeGreaterThan(1)
  })
})

describe('the plan of the first files', () => {
  it('reads only the manifests that the rows need when the table has too many files', async () => {
    const one = await request()
    const plan = await createFilePlanner().first(one)
    expect([plan.files.length, one.io.manifests]).toEqual([0, 0])
    await plan.grow(100)
    expect([plan.files.length, one.io.manifests, plan.isComplete]).toEqual([STEP, 1, false])
    await plan.grow(STEP + 1)
    expect([plan.files.length, one.io.manifests]).toEqual([3 * STEP, 3])
  })

  it('has all files at once when they are few', async () => {
    const one = await request()
    const [oldest] = one.table.metadata.snapshots
    const plan = await createFilePlanner().first({ ...one, snapshotId: oldest?.snapshotId })
    expect([plan.files.length, plan.isComplete]).toEqual([STEP, true])
  })
})

import { expect, it } from 'vitest'
import { readHistory } from '../../../../src/services/tables/health-index/health-history.ts'
import { createHealthIndexStore } from '../../../../src/storage/stores/tables/health-index-store.ts'
import { describeDatabases, type TestDatabases } from '../../../storage/open.ts'

const BEGIN = Date.parse('2026-11-01T00:00:00.000Z')
const DAY_MS = 86_400_000

function sample(atMs: number, kind: 'commit' | 'day', score: number) {
  const at = new Date(atMs).toISOString()
  return {
    table_uuid: 'uuid-1',
    kind,
    slot: at.slice(0, kind === 'day' ? 10 : 16),
    at,
    score,
    data_file_count: 1,
    total_size_bytes: 1,
    small_file_count: 0,
    delete_file_count: 0,
    snapshot_count: 1,
  }
}

/** 400 days with a score of their day, and commits of each minute of the last two days. */
async function open(databases: TestDatabases) {
  const store = createHealthIndexStore(await databases.open())
  const days = Array.from({ length: 400 }, (_, day) => sample(BEGIN + (day - 398) * DAY_MS + 5000, 'day', day % 100))
  const commits = Array.from({ length: 2880 }, (_, minute) =>
    sample(BEGIN + minute * 60_000 + 7000, 'commit', minute === 1234 ? 3 : 80),
  )
  await store.save([], [...days, ...commits])
  return store
}

describeDatabases('the health history of a range', (databases) => {
  it('has the lowest score of a range with more samples than points', async () => {
    const store = await open(databases)
    const found = await readHistory(store, 'uuid-1', { points: 100, from: new Date(BEGIN).toISOString() })
    expect(found.samples.length).toBeLessThanOrEqual(100)
    expect(found.is_thinned).toBe(true)
    expect(Math.min(...found.samples.map(({ score }) => score))).toBe(3)
    const times = found.samples.map(({ at }) => at)
    expect(times).toEqual(times.toSorted().reverse())
  })

  it('goes on with days where commits are no longer stored', async () => {
    const store = await open(databases)
    const { samples, previous } = await readHistory(store, 'uuid-1', { kind: 'all' })
    expect(samples).toHaveLength(2880 + 399)
    expect(samples.at(-1)?.at).toBe(new Date(BEGIN - 398 * DAY_MS + 5000).toISOString())
    expect(previous).toBeNull()
    const year = await readHistory(store, 'uuid-1', { kind: 'all', points: 500 })
    expect(year.samples.length).toBeLessThanOrEqual(500)
  })

  it('names the sample before it, whose score holds until the first', async () => {
    const store = await open(databases)
    const from = new Date(BEGIN + 10 * 60_000).toISOString()
    const to = new Date(BEGIN + 12 * 60_000).toISOString()
    const found = await readHistory(store, 'uuid-1', { from, to, kind: 'all' })
    expect(found.samples.map(({ at }) => at)).toEqual(['2026-11-01T00:11:07.000Z', '2026-11-01T00:10:07.000Z'])
    expect(found.previous?.at).toBe('2026-11-01T00:09:07.000Z')
    const early = await readHistory(store, 'uuid-1', {
      from: '2001-01-01T00:00:00.000Z',
      to: '2001-01-02T00:00:00.000Z',
    })
    expect(early).toMatchObject({ samples: [], previous: null })
  })

  it('comes in pages without points, in the range only', async () => {
    const store = await open(databases)
    const from = new Date(BEGIN + DAY_MS).toISOString()
    const first = await readHistory(store, 'uuid-1', { from, page_size: 1000 })
    const second = await readHistory(store, 'uuid-1', {
      from,
      page_size: 1000,
      page_token: first.next_page_token ?? '',
    })
    expect([first.samples.length, second.samples.length, second.next_page_token]).toEqual([1000, 440, null])
    expect(second.samples.at(-1)?.at).toBe('2026-11-02T00:00:07.000Z')
  })
})

import { expect, it } from 'vitest'
import { createStoredProgress } from '../../../src/services/pipelines/history/stored-progress.ts'
import type { ProgressPoint } from '../../../src/services/pipelines/history/progress-point.ts'
import { createTransactions } from '../../../src/storage/transactions.ts'
import { describeDatabases, type TestDatabases } from '../../storage/open.ts'

const BEGIN = Date.parse('2026-11-20T10:00:00.000Z')
const DAY_MS = 86_400_000

function point(atMs: number, changes: Partial<ProgressPoint> = {}): ProgressPoint {
  return {
    at: new Date(atMs).toISOString(),
    batch_id: 1,
    num_input_rows: 10,
    num_output_rows: 10,
    num_inserted_rows: 10,
    num_updated_rows: 0,
    num_deleted_rows: 0,
    rows_diverted: 0,
    rows_dropped: 0,
    input_rows_per_second: 2.5,
    processed_rows_per_second: null,
    batch_duration_ms: 20,
    lag_rows: 0,
    lag_seconds: 0,
    after_gap: false,
    ...changes,
  }
}

async function open(databases: TestDatabases) {
  const db = await databases.open()
  const clock = { ms: BEGIN }
  const deps = { db, inTransaction: createTransactions(db).inTransaction, now: () => new Date(clock.ms) }
  /** Points each second, of which one in the middle is exceptional. */
  const fill = (stored: ReturnType<typeof createStoredProgress>, seconds: number): void => {
    for (let at = 0; at < seconds; at++) {
      const isPeak = at === Math.floor(seconds / 2)
      stored.add('pipe-1', point(BEGIN + at * 1000, isPeak ? { batch_duration_ms: 9000, lag_rows: 77 } : {}))
    }
    clock.ms = BEGIN + seconds * 1000
  }
  return { db, clock, stored: createStoredProgress(deps), again: () => createStoredProgress(deps), fill }
}

const longest = (points: readonly ProgressPoint[]): number => Math.max(...points.map((one) => one.batch_duration_ms))

describeDatabases('the stored triggers of a pipeline', (databases) => {
  it('survive a restart, with all their values', async () => {
    const { stored, again } = await open(databases)
    const one = point(BEGIN, {
      input_rows_per_second: null,
      processed_rows_per_second: 3.2,
      after_gap: true,
      lag_rows: 5,
    })
    const other = point(BEGIN + 5, { num_updated_rows: 3, num_deleted_rows: 2, rows_diverted: 1, rows_dropped: 4 })
    stored.add('pipe-1', one)
    stored.add('pipe-1', other)
    expect(await stored.list('pipe-1', {})).toEqual([one, other])
    await stored.write('all')
    expect(await again().list('pipe-1', {})).toEqual([one, other])
    expect(await again().list('pipe-2', {})).toEqual([])
    expect(await again().oldest('pipe-1')).toBe(one.at)
  })

  it('are stored when their minute is over, thinned but with the extremes', async () => {
    const { db, stored, again, fill } = await open(databases)
    fill(stored, 150)
    await stored.write()
    expect(await db.selectFrom('pipeline_samples').select('span').execute()).toHaveLength(2)
    const points = await again().list('pipe-1', {})
    expect(points.length).toBeLessThan(20)
    expect(longest(points)).toBe(9000)
    expect((await stored.list('pipe-1', {})).at(-1)?.at).toBe(new Date(BEGIN + 149_000).toISOString())
    await stored.write()
    expect(await again().list('pipe-1', {})).toEqual(points)
  })

  it('of a day before are one row an hour, which has the extremes and the gaps', async () => {
    const { db, clock, stored, fill } = await open(databases)
    fill(stored, 2 * 3600)
    stored.add('pipe-1', point(BEGIN + 3 * 3_600_000, { after_gap: true }))
    await stored.write('all')
    const before = await stored.list('pipe-1', {})
    clock.ms = BEGIN + DAY_MS + 2 * 3_600_000
    await stored.thin()
    const spans = await db.selectFrom('pipeline_samples').select(['span', 'from_at']).orderBy('from_at').execute()
    expect(spans.map(({ span }) => span)).toEqual(['hour', 'hour', 'minute'])
    const after = await stored.list('pipe-1', {})
    expect(after.length).toBeLessThan(before.length / 5)
    expect(longest(after)).toBe(9000)
    expect(Math.max(...after.map((one) => one.lag_rows))).toBe(77)
    expect(after.filter((one) => one.after_gap).map(({ at }) => at)).toEqual(['2026-11-20T13:00:00.000Z'])
    await stored.thin()
    expect(await stored.list('pipe-1', {})).toEqual(after)
    clock.ms = BEGIN + 40 * DAY_MS
    await stored.thin()
    expect(await stored.list('pipe-1', {})).toEqual([])
    expect(await stored.oldest('pipe-1')).toBeUndefined()
  })

  it('keep a gap whose first trigger is thinned away', async () => {
    const { stored, again } = await open(databases)
    for (let at = 0; at < 40; at++) stored.add('pipe-1', point(BEGIN + at * 1000, { after_gap: at === 20 }))
    await stored.write('all')
    const points = await again().list('pipe-1', {})
    expect(points.length).toBeLessThan(5)
    expect(points.filter((one) => one.after_gap)).toHaveLength(1)
  })

  it('are those of the range only, both ends included', async () => {
    const { stored, fill } = await open(databases)
    fill(stored, 10)
    const at = (second: number): string => new Date(BEGIN + second * 1000).toISOString()
    const found = await stored.list('pipe-1', { from: at(3), to: at(5) })
    expect(found.map((one) => one.at)).toEqual([at(3), at(4), at(5)])
    await stored.write('all')
    expect(await stored.list('pipe-1', { from: at(20) })).toEqual([])
    expect(await stored.list('pipe-1', { to: at(-1) })).toEqual([])
  })

  it('wait while the state database refuses them, and end with the pipeline', async () => {
    const { db, stored, fill } = await open(databases)
    fill(stored, 130)
    await db.schema.alterTable('pipeline_samples').renameTo('elsewhere').execute()
    await expect(stored.write()).rejects.toThrow()
    await db.schema.alterTable('elsewhere').renameTo('pipeline_samples').execute()
    await stored.write()
    expect(await stored.oldest('pipe-1')).toBe('2026-11-20T10:00:00.000Z')
    await stored.forget('pipe-1')
    expect(await stored.list('pipe-1', {})).toEqual([])
  })

  it('are bounded while nothing can be stored', async () => {
    const { stored, fill } = await open(databases)
    fill(stored, 10_000)
    const points = await stored.list('pipe-1', {})
    expect(points).toHaveLength(5000)
    expect(points.at(-1)?.at).toBe(new Date(BEGIN + 9_999_000).toISOString())
  })
})

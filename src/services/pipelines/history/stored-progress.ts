import type { Kysely } from 'kysely'
import { type Loop, startLoop } from '../../../lib/start-loop.ts'
import type { PipelineSamplesTable, StateTables } from '../../../storage/schema.ts'
import { createPipelineSampleStore, type SampleRange } from '../../../storage/stores/pipelines/sample-store.ts'
import type { InTransaction } from '../../../storage/transactions.ts'
import { extremeProgress, packPoints, type ProgressPoint, unpackPoints } from './progress-point.ts'

export interface StoredProgressDeps {
  readonly db: Kysely<StateTables>
  readonly inTransaction: InTransaction
  readonly now: () => Date
}

/** Triggers of pipelines in the state database: of each minute for a day, then of each hour for 30 days. */
export interface StoredProgress {
  /** Adds a trigger, which is stored when its minute is over. */
  add(pipelineId: string, point: ProgressPoint): void
  /** Triggers in a range, oldest first, with those that are not stored yet. */
  list(pipelineId: string, range: SampleRange): Promise<readonly ProgressPoint[]>
  /** The time of the oldest trigger that is stored. */
  oldest(pipelineId: string): Promise<string | undefined>
  /** Deletes the triggers of a pipeline. */
  forget(pipelineId: string): Promise<void>
  /** Stores minutes that are over; `all`: also the current ones. */
  write(all?: 'all'): Promise<void>
  /** Thins minutes that are older than a day, and removes what is older than 30 days. */
  thin(): Promise<void>
}

const HOUR_MS = 3_600_000
/** How long each minute stays, and how long each hour. */
const MINUTES_KEPT_MS = 24 * HOUR_MS
const HOURS_KEPT_MS = 30 * 24 * HOUR_MS
const MINUTE_LENGTH = '2026-11-20T10:00'.length
const HOUR_LENGTH = '2026-11-20T10'.length
/** Triggers of a pipeline that wait while the state database does not respond; older ones are dropped. */
const MAX_WAITING = 5000

/** Minutes are written together, at most once in this time. */
const WRITE_EVERY_MS = 15_000

/** Stored progress over the state database. */
export function createStoredProgress({ db, inTransaction, now }: StoredProgressDeps): StoredProgress {
  const waiting = new Map<string, ProgressPoint[]>()
  const store = createPipelineSampleStore(db)
  return {
    add(pipelineId, point) {
      const points = waiting.get(pipelineId) ?? []
      waiting.set(pipelineId, points)
      points.push(point)
      if (points.length > MAX_WAITING) points.splice(0, points.length - MAX_WAITING)
    },
    async list(pipelineId, range) {
      const rows = await store.list(pipelineId, range)
      const stored = rows.flatMap(({ points_json: text }) => unpackPoints(text))
      return [...stored, ...(waiting.get(pipelineId) ?? [])].filter(({ at }) => isIn(at, range))
    },
    oldest: (pipelineId) => store.oldest(pipelineId),
    async forget(pipelineId) {
      waiting.delete(pipelineId)
      await store.forget(pipelineId)
    },
    async write(all) {
      const current = all === undefined ? now().toISOString().slice(0, MINUTE_LENGTH) : undefined
      const rows = [...waiting].flatMap(([pipelineId, points]) => {
        const over = points.filter(({ at }) => current === undefined || at.slice(0, MINUTE_LENGTH) < current)
        return rowsOf(pipelineId, over, 'minute')
      })
      if (rows.length === 0) return
      await inTransaction((tx) => createPipelineSampleStore(tx).save(rows))
      for (const { pipeline_id: id, to_at: to } of rows) dropUpTo(waiting, id, to)
    },
    async thin() {
      const nowMs = now().getTime()
      const before = startOfHour(nowMs - MINUTES_KEPT_MS)
      for (const pipelineId of await store.pipelinesWithMinutes(before)) {
        await inTransaction(async (tx) => {
          const own = createPipelineSampleStore(tx)
          const minutes = await own.minutes(pipelineId, before)
          const points = minutes.flatMap(({ points_json: text }) => unpackPoints(text))
          await own.removeMinutes(pipelineId, before)
          await own.save(rowsOf(pipelineId, points, 'hour'))
        })
      }
      await store.prune(new Date(nowMs - HOURS_KEPT_MS).toISOString())
    },
  }
}

/** Writes minutes that are over, until it is stopped. */
export function startWriting(stored: Pick<StoredProgress, 'write'>, onError: (error: unknown) => void): Loop {
  return startLoop({
    everyMs: WRITE_EVERY_MS,
    firstMs: WRITE_EVERY_MS,
    tick: () => stored.write(),
    onError,
  })
}

/** Thins old minutes each hour, until it is stopped. */
export function startThinning(stored: Pick<StoredProgress, 'thin'>, onError: (error: unknown) => void): Loop {
  return startLoop({ everyMs: HOUR_MS, firstMs: WRITE_EVERY_MS, tick: () => stored.thin(), onError })
}

/** One row for each minute or hour, with the points that stay. */
function rowsOf(
  pipelineId: string,
  points: readonly ProgressPoint[],
  span: PipelineSamplesTable['span'],
): readonly PipelineSamplesTable[] {
  const length = span === 'minute' ? MINUTE_LENGTH : HOUR_LENGTH
  const slots = Map.groupBy(points, ({ at }) => at.slice(0, length))
  return [...slots.values()].map((inSlot) => ({
    pipeline_id: pipelineId,
    from_at: inSlot[0]?.at ?? '',
    to_at: inSlot.at(-1)?.at ?? '',
    span,
    points_json: packPoints(extremeProgress(inSlot)),
  }))
}

/** Triggers that came while rows were written stay. */
function dropUpTo(waiting: Map<string, ProgressPoint[]>, pipelineId: string, to: string): void {
  const rest = (waiting.get(pipelineId) ?? []).filter(({ at }) => at > to)
  if (rest.length > 0) waiting.set(pipelineId, rest)
  else waiting.delete(pipelineId)
}

function startOfHour(ms: number): string {
  return new Date(ms - (ms % HOUR_MS)).toISOString()
}

function isIn(at: string, { from, to }: SampleRange): boolean {
  return (from === undefined || at >= from) && (to === undefined || at <= to)
}

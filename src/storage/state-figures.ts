import { type Kysely, sql } from 'kysely'

import type { PipelineProgress } from '../schemas/pipelines.ts'
import type { AlertDeliveriesTable } from './automation-schema.ts'
import { fromColumn } from './json-column.ts'
import type { PipelineState, StateTables } from './schema.ts'

/** Numbers about the whole state, for the metrics; none of them grows with the number of rows. */
export interface StateFigures {
  readonly runningOperations: number
  readonly pipelines: ReadonlyMap<PipelineState, number>
  readonly lag: LagFigures
  readonly deliveries: ReadonlyMap<AlertDeliveriesTable['state'], number>
  readonly lastEvent: number
  readonly auditEntries: number
}

/** How far the pipelines that should run are behind their sources, as of their last batches. */
export interface LagFigures {
  /** Of the pipeline that is furthest behind. */
  readonly maxSeconds: number
  readonly rows: number
  readonly bytes: number
  /** How many are further behind than each of {@link LAG_STEPS_S}. */
  readonly behind: readonly number[]
}

/** The steps of {@link LagFigures.behind}, in seconds. */
export const LAG_STEPS_S: readonly number[] = [60, 600, 3600]

/** Reads all figures; `nowMs` is what the lag of a pipeline that makes no progress is measured against. */
export async function readStateFigures(db: Kysely<StateTables>, nowMs: number): Promise<StateFigures> {
  const running = await db
    .selectFrom('operations')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('state', '=', 'running')
    .executeTakeFirst()
  const pipelines = await db
    .selectFrom('streaming_pipelines')
    .select((select) => ['state', select.fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute()
  const deliveries = await db
    .selectFrom('alert_deliveries')
    .select((select) => ['state', select.fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute()
  const event = await db.selectFrom('events').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
  const audit = await db.selectFrom('audit_head').select('seq').where('id', '=', 1).executeTakeFirst()
  return {
    runningOperations: running?.count ?? 0,
    pipelines: new Map(pipelines.map(({ state, count }) => [state, count])),
    lag: await readLag(db, nowMs),
    deliveries: new Map(deliveries.map(({ state, count }) => [state, count])),
    lastEvent: event?.seq ?? 0,
    auditEntries: audit?.seq ?? 0,
  }
}

/** Resolves when the database has answered a query that reads no table. */
export async function pingState(db: Kysely<StateTables>): Promise<void> {
  await sql`select 1`.execute(db)
}

async function readLag(db: Kysely<StateTables>, nowMs: number): Promise<LagFigures> {
  const rows = await db
    .selectFrom('streaming_pipelines')
    .select('progress_json')
    .where('desired_state', '=', 'running')
    .where('progress_json', 'is not', null)
    .execute()
  const lags = rows.map(({ progress_json: json }) => lagOf(fromColumn<PipelineProgress>(json), nowMs))
  return {
    maxSeconds: lags.reduce((most, { seconds }) => Math.max(most, seconds), 0),
    rows: lags.reduce((sum, lag) => sum + lag.rows, 0),
    bytes: lags.reduce((sum, lag) => sum + lag.bytes, 0),
    behind: LAG_STEPS_S.map((step) => lags.filter(({ seconds }) => seconds > step).length),
  }
}

/** A pipeline with unread files falls behind further until its next batch. */
function lagOf(progress: PipelineProgress | undefined, nowMs: number) {
  const behind = (progress?.sources ?? []).map(({ lag }) => lag).filter(({ files }) => files > 0)
  if (progress === undefined || behind.length === 0) return { seconds: 0, rows: 0, bytes: 0 }
  const sinceBatchMs = Math.max(0, nowMs - Date.parse(progress.timestamp))
  return {
    seconds: Math.max(...behind.map(({ seconds }) => seconds)) + sinceBatchMs / 1000,
    rows: behind.reduce((sum, lag) => sum + lag.rows, 0),
    bytes: behind.reduce((sum, lag) => sum + lag.bytes, 0),
  }
}

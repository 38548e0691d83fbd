import type { Kysely } from 'kysely'

import type { PipelineSamplesTable, StateTables } from '../../schema.ts'

/** A span of time, RFC 3339; without an end it is open there. */
export interface SampleRange {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** The stored triggers of pipelines, in rows of a minute or an hour. */
export interface PipelineSampleStore {
  save(rows: readonly PipelineSamplesTable[]): Promise<void>
  /** Rows that touch a range, oldest first. */
  list(pipelineId: string, range: SampleRange): Promise<readonly PipelineSamplesTable[]>
  /** The time of the oldest trigger. */
  oldest(pipelineId: string): Promise<string | undefined>
  /** Pipelines with minutes that end before a time. */
  pipelinesWithMinutes(before: string): Promise<readonly string[]>
  /** Minutes of a pipeline that end before a time, oldest first. */
  minutes(pipelineId: string, before: string): Promise<readonly PipelineSamplesTable[]>
  /** Removes minutes of a pipeline that end before a time. */
  removeMinutes(pipelineId: string, before: string): Promise<void>
  /** Removes all rows of a pipeline. */
  forget(pipelineId: string): Promise<void>
  /** Removes rows of all pipelines that end before a time. */
  prune(before: string): Promise<void>
}

/** Rows of one insert: databases limit the parameters of a statement. */
const ROWS_AT_ONCE = 100

/** Samples in the state database. */
export function createPipelineSampleStore(db: Kysely<StateTables>): PipelineSampleStore {
  const minutesBefore = (before: string) =>
    db.selectFrom('pipeline_samples').where('span', '=', 'minute').where('to_at', '<', before)
  return {
    async save(rows) {
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
        const some = rows.slice(at, at + ROWS_AT_ONCE)
        const insert = db.insertInto('pipeline_samples').values(some)
        await insert.onConflict((conflict) => conflict.doNothing()).execute()
      }
    },
    list: (pipelineId, { from, to }) =>
      db
        .selectFrom('pipeline_samples')
        .selectAll()
        .where('pipeline_id', '=', pipelineId)
        .$if(from !== undefined, (query) => query.where('to_at', '>=', from ?? ''))
        .$if(to !== undefined, (query) => query.where('from_at', '<=', to ?? ''))
        .orderBy('from_at')
        .execute(),
    async oldest(pipelineId) {
      const rows = db.selectFrom('pipeline_samples').where('pipeline_id', '=', pipelineId)
      const first = await rows.select('from_at').orderBy('from_at').limit(1).executeTakeFirst()
      return first?.from_at
    },
    async pipelinesWithMinutes(before) {
      const rows = await minutesBefore(before).select('pipeline_id').distinct().execute()
      return rows.map(({ pipeline_id: id }) => id)
    },
    minutes: (pipelineId, before) =>
      minutesBefore(before).selectAll().where('pipeline_id', '=', pipelineId).orderBy('from_at').execute(),
    async removeMinutes(pipelineId, before) {
      const rows = db.deleteFrom('pipeline_samples').where('pipeline_id', '=', pipelineId)
      await rows.where('span', '=', 'minute').where('to_at', '<', before).execute()
    },
    async forget(pipelineId) {
      await db.deleteFrom('pipeline_samples').where('pipeline_id', '=', pipelineId).execute()
    },
    async prune(before) {
      await db.deleteFrom('pipeline_samples').where('to_at', '<', before).execute()
    },
  }
}

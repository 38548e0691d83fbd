import type { Migration } from '../migration.ts'

/** When a pipeline that was reported as degraded last failed, so that it is reported as recovered once. */
export const pipelineEvents: Migration = {
  name: 'pipeline-events',
  async up(db, { int64 }) {
    await db.schema.alterTable('streaming_pipelines').addColumn('degraded_at_ms', int64).execute()
  },
}

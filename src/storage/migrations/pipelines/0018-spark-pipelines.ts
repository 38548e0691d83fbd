import type { Migration } from '../migration.ts'

/** The engine that runs a pipeline, and how to reach its query in Spark. */
export const sparkPipelines: Migration = {
  name: 'spark-pipelines',
  async up(db) {
    await db.schema
      .alterTable('streaming_pipelines')
      .addColumn('engine', 'text', (column) => column.notNull().defaultTo('embedded'))
      .execute()
    await db.schema.alterTable('streaming_pipelines').addColumn('spark_json', 'text').execute()
  },
}

import type { Migration } from '../migration.ts'

/** The history of triggers of each pipeline, so that charts show more than the process saw. */
export const pipelineSamples: Migration = {
  name: 'pipeline-samples',
  async up(db, { strict }) {
    const samples = db.schema
      .createTable('pipeline_samples')
      .addColumn('pipeline_id', 'text', (column) => column.notNull())
      .addColumn('from_at', 'text', (column) => column.notNull())
      .addColumn('to_at', 'text', (column) => column.notNull())
      .addColumn('span', 'text', (column) => column.notNull())
      .addColumn('points_json', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('pipeline_samples_key', ['pipeline_id', 'from_at', 'span'])
    await strict(samples).execute()
    await db.schema.createIndex('pipeline_samples_by_age').on('pipeline_samples').columns(['span', 'to_at']).execute()
  },
}

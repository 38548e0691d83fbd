import type { Migration } from '../migration.ts'

/** Owners of definitions and environments; an owner has at most one definition of a name. */
export const managed: Migration = {
  name: 'managed',
  async up(db) {
    await db.schema.alterTable('pipeline_definitions').addColumn('managed_by', 'text').execute()
    await db.schema.alterTable('environments').addColumn('managed_by', 'text').execute()
    await db.schema
      .createIndex('pipeline_definitions_by_manager')
      .unique()
      .on('pipeline_definitions')
      .columns(['managed_by', 'name'])
      .execute()
  },
}

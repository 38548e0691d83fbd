import type { Migration } from './migration.ts'

/** Operations that were started together have the same group. */
export const operationGroups: Migration = {
  name: 'operation-groups',
  async up(db) {
    await db.schema.alterTable('operations').addColumn('group_id', 'text').execute()
    await db.schema
      .createIndex('operations_by_group')
      .on('operations')
      .columns(['group_id', 'created_at', 'id'])
      .execute()
  },
}

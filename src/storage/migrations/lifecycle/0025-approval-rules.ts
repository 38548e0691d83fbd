import type { Migration } from '../migration.ts'

/** Approvals of several users, requests and rollouts that wait for a window, deployments that may roll back by themselves. */
export const approvalRules: Migration = {
  name: 'approval-rules',
  async up(db, context) {
    const votes = db.schema
      .createTable('approval_votes')
      .addColumn('request_id', 'text', (column) =>
        column.notNull().references('approval_requests.id').onDelete('cascade'),
      )
      .addColumn('approver', 'text', (column) => column.notNull())
      .addColumn('approved_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('approval_votes_key', ['request_id', 'approver'])
    await context.strict(votes).execute()
    await db.schema.alterTable('approval_requests').addColumn('waiting_since', 'text').execute()
    await db.schema.alterTable('approval_requests').addColumn('override_json', 'text').execute()
    await db.schema.alterTable('deployments').addColumn('guard_json', 'text').execute()
    await db.schema.alterTable('deployment_history').addColumn('override_json', 'text').execute()
  },
}

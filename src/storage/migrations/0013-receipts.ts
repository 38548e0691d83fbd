import type { Migration } from './migration.ts'

const FIGURES = [
  'storage_freed_bytes',
  'projected_files_removed',
  'projected_delete_files_removed',
  'projected_bytes_freed',
  'planning_saved_us',
  'scan_requests_saved',
] as const

/** What operations were expected to gain and what was measured, in the ledger and summed up by policies. */
export const receipts: Migration = {
  name: 'receipts',
  async up(db, { int64 }) {
    await db.schema.alterTable('operations').addColumn('receipt_json', 'text').execute()
    for (const figure of FIGURES) {
      await db.schema.alterTable('policy_decisions').addColumn(figure, int64).execute()
    }
  },
}

import { z } from 'zod'
import { bytes, count } from '../common.ts'
import { savings as money } from './receipt.ts'

/** The longest span of days that one request sums up. */
export const MAX_SAVINGS_DAYS = 366

const day = z.iso.date().meta({ example: '2026-11-20' })

/** Query of the savings (docs/api.md#savings). */
export const savingsQuery = z.strictObject({
  from: day.optional().meta({ description: 'The first day, in UTC. Default: 29 days before `to`' }),
  to: day
    .optional()
    .meta({ description: `The last day, in UTC. Default: today. At most ${MAX_SAVINGS_DAYS} days from \`from\`` }),
})

const comparison = (description: string) => z.object({ estimated: z.int(), measured: z.int() }).meta({ description })

const figures = {
  operations: count.meta({ description: 'Operations that succeeded' }),
  failed: count.meta({ description: 'Operations that failed, were cancelled, or whose outcome is unknown' }),
  undone: count.meta({
    description:
      'Of `operations`: a later rollback undid their commit, or their files were restored from quarantine. Their gain counts nowhere',
  }),
  unmeasured: count.meta({
    description:
      'Of `operations`: they remove or rewrite files, and the ledger lacks a figure. What is known of them counts',
  }),
  duration_ms: count.meta({ description: 'Run time of all ended operations, with those that failed' }),
  bytes_rewritten: bytes.meta({ description: 'Bytes that were read and written anew, also by undone operations' }),
  files_before: count.meta({ description: 'Data and delete files that were replaced' }),
  files_after: count.meta({ description: 'Files that replaced them' }),
  bytes_before: bytes.meta({ description: 'Bytes of the replaced files' }),
  bytes_after: bytes.meta({ description: 'Bytes of the files that replaced them' }),
  manifests_removed: z.int().meta({ description: 'Manifests fewer after rewrites of manifests' }),
  files_deleted: count.meta({ description: 'Files of all kinds that expiry and orphan removal deleted' }),
  storage_freed_bytes: bytes.meta({ description: 'Bytes of the deleted files, also of those in quarantine' }),
  quarantined_bytes: bytes.meta({
    description: 'Of `storage_freed_bytes`: still stored, because the files are in quarantine',
  }),
  storage_added_bytes: bytes.meta({
    description: 'Bytes of new files, also of undone operations; the replaced files stay until expiry',
  }),
  scan_requests_saved: z.int().meta({
    description:
      'Files fewer that one full scan of each table opens; below 0: more. Measured before and after each operation',
  }),
  planning_saved_ms: z.number().meta({ description: 'By how much planning these scans became shorter' }),
  planned: z
    .object({
      operations: count,
      files_removed: comparison('Data and delete files'),
      storage_freed_bytes: comparison('Only of operations whose plan has an estimate'),
    })
    .meta({ description: 'What plans estimated, and what was measured for the same operations' }),
}

/** The sums of some operations. */
export const savingsFigures = z.object(figures).meta({ id: 'SavingsFigures' })

const requester = z.enum(['policy', 'person']).meta({
  description: '`policy`: a policy started them. `person`: a user did, also by the agent or a token',
})

/** The sums of the operations of one kind that policies or people started on one day. */
export const savingsRow = z.object({ date: day, operation: z.string(), by: requester, ...figures }).meta({
  id: 'SavingsRow',
})

/** Costs and gains of all operations by day. */
export const savingsReport = z
  .object({
    success: z.literal(true),
    from: day,
    to: day,
    total: savingsFigures,
    by_policies: savingsFigures,
    by_people: savingsFigures,
    money: money
      .nullable()
      .meta({ description: 'Estimated from `total` at the configured prices of today; null without prices' }),
    rows: z
      .array(savingsRow)
      .meta({ description: 'By day, kind and requester, oldest first; days without an ended operation are absent' }),
  })
  .meta({ id: 'SavingsReport' })

export type SavingsFigures = z.output<typeof savingsFigures>
export type SavingsRow = z.output<typeof savingsRow>
export type SavingsReport = z.output<typeof savingsReport>

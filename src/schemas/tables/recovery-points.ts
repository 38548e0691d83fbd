import { z } from 'zod'
import { nextPageToken, pageQuery, snapshotId, tableName, timeInput, timestamp } from '../common.ts'

export const recoveryPointsQuery = pageQuery.extend({
  table: tableName,
  branch: z.string().min(1).max(1000).optional().meta({ description: 'Default: `main`' }),
  at: timeInput.optional().meta({ description: 'Only the state that the branch had at this time' }),
})

const recoveryPoint = z.object({
  snapshot_id: snapshotId,
  made_current_at: timestamp.meta({ description: 'From this time on, the branch had this state' }),
  current_until: timestamp.nullable().meta({ description: 'Exclusive. Null: the branch still has this state' }),
  operation: z.string().nullable(),
  summary: z
    .record(z.string(), z.string())
    .meta({ description: 'What the snapshot committed; empty when the snapshot has expired' }),
  is_current: z.boolean(),
  is_readable: z.boolean().meta({ description: 'The table still has the snapshot, so its files are kept' }),
  is_restorable: z.boolean().meta({ description: '`POST /api/rollback` can return to this state' }),
  obstacle: z
    .enum(['expired', 'not_in_history', 'not_main'])
    .nullable()
    .meta({
      description:
        'Why a rollback cannot return to this state. `expired`: the snapshot is gone. `not_in_history`: the snapshot is no ancestor ' +
        'of the current one, after a rollback or a replaced table. `not_main`: rollbacks move only `main`',
    }),
})

export const recoveryPointList = z
  .object({
    success: z.literal(true),
    table: z.string(),
    branch: z.string(),
    earliest_at: timestamp.nullable().meta({
      description: 'The earliest time whose state is kept and in the history of the branch; null: no state is',
    }),
    earlier: z.enum(['no_snapshot', 'expired', 'not_in_history']).meta({
      description: 'Why no earlier time can be restored. `no_snapshot`: the branch had no rows before',
    }),
    earlier_reason: z.string().meta({ description: 'The same in words' }),
    recovery_points: z.array(recoveryPoint),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'RecoveryPointList' })

import { z } from 'zod'
import { bytes, count, nextPageToken, pageQuery, snapshotId, tableName, timestamp } from '../common.ts'

export const quarantineParams = z.strictObject({ quarantine_id: z.string().max(100) })

export const quarantineState = z.enum(['held', 'restoring', 'restored', 'purging', 'purged'])

export const quarantineQuery = pageQuery.extend({ table: tableName.optional(), state: quarantineState.optional() })

export const quarantineEntry = z
  .object({
    id: z.string(),
    operation_id: z.string().meta({ description: 'The operation that removed the files' }),
    requested_by: z.string(),
    reason: z.enum(['expire', 'remove_orphans']),
    table: z.string(),
    state: quarantineState,
    files_count: count,
    bytes,
    snapshots_count: count.meta({ description: 'Expired snapshots that a restore can put back' }),
    held_until: timestamp.meta({ description: 'The files are deleted for good after it' }),
    problem: z.string().nullable().meta({ description: 'Why the last attempt to delete the files failed' }),
    created_at: timestamp,
    settled_at: timestamp.nullable(),
  })
  .meta({ id: 'QuarantineEntry' })

export type QuarantineEntry = z.output<typeof quarantineEntry>

export const quarantineDetails = quarantineEntry
  .extend({
    files: z
      .array(z.object({ location: z.string(), size_bytes: bytes }))
      .meta({ description: 'The first 1,000, by their location in the table' }),
    snapshot_ids: z.array(snapshotId).meta({ description: 'The first 1,000' }),
  })
  .meta({ id: 'QuarantineDetails' })

export type QuarantineDetails = z.output<typeof quarantineDetails>

export const quarantineList = z
  .object({ success: z.literal(true), entries: z.array(quarantineEntry), next_page_token: nextPageToken })
  .meta({ id: 'QuarantineList' })

export const restoreRequest = z.strictObject({
  dry_run: z.boolean().optional(),
  plan_id: z.string().max(100).optional(),
})

export const quarantinePurged = z
  .object({
    success: z.literal(true),
    quarantine_id: z.string(),
    deleted_files_count: count,
    freed_bytes: bytes,
    kept_files_count: count.meta({ description: 'Files that a table needs again; they are back in the table' }),
    failed_deletions_count: count,
    failed_deletions: z.array(z.object({ location: z.string(), reason: z.string() })),
  })
  .meta({ id: 'QuarantinePurged' })

export type QuarantinePurged = z.output<typeof quarantinePurged>

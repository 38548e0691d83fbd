import { z } from 'zod'
import { AUDIT_CHANNELS, AUDIT_OUTCOMES } from '../domain/audit.ts'
import { count, eventFilter, nextPageToken, pageQuery, timeInput, timestamp } from './common.ts'

export const listAuditQuery = pageQuery.extend({
  actor: z.string().max(200).optional(),
  object: z.string().max(1000).optional().meta({ description: 'Id of the object, such as `def-…`' }),
  object_type: z.string().max(100).optional(),
  action: z.string().max(100).optional(),
  from: timeInput.optional().meta({ description: 'Entries at or after this time' }),
  to: timeInput.optional().meta({ description: 'Entries before this time' }),
})

export const exportAuditQuery = z.strictObject({
  from: listAuditQuery.shape.from,
  to: listAuditQuery.shape.to,
  after_seq: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: 'Only entries after this number: the `last_seq` of the export before' }),
})

const auditEntry = z
  .object({
    id: z.string(),
    seq: z.int().min(1),
    at: timestamp,
    actor: z.string().nullable(),
    role: z.string().nullable(),
    channel: z.enum(AUDIT_CHANNELS),
    action: z.string(),
    object_type: z.string(),
    object_id: z.string().nullable(),
    outcome: z.enum(AUDIT_OUTCOMES),
    request_id: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
    hash: z.string().meta({ description: 'SHA-256 over the entry and the hash before it, in hex' }),
  })
  .meta({ id: 'AuditEntry' })

export const auditList = z.array(auditEntry).meta({ id: 'AuditList' })

export const auditVerification = z
  .object({
    ok: z.boolean(),
    checked: count.meta({ description: 'Number of entries that are unchanged' }),
    first_bad: z.int().optional().meta({ description: 'Number of the first entry that is not unchanged' }),
    reason: z.string().optional(),
    head: z
      .object({ seq: count, hash: z.string() })
      .meta({ description: 'The end of the log; store it to compare later' }),
  })
  .meta({ id: 'AuditVerification' })

export const listEventsQuery = z.strictObject({
  since: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  limit: pageQuery.shape.page_size.meta({ description: 'The earlier name of `page_size`, which goes before it' }),
  ...pageQuery.shape,
  type: eventFilter.optional().meta({ description: 'Only events of this type: `approval.requested`, or `approval.*`' }),
})

const event = z
  .object({
    seq: z.int().min(1),
    at: timestamp,
    type: z.string(),
    object_type: z.string(),
    object_id: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' })

export const eventList = z
  .object({ success: z.literal(true), events: z.array(event), last_seq: count, next_page_token: nextPageToken })
  .meta({ id: 'EventList' })

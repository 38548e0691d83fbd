import { z } from 'zod'
import { receipt } from './receipt.ts'
import { count, bytes, nextPageToken, pageQuery, snapshotId, timestamp } from '../common.ts'

export const operationParams = z.strictObject({ operation_id: z.string().max(100) })

export const OPERATION_STATES = ['running', 'succeeded', 'failed', 'cancelled', 'unknown'] as const

/** A name that operations started together have in common. */
export const operationGroup = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must begin with a letter or digit; letters, digits and . _ -')

export const listOperationsQuery = pageQuery.extend({
  table: z.string().max(1000).optional(),
  state: z.enum(OPERATION_STATES).optional(),
  group: operationGroup.optional(),
})

export const operation = z
  .object({
    id: z.string(),
    operation: z.string(),
    table: z.string(),
    state: z.enum(OPERATION_STATES),
    requested_by: z.string(),
    request: z.unknown(),
    progress: z.object({ files_done: count, files_total: count, bytes_done: bytes, bytes_total: bytes }).nullable(),
    base_snapshot_id: snapshotId.nullable(),
    snapshot_id: snapshotId.nullable(),
    health_before: z.unknown().nullable(),
    health_after: z.unknown().nullable(),
    result: z.unknown().nullable(),
    receipt: receipt.nullable().meta({ description: 'Of maintenance that succeeded: projected against measured gain' }),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    bytes_read: bytes.nullable(),
    bytes_written: bytes.nullable(),
    duration_ms: z.number().nullable(),
    created_at: timestamp,
    started_at: timestamp.nullable().meta({ description: 'When it got the table to itself; null while it waits' }),
    finished_at: timestamp.nullable(),
    request_id: z.string().nullable(),
    group: z.string().nullable().meta({ description: 'The `Operation-Group` of its request' }),
  })
  .meta({ id: 'Operation' })

export const operationList = z
  .object({ success: z.literal(true), operations: z.array(operation), next_page_token: nextPageToken })
  .meta({ id: 'OperationList' })

export const operationAccepted = z
  .object({
    success: z.literal(true),
    operation: z.string(),
    operation_id: z.string(),
    table: z.string(),
    state: z.literal('running'),
  })
  .meta({ id: 'OperationAccepted' })

export type Operation = z.infer<typeof operation>

import { z } from 'zod'
import { matchesAnyType, unknownTypeMessage } from '../domain/event-type.ts'
import { count, eventFilter, pageQuery, timestamp } from './common.ts'

const subscription = eventFilter.refine(matchesAnyType, {
  error: ({ input }) => unknownTypeMessage(String(input)),
  params: { code: 'UNPROCESSABLE' },
})

export const createWebhookRequest = z.strictObject({
  url: z.string().min(1).max(2000),
  types: z.array(subscription).min(1).max(50).optional().meta({ description: 'Default: `["approval.*"]`' }),
})

const webhookFields = {
  id: z.string(),
  url: z.string(),
  types: z.array(z.string()),
  created_by: z.string(),
  created_at: timestamp,
}

export const createdWebhook = z
  .object({ ...webhookFields, secret: z.string().meta({ description: 'Signs every delivery; shown once' }) })
  .meta({ id: 'CreatedWebhook' })

export const webhookList = z.array(z.object(webhookFields).meta({ id: 'Webhook' })).meta({ id: 'WebhookList' })

export const webhookParams = z.strictObject({ webhook_id: z.string().max(100) })

export const deliveryQuery = pageQuery

export const deliveryList = z
  .array(
    z
      .object({
        id: z.string(),
        webhook_id: z.string(),
        event_seq: z.int().min(1),
        state: z.enum(['pending', 'delivered', 'failed']),
        attempts: count,
        next_attempt_at: timestamp.nullable(),
        last_status: z.int().nullable(),
        last_error: z.string().nullable(),
        created_at: timestamp,
        finished_at: timestamp.nullable(),
      })
      .meta({ id: 'WebhookDelivery' }),
  )
  .meta({ id: 'WebhookDeliveryList' })

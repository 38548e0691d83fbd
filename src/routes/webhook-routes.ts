import { pageQuery } from '../schemas/common.ts'
import {
  createdWebhook,
  createWebhookRequest,
  deliveryList,
  deliveryQuery,
  webhookList,
  webhookParams,
} from '../schemas/webhooks.ts'
import type { WebhookService } from '../services/webhooks/webhook-service.ts'
import { nextPageLink } from './routing/next-page-link.ts'
import { requestContext, type Route, route } from './routing/route.ts'

/** Webhooks: notifications of pending and decided approvals. */
export function webhookRoutes({ webhooks }: { readonly webhooks: WebhookService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/webhooks',
      operationId: 'listWebhooks',
      summary: 'Webhooks, newest first, without their secrets',
      minRole: 'LeadDataEngineer',
      query: pageQuery,
      responses: { 200: { description: 'A page of webhooks; the next one is in `Link`', schema: webhookList } },
    }).handle(async ({ query }) => {
      const { items, next_page_token } = await webhooks.list(query)
      return { status: 200, body: items, headers: nextPageLink('/api/webhooks', query, next_page_token) }
    }),
    route({
      method: 'post',
      path: '/api/webhooks',
      operationId: 'createWebhook',
      summary: 'Create a webhook that sends signed events to a URL',
      minRole: 'LeadDataEngineer',
      body: createWebhookRequest,
      refuses: [422],
      responses: { 201: { description: 'The webhook with its secret, shown once', schema: createdWebhook } },
    }).handle(async (input) => ({
      status: 201,
      body: await webhooks.create(input.body, requestContext(input)),
      headers: { 'Cache-Control': 'no-store' },
    })),
    route({
      method: 'delete',
      path: '/api/webhooks/{webhook_id}',
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook and its queued deliveries',
      minRole: 'LeadDataEngineer',
      params: webhookParams,
      responses: { 204: { description: 'Deleted' } },
    }).handle(async (input) => {
      await webhooks.remove(input.params.webhook_id, requestContext(input))
      return { status: 204 }
    }),
    route({
      method: 'get',
      path: '/api/webhooks/{webhook_id}/deliveries',
      operationId: 'listWebhookDeliveries',
      summary: 'Sent and queued deliveries, newest first',
      minRole: 'LeadDataEngineer',
      params: webhookParams,
      query: deliveryQuery,
      responses: { 200: { description: 'A page of deliveries; the next one is in `Link`', schema: deliveryList } },
    }).handle(async ({ params: { webhook_id: id }, query }) => {
      const { items, next_page_token } = await webhooks.deliveries(id, query)
      return {
        status: 200,
        body: items,
        headers: nextPageLink(`/api/webhooks/${id}/deliveries`, query, next_page_token),
      }
    }),
  ]
}

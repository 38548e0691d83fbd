import { changeQuery, creationQuery, pageQuery } from '../schemas/common.ts'
import {
  alertDelivery,
  alertDeliveryList,
  alertDeliveryQuery,
  alertList,
  alertParams,
  alertRequest,
  alertView,
  changedAlert,
  silenceRequest,
} from '../schemas/alerts.ts'
import type { AlertService } from '../services/alerts/alert-service.ts'
import { readChangeRequest } from './routing/change-request.ts'
import { entityTag } from './routing/entity-tag.ts'
import { nextPageLink } from './routing/next-page-link.ts'
import { requestContext, type Route, route } from './routing/route.ts'

interface AlertRouteDeps {
  readonly alerts: AlertService
}

const ALL = '/api/alerts'
const ONE = '/api/alerts/{alert_id}'

const PLACE = { alert_id: '/id' }
const LINKS = {
  getAlert: PLACE,
  updateAlert: PLACE,
  deleteAlert: PLACE,
  silenceAlert: PLACE,
  listAlertDeliveries: PLACE,
}

/** Alert rules: who is told of which events (docs/api.md#alerts). */
export function alertRoutes(deps: AlertRouteDeps): Route[] {
  return [...readRoutes(deps), ...changeRoutes(deps), ...actionRoutes(deps)]
}

function readRoutes({ alerts }: AlertRouteDeps): Route[] {
  return [
    route({
      method: 'get',
      path: ALL,
      operationId: 'listAlerts',
      summary: 'Alert rules, by name, without their secrets',
      minRole: 'LeadDataEngineer',
      query: pageQuery,
      responses: { 200: { description: 'A page of alerts', schema: alertList } },
    }).handle(async ({ query }) => ({ status: 200, body: await alerts.list(query) })),
    route({
      method: 'get',
      path: ONE,
      operationId: 'getAlert',
      summary: 'One alert rule',
      minRole: 'LeadDataEngineer',
      params: alertParams,
      responses: { 200: { description: 'The alert', schema: alertView } },
    }).handle(async ({ params }) => {
      const body = await alerts.get(params.alert_id)
      return { status: 200, body, headers: entityTag(body.revision, body) }
    }),
    route({
      method: 'get',
      path: `${ONE}/deliveries`,
      operationId: 'listAlertDeliveries',
      summary: 'Notifications that were sent, are queued, or were silenced; newest first',
      minRole: 'LeadDataEngineer',
      params: alertParams,
      query: alertDeliveryQuery,
      responses: {
        200: { description: 'A page of deliveries; the next one is in `Link`', schema: alertDeliveryList },
      },
    }).handle(async ({ params: { alert_id: id }, query }) => {
      const { items, next_page_token } = await alerts.deliveries(id, query)
      const headers = nextPageLink(`${ALL}/${id}/deliveries`, query, next_page_token)
      return { status: 200, body: items, headers }
    }),
  ]
}

function changeRoutes({ alerts }: AlertRouteDeps): Route[] {
  return [
    route({
      method: 'post',
      path: ALL,
      operationId: 'createAlert',
      summary: 'Create an alert rule',
      minRole: 'LeadDataEngineer',
      query: creationQuery,
      body: alertRequest,
      refuses: [409, 422],
      responses: { 201: { description: 'The alert', schema: changedAlert, links: LINKS } },
    }).handle(async (input) => {
      const body = await alerts.create(input.body, requestContext(input), input.query.managed_by)
      return { status: 201, body, headers: { ...entityTag(body.revision, body), 'Cache-Control': 'no-store' } }
    }),
    route({
      method: 'put',
      path: ONE,
      operationId: 'updateAlert',
      summary: 'Replace an alert rule; `***` keeps a stored secret',
      minRole: 'LeadDataEngineer',
      params: alertParams,
      body: alertRequest,
      query: changeQuery,
      headers: ['If-Match'],
      refuses: [409, 422],
      responses: { 200: { description: 'The alert', schema: changedAlert } },
    }).handle(async (input) => {
      const body = await alerts.update(input.params.alert_id, input.body, readChangeRequest(input))
      return { status: 200, body, headers: { ...entityTag(body.revision, body), 'Cache-Control': 'no-store' } }
    }),
    route({
      method: 'delete',
      path: ONE,
      operationId: 'deleteAlert',
      summary: 'Delete an alert rule and its queued notifications',
      minRole: 'LeadDataEngineer',
      params: alertParams,
      query: changeQuery,
      headers: ['If-Match'],
      refuses: [409],
      responses: { 204: { description: 'Deleted' } },
    }).handle(async (input) => {
      await alerts.remove(input.params.alert_id, readChangeRequest(input))
      return { status: 204 }
    }),
  ]
}

function actionRoutes({ alerts }: AlertRouteDeps): Route[] {
  return [
    route({
      method: 'post',
      path: `${ONE}/test`,
      operationId: 'testAlert',
      summary: 'Send a test notification once, and tell what the channel answered',
      minRole: 'LeadDataEngineer',
      params: alertParams,
      responses: { 200: { description: 'The delivery, `delivered` or `failed`', schema: alertDelivery } },
    }).handle(async (input) => ({
      status: 200,
      body: await alerts.test(input.params.alert_id, requestContext(input)),
    })),
    route({
      method: 'post',
      path: `${ONE}/silence`,
      operationId: 'silenceAlert',
      summary: 'Record notifications without sending them until a time, or end that',
      minRole: 'LeadDataEngineer',
      params: alertParams,
      body: silenceRequest,
      responses: { 200: { description: 'The alert', schema: alertView } },
    }).handle(async (input) => {
      const { until } = input.body
      const body = await alerts.silence(input.params.alert_id, until ?? undefined, requestContext(input))
      return { status: 200, body, headers: entityTag(body.revision, body) }
    }),
  ]
}

import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import { fetchPage } from '../../../api/paged-list.ts'
import type { Alert, AlertDelivery, AlertList, AlertRequest, ChangedAlert } from '../../../api/types.ts'

const BASE = '/api/alerts'

const pathOf = (id: string): string => `${BASE}/${encodeURIComponent(id)}`

/** What the key of every query about alerts begins with. */
export const ALERTS_KEY = ['alerts'] as const

/** All alerts, by name; for leads. */
export const alertsQuery = queryOptions({
  queryKey: [...ALERTS_KEY, 'list'],
  queryFn: async ({ signal }) => (await api.get<AlertList>(BASE, { signal })).alerts,
  refetchInterval: 15_000,
})

/** Notifications of an alert, newest first, page by page. */
export const notificationsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: [...ALERTS_KEY, 'deliveries', id],
    queryFn: ({ pageParam, signal }) =>
      fetchPage<AlertDelivery>(`${pathOf(id)}/deliveries`, { query: { page_size: 50, page_token: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    refetchInterval: 5000,
  })

/** Creates an alert, or replaces `base`; that is refused with 412 if it has changed since. */
export function saveAlert(base: Alert | undefined, request: AlertRequest): Promise<ChangedAlert> {
  if (base === undefined) return api.post(BASE, request)
  return api.put(pathOf(base.id), request, ifUnchanged(base))
}

/** Deletes an alert; refused with 412 if it has changed since. */
export function deleteAlert(alert: Alert): Promise<undefined> {
  return api.del(pathOf(alert.id), ifUnchanged(alert))
}

/** Sends a message now, and says what became of it. */
export function testAlert({ id }: Alert): Promise<AlertDelivery> {
  return api.post(`${pathOf(id)}/test`, undefined)
}

/** Sends nothing until a time (ISO); null: ends that. */
export function silenceAlert({ id }: Alert, until: string | null): Promise<Alert> {
  return api.post(`${pathOf(id)}/silence`, { until })
}

function ifUnchanged({ revision }: Alert) {
  return { headers: { 'If-Match': `"${revision}"` } }
}

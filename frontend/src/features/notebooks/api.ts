import { queryOptions, useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { NotebookStatus } from '../../api/types.ts'
import { serviceHealthQuery } from '../../api/service-health.ts'

const POLL_MS = { starting: 1500, else: 30_000 } as const

/** The caller's notebook; 404 when there is no cluster. Polled often while it starts, because pods start in seconds. */
export const notebookQuery = queryOptions({
  queryKey: ['notebook'],
  queryFn: ({ signal }) => api.get<NotebookStatus>('/api/notebook/status', { signal }),
  refetchInterval: ({ state }) => (state.data?.status === 'pending' ? POLL_MS.starting : POLL_MS.else),
})

/** Starts the caller's notebook, if it is not running already. */
export function startNotebook(): Promise<NotebookStatus> {
  return api.post('/api/notebook/start', {})
}

/** Removes the caller's notebook. */
export function stopNotebook(): Promise<undefined> {
  return api.post('/api/notebook/stop')
}

/** Whether there is a cluster that notebooks could run in, working or not. */
export function useHasCluster(): boolean {
  const { data } = useQuery(serviceHealthQuery)
  return data !== undefined && data.checks.cluster !== 'not_configured'
}

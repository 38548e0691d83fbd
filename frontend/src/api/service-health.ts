import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { ServiceHealth } from './types.ts'

/** Health of the service and its components. */
export const serviceHealthQuery = queryOptions({
  queryKey: ['service-health'],
  queryFn: ({ signal }) => api.get<ServiceHealth>('/api/health', { signal }),
  refetchInterval: 30_000,
})

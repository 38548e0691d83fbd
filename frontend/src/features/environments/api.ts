import { queryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type { EnvironmentSettings, SetEnvironmentRequest } from '../../api/types.ts'

const BASE = '/api/environments'

/** Settings of all environments, development first. */
export const environmentsQuery = queryOptions({
  queryKey: ['environments'],
  queryFn: ({ signal }) => api.get<EnvironmentSettings[]>(BASE, { signal }),
})

/** Changes an environment; refused with 412 if it is no longer as `base`. */
export function setEnvironment(base: EnvironmentSettings, body: SetEnvironmentRequest): Promise<EnvironmentSettings> {
  const headers = { 'If-Match': `"${base.revision}"` }
  return api.put(`${BASE}/${base.environment}`, body, { headers })
}

import { queryOptions, useQuery } from '@tanstack/react-query'
import { hasRole } from '../../../src/domain/roles.ts'
import { ApiError } from './api-error.ts'
import { api } from './client.ts'
import { queryClient } from './query-client.ts'
import type { Role, WhoAmI } from './types.ts'

/** Who the caller is; refused with 401 when nobody is signed in. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => api.get<WhoAmI>('/api/auth/me', { signal }),
  staleTime: 5 * 60_000,
})

/** The caller, while the session lasts. */
export function useMe(): WhoAmI | undefined {
  return useQuery(meQuery).data
}

/** Whether the caller's role is at least `minimum`: what the page offers; the service decides. */
export function useCan(minimum: Role): boolean {
  const me = useMe()
  return me !== undefined && hasRole(me.role, minimum)
}

/** Hands a token in for a session cookie; throws `ApiError` 401 when it is of no use. */
export async function signIn(token: string): Promise<WhoAmI> {
  const me = await api.post<WhoAmI>('/api/auth/session', { token: token.trim() })
  queryClient.clear()
  queryClient.setQueryData(meQuery.queryKey, me)
  return me
}

/** Ends the session and forgets everything that was read in it. */
export async function signOut(): Promise<void> {
  try {
    await api.del('/api/auth/session')
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error
  }
  queryClient.clear()
}

/**
 * Signs in with the token of a link `…/#token=…`, the one that the first start prints, and removes it from the address
 * and the history. Answers what went wrong, if anything did.
 */
export async function signInFromLink(): Promise<ApiError | undefined> {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return undefined
  history.replaceState(null, '', location.pathname + location.search)
  try {
    await signIn(token)
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

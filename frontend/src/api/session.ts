import { queryOptions, useQuery } from '@tanstack/react-query'
import { hasRole } from '../../../src/domain/roles.ts'
import { ApiError } from './api-error.ts'
import { api } from './client.ts'
import { queryClient } from './query-client.ts'
import { RECENT_QUERIES } from './stored-keys.ts'
import { serviceAddress } from '../base-path.ts'
import type { Role, SignInMethods, WhoAmI } from './types.ts'

/** The signed-in user; fails with 401 when no user is signed in. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => api.get<WhoAmI>('/api/auth/me', { signal }),
  staleTime: 5 * 60_000,
})

/** How users may sign in here. */
export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => api.get<SignInMethods>('/api/auth/methods', { signal }),
  staleTime: Infinity,
})

/** The address that begins a sign-in at the identity provider and comes back to a path of the page. */
export function providerAddress(path: string): string {
  return serviceAddress(`/api/auth/login?${new URLSearchParams({ return_to: path }).toString()}`)
}

/** The caller, while the session lasts. */
export function useMe(): WhoAmI | undefined {
  return useQuery(meQuery).data
}

/** Whether the caller's role is at least `minimum`: what the page offers; the service decides. */
export function useCan(minimum: Role): boolean {
  const me = useMe()
  return me !== undefined && hasRole(me.role, minimum)
}

/** Exchanges a token for a session cookie; throws `ApiError` 401 for an invalid token. */
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
  localStorage.removeItem(RECENT_QUERIES)
}

/** What opening the page by a link with a token leads to. */
export type LinkOutcome =
  /** There was no token, or it was for the current session. */
  | { readonly kind: 'done' }
  /** The token is invalid, or the service did not respond; `current` stays signed in. */
  | { readonly kind: 'refused'; readonly current: WhoAmI | undefined }
  /** Another user is signed in: the session is replaced only after confirmation. */
  | { readonly kind: 'ask'; readonly token: string; readonly current: WhoAmI; readonly offered: WhoAmI }

/**
 * Follows a link `…/#token=…`, such as the one that the first start prints, and removes the token from the address and
 * the history. It signs in when there is no session; a session of another user or role is not replaced here.
 */
export async function followLink(): Promise<LinkOutcome> {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return { kind: 'done' }
  history.replaceState(null, '', location.pathname + location.search)
  let current: WhoAmI | undefined
  try {
    current = await whoIs({})
    if (current === undefined) {
      await signIn(token)
      return { kind: 'done' }
    }
    const offered = await whoIs({ Authorization: `Bearer ${token.trim()}` })
    if (offered === undefined) return { kind: 'refused', current }
    const isSame = offered.user === current.user && offered.role === current.role
    return isSame ? { kind: 'done' } : { kind: 'ask', token, current, offered }
  } catch (error) {
    if (error instanceof ApiError) return { kind: 'refused', current }
    throw error
  }
}

/** Who a credential, or without one the session, belongs to; undefined when it is not valid. */
async function whoIs(headers: Readonly<Record<string, string>>): Promise<WhoAmI | undefined> {
  try {
    return (await api.send<WhoAmI>('GET', '/api/auth/me', { headers })).body
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}

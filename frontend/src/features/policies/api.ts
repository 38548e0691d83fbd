import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import type {
  Policy,
  PolicyDecision,
  PolicyDecisionList,
  PolicyList,
  PolicyPreview,
  PolicyRequest,
  PolicyResumed,
  TablePolicy,
} from '../../api/types.ts'

const BASE = '/api/policies'
const REFRESH_MS = 15_000
const PAGE_SIZE = 100

const pathOf = (id: string): string => `${BASE}/${encodeURIComponent(id)}`

/** What the key of every query about policies begins with. */
export const POLICIES_KEY = ['policies'] as const

/** All policies, by name. */
export const policiesQuery = queryOptions({
  queryKey: [...POLICIES_KEY, 'list'],
  queryFn: async ({ signal }) => (await api.get<PolicyList>(BASE, { signal })).policies,
  refetchInterval: REFRESH_MS,
})

/** One policy. */
export const policyQuery = (id: string) =>
  queryOptions({
    queryKey: [...POLICIES_KEY, 'one', id],
    queryFn: ({ signal }) => api.get<Policy>(pathOf(id), { signal }),
    refetchInterval: REFRESH_MS,
  })

/** What a stored policy would do within 24 hours, from the tables as they are now. */
export const nextRunsQuery = (policy: Policy) =>
  queryOptions({
    queryKey: [...POLICIES_KEY, 'next', policy.id, policy.revision],
    queryFn: () => previewPolicy(requestOf(policy)),
    refetchInterval: 60_000,
  })

/** Which decisions are listed. */
export interface DecisionFilter {
  readonly table?: string | undefined
  readonly outcome?: PolicyDecision['outcome'] | undefined
}

/** Decisions of a policy, newest first, page by page. */
export const decisionsQuery = (id: string, { table, outcome }: DecisionFilter) =>
  infiniteQueryOptions({
    queryKey: [...POLICIES_KEY, 'decisions', id, { table, outcome }],
    queryFn: ({ pageParam, signal }) => fetchDecisions(id, { table, outcome, page_token: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_page_token: next }) => next,
    refetchInterval: REFRESH_MS,
  })

/** The latest decisions of a policy. */
export const latestDecisionsQuery = (id: string) =>
  queryOptions({
    queryKey: [...POLICIES_KEY, 'latest', id],
    queryFn: ({ signal }) => fetchDecisions(id, {}, signal),
    refetchInterval: REFRESH_MS,
  })

/** Which policy governs each operation of a table. */
export const tablePolicyQuery = (table: string) =>
  queryOptions({
    queryKey: ['table', table, 'policy'],
    queryFn: ({ signal }) => api.get<TablePolicy>(`/api/table/${encodeURIComponent(table)}/policy`, { signal }),
  })

function fetchDecisions(
  id: string,
  query: DecisionFilter & { readonly page_token?: string | null },
  signal: AbortSignal,
): Promise<PolicyDecisionList> {
  return api.get(`${pathOf(id)}/decisions`, { query: { ...query, page_size: PAGE_SIZE }, signal })
}

/** What a policy would do within 24 hours; stores nothing. */
export function previewPolicy(request: PolicyRequest): Promise<PolicyPreview> {
  return api.post(`${BASE}/preview`, request)
}

/** Creates a policy. */
export function createPolicy(request: PolicyRequest): Promise<Policy> {
  return api.post(BASE, request)
}

/** Replaces a policy; refused with 412 if it is no longer as `base`. */
export function updatePolicy({ id, revision }: Policy, request: PolicyRequest): Promise<Policy> {
  return api.put(pathOf(id), request, { headers: { 'If-Match': `"${revision}"` } })
}

/** Deletes a policy; refused with 412 if it has changed since. */
export function deletePolicy({ id, revision }: Policy): Promise<undefined> {
  return api.del(pathOf(id), { headers: { 'If-Match': `"${revision}"` } })
}

/** Ends the suspension of a table, or of all. */
export function resumePolicy(id: string, table: string | undefined): Promise<PolicyResumed> {
  return api.post(`${pathOf(id)}/resume`, table === undefined ? {} : { table })
}

/** The request that makes the same policy. */
export function requestOf(policy: Policy): PolicyRequest {
  const { name, tables, except, priority, operations, when, window, budget, cooldown, mode } = policy
  return {
    name,
    tables,
    except,
    priority,
    operations,
    when,
    ...(window === undefined ? {} : { window }),
    ...(budget === undefined ? {} : { budget }),
    cooldown,
    mode,
  }
}

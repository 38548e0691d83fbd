import { infiniteQueryOptions, queryOptions, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { useLiveEvents } from '../../api/live-events.ts'
import { fetchPage } from '../../api/paged-list.ts'
import type {
  ApprovalRequest,
  ApprovalRequestDetail,
  ApprovalStatus,
  Comment,
  DefinitionDetail,
  LogEventList,
  Rehearsal,
  Version,
  VersionDiff,
} from '../../api/types.ts'
import { diffAgainstNothing } from './diff-counts.ts'
import { followRequests, type KnownRequest } from './known-requests.ts'

const BASE = '/api/approvals'
const PAGE_SIZE = 200
const EVENTS_AT_ONCE = 1000

const pathOf = (id: string): string => `${BASE}/${encodeURIComponent(id)}`

/** A request with the tag that a decision about it carries as `If-Match`. */
export interface TaggedRequest {
  readonly request: ApprovalRequestDetail
  readonly tag: string | null
}

/** Requests of one status or all, newest first, page by page; for leads. */
export const requestsQuery = (status: ApprovalStatus | undefined) =>
  infiniteQueryOptions({
    queryKey: ['approvals', 'list', status ?? 'all'],
    queryFn: ({ pageParam, signal }) =>
      fetchPage<ApprovalRequest>(BASE, { query: { status, page_size: PAGE_SIZE, page_token: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  })

/** A request with snapshot and diff; for leads. */
export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', 'request', id],
    queryFn: async ({ signal }): Promise<TaggedRequest> => {
      const { body, headers } = await api.send<ApprovalRequestDetail>('GET', pathOf(id), { signal })
      return { request: body, tag: headers.get('ETag') }
    },
  })

/** Comments of a request, oldest first; for engineers and leads. */
export const commentsQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', 'comments', id],
    queryFn: ({ signal }) => api.get<readonly Comment[]>(`${pathOf(id)}/comments`, { signal }),
  })

/**
 * Requests as recorded in the event log, by id, which every role may read; for engineers, who cannot read the requests
 * themselves.
 */
export const knownRequestsQuery = queryOptions({
  queryKey: ['approvals', 'known'],
  queryFn: async ({ signal }): Promise<ReadonlyMap<string, KnownRequest>> => {
    let known: ReadonlyMap<string, KnownRequest> = new Map()
    for (let since = 0; ;) {
      const query = { since, limit: EVENTS_AT_ONCE, type: 'approval.*' }
      const { events, last_seq: last } = await api.get<LogEventList>('/api/events', { query, signal })
      known = followRequests(known, events)
      if (events.length < EVENTS_AT_ONCE) return known
      since = last
    }
  },
  staleTime: Number.POSITIVE_INFINITY, // kept right by the events that follow
})

/** The changes of a version in its target environment, from endpoints that every role may read. */
export interface VersionChange {
  readonly version: Version
  readonly diff: VersionDiff
}

/** The version of a request, and its difference from the newest version in the target environment. */
export const versionChangeQuery = (
  request: Pick<KnownRequest, 'id' | 'definition_id' | 'version_id' | 'to_environment'>,
) =>
  queryOptions({
    queryKey: ['approvals', 'change', request.id],
    queryFn: async ({ signal }): Promise<VersionChange> => {
      const base = `/api/pipeline-defs/${encodeURIComponent(request.definition_id)}`
      const own = `${base}/versions/${encodeURIComponent(request.version_id)}`
      const [version, definition] = await Promise.all([
        api.get<Version>(own, { signal }),
        api.get<DefinitionDetail>(base, { signal }),
      ])
      const target = definition.latest_versions[request.to_environment]
      if (!target || target.id === version.id) return { version, diff: diffAgainstNothing(version) }
      const path = `${base}/versions/${encodeURIComponent(target.id)}/diff/${encodeURIComponent(version.id)}`
      return { version, diff: await api.get<VersionDiff>(path, { signal }) }
    },
  })

/** A decision about a request. */
export type Decision =
  | { readonly kind: 'approve'; readonly comment: string }
  | { readonly kind: 'reject'; readonly reason: string }
  | { readonly kind: 'withdraw' }
  /** Does not wait for the window. */
  | { readonly kind: 'override'; readonly reason: string }

/** Ends a pending request; with a tag only if it is still what was seen (412 otherwise). */
export function decide(id: string, decision: Decision, tag: string | null): Promise<ApprovalRequest> {
  const options = tag === null ? {} : { headers: { 'If-Match': tag } }
  switch (decision.kind) {
    case 'approve': {
      const comment = decision.comment.trim()
      return api.post(`${pathOf(id)}/approve`, comment === '' ? {} : { comment }, options)
    }
    case 'reject':
      return api.post(`${pathOf(id)}/reject`, { reason: decision.reason.trim() }, options)
    case 'override':
      return api.post(`${pathOf(id)}/override-window`, { reason: decision.reason.trim() }, options)
    default:
      return api.del(pathOf(id), options)
  }
}

/** Runs the requested version over the newest rows of its sources; writes nothing. Ends when the signal is aborted. */
export function rehearse(id: string, batches: number, signal: AbortSignal): Promise<Rehearsal> {
  return api.post(`${pathOf(id)}/rehearse`, { batches }, { signal })
}

/** Adds a comment to a request with any status. */
export function addComment(id: string, comment: string): Promise<Comment> {
  return api.post(`${pathOf(id)}/comments`, { comment: comment.trim() })
}

/** Updates approvals on the page when other users change them. */
export function useLiveApprovals(): void {
  const client = useQueryClient()
  useLiveEvents('approval.', (event) => {
    client.setQueryData(knownRequestsQuery.queryKey, (known) => known && followRequests(known, [event]))
    void client.invalidateQueries({
      queryKey: ['approvals'],
      predicate: ({ queryKey: [, what] }) => what !== 'known',
    })
  })
}

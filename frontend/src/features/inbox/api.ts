import { queryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { fetchPage } from '../../api/paged-list.ts'
import type {
  ApprovalRequest,
  Operation,
  OperationList,
  Pipeline,
  PipelineList,
  Policy,
  PolicyList,
} from '../../api/types.ts'

const REFRESH_MS = 30_000
/** Entries of each kind that the inbox has at most; the lists have the rest. */
export const MAX_OF_KIND = 50
const DAY_MS = 86_400_000
/** Failed operations that are older are not in the inbox. */
const DAYS = 7

/** What may need the caller: open requests, and what does not work. */
export interface Inbox {
  readonly approvals: readonly ApprovalRequest[]
  /** Operations of the last days that failed, or whose outcome is unknown; newest first. */
  readonly operations: readonly Operation[]
  /** Policies that are suspended for a table. */
  readonly policies: readonly Policy[]
  /** Pipelines that failed, or retry after an error. */
  readonly pipelines: readonly Pipeline[]
}

/** The inbox of a role: leads decide requests and resume policies. */
export const inboxQuery = (isLead: boolean) =>
  queryOptions({
    queryKey: ['inbox', isLead],
    queryFn: ({ signal }) => fetchInbox(isLead, signal),
    refetchInterval: REFRESH_MS,
  })

async function fetchInbox(isLead: boolean, signal: AbortSignal): Promise<Inbox> {
  const [approvals, policies, failed, unknown, stopped, degraded] = await Promise.all([
    isLead ? pendingRequests(signal) : [],
    isLead ? suspendedPolicies(signal) : [],
    operationsIn('failed', signal),
    operationsIn('unknown', signal),
    pipelinesIn('failed', signal),
    pipelinesIn('degraded', signal),
  ])
  const operations = [...failed, ...unknown].filter(({ created_at: at }) => isRecent(at, Date.now()))
  return {
    approvals,
    operations: operations.sort((a, b) => (a.created_at < b.created_at ? 1 : -1)),
    policies,
    pipelines: [...stopped, ...degraded],
  }
}

/** Whether an operation began within the days that the inbox looks back. */
export function isRecent(at: string, nowMs: number): boolean {
  return nowMs - Date.parse(at) < DAYS * DAY_MS
}

/** Whether there may be more entries of a kind. */
export function isCut({ approvals, operations, pipelines }: Inbox): boolean {
  return [approvals, operations, pipelines].some((entries) => entries.length >= MAX_OF_KIND)
}

async function pendingRequests(signal: AbortSignal): Promise<readonly ApprovalRequest[]> {
  const query = { status: 'pending', page_size: MAX_OF_KIND }
  return (await fetchPage<ApprovalRequest>('/api/approvals', { query, signal })).items
}

async function suspendedPolicies(signal: AbortSignal): Promise<readonly Policy[]> {
  const { policies } = await api.get<PolicyList>('/api/policies', { signal })
  return policies.filter(({ suspended_tables: count }) => count > 0)
}

async function operationsIn(state: Operation['state'], signal: AbortSignal): Promise<readonly Operation[]> {
  const query = { state, page_size: MAX_OF_KIND }
  return (await api.get<OperationList>('/api/operations', { query, signal })).operations
}

async function pipelinesIn(state: Pipeline['state'], signal: AbortSignal): Promise<readonly Pipeline[]> {
  const query = { state, page_size: MAX_OF_KIND }
  return (await api.get<PipelineList>('/api/pipelines', { query, signal })).pipelines
}

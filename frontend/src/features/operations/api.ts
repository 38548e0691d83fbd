import { infiniteQueryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { fetchPage } from '../../api/paged-list.ts'
import type { AuditEntry, AuditVerification, Operation, OperationList, OperationState } from '../../api/types.ts'
import type { AuditSearch } from './audit/search.ts'

const PAGE_SIZE = 200

export interface OperationSearch {
  readonly table?: string
  readonly state?: OperationState
  readonly group?: string
}

/** Operations that fit a filter, newest first, page by page. */
export const operationsQuery = ({ table, state, group }: OperationSearch) =>
  infiniteQueryOptions({
    queryKey: ['operations', 'list', { table, state, group }],
    queryFn: ({ pageParam, signal }) =>
      api.get<OperationList>('/api/operations', {
        query: { table, state, group, page_size: PAGE_SIZE, page_token: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_page_token: next }) => next ?? undefined,
  })

/** Cancels a running operation; refused with `CONFLICT` when it has ended. */
export function cancelOperation(id: string): Promise<Operation> {
  return api.del(`/api/operations/${encodeURIComponent(id)}`)
}

/** Entries of the audit log that fit a filter, newest first, page by page; for leads. */
export const auditQuery = (search: AuditSearch) =>
  infiniteQueryOptions({
    queryKey: ['audit', 'list', search],
    queryFn: ({ pageParam, signal }) =>
      fetchPage<AuditEntry>('/api/audit', {
        query: { ...search, page_size: PAGE_SIZE, page_token: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  })

/** Verifies the whole chain of the audit log; for leads. */
export function verifyAudit(): Promise<AuditVerification> {
  return api.get('/api/audit/verify')
}

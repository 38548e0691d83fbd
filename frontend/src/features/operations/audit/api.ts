import { infiniteQueryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import { fetchPage } from '../../../api/paged-list.ts'
import type { AuditEntry, AuditVerification } from '../../../api/types.ts'
import type { AuditSearch } from './search.ts'

const PAGE_SIZE = 200

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

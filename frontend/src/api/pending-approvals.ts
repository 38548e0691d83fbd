import { queryOptions, useQuery } from '@tanstack/react-query'
import type { NavBadge } from '../navigation.ts'
import { shell } from '../strings/shell.ts'
import { api } from './client.ts'
import { useCan } from './session.ts'
import type { PendingApprovals } from './types.ts'

/** What waits for a lead; asked again every half minute, and when something is decided. */
export const pendingApprovalsQuery = queryOptions({
  queryKey: ['approvals', 'pending'],
  queryFn: ({ signal }) => api.get<PendingApprovals>('/api/notifications/pending-approvals', { signal }),
  refetchInterval: 30_000,
})

/** The number of approval requests that wait for this caller; nothing for those who may not decide. */
export function usePendingApprovalsBadge(): NavBadge | undefined {
  const isLead = useCan('LeadDataEngineer')
  const { data } = useQuery({ ...pendingApprovalsQuery, enabled: isLead })
  return data && { count: data.count, label: shell.pendingApprovals(data.count) }
}

import { queryOptions, useQuery } from '@tanstack/react-query'
import type { NavBadge } from '../navigation.ts'
import { shell } from '../strings/shell.ts'
import { api } from './client.ts'
import { useLiveEvents } from './live-events.ts'
import { useCan } from './session.ts'
import type { PendingApprovals } from './types.ts'

/** What waits for a lead; asked again when something is asked for or decided, and every half minute in any case. */
export const pendingApprovalsQuery = queryOptions({
  queryKey: ['approvals', 'pending'],
  queryFn: ({ signal }) => api.get<PendingApprovals>('/api/notifications/pending-approvals', { signal }),
  refetchInterval: 30_000,
})

/** The number of approval requests that wait for this caller; nothing for those who may not decide. */
export function usePendingApprovalsBadge(): NavBadge | undefined {
  const isLead = useCan('LeadDataEngineer')
  const { data, refetch } = useQuery({ ...pendingApprovalsQuery, enabled: isLead })
  useLiveEvents('approval.', () => void refetch(), isLead)
  return data && { count: data.count, label: shell.pendingApprovals(data.count) }
}

import { queryOptions, useQuery } from '@tanstack/react-query'
import type { NavBadge } from '../../navigation.ts'
import { shell } from '../../strings/everywhere/shell.ts'
import { api } from '../../api/client.ts'
import { useLiveEvents } from '../../api/live-events.ts'
import { useCan } from '../../api/session.ts'
import type { PendingApprovals } from '../../api/types.ts'

/** Pending requests; reloaded after every request and decision, and every 30 s. */
export const pendingApprovalsQuery = queryOptions({
  queryKey: ['approvals', 'pending'],
  queryFn: ({ signal }) => api.get<PendingApprovals>('/api/notifications/pending-approvals', { signal }),
  refetchInterval: 30_000,
})

/** The number of pending approval requests; nothing for users who may not decide. */
export function usePendingApprovalsBadge(): NavBadge | undefined {
  const isLead = useCan('LeadDataEngineer')
  const { data, refetch } = useQuery({ ...pendingApprovalsQuery, enabled: isLead })
  useLiveEvents('approval.', () => void refetch(), isLead)
  return data && { count: data.count, label: shell.pendingApprovals(data.count) }
}

import type { ApprovalRequest } from '../../../api/types.ts'

export const INBOX_FILTERS = ['all', 'pending', 'waiting_for_window', 'approved', 'rejected'] as const

export type InboxFilter = (typeof INBOX_FILTERS)[number]

/** The filter in the URL; `all` for unknown values. */
export function readInboxFilter(value: unknown): InboxFilter {
  return INBOX_FILTERS.find((filter) => filter === value) ?? 'all'
}

/** Pending requests first, then those that wait for a window; each part newest first. */
export function inboxOrder<T extends Pick<ApprovalRequest, 'status' | 'requested_at' | 'decided_at'>>(
  requests: readonly T[],
): T[] {
  const rank = ({ status }: T): number => (status === 'pending' ? 0 : status === 'waiting_for_window' ? 1 : 2)
  const time = ({ decided_at: decided, requested_at: requested }: T): string => decided ?? requested
  return requests.toSorted((a, b) => rank(a) - rank(b) || (time(a) < time(b) ? 1 : -1))
}

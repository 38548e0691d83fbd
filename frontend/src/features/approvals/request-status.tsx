import { StatusDot, type StatusTone } from '../../components/status/status-dot.tsx'
import { approvalStrings as strings } from '../../strings/approvals.ts'
import type { ApprovalStatus } from '../../api/types.ts'

type ShownStatus = ApprovalStatus | 'withdrawn'

const TONES: Readonly<Record<ShownStatus, StatusTone>> = {
  pending: 'active',
  waiting_for_window: 'warn',
  approved: 'ok',
  rejected: 'bad',
  withdrawn: 'idle',
}

interface StatusFields {
  readonly status: ApprovalStatus
  readonly isWithdrawn: boolean
}

/** The status of a request; withdrawn requests are not shown as rejected. */
export function shownStatus({ status, isWithdrawn }: StatusFields): ShownStatus {
  return isWithdrawn ? 'withdrawn' : status
}

/** The status of a request as a dot and a word. */
export function RequestStatus({ request }: { readonly request: StatusFields }) {
  const status = shownStatus(request)
  return <StatusDot tone={TONES[status]} label={strings.statuses[status]} />
}

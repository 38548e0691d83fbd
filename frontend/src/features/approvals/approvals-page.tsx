import { useCan } from '../../api/session.ts'
import { useLiveApprovals } from './api.ts'
import { ApprovalsForbidden } from './approvals-forbidden.tsx'
import { KnownInbox } from './inbox/known-inbox.tsx'
import { LeadInbox } from './inbox/lead-inbox.tsx'

/** The inbox of approval requests, as the role of the reader allows. */
export function ApprovalsPage() {
  const isLead = useCan('LeadDataEngineer')
  const isEngineer = useCan('DataEngineer')
  useLiveApprovals()
  if (isLead) return <LeadInbox />
  return isEngineer ? <KnownInbox /> : <ApprovalsForbidden />
}

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useLiveEvents } from '../../api/live-events.ts'
import { useCan } from '../../api/session.ts'
import type { NavBadge } from '../../navigation.ts'
import { shell } from '../../strings/everywhere/shell.ts'
import { useSeenOperations } from '../operations/seen.ts'
import { type Inbox, inboxQuery } from './api.ts'

/** Events after which the inbox may differ. */
const EVENTS = /^approval\.|\.(failed|degraded|recovered|suspended|resumed|deleted)$/

/** The inbox of the caller, without failed operations that the caller has looked at; auditors have none. */
export function useInbox() {
  const canAct = useCan('DataEngineer')
  const isLead = useCan('LeadDataEngineer')
  const query = useQuery({ ...inboxQuery(isLead), enabled: canAct })
  const { seen, markSeen } = useSeenOperations()
  useLiveEvents(
    '',
    ({ type }) => {
      if (EVENTS.test(type)) void query.refetch({ cancelRefetch: false })
    },
    isLead,
  )
  const inbox = useMemo(() => query.data && unseen(query.data, seen), [query.data, seen])
  return { ...query, inbox, markSeen }
}

/** The number of entries of the inbox. */
export function useInboxBadge(): NavBadge | undefined {
  const { inbox } = useInbox()
  if (inbox === undefined) return undefined
  const count = sizeOf(inbox)
  return { count, label: shell.inInbox(count) }
}

/** The inbox without operations that the caller has looked at. */
export function unseen(inbox: Inbox, seen: ReadonlySet<string>): Inbox {
  return { ...inbox, operations: inbox.operations.filter(({ id }) => !seen.has(id)) }
}

/** The number of entries of all kinds. */
export function sizeOf({ approvals, operations, policies, pipelines }: Inbox): number {
  return approvals.length + operations.length + policies.length + pipelines.length
}

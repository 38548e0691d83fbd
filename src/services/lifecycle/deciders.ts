import type { Role } from '../../domain/roles.ts'
import type { ApprovalSummary } from '../../storage/stores/approvals/approval-store.ts'
import type { TokenStore } from '../../storage/stores/token-store.ts'
import type { ApprovalProgress } from './approval-progress.ts'

const DECIDER: Role = 'LeadDataEngineer'
const MAX_KNOWN = 50

/** Who may still approve a request. */
export interface Deciders {
  readonly role: Role
  /** Users with the role who may not. */
  readonly except: readonly { readonly user: string; readonly because: 'has_approved' | 'requester' }[]
  /** Users with a token of the role, the first 50; an identity provider may know others. */
  readonly known_users: readonly string[]
}

/** Who may still approve an open request; null once decided. */
export async function decidersOf(
  { tokens, now }: { readonly tokens: Pick<TokenStore, 'usersWith'>; readonly now: () => Date },
  request: ApprovalSummary,
  { given, forbidsSelf }: ApprovalProgress,
): Promise<Deciders | null> {
  if (request.status !== 'pending') return null
  const approved = given.map(({ user }) => ({ user, because: 'has_approved' as const }))
  const isNew = approved.every(({ user }) => user !== request.requestedBy)
  const requester = forbidsSelf && isNew ? [{ user: request.requestedBy, because: 'requester' as const }] : []
  const except = [...approved, ...requester]
  const users = await tokens.usersWith(DECIDER, now().toISOString(), MAX_KNOWN + except.length)
  const known = users.filter((user) => except.every((one) => one.user !== user))
  return { role: DECIDER, except, known_users: known.slice(0, MAX_KNOWN) }
}

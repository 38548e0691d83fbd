/** The status of an approval request (docs/api.md#approvals); the last two are final. */
export const APPROVAL_STATUSES = ['pending', 'waiting_for_window', 'approved', 'rejected'] as const

export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number]

/** The reason of a withdrawn request (docs/api.md#approvals). */
export const WITHDRAWN = 'withdrawn'

/** The reason of a request that got too few approvals in time. */
export const EXPIRED = 'expired'

/** What a request to move a version into an environment needs. */
export interface ApprovalRule {
  /** Approvals of different users. */
  readonly required: number
  /** Whether the requester must not decide. */
  readonly forbid_self: boolean
  /** A duration such as `3 days` after which a request without enough approvals expires; null: never. */
  readonly expires_after: string | null
}

/** The rule of an environment that has no own rule. */
export const DEFAULT_APPROVAL_RULE: ApprovalRule = { required: 1, forbid_self: false, expires_after: null }

/** An open request, as far as its next step depends on it; times in ms since the epoch. */
export interface OpenRequest {
  readonly isWaiting: boolean
  /** Approvals that are missing. */
  readonly missing: number
  readonly expiresAtMs: number | undefined
  readonly isWindowOpen: boolean
}

/** What happens to an open request by itself. `hold`: it waits for a window; `reopen`: it needs approvals again. */
export type RequestStep = 'stay' | 'expire' | 'reopen' | 'hold' | 'apply'

/** The next step of an open request. A request that has its approvals does not expire. */
export function requestStep(
  { isWaiting, missing, expiresAtMs, isWindowOpen }: OpenRequest,
  nowMs: number,
): RequestStep {
  if (missing > 0) {
    // one that had its approvals and needs more by a new rule is opened again before it can expire
    if (isWaiting) return 'reopen'
    return expiresAtMs !== undefined && expiresAtMs <= nowMs ? 'expire' : 'stay'
  }
  if (isWindowOpen) return 'apply'
  return isWaiting ? 'stay' : 'hold'
}

/** Whether two names are those of one user: identity providers do not agree on the case and the form of letters. */
export function isSameUser(a: string, b: string): boolean {
  return foldName(a) === foldName(b)
}

function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}

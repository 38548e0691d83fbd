/** The status of an approval request (docs/api.md#approvals); the last two are final. */
export const APPROVAL_STATUSES = ['pending', 'approved', 'rejected'] as const

export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number]

/** The reason of a withdrawn request (docs/api.md#approvals). */
export const WITHDRAWN = 'withdrawn'

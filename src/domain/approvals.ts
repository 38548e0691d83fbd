/** How an approval request stands (spec, section 3); the last two are final. */
export const APPROVAL_STATUSES = ['pending', 'approved', 'rejected'] as const

export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number]

/** The reason of a request that its requester took back (contract, section 7). */
export const WITHDRAWN = 'withdrawn'

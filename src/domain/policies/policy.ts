/** The operations that a policy can run, in the order in which they run on a table. */
export const POLICY_OPERATIONS = ['compact', 'rewrite_manifests', 'expire', 'remove_orphans'] as const

export type PolicyOperation = (typeof POLICY_OPERATIONS)[number]

/** The user that the ledger names for a run of a policy. */
export function policyUser(name: string): string {
  return `policy:${name}`
}

/** Whether a user of the ledger is a policy. */
export function isPolicyUser(user: string): boolean {
  return user.startsWith('policy:')
}

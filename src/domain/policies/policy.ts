/** The user that the ledger names for a run of a policy. */
export function policyUser(name: string): string {
  return `policy:${name}`
}

/** Whether a user of the ledger is a policy. */
export function isPolicyUser(user: string): boolean {
  return user.startsWith('policy:')
}
